"""An extension of Jupyter's server: what the buttons of ``labextension/`` ask it for.

It says where JupyterLab is, for the site's links, and what the buttons are called in the reader's
language, and puts a notebook back to what it was.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

import lab_copy
from jupyter_server.auth.decorator import allow_unauthenticated
from jupyter_server.base.handlers import JupyterHandler
from jupyter_server.utils import url_path_join
from tornado import web

from d2lhybrid.i18n import language


@cache
def words(code: str) -> dict[str, str]:
    """The words of a language, or the English ones where it has none."""
    text = Path(__file__).with_name("lab_words.json").read_text(encoding="utf-8")
    found: dict[str, dict[str, str]] = json.loads(text)
    return found.get(code, found["en"])


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
    places = {"here": Here, "words": Words, "reset": Reset}
    base = server.web_app.settings["base_url"]
    server.web_app.add_handlers(
        ".*$",
        [(url_path_join(base, "d2lhybrid", name), handler) for name, handler in places.items()],
    )
