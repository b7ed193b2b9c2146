"""The languages of the collection: one file of ``words/`` each. English is that of the chapters."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

WORDS = Path(__file__).with_name("words")
CODES = ("en", "pt", "zh", "ja")  # in the order in which readers see them


@dataclass(frozen=True)
class Language:
    """A language and the few words that notebooks add to the chapters' text.

    ``words/en.yaml`` says what each is for.
    """

    code: str
    name: str
    exercise: str
    solution: str
    figure: str
    stop: str = "."
    tag: str = "en"
    plural: str = "nplurals=2; plural=(n != 1);"
    decimal_comma: bool = False
    untranslated: str = ""
    stale: str = ""
    collection: str = ""
    pick: str = ""
    open: str = ""
    lab: str = ""
    run: str = ""
    onward: str = ""
    recorded: str = ""
    changed: str = ""
    medians: str = ""
    processes: str = ""
    installs: str = ""
    absent: str = ""
    nowhere: str = ""

    @property
    def plural_forms(self) -> int:
        """How many forms of a message its catalogs hold, one for each kind of number."""
        return int(self.plural.partition("nplurals=")[2].partition(";")[0])

    @property
    def gettext_name(self) -> str:
        """The name of the language in a catalog's header, such as ``pt_BR``."""
        return self.tag.replace("-", "_")


@cache
def words_file(code: str) -> dict[str, Any]:
    """All that a language's file of words says."""
    return dict(yaml.safe_load((WORDS / f"{code}.yaml").read_text(encoding="utf-8")))


LANGUAGES = {code: Language(code, **words_file(code)["language"]) for code in CODES}
ENGLISH = LANGUAGES["en"]
