"""What `make lab` brings: the reader's language, and a copy of the notebooks for changes."""

import gettext
import re
from functools import partial
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import lab
import lab_copy
import nbformat
import pytest
from nbformat.sign import NotebookNotary

from book.files import NOTEBOOKS
from book.languages import LANGUAGES
from website.words import words

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize("code", LANGUAGES)
def test_front_pages_name_the_menu_as_the_interface_does(code):
    menu, item, *english = re.findall(r"\*(.+?)\*", LANGUAGES[code].run)
    said = gettext.NullTranslations()
    if code in lab.PACKS:
        pack = import_module(f"jupyterlab_language_pack_{lab.PACKS[code]}")
        locale = Path(str(pack.__file__)).parent / "locale"
        said = gettext.translation("jupyterlab", locale, [lab.PACKS[code]])
        assert english[-1] == "Run All Cells"  # for those who chose the English interface
    assert (menu, item) == (said.pgettext("menu", "Run"), said.gettext("Run All Cells"))


@pytest.mark.parametrize("said", [lab.words, words], ids=["buttons", "site"])
def test_words_are_the_same_in_every_language(said):
    english = said("en")
    for code in LANGUAGES:
        ours = said(code)
        assert list(ours) == list(english)
        assert code == "en" or ours != english
        for key, text in english.items():
            pieces = r"\{\w*\}|`[^`]+`"
            assert sorted(re.findall(pieces, ours[key])) == sorted(re.findall(pieces, text))
            assert bool(ours[key]) == bool(text) or key == "reference_note"
            assert code not in ("zh", "ja") or "\n" not in ours[key]


def test_documents_that_notebooks_lead_to_lie_beside_the_copy(tmp_path):
    lab_copy.bring_up_to_date(ROOT, tmp_path)
    linked = re.findall(
        r"\]\((?:\.\./)(docs/[^)#]+)", (ROOT / "chapters/faster.md").read_text("utf-8")
    )
    assert linked
    assert all((tmp_path / name).exists() for name in linked)


@pytest.fixture
def copied(tmp_path):
    """A small collection, and a reader's copy of it; updating tells the notebooks left behind."""
    one = SimpleNamespace(root=tmp_path / "originals", mine=tmp_path / "my")
    one.name, one.other = "notebooks/a.ipynb", "notebooks/en/b.ipynb"
    for name in (one.name, one.other):
        (one.root / name).parent.mkdir(parents=True, exist_ok=True)
        (one.root / name).write_text("first")
    one.update = partial(lab_copy.bring_up_to_date, one.root, one.mine)
    assert one.update() == []
    one.original, one.copy = one.root / one.name, one.mine / one.name
    return one


def test_jupyterlab_trusts_what_was_copied_and_no_more(copied, tmp_path, monkeypatch):
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "data"))
    source = next((ROOT / NOTEBOOKS).glob("*/*/*.ipynb"))
    copied.original.write_bytes(source.read_bytes())
    copied.update()
    notebook = nbformat.read(copied.copy, as_version=4)
    assert NotebookNotary().check_signature(notebook)
    notebook.cells[0].source += " "  # as somebody else might
    notebook.cells.append(nbformat.v4.new_code_cell("1"))
    assert not NotebookNotary().check_signature(notebook)


def test_a_readers_changes_outlive_a_new_original_until_a_reset(copied):
    copied.copy.write_text("the reader's")
    assert copied.update() == []
    for name in (copied.name, copied.other):
        (copied.root / name).write_text("second")
    assert copied.update() == [copied.name]
    assert copied.copy.read_text() == "the reader's"
    assert (copied.mine / copied.other).read_text() == "second"
    assert lab_copy.reset(copied.mine, copied.name, copied.root)
    assert copied.copy.read_text() == "second"
    copied.original.write_text("third")  # which it follows again
    assert copied.update() == []
    assert copied.copy.read_text() == "third"


def test_to_look_at_a_notebook_is_no_change(copied):
    text = '{{"cells": [{}], "metadata": {{"language_info": {{{}}}}}}}'
    copied.original.write_text(text.format(1, ""))
    copied.update()
    copied.copy.write_text(text.format(1, '"version": "3.12"'))
    copied.original.write_text(text.format(2, ""))
    assert copied.update() == []
    assert copied.copy.read_text() == copied.original.read_text()


def test_nothing_else_can_be_reset(copied):
    before = sorted(copied.mine.rglob("*"))
    for path in ("notebooks/none.ipynb", "../originals/notebooks/a.ipynb", "notebooks", ""):
        assert not lab_copy.reset(copied.mine, path, copied.root)
    assert sorted(copied.mine.rglob("*")) == before


def test_a_damaged_record_costs_no_changes(copied):
    copied.copy.write_text("the reader's")
    (copied.mine / ".copied.json").write_text("{")
    assert copied.update() == [copied.name]
    assert copied.copy.read_text() == "the reader's"
