"""The fixtures of these tests, which those of the models share."""

from proving import fresh_process, one_process_proves_all, provers, user

__all__ = ["fresh_process", "one_process_proves_all", "provers", "user"]
