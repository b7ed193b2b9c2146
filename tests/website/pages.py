"""Pages as the tests of the site see them: links, ids, headings, images, text."""

from functools import cache

from bs4 import BeautifulSoup  # which furo brings

_LOADS = "link[href], object[data], script[src], img[src], iframe[src], source[src], embed[src]"
_NOT_LOADED = {"next", "prev", "search", "index", "alternate", "canonical", "author"}


class Page:
    """One HTML file."""

    def __init__(self, path):
        self.path, self.source = path, path.read_text(encoding="utf-8")
        html = BeautifulSoup(self.source, "html.parser")
        self.language = html.html.get("lang")
        self.ids = [one["id"] for one in html.select("[id]")]
        self.links = [one.attrs for one in html.select("a[href]")]
        self.images = [one.attrs for one in html.select("img")]
        # What the browser fetches for the page.
        loads = [one for one in html.select(_LOADS) if not _NOT_LOADED & {*one.get("rel", ())}]
        self.loads = [one.get("src") or one.get("href") or one.get("data") for one in loads]
        headings = html.select("article :is(h1, h2, h3, h4, h5, h6)")
        self.headings = [int(one.name[1]) for one in headings]
        self.sections = [one["id"] for one in html.select("article :is(section, details)[id]")]
        self.folds = [" ".join(one.get("class", ())) for one in html.select("details")]
        for one in html(["script", "style"]):
            one.decompose()
        self.text = html.get_text()


read_page = cache(Page)


def squeezed(text):
    """The text without any white space, which a page may lay out in its own way."""
    return "".join(text.split())
