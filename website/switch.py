"""Stage 4: what a page's template shows around the text: the ways to other pages."""

import json
import posixpath
from html import escape
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from book.files import Key
from book.frameworks import FRAMEWORKS
from book.languages import ENGLISH, LANGUAGES, Language
from website.notebooks import page_name
from website.repository import Repository
from website.transforms import relative
from website.words import in_english, words

_MAIN = '<article role="main"'  # how the main part of the theme's page begins
# What the theme's templates say without asking for a translation.
_FIXED = ("theme_light_dark", "theme_navigation", "theme_contents", "theme_made", "theme_hidden")


class Around:
    """What is around one page's text. The templates call it ``site``."""

    def __init__(self, app: Sphinx, name: str, data: dict[str, Any]) -> None:
        self.language = str(app.config.site_language)
        self.words = words(self.language)
        self.api_name = in_english(self.language, self.words["api"])
        self.all_frameworks = FRAMEWORKS
        self.kind = str(data.get("kind", "reference" if "/" in name else name))
        self.name, self.data = name, data
        self._languages: list[str] = app.config.site_languages
        url = app.config.site_repository
        self.repository = Repository(url) if url else None

    @property
    def key(self) -> Key | None:
        """Which notebook the page shows; None for another page."""
        if self.kind != "chapter":
            return None
        return Key(self.language, self.data["framework"], self.data["chapter"])

    def to(self, page: str) -> str:
        """The relative address of a page, such as ``pt/index``."""
        return relative(f"/{page}.html", f"/{self.language}/{self.name}.html")

    @property
    def languages(self) -> list[Language]:
        """The languages of the site."""
        return [LANGUAGES[code] for code in self._languages]

    def in_language(self, code: str) -> str:
        """The same page in a language, or its first page where there is no such."""
        same = self.kind in ("chapter", "front", "search")
        return self.to(f"{code}/{self.name if same else 'index'}")

    def in_framework(self, key: Key, framework: str) -> str:
        """The same chapter for a framework."""
        return self.to(page_name(key._replace(framework=framework)))

    def places(self) -> list[dict[str, str]]:
        """Where else the notebook can be opened."""
        if self.key is None:
            return []
        path, hint = self.key.path.as_posix(), self.words["jupyterlab_hint"]
        file = "../" * (self.name.count("/") + 1) + path
        # Nobody knows where the reader's JupyterLab answers before site.js has looked for it.
        how_to_run = f"{self.to(f'{self.language}/index')}#run"
        found = [
            {"name": self.words["download"], "href": file, "download": self.key.path.name},
            {"name": "JupyterLab", "href": how_to_run, "lab": path, "title": hint},
        ]
        if self.repository and (colab := self.repository.colab(path)):
            found.append({"name": "Colab", "href": colab})
        return found

    def reference(self) -> str:
        """The address of the pages that are in English only; empty on English pages."""
        return "" if self.language == ENGLISH.code else self.to("en/api/index")

    def say(self, html: str, ways: str) -> str:
        """The theme's HTML with the ways to other pages before its main part.

        What the theme says in English only is said in the page's language, and the headings of
        its navigation get the level that Sphinx leaves out.
        """
        html = html.replace(_MAIN, ways + _MAIN, 1)
        english = words(ENGLISH.code)
        for key in _FIXED:
            html = html.replace(english[key], self.words[key])
        return html.replace(' role="heading">', ' role="heading" aria-level="2">')


def add_around(
    app: Sphinx, name: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Give the page's template what it shows around the text."""
    data = json.loads(app.env.metadata.get(name, {}).get("site", "{}"))
    around = Around(app, name, data)
    context["site"] = around
    first = str(app.config.root_doc)
    title = escape(app.env.titles[first].astext())
    home = {"link": around.to(f"{around.language}/{first}"), "title": title}
    for beside in ("prev", "next"):
        other = context.get(beside)
        page = other and posixpath.normpath(posixpath.join(posixpath.dirname(name), other["link"]))
        # A framework has a first and a last chapter; around them is the page of all.
        if around.key:
            inside = page and posixpath.dirname(page) == around.key.framework
            context[beside] = other if inside else home
        elif beside == "prev" and page and posixpath.dirname(page) in FRAMEWORKS:
            context[beside] = home  # the reference comes after the last framework, but not from it


def name_frameworks(app: Sphinx, env: Any) -> None:
    """Tell pages of the same chapter apart where the search lists them."""
    for name, metadata in env.metadata.items():
        data = json.loads(metadata.get("site", "{}"))
        if data.get("kind") == "chapter":
            text = f"{env.titles[name].astext()} · {FRAMEWORKS[data['framework']].name}"
            env.longtitles[name] = nodes.title("", text)


def setup(app: Sphinx) -> None:
    """Register it."""
    app.connect("html-page-context", add_around)
    app.connect("env-updated", name_frameworks)
