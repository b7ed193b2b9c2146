"""An extension of Jupyter's server: what it does for the notebooks of the collection.

JupyterLab writes the reader's version of Python into every notebook that it opens. So a notebook is
handed out with that version and saved without it: what was only looked at is not changed, neither
in JupyterLab's eyes nor on disk. The extension also says where JupyterLab is, for the site's links,
and puts a notebook back to what it was.
"""

import json
import platform
import sys
from pathlib import Path
from typing import Any

from jupyter_server.auth.decorator import allow_unauthenticated
from jupyter_server.base.handlers import JupyterHandler
from jupyter_server.utils import ensure_async, url_path_join
from tornado import web

from d2lhybrid.i18n import language

sys.path.insert(0, str(Path(__file__).parent))

import lab_copy
from lab_words import words


def version_dependent() -> dict[str, Any]:
    """What this version of Python adds to a notebook's ``language_info``."""
    return {
        "codemirror_mode": {"name": "ipython", "version": 3},
        "nbconvert_exporter": "python",
        "version": platform.python_version(),
    }


def _language_info(model: dict[str, Any]) -> dict[str, Any]:
    """The part of a notebook of the collection that depends on Python; empty for all else."""
    if model["type"] != "notebook" or not model.get("content"):
        return {}
    metadata = model["content"]["metadata"]
    found: dict[str, Any] = metadata.get("language_info", {}) if "d2lhybrid" in metadata else {}
    return found


def forget_version(model: dict[str, Any], **_more: Any) -> None:
    """Take out of a notebook that is saved what depends on the version of Python."""
    info = _language_info(model)
    for name in version_dependent():
        info.pop(name, None)


def note_version(model: dict[str, Any]) -> None:
    """Put into a notebook that is handed out what JupyterLab would put there."""
    info = _language_info(model)
    if info:
        info.update(version_dependent())


class Here(JupyterHandler):
    """Where JupyterLab opens files: for a page of the site, which may come from anywhere."""

    @allow_unauthenticated
    def get(self) -> None:
        """Nothing of the reader's is in the answer."""
        self.set_header("Access-Control-Allow-Origin", "*")
        base = f"{self.request.protocol}://{self.request.host}"
        self.finish({"lab": base + url_path_join(self.base_url, "lab/tree/")})


class Words(JupyterHandler):
    """What the buttons say, in the reader's language."""

    @web.authenticated
    def get(self) -> None:
        """All of it."""
        self.finish(words(language()))


class Reset(JupyterHandler):
    """A notebook becomes what it was at first."""

    @web.authenticated
    def post(self) -> None:
        """The path comes as JSON; 404 where the collection has no such notebook."""
        path = str(json.loads(self.request.body)["path"])
        if not lab_copy.reset(Path(self.settings["server_root_dir"]).expanduser(), path):
            self.set_status(404)
            self.finish(words(language())["reset_unknown"].format(path=path))
            return
        self.finish({})


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": "lab_extension"}]


def _load_jupyter_server_extension(server: Any) -> None:
    manager = server.contents_manager
    manager.register_pre_save_hook(forget_version)
    read = manager.get

    async def get(*arguments: Any, **options: Any) -> dict[str, Any]:
        model: dict[str, Any] = await ensure_async(read(*arguments, **options))
        note_version(model)
        return model

    manager.get = get
    places = {"here": Here, "words": Words, "reset": Reset}
    base = server.web_app.settings["base_url"]
    server.web_app.add_handlers(
        ".*$",
        [(url_path_join(base, "d2lhybrid", name), handler) for name, handler in places.items()],
    )
