"""An extension of Jupyter's server: a notebook that was only looked at is saved as it was.

JupyterLab writes the reader's version of Python into every notebook that it opens, and saves it
two minutes later. The committed notebooks are the same for every version, so without this a look
at one would be a change for git and an error for ``make check``.
"""

from typing import Any

_VERSION_DEPENDENT = ("codemirror_mode", "nbconvert_exporter", "version")


def forget_version(model: dict[str, Any], **_more: Any) -> None:
    """Take out of a notebook of the collection what depends on the version of Python."""
    if model["type"] != "notebook" or "d2lhybrid" not in model["content"]["metadata"]:
        return
    for name in _VERSION_DEPENDENT:
        model["content"]["metadata"].get("language_info", {}).pop(name, None)


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": "lab_saving"}]


def _load_jupyter_server_extension(server: Any) -> None:
    server.contents_manager.register_pre_save_hook(forget_version)
