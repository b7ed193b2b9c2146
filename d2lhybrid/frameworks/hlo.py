"""HLO, the language of XLA, read from its text."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from d2lhybrid.report.stages import Node, Stage

_COMPUTATION = re.compile(r"(ENTRY )?%?([\w.-]+) \(.*\{$")
_INSTRUCTION = re.compile(r"\s+(ROOT )?%?([\w.-]+) = (\(.*?\)|\S+) ([\w-]+)\((.*)$")
_TRANSPARENT = {"reshape", "bitcast", "broadcast", "tuple", "get-tuple-element", "copy"}


@dataclass(frozen=True)
class _Instruction:
    name: str
    kind: str  # dtype and shape
    operation: str
    operands: tuple[str, ...]
    value: str  # what stands between the parentheses
    rest: str  # attributes behind them
    origin: str  # the recorded operation that it comes from

    @property
    def called(self) -> str:
        found = re.search(r"calls=%?([\w.-]+)", self.rest)
        return found[1] if found else ""


def read(title: str, text: str, names: set[str], before: Stage | None = None) -> Stage:
    """The entry computation of a module; each instruction knows which of `names` it computes.

    What only says how elements are arranged, such as a broadcast, is left out. With the stage
    `before`, an instruction computes those of its instructions that have the same operation and the
    same origin.
    """
    entry, computations = _computations(text)
    shown: dict[str, tuple[str, ...]] = {}  # for an instruction, those drawn in its place
    kinds = {i.name: i.kind for i in computations[entry]}
    nodes: list[Node] = []
    last: tuple[str, ...] = ()
    for one in computations[entry]:
        inputs = tuple(dict.fromkeys(n for o in one.operands for n in shown.get(o, ())))
        if _transparent(one, kinds):
            shown[one.name] = last = inputs
            continue
        shown[one.name] = last = (one.name,)
        inside = [i for i in _inside(one, computations) if i.operation not in _TRANSPARENT]
        work = [i for i in inside if i.operation not in ("parameter", "constant")]
        given = one.operation in ("parameter", "constant")
        nodes.append(
            Node(
                one.name,
                "" if given else one.operation,
                inputs,
                _key(one),
                _origins([one, *inside], names, before),
                tuple(i.operation for i in work),
            )
        )
    return Stage(title, tuple(nodes), last)


def _key(one: _Instruction) -> str:
    if one.operation == "parameter":
        return ""
    return one.value if one.operation == "constant" else f"{one.kind} {one.rest}"


def _origins(
    instructions: list[_Instruction], names: set[str], before: Stage | None
) -> frozenset[str]:
    if before is None:
        return frozenset(i.origin for i in instructions if i.origin in names)
    found = {(i.origin, i.operation) for i in instructions if i.origin}
    return frozenset(
        node.name
        for node in before.operations
        for o in node.origins
        if (o, node.operation) in found
    )


def _transparent(one: _Instruction, kinds: dict[str, str]) -> bool:
    same = len(one.operands) == 1 and kinds.get(one.operands[0]) == one.kind
    return one.operation in _TRANSPARENT or (same and one.operation in ("convert", "transpose"))


def _inside(
    one: _Instruction, computations: dict[str, list[_Instruction]]
) -> Iterator[_Instruction]:
    """The instructions of the computation that an instruction calls, and of those it calls."""
    for inner in computations.get(one.called, ()):
        yield inner
        yield from _inside(inner, computations)


def _computations(text: str) -> tuple[str, dict[str, list[_Instruction]]]:
    entry, found, current = "", {}, []  # type: str, dict[str, list[_Instruction]], list[_Instruction]
    for line in text.splitlines():
        if header := _COMPUTATION.match(line):
            current = found[header[2]] = []
            entry = header[2] if header[1] else entry
        elif match := _INSTRUCTION.match(line):
            current.append(_instruction(match))
    return entry, found


def _instruction(match: re.Match[str]) -> _Instruction:
    _root, name, kind, operation, tail = match.groups()
    depth, end = 1, 0
    while depth:
        depth += {"(": 1, ")": -1}.get(tail[end], 0)
        end += 1
    value, rest = tail[: end - 1], tail[end:]
    origin = re.search(r'op_name="([^"]*)"', rest)
    operands = (
        () if operation in ("parameter", "constant") else tuple(re.findall(r"%([\w.-]+)", value))
    )
    rest = re.sub(r", metadata=\{.*", "", rest)
    return _Instruction(name, kind, operation, operands, value, rest, origin[1] if origin else "")
