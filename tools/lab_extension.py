"""An extension of Jupyter's server: what the buttons of ``labextension/`` ask it for.

It says where JupyterLab is, for the site's links, and puts a notebook back to what it was.
"""

import json
from pathlib import Path
from typing import Any

import lab_copy
from jupyter_server.auth.decorator import allow_unauthenticated
from jupyter_server.base.handlers import JupyterHandler
from jupyter_server.utils import url_path_join
from tornado import web


class Here(JupyterHandler):
    """Where JupyterLab opens files: for a page of the site, which may come from anywhere."""

    @allow_unauthenticated
    def get(self) -> None:
        """Nothing of the reader's is in the answer."""
        self.set_header("Access-Control-Allow-Origin", "*")
        base = f"{self.request.protocol}://{self.request.host}"
        self.finish({"lab": base + url_path_join(self.base_url, "lab/tree/")})


class Reset(JupyterHandler):
    """A notebook becomes what it was at first."""

    @web.authenticated
    def post(self) -> None:
        """The path comes as JSON; 404 where the collection has no such notebook."""
        path = str(json.loads(self.request.body)["path"])
        if not lab_copy.reset(Path(self.settings["server_root_dir"]).expanduser(), path):
            self.set_status(404)
        self.finish({})


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": "lab_extension"}]


def _load_jupyter_server_extension(server: Any) -> None:
    base = url_path_join(server.web_app.settings["base_url"], "d2lhybrid")
    places = [(url_path_join(base, "here"), Here), (url_path_join(base, "reset"), Reset)]
    server.web_app.add_handlers(".*$", places)
