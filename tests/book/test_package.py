"""The catalogs of what the package says: extraction, merge, and everything that is wrong."""

from collections.abc import Callable
from pathlib import Path

import polib
import pytest

from book.__main__ import main
from book.glossary import Term
from book.languages import LANGUAGES
from book.package import audit, catalog_path, template, update

SOURCE = """
from d2lhybrid.i18n import gettext as _, ngettext, noop as N_

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
def root(tmp_path: Path) -> Path:
    """A package with a complete Portuguese catalog."""
    (tmp_path / "d2lhybrid").mkdir()
    (tmp_path / "d2lhybrid" / "a.py").write_text(SOURCE)
    assert main(["messages", "--start", "pt"], tmp_path) == 0
    translate(tmp_path, PT)
    assert problems(tmp_path) == []
    return tmp_path


def translate(root: Path, texts: dict[str, str | list[str]]) -> None:
    catalog = polib.pofile(str(root / PO))
    for entry in catalog:
        text = texts.get(entry.msgid, entry.msgstr)
        if isinstance(text, list):
            entry.msgstr_plural = dict(enumerate(text))
        elif not entry.msgid_plural:
            entry.msgstr = text
    catalog.save()
    list(update(root))


def problems(root: Path) -> list[str]:
    return list(map(str, audit(root, TERMS)))


def edit(root: Path, old: str, new: str) -> None:
    path = root / "d2lhybrid" / "a.py"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def test_a_template_has_every_message_and_its_file(root: Path) -> None:
    found = {entry.msgid: entry for entry in template(root)}
    assert set(found) == set(PT)
    assert found["size"].comment == "the heading of a column."
    assert found["{n} file"].msgid_plural == "{n} files"
    assert {entry.occurrences[0] for entry in found.values()} == {("d2lhybrid/a.py", "")}


def test_an_update_is_idempotent_and_compiles(root: Path) -> None:
    assert list(update(root)) == []
    compiled = polib.mofile(str((root / PO).with_suffix(".mo")))
    assert {entry.msgid: entry.msgstr for entry in compiled}["size"] == "tamanho"
    assert polib.pofile(str(root / PO)).metadata["Language"] == "pt_BR"


def test_a_line_more_in_the_code_changes_no_catalog(root: Path) -> None:
    edit(root, "REASON", "\n\nREASON")
    assert list(update(root)) == []


def test_a_changed_sentence_is_named_and_its_translation_kept(root: Path) -> None:
    edit(root, "Received: {x", "Found: {x")
    assert [text for text in problems(root) if "missing" in text or "nobody says" in text]
    list(update(root))
    [stale] = problems(root)
    assert "fuzzy: revise it for the new English text, which was 'Expected a number" in stale
    compiled = polib.mofile(str((root / PO).with_suffix(".mo")))
    assert len(compiled) == 3  # a reader gets the new English, not the old translation
    edit(root, "Found: {x", "Received: {x")
    list(update(root))
    assert problems(root) == []


def test_a_changed_plural_is_stale_too(root: Path) -> None:
    edit(root, '"{n} files"', '"{n} files of it"')
    for _turn in range(2):
        list(update(root))
        [stale] = problems(root)
        assert "{n} file" in stale
        assert "fuzzy" in stale
    edit(root, '"{n} files of it"', '"{n} files"')
    list(update(root))
    assert problems(root) == []


def test_what_nobody_says_any_more_is_kept(root: Path) -> None:
    edit(root, ', ngettext("{n} file", "{n} files", n)', "")
    list(update(root))
    [gone] = polib.pofile(str(root / PO)).obsolete_entries()
    assert list(gone.msgstr_plural.values()) == PT["{n} file"]


@pytest.mark.parametrize(
    ("msgid", "text", "expected"),
    [
        ("size", "", "not translated"),
        ("{n} file", ["{n} arquivo", ""], "not translated"),
        (LONG, PT[LONG].replace("{x:.3g}", "{x}"), "code: expected {x:.3g}, found {x}"),
        (LONG, PT[LONG].replace("{path!r}", "{caminho!r}"), "expected {path!r}, found {caminho!r}"),
        (LONG, PT[LONG].replace("10 MB", "12 MB"), "numbers: expected 10"),
        (LONG, PT[LONG].replace(".3g}. ", ".3g} . "), "take it out"),
        ("there is no layer", "não há estrato", "must never appear"),
        ("size", "tamanho\nlinha", "line break"),
    ],
)
def test_what_is_wrong_with_a_translation(
    root: Path, msgid: str, text: str | list[str], expected: str
) -> None:
    translate(root, {msgid: text})
    found = problems(root)
    assert found
    assert any(expected in problem for problem in found), found
    assert all(problem.startswith(f"{PO}:") for problem in found)


def test_a_catalog_that_was_not_compiled(root: Path) -> None:
    catalog = polib.pofile(str(root / PO))
    catalog.find("size").msgstr = "dimensão"
    catalog.save()
    [problem] = problems(root)
    assert "d2lhybrid.mo:1: not compiled" in problem
    (root / PO).with_suffix(".mo").unlink()
    assert problems(root) == [problem]


def test_check_names_them_and_a_project_without_a_package_has_none(
    root: Path, project: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    translate(root, {"size": ""})
    assert main(["check"], root) == 1
    assert '"size": not translated' in capsys.readouterr().err
    project(a="no chapter")
    assert main(["check"], root) == 1
    said = capsys.readouterr().err
    assert "chapters/a.md" in said
    assert '"size": not translated' in said  # not only the first of the two
    (root / "chapters" / "a.md").unlink()
    translate(root, {"size": "tamanho"})
    assert main(["check"], root) == 0
