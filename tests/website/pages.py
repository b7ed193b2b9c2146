"""Pages as the tests of the site see them: links, ids, headings, images, text."""

from functools import cache
from html.parser import HTMLParser

_LOADS = {"link": "href", "object": "data"} | dict.fromkeys(("script", "img"), "src")
_LOADS |= dict.fromkeys(("iframe", "source", "embed"), "src")
_NOT_LOADED = {"next", "prev", "search", "index", "alternate", "canonical", "author"}


class Page(HTMLParser):
    """One HTML file, read once from its beginning to its end: a tree of it takes seconds."""

    def __init__(self, path):
        super().__init__()
        self.path, self.source = path, path.read_text(encoding="utf-8")
        self.language, self._articles, self._texts = None, 0, []
        self.ids, self.links, self.images, self.loads = [], [], [], []  # what the browser fetches
        self.headings, self.sections, self.folds = [], [], []
        self.feed(self.source)
        self.close()
        self.text = "".join(self._texts)

    def handle_starttag(self, tag, attrs):
        found = {name: value or "" for name, value in attrs}
        self.ids += [found["id"]] if "id" in found else []
        self.folds += [found.get("class", "")] if tag == "details" else []
        self.images += [found] if tag == "img" else []
        if tag == "html":
            self.language = found.get("lang")
        if tag == "a" and "href" in found:
            self.links.append(found)
        if _LOADS.get(tag) in found and not _NOT_LOADED & {*found.get("rel", "").split()}:
            self.loads.append(found[_LOADS[tag]])
        self._articles += tag == "article"
        if self._articles and tag in ("h1", "h2", "h3", "h4", "h5", "h6"):
            self.headings.append(int(tag[1]))
        if self._articles and tag in ("section", "details") and "id" in found:
            self.sections.append(found["id"])

    def handle_endtag(self, tag):
        self._articles -= tag == "article"

    def handle_data(self, data):
        if self.cdata_elem is None:  # neither a script nor a style
            self._texts.append(data)


read_page = cache(Page)


def squeezed(text):
    """The text without any white space, which a page may lay out in its own way."""
    return "".join(text.split())
