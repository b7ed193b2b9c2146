"""What `make lab` brings: the reader's language, and notebooks that are saved as they were."""

import gettext
import json
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import nbformat
import pytest
from nbformat.sign import NotebookNotary

from book.files import NOTEBOOKS
from book.languages import LANGUAGES

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import lab  # noqa: E402
import lab_copy  # noqa: E402

LOCALE = "@jupyterlab/translation-extension:plugin"


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


def test_jupyter_reads_what_is_written(tmp_path, monkeypatch):
    from jupyter_server.config_manager import BaseJSONConfigManager

    lab.write_config(tmp_path, "zh")
    manager = BaseJSONConfigManager(config_dir=str(tmp_path / "labconfig"))
    assert manager.get("default_setting_overrides")[LOCALE] == {"locale": "zh_CN"}
    said = json.loads(manager.get("page_config")["d2lhybrid"])
    assert said == lab.words("zh") != lab.words("en")
    manager = BaseJSONConfigManager(config_dir=str(tmp_path / "jupyter_server_config.d"))
    extensions = manager.get("lab_extension")["ServerApp"]["jpserver_extensions"]
    assert extensions == {"lab_extension": True}


def test_an_unknown_language_is_named_and_left_aside():
    command = [sys.executable, str(ROOT / "tools/lab.py"), "--version"]
    environment = {"D2LHYBRID_LANGUAGE": "tlh", "PYTHONPATH": str(ROOT), "PATH": ""}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0
    assert "Expected one of en, pt, zh, ja in D2LHYBRID_LANGUAGE. Received: 'tlh'" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.fixture
def originals(tmp_path):
    """A small collection to copy from."""
    for name in ("a.ipynb", "en/b.ipynb"):
        file = tmp_path / "originals/notebooks" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"first {name}")
    return tmp_path / "originals"


def test_jupyterlab_trusts_what_was_copied_and_no_more(originals, tmp_path, monkeypatch):
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "data"))
    source = next((ROOT / NOTEBOOKS).glob("*/*/*.ipynb"))
    (originals / "notebooks/a.ipynb").write_bytes(source.read_bytes())
    lab_copy.bring_up_to_date(originals, tmp_path / "my")
    copied = nbformat.read(tmp_path / "my/notebooks/a.ipynb", as_version=4)
    assert NotebookNotary().check_signature(copied)
    copied.cells[0].source += " "  # as somebody else might
    copied.cells.append(nbformat.v4.new_code_cell("1"))
    assert not NotebookNotary().check_signature(copied)


def test_a_readers_changes_outlive_a_new_original(originals, tmp_path):
    mine = tmp_path / "my"
    assert lab_copy.bring_up_to_date(originals, mine) == []
    changed, left = mine / "notebooks/a.ipynb", mine / "notebooks/en/b.ipynb"
    changed.write_text("the reader's")
    assert lab_copy.bring_up_to_date(originals, mine) == []
    for name in ("a.ipynb", "en/b.ipynb"):
        (originals / "notebooks" / name).write_text("second")
    assert lab_copy.bring_up_to_date(originals, mine) == ["notebooks/a.ipynb"]
    assert changed.read_text() == "the reader's"
    assert left.read_text() == "second"


def test_to_look_at_a_notebook_is_no_change(originals, tmp_path):
    mine = tmp_path / "my"
    original = originals / "notebooks/a.ipynb"
    original.write_text('{"cells": [1], "metadata": {"language_info": {}}}')
    lab_copy.bring_up_to_date(originals, mine)
    looked_at = '{"cells": [1], "metadata": {"language_info": {"version": "3.12"}}}'
    (mine / "notebooks/a.ipynb").write_text(looked_at)
    original.write_text('{"cells": [2], "metadata": {"language_info": {}}}')
    assert lab_copy.bring_up_to_date(originals, mine) == []
    assert (mine / "notebooks/a.ipynb").read_text() == original.read_text()


def test_a_reset_notebook_is_the_original_and_follows_it_again(originals, tmp_path):
    mine = tmp_path / "my"
    lab_copy.bring_up_to_date(originals, mine)
    changed = mine / "notebooks/a.ipynb"
    changed.write_text("the reader's")
    (originals / "notebooks/a.ipynb").write_text("second")
    assert lab_copy.reset(mine, "notebooks/a.ipynb", originals)
    assert changed.read_text() == "second"
    (originals / "notebooks/a.ipynb").write_text("third")
    assert lab_copy.bring_up_to_date(originals, mine) == []
    assert changed.read_text() == "third"


def test_nothing_else_can_be_reset(originals, tmp_path):
    mine = tmp_path / "my"
    lab_copy.bring_up_to_date(originals, mine)
    before = sorted(mine.rglob("*"))
    for path in ("notebooks/none.ipynb", "../originals/notebooks/a.ipynb", "notebooks", ""):
        assert not lab_copy.reset(mine, path, originals)
    assert sorted(mine.rglob("*")) == before


def test_a_damaged_record_costs_no_changes(originals, tmp_path):
    mine = tmp_path / "my"
    lab_copy.bring_up_to_date(originals, mine)
    (mine / "notebooks/a.ipynb").write_text("the reader's")
    (mine / ".copied.json").write_text("{")
    assert lab_copy.bring_up_to_date(originals, mine) == ["notebooks/a.ipynb"]
    assert (mine / "notebooks/a.ipynb").read_text() == "the reader's"


def test_the_buttons_speak_every_language():
    english = lab.words("en")
    assert lab.words("eo") == english
    for code in LANGUAGES:
        ours = lab.words(code)
        assert ours.keys() == english.keys()
        assert code == "en" or ours != english
        for key, text in english.items():
            assert sorted(re.findall(r"\{\w+\}", ours[key])) == sorted(re.findall(r"\{\w+\}", text))
