"""Pages as the tests of the site see them: links, ids, headings, images, text."""

from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

# Elements that load something for the page, by the attribute that says what.
_LOADS = {
    **{"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"},
    **{"object": "data", "embed": "src", "audio": "src", "video": "src"},
}
_NOT_LOADED = {"next", "prev", "search", "index", "alternate", "canonical", "author"}
_VOID = {
    *("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr")
}


@dataclass
class Page(HTMLParser):
    """One HTML file."""

    path: Path
    language: str | None = None
    ids: list[str] = field(default_factory=list)
    links: list[dict[str, str]] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    images: list[dict[str, str]] = field(default_factory=list)
    headings: list[int] = field(default_factory=list)
    sections: list[str] = field(default_factory=list)
    folds: list[str] = field(default_factory=list)
    text: str = ""

    def __post_init__(self):
        super().__init__(convert_charrefs=True)
        self._open: list[str] = []
        self.source = self.path.read_text(encoding="utf-8")
        self.feed(self.source)

    def handle_starttag(self, tag, attrs):
        values = {name: value or "" for name, value in attrs}
        if tag == "html":
            self.language = values.get("lang")
        if "id" in values:
            self.ids.append(values["id"])
            if tag in ("section", "details") and "article" in self._open:
                self.sections.append(values["id"])
        if tag == "a" and "href" in values:
            self.links.append(values)
        if tag in _LOADS and _LOADS[tag] in values and values.get("rel") not in _NOT_LOADED:
            self.loads.append(values[_LOADS[tag]])
        if tag == "img":
            self.images.append(values)
        if tag == "details":
            self.folds.append(values.get("class", ""))
        if len(tag) == 2 and tag[0] == "h" and tag[1].isdigit() and "article" in self._open:
            self.headings.append(int(tag[1]))
        if tag not in _VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in _VOID:
            self._open.pop()

    def handle_endtag(self, tag):
        if tag in _VOID:
            return
        while self._open and self._open.pop() != tag:
            pass  # what HTML lets authors leave open, such as li

    def handle_data(self, data):
        if not {"script", "style"} & set(self._open):
            self.text += data


@cache
def read_page(path):
    """The page in a file."""
    return Page(path)


def squeezed(text):
    """The text without any white space, which a page may lay out in its own way."""
    return "".join(text.split())
