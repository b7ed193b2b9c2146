"""Catalogs: what they ask translators, and that no translation is ever lost."""

from collections.abc import Callable
from pathlib import Path

import polib
import pytest
from book_samples import FRONT

from book.__main__ import main
from book.blocks import messages
from book.catalogs import entries, merge, present, read, template
from book.errors import CatalogError
from book.languages import PORTUGUESE
from book.parse import load

CHAPTER = (
    FRONT.replace("title: Title\n", "title: Title\ndescription: what it teaches\n")
    + """(sec-title)=
# Title

The first sentence of this chapter stands here.

:::{tab} pytorch
```{code-cell} python
:labels: ["Fast"]
print("Fast")  # a comment
```
:::

:::{tab} tensorflow
```{code-cell} python
:labels: ["Fast"]
print("Fast")
```
:::

% context: verb
| open | 2 |
|------|---|

| open | 3 |
|------|---|
"""
)
OLD, NEW = "stands here", "stands here now"
A_PO = Path("translations/pt/LC_MESSAGES/a.po")


@pytest.fixture
def root(project: Callable[..., Path]) -> Path:
    """A collection whose Portuguese catalog is there and complete."""
    root = project(a=CHAPTER)
    assert main(["messages", "--start", "pt"], root) == 0
    translate(root / A_PO)
    return root


def translate(path: Path) -> None:
    catalog = polib.pofile(str(path))
    for entry in catalog:
        if not entry.obsolete and not entry.msgstr:
            entry.msgstr = f"«{entry.msgid}»"
    catalog.save()


def change(root: Path, old: str, new: str) -> None:
    path = root / "chapters" / "a.md"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    assert main(["messages"], root) == 0


def entry(root: Path, start: str, obsolete: bool = False) -> polib.POEntry:
    [found] = [
        entry
        for entry in polib.pofile(str(root / A_PO))
        if entry.msgid.startswith(start) and entry.obsolete == obsolete
    ]
    return found


def test_a_template_says_where_a_message_stands(project: Callable[..., Path]) -> None:
    [chapter] = load(project(a=CHAPTER) / "chapters")
    found = entries(template(chapter))
    assert [key for key in found if key[1] == "open"] == [("cell|verb", "open"), ("cell", "open")]
    label = found["label", "Fast"]
    lines = chapter.path.read_text().splitlines()
    assert "sec-title (pytorch)\nsec-title (tensorflow)" in label.comment
    assert [lines[int(line) - 1] for _, line in label.occurrences] == [
        'print("Fast")  # a comment',
        'print("Fast")',
    ]
    assert ("description", "what it teaches") in found
    assert len(found) == len({(m.context.kind, m.context.note, m.text) for m in chapter.messages})
    assert len(list(messages(chapter.blocks))) + 1 == len(list(chapter.messages))


def test_a_catalog_has_the_standard_header(root: Path) -> None:
    header = polib.pofile(str(root / A_PO)).metadata
    assert header["Language"] == "pt_BR"
    assert header["Plural-Forms"] == "nplurals=2; plural=(n > 1);"
    assert header["Content-Type"] == "text/plain; charset=UTF-8"
    assert not any("Date" in name for name in header)


def test_an_update_is_idempotent(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["messages"], root) == 0
    before = {path: path.read_bytes() for path in (root / "translations").rglob("*.po*")}
    capsys.readouterr()
    assert main(["messages"], root) == 0
    assert capsys.readouterr().out == ""
    assert before == {path: path.read_bytes() for path in (root / "translations").rglob("*.po*")}
    assert [language.code for language in present(root)] == ["en", "pt"]


def test_a_translators_own_header_and_comments_stay(root: Path) -> None:
    catalog = polib.pofile(str(root / A_PO))
    catalog.metadata["Last-Translator"] = "Ana <ana@example.org>"
    catalog[0].tcomment = "glossary: on purpose (layer)"
    catalog.save()
    change(root, OLD, NEW)
    catalog = polib.pofile(str(root / A_PO))
    assert catalog.metadata["Last-Translator"] == "Ana <ana@example.org>"
    assert catalog[0].tcomment == "glossary: on purpose (layer)"


def test_a_changed_sentence_becomes_fuzzy_and_keeps_what_it_was(root: Path) -> None:
    change(root, OLD, NEW)
    found = entry(root, "The first")
    assert found.fuzzy
    assert found.msgid.endswith("stands here now.")
    assert found.msgstr == f"«{found.previous_msgid}»"
    before = (root / A_PO).read_bytes()
    assert main(["messages"], root) == 0
    assert (root / A_PO).read_bytes() == before


def test_a_change_taken_back_needs_no_translator(root: Path) -> None:
    assert main(["messages"], root) == 0
    before = (root / A_PO).read_bytes()
    change(root, OLD, NEW)
    change(root, NEW, OLD)
    assert (root / A_PO).read_bytes() == before
    assert not entry(root, "The first").fuzzy
    assert entry(root, "The first").previous_msgid is None


def test_two_changes_in_a_row_remember_the_text_that_was_translated(root: Path) -> None:
    change(root, OLD, NEW)
    change(root, NEW, "stands at this place now")
    found = entry(root, "The first")
    assert found.fuzzy
    assert found.previous_msgid == "The first sentence of this chapter stands here."


def test_a_removed_message_is_kept_and_comes_back(root: Path) -> None:
    text = "The first sentence of this chapter stands here."
    change(root, text, "Nothing of it was left over.")
    assert entry(root, "The first", obsolete=True).msgstr == f"«{text}»"
    assert entry(root, "Nothing").msgstr == ""
    assert main(["messages"], root) == 0
    assert entry(root, "The first", obsolete=True).msgstr == f"«{text}»"
    change(root, "Nothing of it was left over.", text)
    assert entry(root, "The first").msgstr == f"«{text}»"
    assert not entry(root, "The first").fuzzy


def test_a_doubt_of_the_translator_stays(root: Path) -> None:
    catalog = polib.pofile(str(root / A_PO))
    catalog[0].flags.append("fuzzy")
    catalog.save()
    assert main(["messages"], root) == 0
    assert polib.pofile(str(root / A_PO))[0].fuzzy


def test_nothing_is_lost_whatever_happens(root: Path) -> None:
    """Every translation is somewhere in the merged catalog, in use or obsolete."""
    old = read(root / A_PO)
    texts = {entry.msgstr for entry in old}
    for keep in range(len(old)):
        [chapter] = load(root / "chapters")
        fresh = template(chapter)
        del fresh[keep:]
        merged = merge(fresh, read(root / A_PO), PORTUGUESE, "a")
        assert {entry.msgstr for entry in merged} == texts


def test_a_catalog_that_is_none(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / A_PO).write_text("This is no catalog.\n")
    with pytest.raises(CatalogError, match=r"translations/pt/LC_MESSAGES/a\.po:1: "):
        read(root / A_PO)
    for command in ("messages", "check", "build"):
        assert main([command], root) == 1
        assert "a.po" in capsys.readouterr().err
