"""How words and code cells are counted, and that a chapter over its limit is found."""

import pytest
from book_samples import FRONT, FULL, LIMITS, cell
from processes import ROOT

from book.files import CHAPTERS
from book.lengths import count_words, lengths
from book.parse import load
from book.prose import as_read

COUNTED = "# Title\n\n" + cell("x = 1") + "Two words.\n\n" + cell("y = 2")
ONLY_PYTORCH = ":::{tab} pytorch\nThree words more.\n\n" + cell("z = 3") + ":::\n"


@pytest.mark.parametrize(
    ("markdown", "words"),
    [
        ("One two,\nthree – four.", 4),
        ("## A heading\n\n- an item\n- **it's** 1.76 times", 7),
        ("| a | b c |\n|---|---:|\n| d | 5 |", 5),
        ("Call `torch.compile(net, x)` twice.", 4),
        ("See [the first part](far/away.md#sec-of-many-words) at <https://example.org/a>.", 6),
        ("An image: ![what it shows](figures/a.svg)", 2),
        ("So $x + y$ is\n\n$$\nz\n$$\n\nhere.", 3),
        ("```text\nnot one of these\n```\n\n> but these", 2),
    ],
)
def test_what_counts_as_a_word(markdown, words):
    assert count_words(as_read(markdown)) == words


def test_only_the_chapters_own_cells_count(project):
    found = lengths(load(project(a=FRONT + COUNTED + ONLY_PYTORCH) / "chapters"))
    counts = {one.framework: (one.words, one.cells) for one in found}
    assert counts == {"pytorch": (6, 3), "tensorflow": (3, 2), "mxnet": (3, 2)}


def test_exercises_solutions_and_texts_of_empty_links_count(project):
    root = project(full=FULL, limits=LIMITS)
    before = next(iter(lengths(load(root / "chapters"))))
    project(full=FULL.replace("Easy.", "Easier than [](#sec-later), it seems."), limits=LIMITS)
    after = next(iter(lengths(load(root / "chapters"))))
    assert after.words - before.words == 6  # Easier than Later: a part, it seems.


def test_a_chapter_says_in_its_text_how_long_its_front_matter_has_reading_take():
    for chapter in load(ROOT / CHAPTERS):
        low, high = chapter.minutes
        text = " ".join(chapter.path.read_text(encoding="utf-8").split())
        assert f"Reading takes {low} to {high} minutes" in text


def test_a_chapter_over_its_limits(project, told):
    def limited(words, cells):
        front = FRONT.replace("order: 1\n", f"order: 1\nwords: {words}\ncells: {cells}\n")
        project(a=front + COUNTED + ONLY_PYTORCH)

    limited(6, 3)
    assert "at most" not in told("check", status=1).err  # no notebooks yet
    limited(5, 2)
    found = told("check", status=1).err.splitlines()
    assert found[:2] == [
        "chapters/a.md:1: 6 words in PyTorch, at most 5.",
        "chapters/a.md:1: 3 code cells in PyTorch, at most 2.",
    ]
    assert "at most" not in "".join(found[2:])
    limited(3, 1)
    counted = told("words").out.splitlines()
    assert counted[0] == "a, PyTorch: 6 words (at most 3), 3 code cells (at most 1)"
    assert counted[2] == "a, MXNet: 3 words (at most 3), 2 code cells (at most 1)"
    assert told("check", status=1).err.count("at most") == 4
