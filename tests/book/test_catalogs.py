"""Catalogs: what they ask translators, and that no translation is ever lost."""

import pytest
from book_samples import FULL, LIMITS, change_entries, po

from book.blocks import texts
from book.catalogs import merge, present, read, template
from book.errors import CatalogError
from book.languages import LANGUAGES
from book.parse import load

SENTENCE = "The first sentence of this part stands here."


@pytest.fixture
def root(project, told):
    """A collection whose Portuguese catalog is there and complete."""
    root = project(a=FULL, limits=LIMITS.replace("full.md", "a.md"))
    told("messages", "--start", "pt")
    change_entries(po(root), lambda text: f"«{text}»")
    told("messages")
    return root


@pytest.fixture
def change(root, told):
    """Changes the chapter and updates its catalogs twice, which is the same as once."""

    def change(old, new):
        path = root / "chapters" / "a.md"
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))
        told("messages")
        before = po(root).read_bytes()
        told("messages")
        assert po(root).read_bytes() == before

    return change


def entry(root, start, obsolete=False):
    every = [one for one in read(po(root)) if one.obsolete == obsolete]
    [found] = [one for one in every if one.msgid.startswith(start)]
    return found


def test_what_a_translator_wrote_besides_stays(root, told):
    catalog = read(po(root))
    catalog.metadata["Last-Translator"] = "Ana <ana@example.org>"
    catalog[0].tcomment = "glossary: on purpose (layer)\nand more"
    catalog[0].flags.append("fuzzy")  # a doubt
    catalog.save(str(po(root)))
    before = po(root).read_bytes()
    assert told("messages").out == ""
    assert po(root).read_bytes() == before
    header = read(po(root)).metadata
    assert header["Language"] == "pt_BR"
    assert header["Plural-Forms"] == "nplurals=2; plural=(n > 1);"
    assert [language.code for language in present(root)] == ["en", "pt"]


def test_a_changed_sentence_becomes_fuzzy_and_a_change_taken_back_is_none(root, change):
    before = po(root).read_bytes()
    for old, new in (("stands here.", "stands here now."), ("here now.", "at this place now.")):
        change(old, new)
        found = entry(root, "The first")
        assert found.fuzzy
        assert found.msgid.endswith(new)
        assert found.previous_msgid == SENTENCE  # what was translated, after two changes, too
        assert found.msgstr == f"«{SENTENCE}»"
    change("stands at this place now.", "stands here.")
    assert po(root).read_bytes() == before
    change(SENTENCE, f"- {SENTENCE}")  # the same text elsewhere
    found = entry(root, "The first")
    assert (found.msgctxt, found.previous_msgctxt, found.fuzzy) == ("item", "paragraph", True)


def test_a_removed_message_is_kept_and_comes_back(root, change):
    change(SENTENCE, "Nothing of it was left over.")
    assert entry(root, "The first", obsolete=True).msgstr == f"«{SENTENCE}»"
    assert entry(root, "Nothing").msgstr == ""
    change("Nothing of it was left over.", SENTENCE)
    assert entry(root, "The first").msgstr == f"«{SENTENCE}»"
    assert not entry(root, "The first").fuzzy


def test_nothing_is_lost_whatever_happens(root):
    """Every translation is somewhere in the merged catalog, in use or obsolete."""
    old = read(po(root))
    for keep in range(len(old)):
        fresh = template(texts(load(root / "chapters"))[0])
        del fresh[keep:]
        merged = merge(fresh, read(po(root)), LANGUAGES["pt"], "a")
        assert {entry.msgstr for entry in merged} == {entry.msgstr for entry in old}


def test_a_catalog_that_is_none(root, told):
    po(root).write_text("This is no catalog.\n")
    with pytest.raises(CatalogError, match=r"LC_MESSAGES/a\.po:1: "):
        read(po(root))
    for command in ("messages", "check", "build"):
        assert "a.po" in told(command, status=1).err
