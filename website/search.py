"""Stage 4: how the search cuts text into words, when it is indexed and when a reader asks.

Chinese and Japanese write no spaces. A run of their characters is indexed as all its pairs of
neighbours, and its single characters; a question is cut into the same pairs, and a page answers
that has them all. So every word is found without a dictionary, new words included.

What a page says, by section, goes into a script beside Sphinx's index. So the results can show
where a word stands and lead there, also where the pages are files that no server hands out.
"""

import json
import re
import unicodedata
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

from sphinx.application import Sphinx
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


class _SearchCJK(SearchEnglish):
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


class SearchPortugueseWithoutAccents(SearchPortuguese):
    """Portuguese; a word is found with its accents and, as many people type it, without."""

    def split(self, input: str) -> list[str]:
        """Words, and once more without accents those that have some."""
        found = super().split(input)
        return found + [plain for word in found if (plain := _without_accents(word)) != word]


def _without_accents(word: str) -> str:
    letters = unicodedata.normalize("NFD", word)
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


class SectionTexts(HTMLParser):
    """The text of a built page's article, by the id of the section that it stands in."""

    _NOT_READ = ("script", "style", "annotation")
    _INLINE = ("a", "b", "code", "em", "i", "mark", "small", "span", "strong", "sub", "sup")
    _VOID = ("area", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr")

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self._open: list[tuple[str, str | None]] = []  # elements, with the id of a section
        self._parts: dict[str, list[str]] = {}
        self.feed(html)
        self.texts = {
            name: text
            for name, parts in self._parts.items()
            if (text := " ".join("".join(parts).split()))
        }

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what is open; a link of a heading to itself is none of the text."""
        values = dict(attrs)
        self._space(tag)
        if tag in self._VOID:
            return
        name = values.get("id") if tag in ("article", "section", "details", "dt") else None
        if tag == "article":
            name = ""
        hidden = "headerlink" in (values.get("class") or "")
        self._open.append(("script" if hidden else tag, name))

    def handle_endtag(self, tag: str) -> None:
        """Close it, and what HTML lets authors leave open in it."""
        self._space(tag)
        while tag not in self._VOID and self._open:
            if self._open.pop()[0] in (tag, "script"):
                break

    def handle_data(self, data: str) -> None:
        """Keep what stands in the article."""
        tags = [tag for tag, _ in self._open]
        if "article" not in tags or any(tag in self._NOT_READ for tag in tags):
            return
        section = next(name for _, name in reversed(self._open) if name is not None)
        self._parts.setdefault(section, []).append(data)

    def _space(self, tag: str) -> None:
        """Keep the texts of blocks apart."""
        if tag not in self._INLINE:
            self.handle_data(" ")


def write_texts(app: Sphinx, failure: Exception | None) -> None:
    """Write ``searchtexts.js``, which the page of the search loads, from the built pages."""
    if failure is not None:
        return
    folder = Path(app.outdir)
    texts = {
        name: SectionTexts((folder / f"{name}.html").read_text(encoding="utf-8")).texts
        for name in sorted(app.env.found_docs)
    }
    script = f"window.SEARCH_TEXTS = {json.dumps(texts, ensure_ascii=False)};\n"
    (folder / "searchtexts.js").write_text(script, encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Register them in the place of Sphinx's own."""
    for language in (SearchChinese, SearchJapanese, SearchPortugueseWithoutAccents):
        app.add_search_language(language)
    app.connect("build-finished", write_texts)
