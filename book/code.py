"""The inside of a code cell: its options, whether it is Python, what of it is text."""

import ast
import io
import re
import tokenize
import warnings
from collections.abc import Iterator, Sequence
from functools import cache
from typing import cast

from book.prose import MakeMessage
from book.translate import Slot

# What the tools that read a notebook do with a cell's tag: JupyterLab, nbclient, nbval; and ours
# for a cell that needs a GPU and says so where there is none, or whose claim needs a processor with
# vector instructions.
TAGS = ("hide-input", "raises-exception", "nbval-ignore-output", "nbval-skip", "nbval-check-output",
        "nbval-vectors", "gpu")  # fmt: skip

_PRAGMA = re.compile(r"#\s*(noqa|type:|fmt:|ruff:|mypy:|pragma:|nbval_)", re.IGNORECASE)
_STRINGS = (tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING))


def _parse(code: str) -> ast.AST:
    flags = ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    with warnings.catch_warnings():
        # What Python would warn about, such as "\d", the reader would see as a warning.
        warnings.simplefilter("error")
        tree = compile(code, "cell", "exec", flags=flags, dont_inherit=True)
    return cast(ast.AST, tree)


@cache
def structure(code: str) -> str:
    """What translated strings and comments must leave as it is; raises SyntaxError."""
    tree = _parse(code)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = ""
    return ast.dump(tree)


def code_slots(code: str, labels: Sequence[str], make: MakeMessage) -> tuple[Slot, ...]:
    """Where comments, and ``labels`` within string literals, stand in a Python cell."""
    _parse(code)
    starts = [0]
    for line in code.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    tokens = list(tokenize.generate_tokens(io.StringIO(code).readline))
    comments = [token for token in tokens if token.type == tokenize.COMMENT]
    slots = [_comment(run, starts, make) for run in _comment_runs(comments)]
    if labels:
        for token in tokens:
            if token.type in _STRINGS:
                start, end = _offset(token.start, starts), _offset(token.end, starts)
                for match in _occurrences(code[start:end], labels):
                    at, row = start + match.start(), code.count("\n", 0, start + match.start())
                    slots.append(Slot(make(match[0], "label", row), at, at + len(match[0])))
    return tuple(sorted(slots, key=lambda slot: slot.start))


def _offset(position: tuple[int, int], starts: Sequence[int]) -> int:
    line, column = position
    return starts[line - 1] + column


def _occurrences(literal: str, labels: Sequence[str]) -> Iterator[re.Match[str]]:
    """The labels in a string literal, as whole words, in what it says: not in its prefix and
    quotes, nor, in an f-string, in the code between braces."""
    longest_first = sorted(map(re.escape, labels), key=len, reverse=True)
    wanted = re.compile(rf"(?<!\w)(?:{'|'.join(longest_first)})(?!\w)")
    prefix = re.match(r"(\w{0,2})['\"]+", literal)
    start = prefix.end() if prefix else 0
    code = _code_of_fstring(literal, start) if prefix and "f" in prefix[1].lower() else ()
    for match in wanted.finditer(literal, start):
        if not any(first <= match.start() < last for first, last in code):
            yield match


def _code_of_fstring(literal: str, start: int) -> list[tuple[int, int]]:
    """Where an f-string holds code: between its braces, but not in the strings in there.

    Only Python before 3.12 needs it; later ones take an f-string apart themselves.
    """
    found: list[tuple[int, int]] = []
    outside, inside = re.compile(r"{{|}}|{"), re.compile(r"[{}]|'[^']*'|\"[^\"]*\"")
    depth, at, begin = 0, start, start
    while match := (inside if depth else outside).search(literal, at):
        at = match.end()
        if depth and match[0][0] in "'\"":
            found.append((begin, match.start()))
            begin = match.end()
        elif match[0] == "{":
            begin = begin if depth else match.start()
            depth += 1
        elif match[0] == "}":
            depth -= 1
            if not depth:
                found.append((begin, match.end()))
    return found


def _comment_runs(
    comments: Sequence[tokenize.TokenInfo],
) -> Iterator[list[tokenize.TokenInfo]]:
    """Comments that continue each other on whole lines of their own, together."""
    run: list[tokenize.TokenInfo] = []
    for token in comments:
        if _PRAGMA.match(token.string) or not token.string.strip("# "):
            continue
        below = run and token.start == (run[-1].start[0] + 1, run[-1].start[1])
        if below and not token.line[: token.start[1]].strip() and not _trailing(run[-1]):
            run.append(token)
            continue
        if run:
            yield run
        run = [token]
    if run:
        yield run


def _trailing(comment: tokenize.TokenInfo) -> bool:
    return bool(comment.line[: comment.start[1]].strip())


def _comment(run: Sequence[tokenize.TokenInfo], starts: Sequence[int], make: MakeMessage) -> Slot:
    texts = [token.string.lstrip("#").strip() for token in run]
    (line, column), (last, end) = run[0].start, run[-1].end
    at = _offset((line, column), starts) + run[0].string.index(texts[0])
    message = make("\n".join(texts), "comment", line - 1)
    # A comment that trails code goes on below it, at the same column.
    return Slot(message, at, _offset((last, end), starts), " " * column + "# ")
