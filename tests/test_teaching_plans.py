"""docs/teaching.md: its links lead to sections that all frameworks have, and its plans add up."""

import re
from math import inf

import pytest
from processes import ROOT

from book.assemble import own_cells
from book.build import build
from book.files import CHAPTERS
from book.frameworks import FRAMEWORKS
from book.lengths import count_words
from book.parse import load
from book.prose import as_read
from book.references import anchor

PAGE = (ROOT / "docs/teaching.md").read_text(encoding="utf-8")
OWN = re.compile(r"\.\./notebooks/en/(\w+)/(\w+)\.ipynb(?:#([^)]+))?\)")
SECTION = r"\.\./notebooks/en/pytorch/(\w+)\.ipynb#([^)]+)\)"
WORDS_A_MINUTE = 180  # as on the site
CHAPTERS_TAUGHT = load(ROOT / CHAPTERS)


@pytest.fixture(scope="module")
def words():
    """The words below each heading, by chapter and framework, and by the heading's anchor."""
    found = {}
    for key, notebook in build(ROOT, "en").notebooks.items():
        counts = found.setdefault(key[1:], {})
        at = ""
        for cell in own_cells(notebook):
            if cell.cell_type == "markdown":
                text = as_read(cell.source)
                if cell.source.startswith("#"):
                    at = anchor(as_read(cell.source.splitlines()[0]).strip())
                counts[at] = counts.get(at, 0) + count_words(text)
    return found


def test_links_lead_to_sections_of_every_framework(words):
    links = set(re.findall(SECTION, PAGE))
    assert {chapter for chapter, _anchor in links} == {one.name for one in CHAPTERS_TAUGHT}
    for chapter in CHAPTERS_TAUGHT:
        for framework in chapter.frameworks:
            wanted = {at for name, at in links if name == chapter.name}
            missing = wanted - words[framework, chapter.name].keys()
            assert not missing, f"{chapter.name}, {framework}: no section {missing}"


def test_a_section_has_a_link_in_every_framework():
    for row in re.findall(r"^\| .+?<br>.+", PAGE, re.MULTILINE):
        links = OWN.findall(row)
        assert [framework for framework, _chapter, _at in links] == list(FRAMEWORKS)
        assert len({link[1:] for link in links}) == 1


def test_links_lead_into_each_framework(words):
    found = OWN.findall(PAGE)
    for framework, chapter, at in found:
        assert not at or at in words[framework, chapter], f"{chapter}, {framework}: no {at}"
    whole = {(framework, chapter) for framework, chapter, at in found if not at}
    assert whole == words.keys()


@pytest.mark.parametrize("chapter", CHAPTERS_TAUGHT, ids=lambda chapter: chapter.name)
def test_a_plan_adds_up_and_leaves_time_to_read(chapter, words):
    row = rf"^\| .+?<br>\[PyTorch\]\({SECTION} · .+? \| ([\d–]+) \| ([\d–]+) \|"
    rows = [found[1:] for found in re.findall(row, PAGE, re.MULTILINE) if found[0] == chapter.name]
    minutes = [[0 if part == "–" else int(part) for part in parts] for _at, *parts in rows]
    assert [sum(column) for column in zip(*minutes, strict=True)] == [45, 90]
    for (at, *_), parts in zip(rows, minutes, strict=True):
        longest = max(words[framework, chapter.name][at] for framework in chapter.frameworks)
        assert min(part or inf for part in parts) >= longest / WORDS_A_MINUTE - 0.5, at
