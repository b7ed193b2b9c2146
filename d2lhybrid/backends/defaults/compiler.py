"""Defaults of ``compiler.py``: no compiler, or one that tells nothing."""

from pathlib import Path

from d2lhybrid.core.arguments import Function


def start(_function: Function) -> tuple[str, float | None]:
    return "", None


def is_imported() -> bool:
    return True


def programs_compiled() -> int | None:
    return None


def disk_cache_hits() -> int:
    return 0


def use_disk_cache(_folder: Path) -> None:
    pass
