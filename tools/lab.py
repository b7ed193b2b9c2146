"""Open JupyterLab on the reader's copy of the collection, in their language: ``make lab``.

What a reader runs and changes goes into ``my/notebooks`` (``lab_copy``), so the tracked notebooks
stay as they are. ``labextension/`` is what JupyterLab learns here, ``lab_extension`` its server.

The language, D2LHYBRID_LANGUAGE or the system's, chooses the front page and the default for
JupyterLab's own menus, over which the reader's choice there wins. Options are JupyterLab's.
"""

import json
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import lab_copy

from book.files import front_page_path
from book.languages import ENGLISH, LANGUAGES
from d2lhybrid.core.i18n import language

WORDS = Path(__file__).with_name("lab_words.json")
OVERRIDES = lab_copy.ROOT / "requirements/overrides.json"
# The languages of JupyterLab's language packs in requirements/lock.txt; English needs none.
PACKS = {"pt": "pt_BR", "zh": "zh_CN", "ja": "ja_JP"}


def all_words() -> dict[str, dict[str, str]]:
    """What ``make lab`` and its buttons say, by language."""
    found: dict[str, dict[str, str]] = json.loads(WORDS.read_text(encoding="utf-8"))
    return found


def words(code: str) -> dict[str, str]:
    """What they say in a language, or the English words for one without."""
    return all_words().get(code, all_words()["en"])


def defaults(code: str) -> dict[str, dict[str, object]]:
    """The settings that JupyterLab starts from where the reader has chosen nothing."""
    chosen: dict[str, dict[str, object]] = json.loads(OVERRIDES.read_text(encoding="utf-8"))
    chosen["@jupyterlab/translation-extension:plugin"] = {"locale": PACKS.get(code, "en")}
    return chosen


def write_config(folder: Path, code: str) -> None:
    """Write a folder of configuration for one run of JupyterLab; Jupyter merges it with others."""
    server = {"jpserver_extensions": {"lab_extension": True}}
    said = {"all": all_words(), "language": code}
    for name, content in {
        "labconfig/default_setting_overrides.json": defaults(code),
        "labconfig/page_config.json": {"d2lhybrid": json.dumps(said)},
        "jupyter_server_config.d/lab_extension.json": {"ServerApp": server},
    }.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content), encoding="utf-8")


def main() -> None:
    """Start JupyterLab with the options that this script was given."""
    from jupyterlab.labapp import LabApp

    code = language()
    say = words(code)
    kept = lab_copy.bring_up_to_date()
    print(say["copy"].format(folder=lab_copy.FOLDER / lab_copy.NOTEBOOKS))
    if kept:
        print(say["kept"].format(names=", ".join(kept), reset=say["reset"]))
    with TemporaryDirectory() as folder:
        write_config(Path(folder), code)
        # What the reader's own folders say comes first.
        theirs = os.environ.get("JUPYTER_CONFIG_PATH", "").split(os.pathsep)
        os.environ["JUPYTER_CONFIG_PATH"] = os.pathsep.join([*filter(None, theirs), folder])
        page = front_page_path(LANGUAGES.get(code, ENGLISH))
        address = f"--LabApp.default_url=/lab/tree/{page.as_posix()}"
        root = f"--ServerApp.root_dir={lab_copy.FOLDER}"
        extensions = f"--LabApp.extra_labextensions_path={lab_copy.ROOT / 'tools/labextension'}"
        LabApp.launch_instance([address, root, extensions, *sys.argv[1:]])


if __name__ == "__main__":
    main()
