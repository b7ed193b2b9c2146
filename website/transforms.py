"""Stage 4: what becomes of a page before it is written: ids, folds and links."""

import json
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.writers.html5 import HTML5Translator

from website.addresses import SCHEME
from website.errors import SiteError


class Fold(nodes.General, nodes.Element):
    """A solution: its title shows, the rest when the reader opens it."""


class FoldTitle(nodes.General, nodes.Element):
    """The title of a fold."""


def page_data(document: nodes.document) -> dict[str, Any]:
    """What the page's source says about itself: ``kind``, ``sections`` and more."""
    for field in document.findall(nodes.field):
        if field[0].astext() == "site":
            return dict(json.loads(field[1].astext()))
    return {}


class Sections(SphinxTransform):
    """Give the sections the ids that the page's source lists, in order; solutions become folds."""

    default_priority = 500

    def apply(self, **options: Any) -> None:
        """Raises SiteError where the page has other sections than its source lists."""
        ids = page_data(self.document).get("sections")
        if ids is None:
            return
        found = list(self.document.findall(nodes.section))
        if len(found) != len(ids):
            raise SiteError(
                f"Expected {len(ids)} sections in {self.env.docname}, found {len(found)}."
            )
        for section, name in zip(found, ids, strict=True):
            section["ids"] = [name]
            if name.startswith("solution-"):
                title, *rest = section.children
                fold = Fold("", FoldTitle("", *title.children), *rest, ids=section["ids"])
                section.replace_self(fold)


class Places(SphinxPostTransform):
    """Links to places of the site, written from its root, become relative ones."""

    default_priority = 5

    def run(self, **options: Any) -> None:
        """Rewrite, or take out where a link leads nowhere."""
        page = f"/{self.config.site_language}/{self.env.docname}.html"
        for link in list(self.document.findall(nodes.reference)):
            uri = link.get("refuri", "")
            if uri == SCHEME:
                link.replace_self(link.children)
            elif uri.startswith(SCHEME):
                link["refuri"] = relative(uri.removeprefix(SCHEME), page)
                link["internal"] = True


def relative(place: str, page: str) -> str:
    """The relative address of a place on a page; both from the site's root."""
    path, mark, fragment = place.partition("#")
    here, there = page.split("/")[1:], path.split("/")[1:]
    common = 0
    while common < len(there) - 1 and here[common : common + 1] == there[common : common + 1]:
        common += 1
    if here == there:
        return mark + fragment or there[-1]
    return "../" * (len(here) - common - 1) + "/".join(there[common:]) + mark + fragment


def visit_fold(translator: HTML5Translator, node: Fold) -> None:
    """Open the fold; sections in it are a level deeper."""
    translator.section_level += 1
    translator.body.append(translator.starttag(node, "details", CLASS="solution"))


def depart_fold(translator: HTML5Translator, node: Fold) -> None:
    """Close the fold."""
    translator.section_level -= 1
    translator.body.append("</details>\n")


def visit_fold_title(translator: HTML5Translator, node: FoldTitle) -> None:
    """A summary, which is a heading too, so that a screen reader's list of headings has it."""
    translator.body.append(f"<summary><h{translator.section_level}>")


def depart_fold_title(translator: HTML5Translator, node: FoldTitle) -> None:
    """Close it."""
    translator.body.append(f"</h{translator.section_level}></summary>\n")


def setup(app: Sphinx) -> None:
    """Register all of it."""
    app.add_node(Fold, html=(visit_fold, depart_fold))
    app.add_node(FoldTitle, html=(visit_fold_title, depart_fold_title))
    app.add_transform(Sections)
    app.add_post_transform(Places)
