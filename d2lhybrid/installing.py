"""The command that installs more of d2lhybrid: every hint takes it from here."""

import json
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]


def install_command(extra: str) -> str:
    """What to type for an extra such as "torch", from where this d2lhybrid came.

    >>> install_command("torch").startswith("pip install")
    True
    """
    if (_ROOT / "pyproject.toml").is_file():
        return f'pip install --editable "{_ROOT}[{extra}]"'
    source = _source()
    place = f" @ {source}" if source else ""
    return f'pip install "d2lhybrid[{extra}]{place}"'


def _source() -> str:
    """Where pip found this package, as it noted (PEP 610); empty where it came from an index."""
    try:
        noted = json.loads(distribution("d2lhybrid").read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        return ""
    url = str(noted.get("url", ""))
    version = noted.get("vcs_info")
    return f"{version['vcs']}+{url}@{version['commit_id']}" if version else url
