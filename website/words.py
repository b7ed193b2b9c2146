"""What the site says by itself, in each language: in the files of ``book/words/``."""

import re
from functools import cache

from book.languages import words_file

WITHOUT_SPACES = "[\u3000-\u30ff\u4e00-\u9fff\uff00-\uffef]"


@cache
def words(language: str) -> dict[str, str]:
    """The site's words in a language, by what they are for; ``book/words/en.yaml`` says which."""
    texts = {key: text for key, text in words_file(language).items() if key != "language"}
    return {key: _joined(text.strip()) for key, text in texts.items()}


def _joined(text: str) -> str:
    """The text without line breaks beside characters that no space stands beside."""
    return re.sub(f"(?<={WITHOUT_SPACES})\n|\n(?={WITHOUT_SPACES})", "", text)


def in_english(language: str, text: str) -> str:
    """The text with the note that what it names is there in English only."""
    note = words(language)["reference_note"]
    return text + (note if note.startswith("（") else f" {note}").rstrip()


@cache
def theme_words(language: str) -> dict[str, str]:
    """What the theme says in English -> the same in a language."""
    ours, english = words(language), words("en")
    return {english[key]: ours[key] for key in english if key.startswith("theme_")}
