"""Words in figures are translated like those of chapters, into one file for each language."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from book_samples import FRONT, change_entries, po

from book.build import build
from book.files import Key
from book.parse import load

WORDS = """\
<svg xmlns="http://www.w3.org/2000/svg" width="90" height="9" font-family="sans-serif">
  <!-- a remark -->
  <g fill="#222"><text x="1" y="2">  calls &amp;
    memory </text></g>
  <text x="1" y="3"><tspan x="1">leave Python</tspan>
    <tspan x="1" dy="2">out of it</tspan></text>
  <text>x</text><text>12 %</text><text translate="no">add</text>
  <g translate="no"><text>mul</text></g>
</svg>
"""
SHOWS = ":::{{figure-md}} fig-{name}\n![Alt text](figures/{name}.svg)\n\nCaption.\n:::\n\n"
BOTH = f"{FRONT}# Title\n\n{SHOWS.format(name='costs')}{SHOWS.format(name='flow')}"
AGAIN = FRONT + "# Title\n\n" + SHOWS.format(name="costs").replace("fig-costs", "fig-again")
CALLS, LEAVE = "calls & memory", "leave Python\nout of it"
TRANSLATIONS = {
    "Title": "Título",
    "Alt text": "Texto",
    "Caption.": "Legenda.",
    CALLS: "chamadas e memória",
    LEAVE: "deixar o Python\nde fora",
}


@pytest.fixture
def root(project, told):
    """A figure with words in two chapters, one without, and a language that has all of them."""
    root = project()
    (root / "chapters/figures/costs.svg").write_text(WORDS)
    project(a=BOTH, b=AGAIN)
    told("messages", "--start", "pt")
    for catalog in ("a", "b", "figures"):
        change_entries(po(root, chapter=catalog), TRANSLATIONS)
    return root


def shown(svg):
    """What readers see of each text, lines apart."""
    texts = ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
    return ["\n".join([one.text.strip() for one in (list(text) or [text])]) for text in texts]


def test_each_language_has_its_file_and_links_to_it(root):
    built = build(root)
    files = {path.name: content for path, content in built.files.items() if "figures" in path.parts}
    assert set(files) == {"flow.svg", "costs.en.svg", "costs.pt.svg"}
    assert files["flow.svg"] == (root / "chapters/figures/flow.svg").read_bytes()
    rest = ["x", "12 %", "add", "mul"]
    assert shown(files["costs.en.svg"]) == [CALLS, LEAVE, *rest]
    assert shown(files["costs.pt.svg"]) == [TRANSLATIONS[CALLS], TRANSLATIONS[LEAVE], *rest]
    assert b'xml:lang="pt-BR"' in files["costs.pt.svg"]
    assert b'<tspan x="1" dy="2">de fora</tspan>' in files["costs.pt.svg"]
    for key, notebook in built.notebooks.items():
        source = "\n".join(cell.source for cell in notebook.cells)
        leads = re.findall(r"!\[\w+(?: text)?\]\((.+?)\)", source)
        names = [f"costs.{key.language}.svg", *(["flow.svg"] if key.chapter == "a" else [])]
        assert leads == [f"../../figures/{name}" for name in names]
    ids = [
        [cell.id for cell in built.notebooks[Key(code, "pytorch", "a")].cells]
        for code in ("en", "pt")
    ]
    assert ids[0] == ids[1]


def test_translators_get_each_text_once_and_are_told_where_it_stands(root):
    template = (root / "translations/figures.pot").read_text()
    entry = template[template.index("#. Words in a figure") :].split("\n\n")[0]
    assert "#. costs.svg\n#: chapters/figures/costs.svg:1" in entry
    assert 'msgctxt "figure"\nmsgid "calls & memory"' in entry
    assert template.count("msgid ") == 3  # with the header
    assert "calls" not in (root / "translations/a.pot").read_text()


def test_fewer_lines_leave_the_rest_of_the_room_empty(root):
    change_entries(po(root, chapter="figures"), {LEAVE: "sem o Python"})
    svg = build(root).files[Path("notebooks/figures/costs.pt.svg")]
    assert b'<tspan x="1">sem o Python</tspan>' in svg
    assert re.search(rb'<tspan x="1" dy="2" ?/>', svg)


@pytest.mark.parametrize(
    ("english", "text", "expected"),
    [
        (LEAVE, "um\ndois\ntrês", "line break that the English text has not"),
        (CALLS, "um texto longo demais para a figura", "35 columns wide, the English words in"),
        (CALLS, "", "not translated"),
    ],
)
def test_what_does_not_fit_is_refused(root, told, english, text, expected):
    change_entries(po(root, chapter="figures"), {english: text})
    found = told("check", status=1).err
    assert re.search(rf"pt/LC_MESSAGES/figures\.po:\d+: .*{expected}", found), found


def test_a_changed_word_and_a_figure_that_no_chapter_shows(root, told):
    figure = root / "chapters/figures/costs.svg"
    figure.write_text(WORDS.replace("out of it", "out of this"))
    found = told("check", status=1).err
    assert "translations/figures.pot:1: behind chapters/figures; run `make messages`" in found
    assert 'behind chapters/figures/costs.svg:1, figure "leave Python out of this"' in found
    figure.write_text(WORDS)
    told("build")
    (root / "notebooks/figures/costs.pt.svg").write_text("by hand")
    (root / "notebooks/figures/costs.svg").write_text(WORDS)
    found = told("check", status=1).err
    assert "notebooks/figures/costs.pt.svg: differs from what the chapters make" in found
    assert "notebooks/figures/costs.svg: no chapter makes this; delete it" in found


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("</g>\n  <text x", "<text x", "is not SVG: mismatched tag"),
        ("calls &amp;", "<tspan>calls</tspan> &amp;", "write 'calls & memory' as one text, or as"),
        ("leave Python", "leave <a>Python</a>", "write 'leave Python out of it' as one text"),
    ],
)
def test_a_figure_whose_words_cannot_be_read(root, told, old, new, expected):
    assert old in WORDS
    (root / "chapters/figures/costs.svg").write_text(WORDS.replace(old, new))
    line = (root / "chapters/a.md").read_text().split("\n").index("![Alt text](figures/costs.svg)")
    found = told("build", status=1).err.splitlines()
    assert found[0].startswith(f"chapters/a.md:{line + 1}: figures/costs.svg: ")
    assert expected in found[0]


def test_the_figures_of_the_collection_keep_to_general_fonts():
    """A reader's machine has other fonts, and other ones for Chinese and Japanese."""
    chapters = load(Path(__file__).parents[2] / "chapters")
    folder = chapters[0].path.parent / "figures"
    for path in folder.glob("*.svg"):
        families = re.findall(r"font-family[:=]\s*[\"']?([^\"';>]+)", path.read_text("utf-8"))
        assert families, path
        assert all(re.search(r"(sans-serif|monospace)$", one.strip()) for one in families), path
