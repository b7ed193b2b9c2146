"""The languages of the collection: one row each. English is the language of the chapters."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Language:
    """A language and the few words that notebooks add to the chapters' text.

    ``exercise``, ``solution`` and ``figure`` hold ``{}`` where the number goes; ``stop`` ends
    such a word where it opens a paragraph.
    """

    code: str
    name: str
    exercise: str
    solution: str
    figure: str
    stop: str = "."


ENGLISH = Language("en", "English", "Exercise {}", "Solution {}", "Figure {}")

LANGUAGES = {language.code: language for language in (ENGLISH,)}
