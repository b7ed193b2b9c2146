"""The seam for translations: what is text, and that a translation keeps its place."""

import pytest

import book.assemble
import book.draft
from book.assemble import assemble
from book.blocks import messages
from book.code import code_slots, structure
from book.errors import TranslationError
from book.languages import ENGLISH, Language
from book.parse import load
from book.prose import MARKDOWN, prose_slots, runs, shape
from book.translate import Context, Message, fill, identity

PSEUDO = Language("xx", "Pseudo", "Übung {}", "Lösung {}", "Bild {}", "。")


def pseudo(message):
    """Changes every message, leaves its markup, and breaks a line where that is possible."""
    if message.context.kind in ("paragraph", "item", "quote", "comment"):
        return f"«{message.text}»\nund mehr"
    return f"«{message.text}»"


@pytest.fixture
def languages(monkeypatch):
    for module in (book.assemble, book.draft):
        monkeypatch.setattr(module, "LANGUAGES", {"en": ENGLISH, "xx": PSEUDO})


def make(text, kind, row):
    return Message(text, Context("chapter", "section", (), kind), "file", row)


def prose(source):
    [run] = runs(MARKDOWN.parse(source))
    slots = prose_slots(source.split("\n"), run, make)
    for slot in slots:
        assert 0 <= slot.start < slot.end <= len(source)
    assert fill(source, slots, identity) == source
    translated = fill(source, slots, pseudo)
    assert shape(translated) == shape(source)
    [again] = runs(MARKDOWN.parse(translated))
    texts = [slot.message.text for slot in prose_slots(translated.split("\n"), again, make)]
    assert [" ".join(pseudo(slot.message).split("\n")) for slot in slots] == texts
    return [(slot.message.context.kind, slot.message.text) for slot in slots]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("One\nparagraph.", [("paragraph", "One paragraph.")]),
        ("Heading\n-------", [("heading", "Heading")]),
        ("- one\n  more\n- two", [("item", "one more"), ("item", "two")]),
        ("1. one\n\n   more\n2. > quote", [("item", "one"), ("item", "more"), ("quote", "quote")]),
        ("- a\n  - b\n    - c\n      d", [("item", "a"), ("item", "b"), ("item", "c d")]),
        ("| a |\n|:-:|\n| b `x \\| y` |", [("cell", "a"), ("cell", "b `x \\| y`")]),
        ("a | b\n--|--\n`x`, `y` | 2 s", [("cell", "a"), ("cell", "b"), ("cell", "`x`, `y`"),
                                        ("cell", "2 s")]),
        ("> | a |\n> |---|\n> | b |", [("cell", "a"), ("cell", "b")]),
        ("```text\nx\n```", []),
    ],
)  # fmt: skip
def test_text_of_markdown(source, expected):
    assert prose(source) == expected


def code(source, *labels):
    slots = code_slots(source, labels, make)
    assert fill(source, slots, identity) == source
    translated = fill(source, slots, pseudo)
    assert structure(translated) == structure(source)
    return [(slot.message.context.kind, slot.message.text) for slot in slots]


@pytest.mark.parametrize(
    ("source", "labels", "expected"),
    [
        ("x = 1  # one", (), [("comment", "one")]),
        ("if x:\n    # one\n    # two\n    pass", (), [("comment", "one\ntwo")]),
        ("x = 1  # one\n# two", (), [("comment", "one"), ("comment", "two")]),
        ("f('Done', x='done')", ("Done",), [("label", "Done")]),
        ("f(f'{Done} {x:{Done}} Done')", ("Done",), [("label", "Done")]),
        ("f(f\"it's {Done} isn't {'Done' if Done else 1}\")", ("Done",), [("label", "Done")]),
    ],
)
def test_text_of_code(source, labels, expected):
    assert code(source, *labels) == expected


@pytest.mark.usefixtures("languages")
def test_a_translated_notebook_has_the_same_shape(full):
    chapters = load(full / "chapters")
    english = assemble(chapters, "en", "pytorch", identity)
    translated = assemble(chapters, "xx", "pytorch", pseudo)
    for key, notebook in english.items():
        other = translated[key._replace(language="xx")]
        assert [cell.id for cell in notebook.cells] == [cell.id for cell in other.cells]
        for cell, its in zip(notebook.cells[2:], other.cells[2:], strict=True):
            assert cell.cell_type == its.cell_type
            assert cell.metadata == its.metadata
            if cell.cell_type == "code":
                assert structure(cell.source) == structure(its.source)
            else:
                assert shape(cell.source) == shape(its.source)
    cells = translated[next(iter(translated))].cells
    sources = [cell.source for cell in cells]
    everything = "\n".join(sources)
    # A heading beyond ASCII is out of reach for JupyterLab, its cell is not.
    ids = {cell.source.splitlines()[0]: cell.id for cell in cells}
    assert f"[a later part](full.ipynb#cell-id={ids['## «Later: a `part`»']})" in sources[2]
    assert "[«Limits»](limits.ipynb#cell-id=" in sources[2]
    assert "[English](../../en/pytorch/full.ipynb) · **Pseudo**" in sources[0]
    assert "**Bild 1。** «The caption" in everything
    assert "**Übung 1。** «First exercise.»" in everything
    assert "#### Lösung 1" in everything
    assert "![«Alt text»](../../figures/flow.svg)" in everything
    assert 'print("«Slow and steady»:", 1)  # «beside code»' in everything
    assert "# «A comment\n# on two lines.»\n# und mehr" in everything


@pytest.mark.usefixtures("languages")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("first item, wrapped", "- # heading"),
        ("both", "a | b"),
        ("Alt text", "a](b) ![c"),
        ("Slow", '", "'),
        ("Only PyTorch.", "[x](#nowhere)"),
        ("Only PyTorch.", "a\n:::{tab} pytorch\n:::"),
    ],
)
def test_a_translation_that_does_not_fit(full, old, new):
    def translate(message):
        return new if message.text == old else message.text

    chapters = load(full / "chapters")
    assert any(message.text == old for message in messages(chapters[0].blocks))
    with pytest.raises(TranslationError, match=r"chapters/full\.md.*Pseudo translation"):
        assemble(chapters, "xx", "pytorch", translate)
