"""What has to be right in a notebook as JupyterLab shows it."""

from typing import Any

import expected
import glyphs
import lab_page
from playwright.sync_api import Locator

BROKEN_IMAGES = """panel => [...panel.querySelectorAll('img')]
  .filter(image => !image.complete || image.naturalWidth === 0).map(image => image.src)"""


def look_at_pictures(panel: Locator) -> None:
    """Every image is there."""
    assert not panel.evaluate(BROKEN_IMAGES)


def look_at_folds(panel: Locator, content: expected.Notebook) -> None:
    """Solutions are folded away, and so is the code of cells that say so."""
    metadata = [cell["metadata"] for cell in content["cells"]]
    solutions = sum(bool(data.get("jp-MarkdownHeadingCollapsed")) for data in metadata)
    assert solutions
    assert panel.locator(".jp-collapseHeadingButton.jp-mod-collapsed").count() == solutions
    hidden = sum("hide-input" in data.get("tags", []) for data in metadata)
    assert panel.locator(".jp-InputPlaceholder").count() == hidden


def look_at_outputs(panel: Locator, content: expected.Notebook, code: str) -> None:
    """Tables are tables, plots are images, and what is printed is drawn as characters."""
    shown = lab_page.outputs(panel)
    assert not [one["text"] for one in shown if one["mime"].endswith(("error", "stderr"))]
    tables = [(one["room"], table) for one in shown for table in one["tables"]]
    assert len(tables) == expected.tables(content)
    for room, table in tables:
        look_at_table(table, room)
    assert not glyphs.boxes(panel, set().union(*(glyphs.cjk(one["text"]) for one in shown)))
    drawn = panel.locator(".jp-OutputArea-output svg[role=img]").count()
    assert drawn == expected.drawings(content)
    images = [image for one in shown for image in one["images"]]
    plots = expected.plots(content)
    assert [image["source"] for image in images] == plots
    assert all(image["width"] >= 500 for image in images)
    if content["metadata"]["d2lhybrid"]["chapter"] == "hybridize":
        assert plots
        look_at_verdicts([table for _room, table in tables], code)


def look_at_table(table: dict[str, Any], room: int) -> None:
    """Cells in rows below each other; what is wider than the notebook scrolls in its own box."""
    assert table["display"] == "table"
    assert len(table["rows"]) > 1
    if room == 0:  # in a solution that is folded away
        return
    assert table["width"] > 0
    assert table["width"] <= room or table["scrolls"]
    assert all(len(row["tops"]) == 1 and row["height"] > 0 for row in table["rows"])


def look_at_verdicts(tables: list[dict[str, Any]], code: str) -> None:
    """The first table compares, in the reader's language, and has a verdict for each variant."""
    variant, verdict, words = expected.verdict_words(code)
    heads = tables[0]["heads"]
    assert heads[0] == variant
    column = heads.index(verdict)
    shown = [row["cells"][column].replace("\xa0", " ") for row in tables[0]["rows"]]
    found = {text.lstrip("▲▼? ") for text in shown}  # without the sign before the word
    assert len(found) > 1
    assert found <= words
