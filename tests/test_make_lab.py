"""What `make lab` brings: the reader's language, and notebooks that are saved as they were."""

import gettext
import json
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from book.assemble import LANGUAGE_INFO
from book.files import NOTEBOOKS, notebook_bytes, read_notebook
from book.frontpage import front_page_path
from book.languages import LANGUAGES

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import lab  # noqa: E402
import lab_saving  # noqa: E402

LOCALE = "@jupyterlab/translation-extension:plugin"


@pytest.mark.parametrize("code", LANGUAGES)
def test_each_language_has_its_front_page(code: str) -> None:
    assert lab.front_page(code) == front_page_path(LANGUAGES[code]).as_posix()
    assert (ROOT / lab.front_page(code)).is_file()


def test_a_language_without_front_page_gets_the_english_one() -> None:
    assert lab.front_page("eo") == "notebooks/README.md"


def test_the_interface_is_in_the_language_and_the_settings_of_the_set_up_stay() -> None:
    chosen = lab.defaults("ja")
    assert chosen.pop(LOCALE) == {"locale": "ja_JP"}
    assert chosen == json.loads(lab.OVERRIDES.read_text(encoding="utf-8"))
    assert lab.defaults("en")[LOCALE] == {"locale": "en"}


@pytest.mark.parametrize("code", LANGUAGES)
def test_front_pages_name_the_menu_as_the_interface_does(code: str) -> None:
    menu, item, *english = re.findall(r"\*(.+?)\*", LANGUAGES[code].run)
    words = gettext.NullTranslations()
    if code in lab.PACKS:
        pack = import_module(f"jupyterlab_language_pack_{lab.PACKS[code]}")
        locale = Path(str(pack.__file__)).parent / "locale"
        words = gettext.translation("jupyterlab", locale, [lab.PACKS[code]])
        assert english[-1] == "Run All Cells"  # for those who chose the English interface
    assert (menu, item) == (words.pgettext("menu", "Run"), words.gettext("Run All Cells"))


def test_jupyter_reads_what_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from jupyter_server.config_manager import BaseJSONConfigManager

    lab.write_config(tmp_path, "zh")
    manager = BaseJSONConfigManager(config_dir=str(tmp_path / "labconfig"))
    assert manager.get("default_setting_overrides")[LOCALE] == {"locale": "zh_CN"}
    manager = BaseJSONConfigManager(config_dir=str(tmp_path / "jupyter_server_config.d"))
    assert manager.get("lab_saving")["ServerApp"]["jpserver_extensions"] == {"lab_saving": True}


def test_an_unknown_language_is_named_and_left_aside() -> None:
    command = [sys.executable, str(ROOT / "tools/lab.py"), "--version"]
    environment = {"D2LHYBRID_LANGUAGE": "tlh", "PYTHONPATH": str(ROOT), "PATH": ""}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0
    assert "Expected one of en, pt, zh, ja in D2LHYBRID_LANGUAGE. Received: 'tlh'" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_saved_notebook_is_as_it_was() -> None:
    path = next((ROOT / NOTEBOOKS).glob("*/*/*.ipynb"))
    notebook: Any = read_notebook(path)
    notebook.metadata.language_info |= {
        "codemirror_mode": {"name": "ipython", "version": 3},
        "nbconvert_exporter": "python",
        "version": "3.12.1",
    }
    lab_saving.forget_version({"type": "notebook", "content": notebook}, path="", contents=None)
    assert notebook.metadata.language_info == LANGUAGE_INFO
    assert notebook_bytes(notebook) == path.read_bytes()


@pytest.mark.parametrize(
    "model",
    [
        {"type": "notebook", "content": {"metadata": {"language_info": {"version": "3"}}}},
        {"type": "notebook", "content": {"metadata": {}}},
        {"type": "file", "content": "version"},
        {"type": "directory"},
    ],
)
def test_what_is_not_of_the_collection_is_saved_as_it_is(model: dict[str, Any]) -> None:
    before = json.dumps(model)
    lab_saving.forget_version(model)
    assert json.dumps(model) == before
