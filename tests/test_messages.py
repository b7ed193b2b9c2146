"""All that d2lhybrid says to a person goes through gettext: read from the source."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from d2lhybrid import i18n

PACKAGE = Path(i18n.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))
GETTEXT = {
    "_": 1,
    "N_": 1,
    "gettext": 1,
    "noop": 1,
    "ngettext": 2,
    "pgettext": 2,
}  # texts come first
SAYING = {"print", "warn", "add_argument", "ArgumentParser", "tqdm"}
SAID = {"help", "description", "epilog", "desc", ""}  # keywords; "" stands for no keyword
PHRASE = re.compile(r"\b[a-z]{2,},? [a-z]{2,}\b")
BESIDE = re.compile(r"(?:^|\s)[a-z]{4,}(?:[\s:;,.]|$)")  # a word beside what an f-string fills in
WORD = re.compile(r"[A-Za-z]{2,}")

COMMAND = re.compile(r"(?:pip|apt|dnf|conda) install |python -[cm] |xcode-select ")

# What stays as it is, by file: identifiers of other libraries and of ours, and formats.
EXCEPTIONS = {
    "__init__.py": {"module 'd2lhybrid' has no attribute "},  # in Python's own words
    "cli.py": {
        "d2lhybrid ",
        "  def example():\n      return net, torch.ones(1, 512)",
    },
    "commands.py": {r"\bload\(path, trust=True\)"},
    "measurement/building.py": {"training(net, loss, optimizer, batch)"},
    "measurement/training.py": {"training(call(net, x), loss, optimizer, (y,))"},
    "artifacts/loading.py": {"not run"},  # one of three identifiers
    # how TensorFlow begins a traceback, and Keras's words
    "errors.py": {"in user code:", "Exception encountered when calling"},
    "frameworks/graph.py": {'<div style="overflow-x:auto">'},
    "report/picture.py": {'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="'},
    "frameworks/torch/explain.py": {"frame skipped: .* \\((.*) line (\\d+)\\)"},  # Dynamo's
    "report/claims.py": {"not slower", "not faster"},  # what a claim is called
    "doctor.py": {"from d2lhybrid.doctor import probe; probe("},
    "magic.py": {" sec"},
    "measurement/timing.py": {" sec"},  # the line of Benchmark, which programs read
    "report/axes.py": {"axes fraction", "lower left", "offset points"},
    "report/provenance.py": {"model name"},
    "report/table.py": {
        '<div style="overflow-x:auto">',
        '<span role="img" aria-label="',
        '<td colspan="',
        '<th colspan="',
    },
}

# Files that hold code to be shown, and the names of variants, which are the same in all languages.
SHOWING_CODE = re.compile(r"frameworks/(references|\w+/(ahead|training|variants))\.py")
CODE = re.compile(r"[=(){}\n]|^/\*|^return |^torch\.$")
VARIANTS = {
    *("torchscript frozen", "torch.compile reduce-overhead", "torch.compile max-autotune"),
    *("aotinductor boxed", "torch.compile function", "torch.compile skip guards"),
    *("torch.compile cpp_wrapper", "torch.compile step", "onnxruntime io binding"),
    *("torch functions", "concrete function", "concrete function XLA", "eager functions"),
    *("tf.function XLA", "hybridized MKLDNN", "one thread"),
    *("compiled ahead", "jit constants", "jit donated", "serialized executable"),
}


def is_code(path: Path, text: str) -> bool:
    shows = SHOWING_CODE.fullmatch(name_of(path))
    return bool(shows) and (text in VARIANTS or bool(CODE.search(text)))


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def texts(node: ast.AST | None) -> Iterator[ast.Constant]:
    """The literal texts that a value may consist of; not those that it is computed from."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node
    elif isinstance(node, (ast.JoinedStr, ast.BoolOp)):
        for part in node.values:
            yield from texts(part)
    elif isinstance(node, ast.BinOp):
        yield from (*texts(node.left), *texts(node.right))
    elif isinstance(node, ast.IfExp):
        yield from (*texts(node.body), *texts(node.orelse))
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        yield from texts(node.func.value)  # "...".format(...)


def called(node: ast.Call) -> str:
    return getattr(node.func, "id", None) or getattr(node.func, "attr", "")


def said(tree: ast.AST) -> Iterator[ast.Constant]:
    """The literals that reach a person as they stand: raised, printed, warned of, shown as help."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            for argument in node.exc.args:
                yield from texts(argument)
        elif isinstance(node, ast.Call) and called(node) in SAYING:
            names = called(node) in ("print", "warn")
            for argument in node.args if names else ():
                yield from texts(argument)
            for keyword in node.keywords:
                if keyword.arg in SAID:
                    yield from texts(keyword.value)


def phrases(tree: ast.AST) -> Iterator[ast.Constant]:
    """Every literal with words in it that follow each other, but for docstrings."""
    silent, filled = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            filled.update(map(id, texts(node)))
        if isinstance(node, ast.Expr):
            silent.update(map(id, texts(node.value)))
        if isinstance(node, ast.Call):
            silent.update(map(id, node.args[: GETTEXT.get(called(node), 0)]))
    for node in ast.walk(tree):
        text = isinstance(node, ast.Constant) and isinstance(node.value, str)
        if text and id(node) not in silent:
            word = id(node) in filled and BESIDE.search(node.value)
            if word or PHRASE.search(node.value):
                yield node


def untranslated(source: str) -> dict[str, int]:
    """Texts that go to a person and past gettext, with their lines."""
    tree = ast.parse(source)
    words = [node for node in said(tree) if WORD.search(node.value)]
    found = {node.value: node.lineno for node in (*words, *phrases(tree))}
    return {text: line for text, line in found.items() if not COMMAND.match(text)}


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_every_sentence_goes_through_gettext(path: Path) -> None:
    allowed = EXCEPTIONS.get(name_of(path), set())
    found = untranslated(path.read_text(encoding="utf-8"))
    new = {
        text: line
        for text, line in found.items()
        if text not in allowed and not is_code(path, text)
    }
    assert not new, f"write _(...) or N_(...) around these texts of {name_of(path)}: {new}"
    assert not allowed - set(found), f"no longer in {name_of(path)}; take out of EXCEPTIONS"


def test_exceptions_are_of_files_that_exist() -> None:
    assert set(EXCEPTIONS) <= set(map(name_of, FILES))


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("raise ArgumentError('Too much.')", ["Too much."]),
        ("raise ArgumentError(f'Received: {x}.')", ["Received: "]),
        ("raise ArgumentError('one' if x else _('two'))", ["one"]),
        ("print('Hello', name)", ["Hello"]),
        ("add_argument('--x', help='seconds')", ["seconds"]),
        ("def f():\n    'A docstring of words.'\n    return 'some words'", ["some words"]),
        ("problem = f'{name} has other bytes'", [" has other bytes"]),
        ("raise ArgumentError(_('Received: {x}.').format(x='of me'))", ["of me"]),
        ("raise ArgumentError(_('{x}').format(x='pip install it'))", []),
        ("print(_('Hello'), ngettext('{n} of it', '{n} of them', n))", []),
        ("REASONS = {'a': N_('there is none')}", []),
    ],
)
def test_what_the_search_finds(source: str, found: list[str]) -> None:
    assert list(untranslated(source)) == found


def test_no_message_is_computed() -> None:
    """What is handed to gettext for translators to see is a literal, without values in it."""
    for path in FILES:
        if path.name == "i18n.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and called(node) in (
                "N_",
                "noop",
                "ngettext",
                "pgettext",
            ):
                literal = node.args[: GETTEXT[called(node)]]
                assert all(isinstance(text, ast.Constant) for text in literal), ast.unparse(node)
            elif isinstance(node, ast.Call) and called(node) in ("_", "gettext"):
                assert not isinstance(node.args[0], (ast.JoinedStr, ast.BinOp)), ast.unparse(node)
