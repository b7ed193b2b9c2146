"""HLO, the language of XLA, read from its text."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from d2lhybrid.report.picture import Node, Stage

_COMPUTATION = re.compile(r"(ENTRY )?%?([\w.-]+) \(.*\{$")
_INSTRUCTION = re.compile(r"\s+(?:ROOT )?%?([\w.-]+) = (\(.*?\)|\S+) ([\w-]+)\((.*)$")
_TRANSPARENT = {"reshape", "bitcast", "broadcast", "tuple", "get-tuple-element", "copy"}


@dataclass(frozen=True)
class _Instruction:
    name: str
    kind: str  # dtype and shape
    operation: str
    value: str  # what stands between the parentheses
    rest: str  # attributes behind them
    origin: str  # the recorded operation that it comes from

    @property
    def is_given(self) -> bool:
        return self.operation in ("parameter", "constant")

    @property
    def operands(self) -> list[str]:
        return [] if self.is_given else re.findall(r"%([\w.-]+)", self.value)

    @property
    def key(self) -> str:
        """What it depends on besides its operands; the value of a constant."""
        if self.operation == "parameter":
            return ""
        return self.value if self.is_given else f"{self.kind} {self.rest}"


def read(title: str, text: str, names: set[str], before: Stage | None = None) -> Stage:
    """The entry computation of a module; each instruction knows which of `names` it computes.

    What only says how elements are arranged, such as a broadcast, is left out. With the stage
    `before`, an instruction computes those of its instructions that have the same operation and the
    same origin.
    """
    computations = _computations(text)
    shown: dict[str, tuple[str, ...]] = {}  # for an instruction, those drawn in its place
    kinds = {one.name: one.kind for one in computations[""]}
    nodes: list[Node] = []
    for one in computations[""]:
        inputs = tuple(dict.fromkeys(n for o in one.operands for n in shown.get(o, ())))
        same = [kinds.get(operand) for operand in one.operands] == [one.kind]
        if one.operation in _TRANSPARENT or (same and one.operation in ("convert", "transpose")):
            shown[one.name] = inputs
            continue
        shown[one.name] = (one.name,)
        inside = [i for i in _inside(one, computations) if i.operation not in _TRANSPARENT]
        origins = {i.origin for i in (one, *inside)} & names
        if before is not None:
            pairs = {(i.origin, i.operation) for i in (one, *inside) if i.origin}
            came = {n.name: {(origin, n.operation) for origin in n.origins} for n in before.nodes}
            origins = {name for name, found in came.items() if found & pairs}
        parts = tuple(i.operation for i in inside if not i.is_given)
        operation = "" if one.is_given else one.operation
        nodes.append(Node(one.name, operation, inputs, one.key, frozenset(origins), parts))
    return Stage(title, tuple(nodes), next(reversed(shown.values()), ()))


def _inside(
    one: _Instruction, computations: dict[str, list[_Instruction]]
) -> Iterator[_Instruction]:
    """The instructions of the computation that an instruction calls, and of those it calls."""
    called = re.search(r"calls=%?([\w.-]+)", one.rest)
    for inner in computations.get(called[1], ()) if called else ():
        yield inner
        yield from _inside(inner, computations)


def _computations(text: str) -> dict[str, list[_Instruction]]:
    """The instructions of each computation by its name, which is empty for that of the entry."""
    name, found = "", {"": []}  # type: str, dict[str, list[_Instruction]]
    for line in text.splitlines():
        if header := _COMPUTATION.match(line):
            name = "" if header[1] else header[2]
        elif match := _INSTRUCTION.match(line):
            found.setdefault(name, []).append(_instruction(*match.groups()))
    return found


def _instruction(name: str, kind: str, operation: str, tail: str) -> _Instruction:
    depth, end = 1, 0
    while depth:
        depth += {"(": 1, ")": -1}.get(tail[end], 0)
        end += 1
    value, rest = tail[: end - 1], tail[end:]
    origin = re.search(r'op_name="([^"]*)"', rest)
    rest = re.sub(r", metadata=\{.*", "", rest)
    return _Instruction(name, kind, operation, value, rest, origin[1] if origin else "")
