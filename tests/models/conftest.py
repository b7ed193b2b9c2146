"""The fixtures of the artifacts' tests: a user, and processes for the proofs."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "artifacts"))

from proving import fresh_process, one_process_proves_all, provers, user

__all__ = ["fresh_process", "one_process_proves_all", "provers", "user"]
