"""What ``make lab`` and its buttons say, in each language: ``lab_words.json``."""

import json
from functools import cache
from pathlib import Path


@cache
def words(code: str) -> dict[str, str]:
    """The words of a language, or the English ones where it has none."""
    text = Path(__file__).with_suffix(".json").read_text(encoding="utf-8")
    found: dict[str, dict[str, str]] = json.loads(text)
    return found.get(code, found["en"])
