"""Stage 2: the links of notebooks and documents -> places of the site.

A place is written ``site:/en/pytorch/hybridize.html#sec-trade``, from the site's root; a page's
``transforms`` make it relative once the page is there. What leads nowhere is ``site:``, a link to
be taken out, so that only its text stays.
"""

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass

from book.references import rewrite
from website.repository import Repository

SCHEME = "site:"


def place(page: str, fragment: str = "") -> str:
    """The address of a page, such as ``en/index``, or of a section of it."""
    return f"{SCHEME}/{page}.html{'#' if fragment else ''}{fragment}"


@dataclass(frozen=True)
class Page:
    """A page of the site, and the ids that the fragments of its source have there."""

    name: str
    ids: Mapping[str, str] | None = None  # None: the same as in the source

    def place(self, fragment: str) -> str:
        """The address of what a fragment names; of the page where the site has no such thing."""
        return place(self.name, fragment if self.ids is None else self.ids.get(fragment, ""))


@dataclass(frozen=True)
class Addresses:
    """The pages by the paths of their sources below the repository's root."""

    pages: Mapping[str, Page]
    repository: Repository | None

    def rewrite(self, markdown: str, source: str) -> str:
        """The Markdown of a source with links to the site's places."""

        def resolve(href: str) -> tuple[str, str]:
            path, _, fragment = href.partition("#")
            file = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
            return self._place(file if path else source, fragment), posixpath.basename(file)

        return rewrite(markdown, resolve)

    def _place(self, file: str, fragment: str) -> str:
        if file in self.pages:
            return self.pages[file].place(fragment)
        if self.repository is None:
            return SCHEME
        return self.repository.file(file) + ("#" + fragment if fragment else "")
