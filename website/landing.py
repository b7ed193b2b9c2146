"""Stage 5: the page that sends readers to the language they chose last, or their browser's."""

from collections.abc import Sequence
from pathlib import Path

from jinja2 import Template

from book.languages import LANGUAGES
from website.words import words

_TEMPLATE = Path(__file__).with_name("landing.html")


def landing_page(languages: Sequence[str]) -> str:
    """The page. Without JavaScript it is a list of the languages."""
    template = Template(_TEMPLATE.read_text(encoding="utf-8"), autoescape=True)
    rows = [(LANGUAGES[code], words(code)) for code in languages]
    return template.render(languages=languages, rows=rows, title=words("en")["site"])
