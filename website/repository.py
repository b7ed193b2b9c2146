"""Where the collection can be had: the one address that all outside links are made from."""

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from book.installation import project_url
from website.errors import SiteError

BRANCH = "main"


@dataclass(frozen=True)
class Repository:
    """A public repository, such as ``https://github.com/owner/name``."""

    url: str
    branch: str = BRANCH

    def __post_init__(self) -> None:
        if not re.fullmatch(r"https://[\w.-]+(/[\w.~-]+){2,}", self.url):
            raise SiteError(
                f"Expected a repository's address, https://host/owner/name. Received: {self.url!r}."
                f" Correct Repository under [project.urls] in pyproject.toml."
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


def find_repository(root: Path) -> Repository | None:
    """The repository that pyproject.toml names; None where it names none.

    Raises SiteError where it names something else.
    """
    url = project_url(root)
    return Repository(url) if url else None
