"""Stage 4: how the search cuts text into words, when it is indexed and when a reader asks.

Chinese and Japanese write no spaces. A run of their characters is indexed as all its pairs of
neighbours, and its single characters; a question is cut into the same pairs, and a page answers
that has them all. So every word is found without a dictionary, new words included. The rest, and
the page of the results, is Sphinx's own.
"""

import json
import re
import unicodedata
from functools import cache
from itertools import pairwise

from sphinx.application import Sphinx
from sphinx.search import SearchLanguage
from sphinx.search.en import SearchEnglish
from sphinx.search.pt import SearchPortuguese

# Ideographs with their iteration marks, hiragana and katakana, as ranges that Python's and
# JavaScript's regular expressions both know.
_CJK = "\u3005-\u3007\u3041-\u309f\u30a1-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_RUN = re.compile(f"([{_CJK}]+)|([^\\W{_CJK}]+)")

_PATTERN = json.dumps(f"([{_CJK}]+)|((?:(?![{_CJK}])[\\p{{L}}\\p{{N}}_])+)")
_SPLIT_QUERY = (
    f"const wordPattern = {_PATTERN};\n"
    + """\
var splitQuery = (query) => {
  const words = [];
  const found = query.normalize("NFKC").matchAll(new RegExp(wordPattern, "gu"));
  for (const [, run, word] of found) {
    if (word) words.push(word);
    else if (run.length === 1) words.push(run);
    else for (let at = 0; at + 2 <= run.length; at++) words.push(run.slice(at, at + 2));
  }
  return words;
};
"""
)


class _Stemmed(SearchLanguage):
    """Stems a word once, not once for each page that has it."""

    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(options)
        self.stem = cache(self.stem)  # type: ignore[method-assign]


class _English(_Stemmed, SearchEnglish):
    """English, as Sphinx has it."""


class _SearchCJK(_Stemmed, SearchEnglish):
    """English words are stemmed as in English; its stemmer leaves other letters alone."""

    js_splitter_code = _SPLIT_QUERY

    def split(self, input: str) -> list[str]:
        """Words, pairs and single characters."""
        found: list[str] = []
        for run, word in _RUN.findall(unicodedata.normalize("NFKC", input)):
            found += [word] if word else [*run, *map("".join, pairwise(run))]
        return found


class SearchChinese(_SearchCJK):
    """Chinese."""

    lang = "zh"


class SearchJapanese(_SearchCJK):
    """Japanese."""

    lang = "ja"


class SearchPortugueseWithoutAccents(_Stemmed, SearchPortuguese):
    """Portuguese; a word is found with its accents and, as many people type it, without."""

    def split(self, input: str) -> list[str]:
        """Words, and once more without accents those that have some."""
        found = super().split(input)
        return found + [plain for word in found if (plain := _without_accents(word)) != word]


def _without_accents(word: str) -> str:
    letters = unicodedata.normalize("NFD", word)
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


def setup(app: Sphinx) -> None:
    """Register them in the place of Sphinx's own."""
    for language in (_English, SearchChinese, SearchJapanese, SearchPortugueseWithoutAccents):
        app.add_search_language(language)
