"""Stage 3: the cell at a notebook's top that installs what it needs on a machine that lacks it.

Where all is there, as after `make setup`, it looks for three packages and does nothing. It takes
the package from where D2LHYBRID_SOURCE says, from the copy of the repository around the notebook,
or, alone, as in Colab, from the project's public address; without any of them it says what to set.
In the environment of `make lab` it installs nothing: there the reader has chosen the frameworks.
"""

import tomllib
from pathlib import Path

from book.draft import Cell
from book.frameworks import Framework
from book.languages import ENGLISH, Language

TAG = "set-up"
_VARIABLE = "D2LHYBRID_SOURCE"
_CODE = """\
# {why}
import os
import sys
from importlib.util import find_spec
from pathlib import Path

if not all(map(find_spec, ("d2lhybrid", "{module}", "matplotlib"))):
    copy = next((one for one in Path.cwd().parents if (one / "d2lhybrid").is_dir()), None)
    if copy and Path(sys.prefix) == copy / ".venv":
        raise ModuleNotFoundError("{absent}")
    source = os.environ.get("{variable}") or copy or "{url}"
    if not source:
        raise ModuleNotFoundError("{nowhere}")
    if Path(source).exists():
        source = Path(source).resolve().as_uri()
    %pip install "d2lhybrid[{module}] @ {{source}}" matplotlib\
"""


def installation(framework: Framework, language: Language, url: str) -> Cell:
    """The cell; ``url`` is the repository's public address, or empty.

    Its id is the same for all languages, frameworks and addresses.
    """
    absent = language.absent or ENGLISH.absent
    code = _CODE.format(
        why=language.installs,
        module=framework.module,
        variable=_VARIABLE,
        url=url and f"git+{url}",
        absent=absent.format(name=framework.name, command=f"make lab FRAMEWORK={framework.key}"),
        nowhere=language.nowhere.format(module=framework.module, variable=_VARIABLE),
    )
    metadata = {"tags": [TAG, "hide-input"], "jupyter": {"source_hidden": True}}
    return Cell("code", 1, [code], [TAG], metadata)


def is_installation(metadata: dict[str, object]) -> bool:
    """Is it this cell, by its metadata?"""
    tags = metadata.get("tags")
    return isinstance(tags, list) and TAG in tags


def project_url(root: Path) -> str:
    """The repository's address, as ``[project.urls]`` of pyproject.toml names it; or nothing."""
    file = root / "pyproject.toml"
    project = tomllib.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    urls = project.get("project", {}).get("urls", {})
    found = next((url for name, url in urls.items() if name.lower() == "repository"), "")
    return str(found).strip().removesuffix("/").removesuffix(".git")
