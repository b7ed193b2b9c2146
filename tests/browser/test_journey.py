"""The whole way of a reader on the site, in two languages and frameworks.

First page, chapter, the same section in another language and in another framework, and back.
"""

import pytest
from site_page import PHONE, WIDE, choose, place, top_of

from book.frameworks import FRAMEWORKS

# From the reader's language and framework to another language and framework.
WAYS = [("en", "mxnet", "ja", "jax"), ("pt", "jax", "zh", "mxnet")]
CHAPTER = "limits"
SECTION = "sec-limits-index"


@pytest.mark.parametrize("width", [WIDE, PHONE])
@pytest.mark.parametrize(("language", "framework", "other", "another"), WAYS)
def test_on_the_site(visit, width, language, framework, other, another):
    page = visit(locale=language, width=width)
    page.wait_for_url(f"**/{language}/index.html")
    row = page.locator(f"#chapter-{CHAPTER} li a", has_text=FRAMEWORKS[framework].name)
    row.click()
    page.wait_for_url(f"**/{language}/{framework}/{CHAPTER}.html")
    page.locator(f"#{SECTION}").evaluate("e => e.scrollIntoView()")
    page.wait_for_timeout(300)
    seen = [f"{language}/{framework}"]
    for kind, value in (("language", other), ("framework", another)):
        choose(page, kind, value)
        seen.append(f"{other}/{framework}" if kind == "language" else f"{other}/{another}")
        assert place(page) == f"{seen[-1]}/{CHAPTER}.html#{SECTION}"
        nav = page.locator("nav.switch").bounding_box()
        assert nav["y"] + nav["height"] - 1 <= top_of(page, f"#{SECTION} > h2") < 300
    for before in reversed(seen[:-1]):
        page.go_back()
        page.wait_for_url(f"**/{before}/{CHAPTER}.html*")
        page.wait_for_function(
            "id => Math.abs(document.getElementById(id).getBoundingClientRect().top) < innerHeight",
            arg=SECTION,
        )
    # And the first page knows the choice of language and framework that was made last.
    front = visit(reader=page)
    front.wait_for_url(f"**/{other}/index.html")
    assert front.locator(".start-here a").inner_text().endswith(FRAMEWORKS[another].name)
