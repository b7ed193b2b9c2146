"""HLO, the language of XLA, read from its text."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from d2lhybrid.display.graph_svg import Node, Part, Stage

# What only says how elements are arranged: in a step with others, it costs nothing.
ARRANGING = frozenset({"reshape", "broadcast", "transpose", "copy", "opt-barrier"})
CONTROL = frozenset({"while", "conditional"})
_NOTHING = {"parameter", "constant", "tuple", "get-tuple-element", "bitcast"}
_COMPUTATION = re.compile(r"(ENTRY )?%?([\w.-]+) (?:\(.*)?\{$")
_INSTRUCTION = re.compile(r"\s+(ROOT )?%?([\w.-]+) = (?:\(.*?\)|\S+) ([\w-]+)\((.*)$")


@dataclass(frozen=True)
class _Instruction:
    root: str  # not empty where it is the result
    name: str
    operation: str  # of a custom call the function that it calls
    value: str  # what stands between the parentheses
    rest: str  # attributes behind them
    origin: str  # the recorded operation that it comes from


def kinds(text: str, names: Collection[str]) -> dict[str, tuple[str, ...]]:
    """The operations that XLA is handed for each of `names`, in a module before its passes."""
    computations, found = _computations(text), {}  # type: ignore[var-annotated]
    for one in computations[""]:
        for owner in _owners(one, names):
            found.setdefault(owner, []).extend(_inside(one, computations))
    handed = {name: tuple(i.operation for i in _counted(of)) for name, of in found.items()}
    return {name: of for name, of in handed.items() if of}


def read(title: str, text: str, names: Collection[str]) -> Stage:
    """The entry computation of a module; each instruction knows which of `names` it computes."""
    computations = _computations(text)
    shown: dict[str, tuple[str, ...]] = {}  # for an instruction, those drawn in its place
    nodes: list[Node] = []
    outputs: tuple[str, ...] = ()
    for one in computations[""]:
        is_given = one.operation in ("parameter", "constant")
        operands = () if is_given else re.findall(r"[\w.-]+", one.value)
        inputs = tuple(dict.fromkeys(n for o in operands for n in shown.get(o, ())))
        if is_given:
            # A constant that is too large to be written down goes by its name.
            value = one.value if "{...}" not in one.value else f"{one.name} = {{...}}"
            nodes.append(Node(one.name, key=value if one.operation == "constant" else ""))
        elif one.operation not in _NOTHING:
            inside = _counted(list(_inside(one, computations)))
            parts = tuple(Part(i.operation, _owners(i, names)) for i in inside)
            operation = parts[0].kind if len(parts) == 1 else one.operation
            nodes.append(Node(one.name, operation, inputs, parts=parts))
        is_shown = is_given or one.operation not in _NOTHING
        shown[one.name] = (one.name,) if is_shown else inputs
        outputs = shown[one.name] if one.root else outputs
    return Stage(title, tuple(nodes), outputs)


def _counted(found: list[_Instruction]) -> list[_Instruction]:
    """Control flow as one; else without what only arranges elements, unless there is no more."""
    found = [one for one in found if one.operation not in _NOTHING]
    light = ({one.operation for one in found} - CONTROL, ARRANGING, {"copy", "reshape"}, ())
    heavy = ([one for one in found if one.operation not in words] for words in light)
    return next(filter(None, heavy), [])


def _owners(one: _Instruction, names: Collection[str]) -> frozenset[str]:
    """The one of `names` that an instruction comes from: a path in its scope, or none."""
    return frozenset(whole_of(re.sub(r"^jit\([^/]*\)/", "", one.origin), names))


def whole_of(path: str, names: Collection[str]) -> list[str]:
    """The one of `names` that a path begins with, the longest; an empty list for none."""
    words = path.split("/")
    wholes = ("/".join(words[:end]) for end in range(len(words), 0, -1))
    return [whole for whole in wholes if whole in names][:1]


def _inside(one: _Instruction, known: dict[str, list[_Instruction]]) -> Iterator[_Instruction]:
    """The instructions of the computation that a fusion or a call is, or the instruction itself."""
    attribute = "to_apply" if one.operation == "call" else "calls"
    called = re.search(attribute + r"=%?([\w.-]+)", one.rest)
    if not called:
        yield one
    for inner in known.get(called[1], ()) if called else ():
        yield from _inside(inner, known)


def _computations(text: str) -> dict[str, list[_Instruction]]:
    """The instructions of each computation by its name, which is empty for that of the entry."""
    name, found = "", {"": []}  # type: str, dict[str, list[_Instruction]]
    for line in text.splitlines():
        if header := _COMPUTATION.match(line):
            name = "" if header[1] else header[2]
        elif match := _INSTRUCTION.match(line):
            root, own, operation, tail = match.groups()
            found.setdefault(name, []).append(_instruction(root or "", own, operation, tail))
    return found


def _instruction(root: str, name: str, operation: str, tail: str) -> _Instruction:
    depth, end = 1, 0
    while depth:
        depth += {"(": 1, ")": -1}.get(tail[end], 0)
        end += 1
    value, rest = tail[: end - 1], tail[end:]
    origin = re.search(r'op_name="([^"]*)"', rest)
    target = re.search(r'custom_call_target="([^"]*)"', rest)
    operation = target[1] if target else operation
    return _Instruction(root, name, operation, value, rest, origin[1] if origin else "")
