"""Every way to get a chapter wrong has its error, with file and line."""

import pytest
from book_samples import FRONT, LIMITS

from book.__main__ import ROOT
from book.errors import ChapterError
from book.parse import load

HEAD = FRONT + "# Title\n\n"  # seven lines and an empty one: a test's body starts at line 8
TAB = ":::{tab} pytorch\n"
CELL = "```{code-cell} python\n"

# fmt: off
MALFORMED = {
    "unknown framework": (":::{tab} keras\nText.\n:::\n", 8, "'keras'"),
    "unclosed tab before another": (TAB + "Text.\n\n:::{tab} pytorch\nMore.\n:::\n", 11, "line 8"),
    "stray closing colons": ("Text.\n\n:::\n", 10, "closes nothing"),
    "unclosed code cell": (CELL + "x = 1\n", 8, "never closed"),
    "unclosed fence in a list": ("- item\n\n  ```text\n  Text.\n", 10, "never closed"),
    "invalid Python": (CELL + "x = 1\ny = (\n```\n", 10, "not Python"),
    "magic": (CELL + "%matplotlib inline\n```\n", 9, "not Python"),
    "unknown option": (CELL + ":tag: [hide-input]\nx\n```\n", 9, "unknown option :tag:"),
    "unknown tag": (CELL + ":tags: [hide]\nx\n```\n", 9, "unknown tag hide"),
    "label not in code": (CELL + ':labels: ["No"]\nNo = 1  # No\n```\n',
        9, "'No' lies in no single string"),
    "unknown directive": (":::{note}\nText.\n:::\n", 8, "received :::{note}"),
    "directive in a list": ("- item\n\n  :::{tab} pytorch\n  Text.\n  :::\n", 10, "left margin"),
    "HTML": ("Text.\n\n<div>\nText.\n</div>\n", 10, "HTML"),
    "image": ("Text\n![alt](figures/flow.svg)\n", 9, "{figure-md}"),
    "missing figure": (":::{figure-md} fig-a\n![alt](figures/no.svg)\n\nText.\n:::\n",
        9, "'figures/no.svg'"),
    "no alt text": (":::{figure-md} fig-a\n![](figures/flow.svg)\n\nText.\n:::\n", 9, "alt text"),
    "exercise in a solution": ("::::{solution} ex-a\n:::{exercise} ex-b\nText.\n:::\n::::\n",
        9, "inside {solution}"),
    "label twice": ("(a)=\n## A\n\n(a)=\n## B\n", 11, "'a' is already in broken.md, line 8"),
    "target without heading": ("(a)=\n\nText.\n", 8, "no heading"),
    "reference to nothing": ("Text\n[here](#no).\n", 9, "no label 'no'"),
    "reference to no chapter": ("[here](no.md#a)\n", 8, "no chapter no.md"),
    "reference out of a tab": (TAB + "(a)=\n### A\n:::\n\nSee [](#a).\n",
        13, "readers of tensorflow, mxnet too"),
    "second title": ("# Another\n", 8, "use '##'"),
    "section in a tab": (TAB + "## Section\n:::\n", 9, "from level 3 on"),
    "heading in a solution": (":::{exercise} ex-a\nText.\n:::\n\n:::{solution} ex-a\n#### A\n:::\n",
        13, "from level 5 on"),
    "solution of nothing": (":::{solution} ex-no\nText.\n:::\n", 8, "no exercise 'ex-no'"),
    "text folded away": (
        ":::{exercise} ex-a\nText.\n:::\n\n:::{solution} ex-a\nText.\n:::\n\nMore.\n",
        16, "folded away"),
}
FRONTS = {
    "no front matter": ("# Title\n", 1, "front matter"),
    "no frameworks": ("---\ntitle: Title\n---\n# Title\n", 1, "received title."),
    "framework": ("---\ntitle: T\norder: 1\nframeworks: [keras]\n---\n# T\n",
        1, "received ['keras']"),
    "no title": ("---\ntitle: T\norder: 1\nframeworks: [mxnet]\n---\n", 1, "opens with its title"),
    "other title": ("---\ntitle: T\norder: 1\nframeworks: [mxnet]\n---\n# U\n",
        6, "expected the front matter's"),
    "no order": ("---\ntitle: T\nframeworks: [mxnet]\n---\n# T\n",
        1, "expected title, order, frameworks and perhaps description, minutes, words, cells; "),
    "order in words": ("---\ntitle: T\nframeworks: [mxnet]\norder: first\n---\n# T\n",
        4, "order: expected a whole number from 1 on, received 'first'"),
    "order of nothing": ("---\ntitle: T\norder:\nframeworks: [mxnet]\n---\n# T\n",
        3, "order: expected a whole number from 1 on, received None"),
    "limit of words": (FRONT.replace("order: 1", "order: 1\nwords: true") + "# Title\n",
        4, "words: expected a whole number from 1 on, received True"),
    "limit of cells": (FRONT.replace("order: 1", "cells: 0\norder: 1") + "# Title\n",
        3, "cells: expected a whole number from 1 on, received 0"),
    "minutes": (FRONT.replace("order: 1", "order: 1\nminutes: [30, 20]") + "# Title\n",
        4, "minutes: expected two whole numbers, as [20, 30], received [30, 20]"),
    "unknown key": (FRONT.replace("order: 1", "order: 1\nauthor: A") + "# Title\n",
        1, "received title, order, author, frameworks"),
}
# fmt: on


def problems(folder):
    with pytest.raises(ChapterError) as caught:
        load(folder)
    assert str(caught.value).splitlines() == [str(problem) for problem in caught.value.problems]
    return [(problem.file, problem.line, problem.text) for problem in caught.value.problems]


EVERY = {name: (HEAD + body, *rest) for name, (body, *rest) in MALFORMED.items()} | FRONTS


@pytest.mark.parametrize(("chapter", "line", "text"), EVERY.values(), ids=EVERY)
def test_a_malformed_chapter_names_the_line(project, chapter, line, text):
    found = problems(project(broken=chapter) / "chapters")
    assert [problem for problem in found if problem[1] == line and text in problem[2]], found
    assert {file for file, *_ in found} == {"chapters/broken.md"}


def test_all_problems_of_all_chapters_at_once_in_order(project):
    body = "(sec)=\n## Part\n\n:::{note}\n:::\n\nText [](#no).\n\n```{code-cell} r\n```\n"
    found = problems(project(a=HEAD + body, b=HEAD + body) / "chapters")
    every = [(f"chapters/{name}.md", line) for name in "ab" for line in (8, 11, 14, 16)]
    assert [(file, line) for file, line, _ in found] == every[1:]
    assert found[3][2] == "the label 'sec' is already in a.md, line 8; choose another."


def test_chapters_follow_each_other_by_their_order(project):
    def chapter(order):
        return HEAD.replace("order: 1", f"order: {order}")

    root = project(a=chapter(30), b=chapter(2), c=chapter(10))
    assert [one.name for one in load(root / "chapters")] == ["b", "c", "a"]
    project(d=chapter(10))
    found = problems(root / "chapters")
    assert found == [("chapters/d.md", 3, "order: 10 is that of c.md; choose another.")]


def test_a_link_to_a_section_that_other_readers_of_the_next_chapter_lack(project):
    known = HEAD + TAB + "(sec-torch)=\n### Torch\n:::\n"
    link = "See [torch](b.md#sec-torch).\n"
    found = problems(project(a=HEAD + link, b=known) / "chapters")
    assert [one[:2] for one in found] == [("chapters/a.md", 8)]
    assert "is for readers of tensorflow, mxnet too" in found[0][2]
    load(project(a=f"{HEAD}{TAB}{link}:::\n") / "chapters")


def test_the_example_of_the_manual(project):
    manual = (ROOT / "docs" / "authoring.md").read_text(encoding="utf-8")
    example = manual.split("`````markdown\n")[1].split("`````\n")[0]
    root = project(small=example, limits=LIMITS.replace("full.md", "small.md"))
    (root / "chapters" / "figures" / "dataflow.svg").write_text("<svg/>")
    assert [chapter.name for chapter in load(root / "chapters")] == ["small", "limits"]


def test_a_remark_gives_the_block_below_its_context(project):
    body = "# Title\n\n% context: one\n:::{tab} pytorch\nA.\n\n% context: two\nB.\n\nC.\n:::\n\nD."
    [chapter] = load(project(a=FRONT + body) / "chapters")
    notes = {message.text: message.context.note for message in chapter.messages}
    assert notes == {"Title": "", "A.": "one", "B.": "two", "C.": "one", "D.": ""}
