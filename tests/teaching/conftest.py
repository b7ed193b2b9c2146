"""These tests read English, and draw without a window."""

from english import english  # noqa: F401
