"""These tests measure on a simulated machine; ``test_real`` alone has the real frameworks."""

from simulated import compiler, idle, no_frameworks, on_a_gpu  # noqa: F401
