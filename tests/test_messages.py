"""All that d2lhybrid says to a person goes through gettext: read from the source."""

import ast
import re
from pathlib import Path

import polib
import pytest

from d2lhybrid.core import i18n

PACKAGE = Path(i18n.__file__).parents[1]
FILES = sorted(PACKAGE.rglob("*.py"))
# How many of its first arguments are texts.
GETTEXT = {"_": 1, "N_": 1, "gettext": 1, "noop": 1, "ngettext": 2, "pgettext": 2}
SAYING = ("print", "warn", "exit")
SAID = ("help", "description", "desc")
PHRASE = re.compile(r"\b[A-Za-z]{2,}[,:]? [a-z]{2,}\b|[A-Za-z]{3,}[.:!?](?:\s|$)")
SENTENCE = re.compile(r"\b[A-Za-z]{2,},? [a-z]{2,},? [a-z]{2,}\b")
# What is no language of people: commands, code, and what other libraries say or read.
CODE = re.compile(r"(?:pip|apt|dnf|conda) install |[\w.]+\(.*\)$|.*(?:\n|; )", re.DOTALL)
EXCEPTIONS = {
    *(" has no attribute ", "in user code:", "Exception encountered when calling"),
    *("eager, with gradients", "not run"),
    *("(net, args, kwargs)", "compare FILE.py eager compiled", "deleted or donated"),
    "most recent call last",
    r"^ *all previously seen cache keys differ\. For the closest previous key:$",
    *(r"<class '[^']*'> with pytree metadata ", r", so the pytree node metadata does not match"),
}


def called(node):
    return getattr(node.func, "id", None) or getattr(node.func, "attr", "")


def literals(node):
    nodes = [one for one in ast.walk(node) if isinstance(one, ast.Constant)]
    return [one for one in nodes if isinstance(one.value, str)]


def untranslated(source):
    """Texts that go to a person and past gettext: raised, printed, warned of, shown as help."""
    tree = ast.parse(source)
    said: list[ast.AST] = []
    silent = set()  # docstrings, and what gettext gets
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr):
            silent.add(id(node.value))
        elif isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            said += node.exc.args
        elif isinstance(node, ast.Call):
            silent.update(map(id, node.args[: GETTEXT.get(called(node), 0)]))
            said += node.args if called(node) in SAYING else []
            said += [one.value for one in node.keywords if one.arg in SAID]
    words = [one for part in said for one in literals(part) if PHRASE.search(one.value)]
    words += [one for one in literals(tree) if SENTENCE.search(one.value)]
    found = dict.fromkeys(one.value for one in words if id(one) not in silent)
    return [text for text in found if text not in EXCEPTIONS and not CODE.match(text)]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_every_sentence_goes_through_gettext_as_a_literal(path):
    source = path.read_text(encoding="utf-8")
    found = untranslated(source)
    assert not found, f"write _(...) or N_(...) around these texts of {path.name}: {found}"
    for node in ast.walk(ast.parse(source)):
        texts = node.args[: GETTEXT.get(called(node), 0)] if isinstance(node, ast.Call) else ()
        assert not [one for one in texts if isinstance(one, ast.JoinedStr | ast.BinOp)]


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("raise ArgumentError(f'Received: {x}.')", ["Received: "]),
        ("print('Hello there', _('Hello you'))", ["Hello there"]),
        ("add_argument('--x', help='in seconds')", ["in seconds"]),
        ("def f():\n    'A docstring of words.'\n    return 'so few words'", ["so few words"]),
    ],
)
def test_what_the_search_finds(source, found):
    assert untranslated(source) == found


@pytest.mark.parametrize("language", i18n.LANGUAGES)
def test_a_chapter_quotes_a_message_as_it_prints(language, monkeypatch):
    template = polib.pofile(PACKAGE / "locale/d2lhybrid.pot")
    (message,) = [one.msgid for one in template if "runs eagerly, or raises" in one.msgid]
    monkeypatch.setattr(i18n, "_chosen", language)
    said = i18n.gettext(message).format(limit=8, setting="", command="")
    quoted = re.split(r" ?[(（]", said)[0]
    notebook = PACKAGE.parent / f"notebooks/{language}/pytorch/limits.ipynb"
    assert quoted in notebook.read_text(encoding="utf-8")
