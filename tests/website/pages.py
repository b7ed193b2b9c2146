"""Pages as the tests of the site see them: links, ids, headings, images, text."""

import re
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
        self._articles, self._tags, self._texts = 0, [], []
        self.feed(self.source)
        self.close()
        tags, self.text = [(tag, at) for tag, at, _in in self._tags], "".join(self._texts)
        main = [(tag, at) for tag, at, inside in self._tags if inside]
        self.language = next(at.get("lang") for tag, at in tags if tag == "html")
        self.ids = [at["id"] for _tag, at in tags if "id" in at]
        self.links = [at for tag, at in tags if tag == "a" and "href" in at]
        self.images = [at for tag, at in tags if tag == "img"]
        self.folds = [at.get("class", "") for tag, at in tags if tag == "details"]
        # What the browser fetches for the page.
        loads = [one for one in tags if not _NOT_LOADED & {*one[1].get("rel", "").split()}]
        self.loads = [at[_LOADS[tag]] for tag, at in loads if _LOADS.get(tag) in at]
        self.headings = [int(tag[1]) for tag, _at in main if re.fullmatch("h[1-6]", tag)]
        parts = [at for tag, at in main if tag in ("section", "details")]
        self.sections = [at["id"] for at in parts if "id" in at]

    def handle_starttag(self, tag, attrs):
        self._articles += tag == "article"
        self._tags.append((tag, {name: value or "" for name, value in attrs}, self._articles))

    def handle_endtag(self, tag):
        self._articles -= tag == "article"

    def handle_data(self, data):
        if self.cdata_elem is None:  # neither a script nor a style
            self._texts.append(data)


read_page = cache(Page)


def squeezed(text):
    """The text without any white space, which a page may lay out in its own way."""
    return "".join(text.split())
