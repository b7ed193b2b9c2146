"""Stage 5: the page that sends readers to the language they chose last, or their browser's."""

import json
from collections.abc import Sequence
from html import escape
from pathlib import Path
from string import Template

from book.languages import LANGUAGES
from website.words import words

_TEMPLATE = Path(__file__).with_name("landing.html")


def landing_page(languages: Sequence[str]) -> str:
    """The page. Without JavaScript it is a list of the languages."""
    items = []
    for code in languages:
        tag, name = LANGUAGES[code].tag, LANGUAGES[code].name
        title = escape(words(code)["site"])
        items.append(
            f'<li lang="{tag}"><a href="{code}/index.html" hreflang="{tag}" data-language="{code}">'
            f"<strong>{escape(name)}</strong> {title}</a></li>"
        )
    calls = " · ".join(
        f'<span lang="{LANGUAGES[code].tag}">{escape(words(code)["landing"])}</span>'
        for code in languages
    )
    return Template(_TEMPLATE.read_text(encoding="utf-8")).substitute(
        title=escape(words("en")["site"]),
        calls=calls,
        items="\n      ".join(items),
        languages=json.dumps(list(languages)),
    )
