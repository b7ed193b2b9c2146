"""The catalogs of what the package says: extraction, merge, and everything that is wrong."""

import ast
from pathlib import Path

import polib
import pytest
from book_samples import change_entries

from book.glossary import Term
from book.languages import LANGUAGES
from book.package import audit, catalog_path, update

ROOT = Path(__file__).resolve().parents[2]
SOURCE = """
from d2lhybrid.core.i18n import gettext as _, ngettext, noop as N_

REASON = N_("there is no layer")

def f(n, x):
    # Translators: the heading of a column.
    print(_("size"), ngettext("{n} file", "{n} files", n))
    raise ValueError(
        _(
            "Expected a number of at most 10 MB in {path!r}. "
            "Received: {x:.3g}. Call save() again."
        ).format(path="d", x=x)
    )
"""
LONG = "Expected a number of at most 10 MB in {path!r}. Received: {x:.3g}. Call save() again."
PT = {
    LONG: "Esperado: no máximo 10 MB em {path!r}. Recebido: {x:.3g}. Chame save() outra vez.",
    "there is no layer": "não há camada",
    "size": "tamanho",
    "{n} file": ["{n} arquivo", "{n} arquivos"],
}
PO = catalog_path(LANGUAGES["pt"])
TERMS = [Term("layer", {"pt": "camada"}, ("estrato",))]


@pytest.fixture
def root(tmp_path, told):
    """A package with a complete Portuguese catalog."""
    (tmp_path / "d2lhybrid").mkdir()
    (tmp_path / "d2lhybrid" / "a.py").write_text(SOURCE)
    told("messages", "--start", "pt")
    translate(tmp_path, PT)
    assert problems(tmp_path) == []
    return tmp_path


def translate(root, texts):
    change_entries(root / PO, texts)
    list(update(root))


def problems(root):
    return list(map(str, audit(root, TERMS)))


def edit(root, old, new):
    path = root / "d2lhybrid" / "a.py"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


@pytest.mark.parametrize(
    ("old", "new"), [("Received: {x", "Found: {x"), ('"{n} files"', '"{n} files of it"')]
)
def test_a_changed_message_is_stale_until_it_is_taken_back(root, old, new):
    edit(root, old, new)
    for _turn in range(2):
        list(update(root))
        [stale] = problems(root)
        assert "fuzzy" in stale
        compiled = polib.mofile(str((root / PO).with_suffix(".mo")))
        assert len(compiled) == 3  # a reader gets the new English, not the old translation
    edit(root, new, old)
    list(update(root))
    assert problems(root) == []


def test_check_names_problems_of_package_and_chapters(root, project, told):
    change_entries(root / PO, {"size": "dimensão"})
    [problem] = problems(root)
    assert "not compiled" in problem
    (root / PO).with_suffix(".mo").unlink()
    assert problems(root) == [problem]
    project(a="no chapter")
    said = told("check", status=1).err
    assert "chapters/a.md" in said
    assert "not compiled" in said
    (root / "chapters" / "a.md").unlink()
    list(update(root))
    told("check")


def test_no_message_stands_where_the_extraction_cannot_see_it():
    # It reads tokens, and before Python 3.12 an f-string is one token with all that it calls.
    hidden = [
        f"{path.name}:{call.lineno}"
        for path in sorted((ROOT / "d2lhybrid").rglob("*.py"))
        for string in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(string, ast.JoinedStr)
        for call in ast.walk(string)
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") in ("_", "N_", "ngettext")
        if any(isinstance(said, ast.Constant) for said in call.args)
    ]
    assert hidden == []
