"""The reader's copy of the notebooks: ``my/notebooks``, beside the originals.

It is brought up to date each time JupyterLab starts, and never over a reader's changes:
``my/.copied.json`` remembers what was copied, so a file that is still that may be replaced. What
is copied is signed: JupyterLab takes the drawings out of notebooks that it does not trust.
"""

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "my"
NOTEBOOKS = "notebooks"
DOCUMENTS = "docs"  # to which notebooks lead
_RECORD = ".copied.json"
_LEFT_OUT = (".ipynb_checkpoints", "__pycache__")


def bring_up_to_date(root: Path = ROOT, folder: Path = FOLDER) -> list[str]:
    """Copy what is new; the files that are behind their originals because a reader changed them."""
    record = _read(folder)
    kept = []
    for name in _files(root):
        original, mine = (root / name).read_bytes(), folder / name
        copied, newest = record.get(name), _digest(original)
        if mine.exists() and _digest(mine.read_bytes()) not in (copied, newest):
            if copied != newest:
                kept.append(name)
            continue
        if copied != newest or not mine.exists():
            _copy(original, mine)
        record[name] = newest
    _write(folder, record)
    return kept


def reset(folder: Path, path: str, root: Path = ROOT) -> bool:
    """Make a file of the copy what its original is; False where there is no original."""
    name = PurePosixPath(path).as_posix()
    if name not in set(_files(root)):
        return False
    original = (root / name).read_bytes()
    _copy(original, folder / name)
    _write(folder, _read(folder) | {name: _digest(original)})
    return True


def _files(root: Path) -> Iterator[str]:
    """The originals, as paths below the root."""
    notebooks = sorted((root / NOTEBOOKS).rglob("*"))
    for path in (*notebooks, *sorted((root / DOCUMENTS).glob("*.md"))):
        if path.is_file() and not set(_LEFT_OUT) & set(path.parts):
            yield path.relative_to(root).as_posix()


def _copy(content: bytes, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_bytes() != content:
        beside = path.with_name(f".{path.name}.{os.getpid()}")
        beside.write_bytes(content)
        os.replace(beside, path)
        if path.suffix == ".ipynb":
            _sign(content)


def _sign(content: bytes) -> None:
    """Let JupyterLab show all that this notebook holds, as if the reader had run it."""
    import nbformat.sign

    # What is no notebook needs none; where the key cannot be kept, the text is there all the same.
    with suppress(OSError, ValueError, nbformat.ValidationError):
        nbformat.sign.NotebookNotary().sign(nbformat.reads(content.decode("utf-8"), as_version=4))


def _digest(content: bytes) -> str:
    """A digest of what the reader may have changed.

    JupyterLab writes the version of Python into each notebook that is looked at: that is no change.
    """
    with suppress(ValueError, AttributeError):
        notebook = json.loads(content)
        notebook.get("metadata", {}).pop("language_info", None)
        content = json.dumps(notebook, sort_keys=True).encode()
    return hashlib.sha256(content).hexdigest()


def _read(folder: Path) -> dict[str, str]:
    with suppress(OSError, ValueError):
        return dict(json.loads((folder / _RECORD).read_text(encoding="utf-8")))
    return {}


def _write(folder: Path, record: dict[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _RECORD).write_text(json.dumps(record, indent=1, sort_keys=True), encoding="utf-8")
