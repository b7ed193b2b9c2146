"""Notebooks in several languages: complete, or marked, or refused with the list."""

from pathlib import Path

import polib
import pytest
from book_samples import FRONT

from book.__main__ import main
from book.build import build
from book.errors import BookError, CatalogError
from book.files import Key

CHAPTER = """
(sec-title)=
# Title

A layer is slow.

- an item

```{code-cell} python
:labels: ["Fast"]
print("Fast")  # a comment
```

:::{exercise} ex-one
Do it.
:::
"""
TRANSLATIONS = {
    "Title": ("Título", "标题", "題名"),
    "A layer is slow.": ("Uma camada é lenta.", "一个层很慢。", "層は遅いです。"),
    "an item": ("um item", "一项", "項目"),
    "Fast": ("Rápido", "快", "速い"),
    "a comment": ("um comentário", "注释", "注釈"),
    "Do it.": ("Faça.", "做一做。", "やってみてください。"),
}
CODES = ("pt", "zh", "ja")


def po(root, code, chapter="a"):
    return root / f"translations/{code}/LC_MESSAGES/{chapter}.po"


@pytest.fixture
def root(project):
    """A collection that is complete in four languages."""
    root = project(a=FRONT + CHAPTER, b=FRONT + "# Title\n")
    (root / "translations").mkdir()
    (root / "translations/glossary.csv").write_text(
        "en,pt,zh,ja,never\nlayer,camada,层,層,couche\n"
    )
    assert main(["messages", "--start", *CODES], root) == 0
    for number, code in enumerate(CODES):
        for chapter in ("a", "b"):
            catalog = polib.pofile(str(po(root, code, chapter)))
            for entry in catalog:
                entry.msgstr = TRANSLATIONS[entry.msgid][number]
            catalog.save()
    return root


def set_text(root, code, msgid, msgstr, fuzzy=False):
    catalog = polib.pofile(str(po(root, code)))
    [entry] = [entry for entry in catalog if entry.msgid == msgid]
    entry.msgstr = msgstr
    entry.flags = ["fuzzy"] if fuzzy else []
    catalog.save()


def text(built, code):
    return "\n".join(cell.source for cell in built.notebooks[Key(code, "pytorch", "a")].cells)


def problems(root):
    with pytest.raises(CatalogError) as caught:
        build(root)
    return str(caught.value).splitlines()


def test_complete_languages_are_built(root):
    built = build(root)
    assert len(built.notebooks) == 4 * 3 * 2
    for number, code in enumerate(CODES):
        shown = text(built, code)
        for translations in TRANSLATIONS.values():
            assert translations[number] in shown
    assert 'print("Rápido")  # um comentário' in text(built, "pt")
    assert "**Exercício 1.** Faça." in text(built, "pt")
    assert "**练习 1** 做一做。" in text(built, "zh")
    assert "**演習1** やってみてください。" in text(built, "ja")


def test_a_language_without_catalogs_is_not_built(root):
    for path in po(root, "ja").parent.iterdir():
        path.unlink()
    built = build(root)
    assert {key.language for key in built.notebooks} == {"en", "pt", "zh"}
    assert Path("notebooks/README.ja.md") not in built.files
    assert "ja/" not in text(built, "en")
    with pytest.raises(BookError, match="messages --start ja"):
        build(root, "ja")


def test_the_front_pages(root):
    path = root / "chapters" / "a.md"
    path.write_text(path.read_text().replace("---\n\n", "description: all of it\n---\n\n", 1))
    built = build(root, "en")
    page = built.files[Path("notebooks/README.md")].decode()
    assert "**English** · [Português (Brasil)](README.pt.md)" in page
    assert "| **Title**<br>all of it | [open](en/pytorch/a.ipynb) |" in page
    page = built.files[Path("notebooks/README.pt.md")].decode()
    assert page.startswith("# Compiladores e interpretadores")
    assert "| **Título**<br>(ainda não traduzido) all of it | [abrir](pt/pytorch/a.ipynb) |" in page
    for name, content in built.files.items():
        if name.suffix == ".md":
            for key in built.notebooks:
                path = Key(name.stem.partition(".")[2] or "en", key.framework, key.chapter).path
                assert f"({path.relative_to('notebooks')})" in content.decode()


def test_a_changed_sentence_names_what_is_behind(root, capsys):
    """Stale is visible: before catalogs are updated, and after."""
    path = root / "chapters" / "a.md"
    path.write_text(path.read_text().replace("is slow.", "is very slow."))
    line = path.read_text().splitlines().index("A layer is very slow.") + 1
    assert main(["check"], root) == 1
    shown = capsys.readouterr().err
    assert "translations/a.pot:1: behind chapters/a.md" in shown
    for code in CODES:
        file = f"translations/{code}/LC_MESSAGES/a.po"
        assert f'{file}:1: behind chapters/a.md:{line}, paragraph "A layer is very slow."' in shown
        assert 'paragraph "A layer is slow.": no longer' in shown
    assert main(["build"], root) == 1
    assert main(["build", "--language", "en"], root) == 0  # English can go ahead
    assert not (root / "notebooks/pt").exists()
    assert main(["messages"], root) == 0
    capsys.readouterr()
    assert main(["check"], root) == 1
    fuzzy = [line for line in capsys.readouterr().err.splitlines() if "fuzzy" in line]
    for code, shown in zip(sorted(CODES), fuzzy, strict=True):
        assert shown.startswith(f"translations/{code}/LC_MESSAGES/a.po:")
        number = int(shown.split(":")[1])
        found = po(root, code).read_text().splitlines()[number - 1 :]
        assert any("A layer is very slow." in line for line in found[:8])


def test_a_build_with_gaps_shows_and_marks_them(root):
    set_text(root, "zh", "A layer is slow.", "")
    set_text(root, "zh", "Do it.", "做做看。", fuzzy=True)
    set_text(root, "zh", "Fast", "", fuzzy=True)
    set_text(root, "zh", "an item", "[一项](#nowhere)", fuzzy=True)
    assert len(problems(root)) == 4
    shown = text(build(root, partial=True), "zh")
    assert "**（尚未翻译）** A layer is slow." in shown
    assert "**（译自旧版原文）** 做做看。" in shown
    assert 'print("（尚未翻译） Fast")  # 注释' in shown
    assert "- **（尚未翻译）** an item" in shown
    assert main(["build", "--partial"], root) == 0


def test_a_problem_is_reported_with_its_place(root):
    wrong = {
        "": "not translated",
        "Uma `camada` é lenta.": "code: expected nothing more, found camada",
        "Um nível é lento.": "'layer' is 'camada' in translations/glossary",
    }
    for msgstr, expected in wrong.items():
        set_text(root, "pt", "A layer is slow.", msgstr)
        found = problems(root)
        assert any(expected in problem for problem in found), found
        for problem in found:
            assert problem.startswith("translations/pt/LC_MESSAGES/a.po:")
            assert 'paragraph "A layer is slow.": ' in problem


def test_a_catalog_without_chapter(root):
    po(root, "pt").rename(po(root, "pt", "old"))
    assert any("old.po:1: there is no chapter old.md" in problem for problem in problems(root))
    assert any("a.po:1: behind chapters/a.md" in problem for problem in problems(root))
