"""Which notebooks there are to look at, as the chapters name them."""

from pathlib import Path

from book.files import CHAPTERS as FOLDER
from book.frameworks import FRAMEWORKS
from book.languages import LANGUAGES
from book.parse import load

ROOT = Path(__file__).resolve().parents[2]
_SOURCES = load(ROOT / FOLDER)
CHAPTERS = tuple(source.name for source in _SOURCES)
"""In the order of their rows on the first page."""
EDITIONS = tuple(
    (framework, source.name)
    for source in _SOURCES
    for framework in FRAMEWORKS
    if framework in source.frameworks
)
"""Framework and chapter of every notebook of a language."""


def one_of_each():
    """Language, framework and chapter: each chapter in each language, the frameworks in turn."""
    for number, chapter in enumerate(CHAPTERS):
        having = [framework for framework, name in EDITIONS if name == chapter]
        for place, language in enumerate(LANGUAGES):
            yield language, having[(place + number) % len(having)], chapter
