"""Stage 2: the project's documents, in English -> pages in ``docs/``."""

from pathlib import Path

# What a reader with a model wants, in this order; the other documents follow by name.
_FIRST = (
    *("worth-it", "cookbook", "why", "models", "measuring", "how-we-measure"),
    *("findings", "api", "installing"),
)
# Documents that lie outside docs/, and the names of their pages.
_OTHERS = {
    "CONTRIBUTING.md": "contributing",
    "translations/README.md": "translating",
    "benchmarks/README.md": "benchmarks",
    "SECURITY.md": "security",
    "CHANGELOG.md": "changelog",
}


def documents(root: Path) -> dict[str, str]:
    """The names of the documents' pages below ``en``, by the documents' paths."""
    first = {f"docs/{name}.md": place for place, name in enumerate(_FIRST)}
    inside = [path.relative_to(root).as_posix() for path in (root / "docs").glob("*.md")]
    inside.sort(key=lambda path: (first.get(path, len(first)), path))
    others = {path: name for path, name in _OTHERS.items() if (root / path).exists()}
    names = {path: Path(path).stem for path in inside} | others
    return {path: f"docs/{name}" for path, name in names.items()}
