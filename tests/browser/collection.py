"""Which notebooks there are to look at, as the chapters name them."""

from pathlib import Path

from book.files import CHAPTERS as FOLDER
from book.frameworks import FRAMEWORKS as ALL_FRAMEWORKS
from book.languages import LANGUAGES as ALL_LANGUAGES
from book.parse import load

ROOT = Path(__file__).resolve().parents[2]
_SOURCES = load(ROOT / FOLDER)

LANGUAGES = tuple(ALL_LANGUAGES)
CHAPTERS = tuple(source.name for source in _SOURCES)
"""In the order of their rows on the first page."""
EDITIONS = tuple(
    (framework, source.name)
    for source in _SOURCES
    for framework in ALL_FRAMEWORKS
    if framework in source.frameworks
)
"""Framework and chapter of every notebook of a language."""
FRAMEWORKS = tuple(dict.fromkeys(framework for framework, _ in EDITIONS))
"""Those that have a chapter, in the order in which readers meet them."""


def one_of_each():
    """Language, framework and chapter: each chapter in each language, the frameworks in turn."""
    found = []
    for number, chapter in enumerate(CHAPTERS):
        having = [framework for framework, name in EDITIONS if name == chapter]
        for place, language in enumerate(LANGUAGES):
            found.append((language, having[(place + number) % len(having)], chapter))
    return found
