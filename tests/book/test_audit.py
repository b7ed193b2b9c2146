"""What a translation must keep, how its language is set, which terms it uses; each is caught."""

import pytest

from book.audit import unfit
from book.errors import CatalogError
from book.glossary import Term, read_glossary, terms_problems
from book.languages import LANGUAGES
from book.translate import Context, Message
from book.typography import leftover, typography


def require(problems, expected):
    """There is such a problem; none at all where none is expected."""
    problems = list(problems)
    found = any(expected in one for one in problems) if expected else not problems
    assert found, problems


@pytest.mark.parametrize(
    ("english", "text", "language", "kind", "expected"),
    [
        ("It has 164,482 parameters.", "Ela tem 164.482 parâmetros.", "pt", "paragraph", ""),
        ("Call `f`, then `g`.", "先调用 `f`，再调用 `g`。", "zh", "paragraph", ""),
        ("See [a](#sec-a) and [](b.md).", "[](b.md)と[甲](#sec-a)を参照。", "ja", "paragraph", ""),
        ("calls torch.export once", "chama torch.export uma vez", "pt", "comment", ""),
        # A unit ends where another script begins, but not at an accent.
        ("After 3 syllables.", "Após 3 sílabas.", "pt", "paragraph", ""),
        ("It takes 3 s.", "3 msかかる。", "ja", "paragraph", "units"),
        *(
            (english, text, "pt", "paragraph", expected)
            for english, text, expected in (
                ("A $x^2$.", "Um $x^3$.", "math: expected x^2, found x^3"),
                ("Call `f`.", "Chame a função.", "code: expected f, which is missing"),
                ("See [a](#sec-a).", "Veja [a](#sec-b).", "links: expected #sec-a, found #sec-b"),
                ("It takes 0.5 of 512.", "Leva 0,6 de 512.", "numbers: expected 0.5, found 0.6"),
                ("With 1,000 of them.", "Com 1,000 deles.", "numbers: expected 1000, found 1.000"),
                ("Text.", "- Texto.", "another kind of Markdown block"),
                ("An *eager* one.", "Um eager.", "emphasizes 0 times, the English text 1 times"),
                ("A **word**: next.", "Uma **palavra：**seguinte", "bare *"),
            )
        ),
        ("equal:", "iguais", "pt", "label", "colon"),
        ("freed", "foi liberado agora", "pt", "label", "18 columns wide, the English label 5"),
    ],
)
def test_what_a_translation_keeps_or_changed(english, text, language, kind, expected):
    message = Message(english, Context("a", "sec-a", (), kind), "chapters/a.md", 1)
    require(unfit(message, text, LANGUAGES[language]), expected)


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("zh", "在 Python 中，`f` 先运行；然后是 3 个“网络”（见[图](#fig-a)）。", ""),
        ("ja", "Pythonでは、`f`が先に動きます。「網」は3つです（[図](#fig-a)）。", ""),
        ("pt", "Em Python 3.11, “isto” custa 0,5 (ou 164.482), no MXNet 1.9.1.", ""),
        ("zh", "先运行,然后", "half-width ','"),
        ("zh", "在Python 中", "one space between"),
        ("zh", "调用 `f` ，然后", "take it out"),
        ("zh", '一个"网络"', "use “ ”"),
        ("zh", "您可以", "address"),
        ("ja", "これは、Python です。", "no space between"),
        ("ja", "これは，", "、 and 。"),
        ("ja", "これは関数である。", "です・ます"),
        ("ja", "これは１つです。", "full-width letter or digit"),
        ("pt", 'Um "grafo".', "use “ ”"),
        ("pt", "Leva 0.5 de tempo.", "decimal comma"),
    ],
)
def test_typography(language, text, expected):
    require(typography("", text, "paragraph", language), expected)
    require(typography("", "f(a, b) 的结果", "comment", "zh"), "")


def test_english_that_was_left():
    texts = "The graph is not there.", "O grafo is not there, and the rest is.", "O grafo não está."
    found = [[*leftover(texts[0], text, "paragraph", "pt")] for text in texts]
    assert [*map(bool, found)] == [True, True, False]


TERMS = (
    Term("eager execution", {"pt": "execução imediata (eager)", "zh": "即时执行（eager）"}, ()),
    Term("hybridize", {"pt": "hibridizar", "ja": "ハイブリッド化する"}, ("杂交", "eagre")),
    Term("graph break", {"pt": "quebra de grafo"}, ()),
    Term("graph", {"pt": "grafo"}, ()),
)
MISSED = "'graph break' is 'quebra de grafo'"
NEVER = "'杂交' must never appear, says translations/glossary.csv"


@pytest.mark.parametrize(
    ("english", "text", "language", "purpose", "expected"),
    [
        ("Eager execution helps.", "A execução imediata ajuda.", "pt", "", ""),
        ("It is hybridized.", "Ela foi hibridizada.", "pt", "", ""),
        ("Eager-execution.", "即时执行。", "zh", "", ""),
        ("A graph break.", "Uma pausa.", "pt", "", MISSED),
        ("A graph break.", "Uma pausa.", "pt", "(graph break)", ""),
        ("It.", "杂交网络", "zh", "(hybridize)", NEVER),
        ("It.", "um Eagre aqui", "pt", "", "must never appear"),
    ],
)
def test_terms(english, text, language, purpose, expected):
    comment = f"glossary: on purpose {purpose}" if purpose else ""
    require(terms_problems(TERMS, english, text, "paragraph", language, comment), expected)


def test_the_glossary_file(tmp_path):
    assert read_glossary(tmp_path) == ()
    (tmp_path / "translations").mkdir()
    text = "en,pt,zh,ja,never\nlayer,camada,层,,\nto serialize (verb),serializar,序列化,シ,a|b\n"
    (tmp_path / "translations/glossary.csv").write_text(text)
    assert read_glossary(tmp_path) == (
        Term("serialize", {"pt": "serializar", "zh": "序列化", "ja": "シ"}, ("a", "b")),
        Term("layer", {"pt": "camada", "zh": "层"}, ()),
    )
    for broken in ("en,pt\n", text + "lone\n"):
        (tmp_path / "translations/glossary.csv").write_text(broken)
        with pytest.raises(CatalogError, match=rf"glossary\.csv:{len(broken.splitlines())}: "):
            read_glossary(tmp_path)
