"""README in other languages: made from the English page by a catalog, or refused with the list."""

import re
from pathlib import Path

import polib
import pytest
from book_samples import FRONT, change_entries, po
from processes import ROOT

from book.build import build
from book.errors import CatalogError
from book.languages import LANGUAGES
from book.readme import MARKED, parse, readme_path

PAGE = """# Fast?

**English** · [Português (Brasil)](README.pt.md)

It takes <!-- measured: eager -->1.5 ms<!-- end -->, says
[the first chapter](notebooks/en/jax/a.ipynb) of [all](notebooks/README.md).

<!-- measured: table -->

| a | b |
| --- | --- |
| 1 | 2 |

<!-- end -->

![Two bars](docs/images/cpu.en.svg)

```bash
make lab   # opens it
```

| You want | Go to |
|---|---|
| more | [a document](docs/a.md) |
"""
EAGER = "<!-- measured: eager --><!-- end -->"
TEXTS = {
    "Fast?": "Rápido?",
    f"It takes {EAGER}, says [the first chapter](notebooks/en/jax/a.ipynb) of "
    "[all](notebooks/README.md).": f"São {EAGER}, diz [o primeiro](notebooks/en/jax/a.ipynb) "
    "de [todos](notebooks/README.md).",
    "Two bars": "Duas barras",
    "opens it": "abre tudo",
    "You want": "Você quer",
    "Go to": "Veja (em inglês)",
    "more": "mais",
    "[a document](docs/a.md)": "[um documento](docs/a.md)",
    "Title": "Título",
}
PT = Path("README.pt.md")


@pytest.fixture
def root(project, told):
    """A collection whose README is complete in Portuguese."""
    root = project(a=FRONT + "# Title\n")
    (root / "README.md").write_text(PAGE, encoding="utf-8")
    (root / "translations").mkdir()
    (root / "translations/readme.pot").touch()
    told("messages", "--start", "pt")
    for name in ("a", "readme"):
        change_entries(po(root, "pt", name), TEXTS)
    return root


def made(root):
    """The Portuguese page."""
    return build(root).files[PT].decode()


def test_the_page(root):
    assert {slot.message.text for slot in parse(PAGE).slots} == TEXTS.keys() - {"Title"}
    page = made(root)
    assert page.startswith("# Rápido?\n\n[English](README.md) · **Português (Brasil)**\n")
    assert "[o primeiro](notebooks/pt/jax/a.ipynb) de [todos](notebooks/README.pt.md)" in page
    assert "![Duas barras](docs/images/cpu.pt.svg)" in page
    assert "\nD2LHYBRID_LANGUAGE=pt make lab   # abre tudo\n" in page
    assert "| mais | [um documento](docs/a.md) |" in page


def test_it_keeps_the_figures_that_it_has(root):
    (root / PT).write_text(f"{EAGER.replace('><', '>1,5 ms<')}\n", encoding="utf-8")
    assert "São <!-- measured: eager -->1,5 ms<!-- end -->, diz" in made(root)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"more": ""}, "not translated"),
        ({"opens it": "abre os 3"}, "numbers: expected nothing more, found 3"),
        ({"[a document](docs/a.md)": "[um](docs/b.md)"}, "links: expected docs/a.md, found"),
        ({key: "São 1,5 ms." for key in TEXTS if EAGER in key}, "code: expected <!-- measured"),
    ],
)
def test_what_is_missing_or_differs_is_named(root, changed, said):
    change_entries(po(root, "pt", "readme"), changed)
    with pytest.raises(CatalogError, match=said):
        build(root)


def test_a_page_that_is_behind_is_named(root, told):
    told("build")
    told("check", status=1)  # the notebooks were never executed
    page = (root / "README.md").read_text(encoding="utf-8")
    (root / "README.md").write_text(page.replace("more", "much more"), encoding="utf-8")
    said = told("check", status=1).err
    assert 'readme.po:1: behind README.md:24, cell "much more"' in said
    (root / "README.md").write_text(page, encoding="utf-8")
    (root / PT).write_text("# Rápido?\n", encoding="utf-8")
    assert "README.pt.md: differs from what the chapters make" in told("check", status=1).err


def test_a_language_without_a_link_is_named(root):
    page = (root / "README.md").read_text(encoding="utf-8")
    (root / "README.md").write_text(page.replace(" · [Português (Brasil)](README.pt.md)", " · "))
    with pytest.raises(CatalogError, match="other languages than there are"):
        build(root)


# The pages of this repository.

NOTES = {"pt": "inglês", "zh": "英文", "ja": "英語"}
IN_ENGLISH = re.compile(r"\]\((?:docs/[\w-]+|CHANGELOG|CONTRIBUTING|SECURITY)\.md")


def without_words(text):
    """What every language has: code without comments, link targets, marks."""
    code = re.findall(r"```\w*\n(.*?)```", text, re.DOTALL)
    bare = [re.sub(r" *# .*", "", block).replace("D2LHYBRID_LANGUAGE=", "") for block in code]
    bare = [re.sub(r"^\w\w make lab", "make lab", block, flags=re.MULTILINE) for block in bare]
    links = re.findall(r"\]\(([^)]+)\)", text)
    links = [re.sub(r"\.(?:pt|zh|ja|en)\b|/(?:pt|zh|ja|en)(?=/)", "", link) for link in links]
    marks = [match[2] for match in MARKED.finditer(text)]
    return bare, sorted(set(links) - {"README.md"}), sorted(marks)


@pytest.mark.parametrize("code", NOTES)
def test_a_translation_has_all_that_is_no_word(code):
    english, translated = (
        (ROOT / readme_path(LANGUAGES[one])).read_text(encoding="utf-8") for one in ("en", code)
    )
    assert without_words(translated) == without_words(english)


@pytest.mark.parametrize("code", NOTES)
def test_it_says_of_documents_that_they_are_in_english(code):
    text = (ROOT / readme_path(LANGUAGES[code])).read_text(encoding="utf-8")
    blocks = [block for block in text.split("\n\n") if IN_ENGLISH.search(block)]
    assert len(blocks) > 5
    assert not [block for block in blocks if NOTES[code] not in block]


@pytest.mark.parametrize("code", NOTES)
def test_so_do_chapters(code):
    for path in (ROOT / "translations" / code / "LC_MESSAGES").glob("*.po"):
        catalog = polib.pofile(str(path))
        linking = [one for one in catalog if "../docs/" in one.msgid and not one.obsolete]
        assert not [one.msgstr for one in linking if NOTES[code] not in one.msgstr]
