"""The preview: what was saved shows, what is behind is marked, what is wrong is said."""

import json
import re
import shutil
import socket
import time
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

import polib
import pytest
from test_parts import CHAPTER, ROOT

from book.__main__ import main as book
from book.files import Key
from book.languages import LANGUAGES
from website.errors import SiteError
from website.watch import PORT, Preview, main, read_key, serving


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A collection of one chapter with a Portuguese catalog."""
    (tmp_path / "chapters").mkdir()
    (tmp_path / "chapters/one.md").write_text(CHAPTER, encoding="utf-8")
    (tmp_path / "README.md").write_text("# Readme\n")
    (tmp_path / "translations").mkdir()
    (tmp_path / "translations/glossary.csv").write_text("en,pt,zh,ja,never\n", encoding="utf-8")
    assert book(["messages", "--start", "pt"], tmp_path) == 0
    return tmp_path


def page(preview: Preview) -> str:
    return (preview.pages / preview.page).read_text(encoding="utf-8")


def test_what_is_saved_shows_and_what_is_wrong_is_said(root: Path) -> None:
    preview = Preview(root, Key("en", "pytorch", "one"), root / "preview")
    preview.build()
    assert (preview.builds, preview.problem) == (1, "")
    assert "Only for" in page(preview)
    chapter = root / "chapters/one.md"
    chapter.write_text(CHAPTER.replace("More.", "Much more."), encoding="utf-8")
    preview.build()
    assert preview.builds == 2
    assert "Much more." in page(preview)
    chapter.write_text(CHAPTER.replace("(#sec-first)", "(#sec-none)"), encoding="utf-8")
    with serving(preview, port=0) as address:
        preview.build()
        assert "sec-none" in preview.problem
        site = address.removesuffix(preview.page)
        with urllib.request.urlopen(site + "state") as answer:
            state = json.load(answer)
        with urllib.request.urlopen(address) as answer:
            shown = answer.read().decode()
    assert state == {"builds": 2, "problem": preview.problem}
    assert "Much more." in shown
    assert "/state" in shown


def test_what_is_behind_has_the_english_beside_it(root: Path) -> None:
    path = root / "translations/pt/LC_MESSAGES/one.po"
    catalog = polib.pofile(str(path))
    done = next(entry for entry in catalog if entry.msgid == "Do it.")
    old = next(entry for entry in catalog if entry.msgid == "More.")
    done.msgstr, old.msgstr, old.flags = "Faça isso.", "Mais ainda.", ["fuzzy"]
    catalog.save()
    preview = Preview(root, Key("pt", "mxnet", "one"), root / "preview")
    preview.build()
    text = page(preview)
    assert "Faça isso." in text
    assert "Do it." not in text
    assert f"{LANGUAGES['pt'].stale}</strong> Mais ainda. ⟦en: More.⟧" in text
    assert f"{LANGUAGES['pt'].untranslated}</strong> Done." in text


def test_a_changed_sentence_keeps_its_translation_beside_it(root: Path) -> None:
    path = root / "translations/pt/LC_MESSAGES/one.po"
    catalog = polib.pofile(str(path))
    saved = {
        "See [the first](#sec-first).": "Veja [a primeira](#sec-first).",
        "What is printed": "O que se imprime",
        "It prints 1.": "Mostra 1.",
        "A line that stands for itself": "Uma linha só",
    }
    chapter = root / "chapters/one.md"
    figure = (
        ":::{figure-md} fig-one\n![A line that stands for itself](figures/one.svg)\n\nIt.\n:::\n"
    )
    code = ":labels: [What is printed]\n# It prints 1.\nprint('What is printed')"
    text = CHAPTER.replace("print(1)", code).replace("## Exercises", f"{figure}\n## Exercises")
    (root / "chapters/figures").mkdir()
    (root / "chapters/figures/one.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"/>')
    chapter.write_text(text, encoding="utf-8")
    assert book(["messages"], root) == 0
    catalog = polib.pofile(str(path))
    for entry in catalog:
        entry.msgstr = saved.get(entry.msgid, "")
    catalog.save()
    preview = Preview(root, Key("pt", "pytorch", "one"), root / "preview")
    preview.build()
    assert (preview.builds, preview.problem) == (1, "")
    for old, new in (
        ("See [the first]", "See `now` [the first]"),
        ("# It prints 1.", "# It prints 22."),
        ("What is printed", "What is now printed"),
        ("stands for itself", "stands all for itself"),
    ):
        text = text.replace(old, new)
    chapter.write_text(text, encoding="utf-8")
    preview.build()
    assert (preview.builds, preview.problem) == (2, "")
    shown = re.sub(r"<[^>]*>", "", page(preview))
    stale = LANGUAGES["pt"].stale
    assert f"{stale} Veja a primeira. ⟦en: See now the first.⟧" in shown
    assert f"# {stale} Mostra 1. ⟦en: It prints 22.⟧" in shown
    assert f"{stale} O que se imprime" in shown
    assert "O que se imprime ⟦" not in shown
    assert f"{stale} Uma linha só ⟦en: A line that stands all for itself⟧" in page(preview)


def test_it_says_why_a_translation_is_not_used(root: Path) -> None:
    path = root / "translations/pt/LC_MESSAGES/one.po"
    catalog = polib.pofile(str(path))
    wrong = next(entry for entry in catalog if entry.msgid == "Done.")
    wrong.msgstr = "Feito em 3 s."
    catalog.save()
    preview = Preview(root, Key("pt", "mxnet", "one"), root / "preview")
    preview.build()
    assert preview.builds == 1
    line = next(entry.linenum for entry in polib.pofile(str(path)) if entry.msgid == "Done.")
    place = f'translations/pt/LC_MESSAGES/one.po:{line}: paragraph "Done.": '
    assert place + "numbers: expected nothing more, found 3." in preview.problem
    assert f"{LANGUAGES['pt'].untranslated}</strong> Done." in page(preview)
    wrong.msgstr = "Feito."
    catalog.save()
    preview.build()
    assert (preview.builds, preview.problem) == (2, "")


def test_a_second_preview_takes_the_next_port(root: Path) -> None:
    preview = Preview(root, Key("en", "pytorch", "one"), root / "preview")
    with serving(preview) as first, serving(preview) as second:
        ports = [int(urlsplit(address).port or 0) for address in (first, second)]
        assert PORT <= ports[0] < ports[1]


def test_no_port_is_left(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("website.watch._PORTS", 1)
            assert main(["en/pytorch/one", "--port", str(port)], root) == 1
    assert f"Expected a free port among {port} to {port}" in capsys.readouterr().err


def test_what_an_editor_keeps_for_itself_is_no_source(root: Path) -> None:
    preview = Preview(root, Key("en", "pytorch", "one"), root / "preview")
    before = preview.sources()
    catalogs = root / "translations/pt/LC_MESSAGES"
    for path in (root / "chapters/.one.md.swp", root / "chapters/one.md~", catalogs / ".#one.po"):
        path.write_text("")
    (root / "chapters/.#one.md").symlink_to("somebody@here.4711")  # Emacs: it leads nowhere
    assert preview.sources() == before
    preview.build()
    assert (preview.builds, preview.problem) == (1, "")


def test_which_notebook(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert read_key("", root) == Key("en", "pytorch", "one")
    assert read_key("ja", root) == Key("ja", "pytorch", "one")
    assert read_key("pt/mxnet/one", root) == Key("pt", "mxnet", "one")
    with pytest.raises(SiteError, match="Expected language/framework/chapter"):
        read_key("mxnet", root)
    assert main(["pt/caffe"], root) == 1
    assert "caffe" in capsys.readouterr().err
    preview = Preview(root, Key("en", "tensorflow", "one"), root / "preview")
    preview.build()
    assert "tensorflow" in preview.problem


def test_a_saved_sentence_costs_little(tmp_path: Path) -> None:
    for folder in ("chapters", "translations"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    preview = Preview(tmp_path, Key("ja", "pytorch", "hybridize"), tmp_path / "preview")
    preview.build()
    chapter = tmp_path / "chapters/hybridize.md"
    spent = []
    for at in range(3):
        before, end, after = chapter.read_text(encoding="utf-8").rpartition("::::")
        chapter.write_text(f"{before}\nMore {at}.\n{end}{after}", encoding="utf-8")
        start = time.process_time()
        preview.build()
        spent.append(time.process_time() - start)
        assert (preview.builds, preview.problem) == (at + 2, "")
    assert min(spent) < 2, spent
