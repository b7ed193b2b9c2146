"""Catalogs: what they ask translators, and that no translation is ever lost."""

from pathlib import Path

import pytest
from book_samples import FRONT

from book.__main__ import main
from book.catalogs import entries, merge, present, read, template
from book.errors import CatalogError
from book.languages import LANGUAGES
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
SENTENCE = "The first sentence of this chapter stands here."
A_PO = Path("translations/pt/LC_MESSAGES/a.po")


@pytest.fixture
def root(project):
    """A collection whose Portuguese catalog is there and complete."""
    root = project(a=CHAPTER)
    assert main(["messages", "--start", "pt"], root) == 0
    catalog = read(root / A_PO)
    for entry in catalog:
        entry.msgstr = f"«{entry.msgid}»"
    catalog.save(str(root / A_PO))
    assert main(["messages"], root) == 0
    return root


def change(root, old, new):
    """Change the chapter and update its catalogs twice, which is the same as once."""
    path = root / "chapters" / "a.md"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    assert main(["messages"], root) == 0
    before = (root / A_PO).read_bytes()
    assert main(["messages"], root) == 0
    assert (root / A_PO).read_bytes() == before


def entry(root, start, obsolete=False):
    [found] = [
        entry
        for entry in read(root / A_PO)
        if entry.msgid.startswith(start) and entry.obsolete == obsolete
    ]
    return found


def test_a_template_says_where_a_message_stands(project):
    [chapter] = load(project(a=CHAPTER) / "chapters")
    found = entries(template(chapter))
    assert [key for key in found if key[1] == "open"] == [("cell|verb", "open"), ("cell", "open")]
    label = found["label", "Fast"]
    lines = chapter.path.read_text().splitlines()
    assert "sec-title (pytorch)\nsec-title (tensorflow)" in label.comment
    shown = [lines[int(line) - 1] for _, line in label.occurrences]
    assert shown == ['print("Fast")  # a comment', 'print("Fast")']
    assert ("description", "what it teaches") in found
    assert len(found) == len({(m.context.kind, m.context.note, m.text) for m in chapter.messages})


def test_what_a_translator_wrote_besides_stays(root, capsys):
    catalog = read(root / A_PO)
    catalog.metadata["Last-Translator"] = "Ana <ana@example.org>"
    catalog[0].tcomment = "glossary: on purpose (layer)\nand more"
    catalog[0].flags.append("fuzzy")  # a doubt
    catalog.save(str(root / A_PO))
    before = (root / A_PO).read_bytes()
    capsys.readouterr()
    assert main(["messages"], root) == 0
    assert capsys.readouterr().out == ""
    assert (root / A_PO).read_bytes() == before
    header = read(root / A_PO).metadata
    assert header["Language"] == "pt_BR"
    assert header["Plural-Forms"] == "nplurals=2; plural=(n > 1);"
    assert [language.code for language in present(root)] == ["en", "pt"]


def test_a_changed_sentence_becomes_fuzzy_and_a_change_taken_back_is_none(root):
    before = (root / A_PO).read_bytes()
    for old, new in (("stands here.", "stands here now."), ("here now.", "at this place now.")):
        change(root, old, new)
        found = entry(root, "The first")
        assert found.fuzzy
        assert found.msgid.endswith(new)
        assert found.previous_msgid == SENTENCE  # what was translated, after two changes, too
        assert found.msgstr == f"«{SENTENCE}»"
    change(root, "stands at this place now.", "stands here.")
    assert (root / A_PO).read_bytes() == before


def test_a_removed_message_is_kept_and_comes_back(root):
    change(root, SENTENCE, "Nothing of it was left over.")
    assert entry(root, "The first", obsolete=True).msgstr == f"«{SENTENCE}»"
    assert entry(root, "Nothing").msgstr == ""
    change(root, "Nothing of it was left over.", SENTENCE)
    assert entry(root, "The first").msgstr == f"«{SENTENCE}»"
    assert not entry(root, "The first").fuzzy


def test_the_same_text_elsewhere_is_fuzzy(root):
    change(root, SENTENCE, f"- {SENTENCE}")
    found = entry(root, "The first")
    assert (found.msgctxt, found.previous_msgctxt, found.fuzzy) == ("item", "paragraph", True)


def test_nothing_is_lost_whatever_happens(root):
    """Every translation is somewhere in the merged catalog, in use or obsolete."""
    old = read(root / A_PO)
    texts = {entry.msgstr for entry in old}
    for keep in range(len(old)):
        [chapter] = load(root / "chapters")
        fresh = template(chapter)
        del fresh[keep:]
        merged = merge(fresh, read(root / A_PO), LANGUAGES["pt"], "a")
        assert {entry.msgstr for entry in merged} == texts


def test_a_catalog_that_is_none(root, capsys):
    (root / A_PO).write_text("This is no catalog.\n")
    with pytest.raises(CatalogError, match=r"LC_MESSAGES/a\.po:1: "):
        read(root / A_PO)
    for command in ("messages", "check", "build"):
        assert main([command], root) == 1
        assert "a.po" in capsys.readouterr().err
