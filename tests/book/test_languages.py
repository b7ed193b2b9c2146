"""Notebooks in several languages: complete, or marked, or refused with the list."""

from pathlib import Path

import pytest
from book_samples import FRONT, cell, change_entries, po

from book.build import build
from book.errors import BookError, CatalogError
from book.files import Key

CODE = cell('print("Fast")  # a comment', ':labels: ["Fast"]\n')
EXERCISE = ":::{exercise} ex-one\nDo it.\n:::\n"
CHAPTER = f"{FRONT}(sec-title)=\n# Title\n\nA layer is slow.\n\n- an item\n\n{CODE}{EXERCISE}"
TRANSLATIONS = {
    "Title": ("Título", "标题", "題名"),
    "A layer is slow.": ("Uma camada é lenta.", "一个层很慢。", "層は遅いです。"),
    "an item": ("um item", "一项", "項目"),
    "Fast": ("Rápido", "快", "速い"),
    "a comment": ("um comentário", "注释", "注釈"),
    "Do it.": ("Faça.", "做一做。", "やってみてください。"),
}
CODES = ("pt", "zh", "ja")


@pytest.fixture
def root(project, told):
    """A collection that is complete in four languages."""
    root = project(a=CHAPTER, b=FRONT + "# Title\n")
    glossary = root / "translations/glossary.csv"
    glossary.parent.mkdir()
    glossary.write_text("en,pt,zh,ja,never\nlayer,camada,层,層,couche\n", encoding="utf-8")
    told("messages", "--start", *CODES)
    for number, code in enumerate(CODES):
        for chapter in ("a", "b"):
            texts = {english: found[number] for english, found in TRANSLATIONS.items()}
            change_entries(po(root, code, chapter), texts)
    return root


def text(built, code):
    return "\n".join(cell.source for cell in built.notebooks[Key(code, "pytorch", "a")].cells)


def problems(root):
    with pytest.raises(CatalogError) as caught:
        build(root)
    return str(caught.value).splitlines()


def test_a_language_without_catalogs_is_not_built(root):
    assert {key.language for key in build(root).notebooks} == {"en", *CODES}
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
    path.write_text(path.read_text().replace("order: 1", "order: 1\ndescription: all of it", 1))
    built = build(root, "en")
    page = built.files[Path("notebooks/README.pt.md")].decode()
    assert "| **Título**<br>(ainda não traduzido) all of it | [abrir](pt/pytorch/a.ipynb) |" in page
    assert "\n```bash\nD2LHYBRID_LANGUAGE=pt make lab\n```\n" in page
    assert "\n```bash\nmake lab\n```\n" in built.files[Path("notebooks/README.md")].decode()
    for name, content in built.files.items():
        if name.suffix == ".md":
            for key in built.notebooks:
                path = Key(name.stem.partition(".")[2] or "en", key.framework, key.chapter).path
                assert f"({path.relative_to('notebooks')})" in content.decode()


def test_a_changed_sentence_names_what_is_behind(root, told):
    """Stale is visible: before catalogs are updated, and after."""
    path = root / "chapters" / "a.md"
    path.write_text(path.read_text().replace("is slow.", "is very slow."))
    line = path.read_text().splitlines().index("A layer is very slow.") + 1
    shown = told("check", status=1).err
    assert "translations/a.pot:1: behind chapters/a.md" in shown
    for code in CODES:
        file = f"translations/{code}/LC_MESSAGES/a.po"
        assert f'{file}:1: behind chapters/a.md:{line}, paragraph "A layer is very slow."' in shown
        assert 'paragraph "A layer is slow.": no longer' in shown
    told("build", status=1)
    told("build", "--language", "en")  # English can go ahead
    assert not (root / "notebooks/pt").exists()
    told("messages")
    found = [line for line in told("check", status=1).err.splitlines() if "fuzzy" in line]
    for code, shown in zip(sorted(CODES), found, strict=True):
        assert shown.startswith(f"translations/{code}/LC_MESSAGES/a.po:")
        lines = po(root, code).read_text().splitlines()[int(shown.split(":")[1]) - 1 :]
        assert any("A layer is very slow." in line for line in lines[:8])


def test_a_build_with_gaps_shows_and_marks_them(root, told):
    change_entries(po(root, "zh"), {"A layer is slow.": ""})
    old = {"Do it.": "做做看。", "Fast": "", "an item": "[一项](#nowhere)"}
    change_entries(po(root, "zh"), old, flags=["fuzzy"])
    assert len(problems(root)) == 4
    shown = text(build(root, partial=True), "zh")
    assert "**（尚未翻译）** A layer is slow." in shown
    assert "**（译自旧版原文）** 做做看。" in shown
    assert 'print("（尚未翻译） Fast")  # 注释' in shown
    assert "- **（尚未翻译）** an item" in shown
    told("build", "--partial")


@pytest.mark.parametrize(
    ("msgstr", "expected"),
    [
        ("", "not translated"),
        ("Uma `camada` é lenta.", "code: expected nothing more, found camada"),
        ("Um nível é lento.", "'layer' is 'camada' in translations/glossary"),
    ],
)
def test_a_problem_is_reported_with_its_place(root, msgstr, expected):
    change_entries(po(root), {"A layer is slow.": msgstr})
    found = problems(root)
    assert any(expected in problem for problem in found), found
    for problem in found:
        assert problem.startswith("translations/pt/LC_MESSAGES/a.po:")
        assert 'paragraph "A layer is slow.": ' in problem


def test_a_catalog_without_chapter(root):
    po(root).rename(po(root, "pt", "old"))
    assert any("old.po:1: there is no chapter old.md" in problem for problem in problems(root))
    assert any("a.po:1: behind chapters/a.md" in problem for problem in problems(root))
