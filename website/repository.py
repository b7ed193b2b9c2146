"""Where the collection can be had: the one address that all outside links are made from."""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from website.errors import RepositoryError

VARIABLE = "D2L_REPOSITORY"
"""The environment's word on the address; it goes before pyproject.toml's ``[project.urls]``."""

BRANCH = "main"


@dataclass(frozen=True)
class Repository:
    """A public repository, such as ``https://github.com/owner/name``."""

    url: str
    branch: str = BRANCH

    def __post_init__(self) -> None:
        if not re.fullmatch(r"https://[\w.-]+(/[\w.~-]+){2,}", self.url):
            raise RepositoryError(
                f"Expected a repository's address, https://host/owner/name. Received: {self.url!r}."
                f" Correct {VARIABLE}, or Repository under [project.urls] in pyproject.toml."
            )

    @property
    def host(self) -> str:
        """The name of the machine."""
        return self.url.split("/")[2]

    @property
    def name(self) -> str:
        """Owner and name, ``owner/name``."""
        return self.url.split("/", 3)[3]

    def file(self, path: str) -> str:
        """Where to look at a file or folder."""
        between = {"github.com": "blob", "gitlab.com": "-/blob"}.get(self.host, "src/branch")
        return f"{self.url}/{between}/{self.branch}/{quote(path)}"

    def colab(self, notebook: str) -> str | None:
        """A notebook in Colab, which takes it from GitHub only."""
        if self.host != "github.com":
            return None
        rest = f"{self.name}/blob/{self.branch}/{quote(notebook)}"
        return f"https://colab.research.google.com/github/{rest}"

    def binder(self, notebook: str) -> str:
        """A notebook in JupyterLab on Binder."""
        source = {
            "github.com": f"gh/{self.name}",
            "gitlab.com": f"gl/{quote(self.name, safe='')}",
        }.get(self.host, f"git/{quote(self.url, safe='')}")
        place = quote(f"lab/tree/{notebook}", safe="")
        return f"https://mybinder.org/v2/{source}/{quote(self.branch, safe='')}?urlpath={place}"


def find_repository(root: Path) -> Repository | None:
    """The repository that the settings name; None where they name none.

    Raises RepositoryError where they name something else.
    """
    url = os.environ.get(VARIABLE) or _project_url(root)
    return Repository(url.strip().removesuffix("/").removesuffix(".git")) if url else None


def _project_url(root: Path) -> str | None:
    text = (root / "pyproject.toml").read_text(encoding="utf-8")
    urls = re.search(r"^\[project\.urls\]\n((?:[^\[\n].*\n|\n)*)", text, re.MULTILINE)
    found = urls and re.search(r'^"?repository"?\s*=\s*"([^"]*)"', urls[1], re.M | re.IGNORECASE)
    return found[1] if found else None
