"""Stage 3: the cell at a notebook's top that installs what it needs on a machine that lacks it.

Where all is there, as after `make setup`, it looks for three packages and does nothing. It takes
the package from the copy of the repository around the notebook; a notebook alone, as in Colab, from
the public address, where the project names one.
"""

import tomllib
from pathlib import Path

from book.draft import Cell
from book.frameworks import Framework
from book.languages import Language

TAG = "set-up"
_CODE = """\
# {why}
from importlib.util import find_spec
from pathlib import Path

if not all(map(find_spec, ("d2lhybrid", "{module}", "matplotlib"))):
    sources = [copy.as_uri() for copy in Path.cwd().parents if (copy / "d2lhybrid").is_dir()]
{otherwise}
    %pip install "d2lhybrid[{module}] @ {{sources[0]}}" matplotlib\
"""
_PUBLIC = '    sources.append("git+{url}")'
_NOWHERE = '    assert sources, "{nowhere}"'


def installation(framework: Framework, language: Language, url: str) -> Cell:
    """The cell; ``url`` is the repository's public address, or empty.

    Its id is the same for all languages, frameworks and addresses.
    """
    otherwise = _PUBLIC.format(url=url) if url else _NOWHERE.format(nowhere=language.nowhere)
    code = _CODE.format(why=language.installs, module=framework.module, otherwise=otherwise)
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
