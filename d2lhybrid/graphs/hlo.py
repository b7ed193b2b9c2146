"""HLO, the language of XLA, read from its text."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from d2lhybrid.graphs.stages import Node, Part, Stage

# Operations that only arrange elements: in a step with others, they cost nothing.
LAYOUT_OPS = frozenset({"reshape", "broadcast", "transpose", "copy", "opt-barrier"})
CONTROL_FLOW = frozenset({"while", "conditional"})
# Products of matrices, convolutions and attention: XLA's own operations, and the functions of
# oneDNN, cuBLAS and cuDNN that it calls for them.
CONTRACTIONS = frozenset({"dot", "ragged-dot", "scaled-dot", "convolution"})
CONTRACTIONS |= {"__onednn$matmul", "__onednn$convolution"}
CONTRACTIONS |= {"__cublas$gemm", "__cublas$lt$groupedMatmul", "__cudnn$blockScaledDot"}
CONTRACTIONS |= {f"__cublas$lt$matmul{dtype}" for dtype in ("", "$f8", "$mx")}
CONTRACTIONS |= {f"__cudnn$convForward{graph}" for graph in ("", "Graph")}
CONTRACTIONS |= {f"__cudnn$conv{what}" for what in ("BackwardInput", "BackwardFilter")}
CONTRACTIONS |= {"__cudnn$convBiasActivationForward"}
CONTRACTIONS |= {
    f"__cudnn$fmha{bias}Softmax{dropout}{backward}{dtype}"
    for bias in ("", "ScaleBias")
    for dropout in ("", "Dropout")
    for backward in ("", "Backward")
    for dtype in ("", "F8")
}
_PASSING = {"tuple", "get-tuple-element", "bitcast"}  # which give what they get
_NO_WORK = _PASSING | {"parameter", "constant"}
_COMPUTATION = re.compile(r"(ENTRY )?%?([\w.-]+) (?:\(.*)?\{$")
_INSTRUCTION = re.compile(r"\s+(ROOT )?%?([\w.-]+) = (?:\(.*?\)|\S+) ([\w-]+)\((.*)$")


@dataclass(frozen=True)
class _Instruction:
    is_root: bool  # is it the result of its computation?
    name: str
    operation: str  # of a custom call the function that it calls
    operands: str  # what stands between the parentheses
    attributes: str  # what stands behind them
    scope: str  # the path of scopes in which it was recorded


# The instructions of each computation of a module; the entry computation goes by the name "".
_Module = Mapping[str, Sequence[_Instruction]]


def lowered_ops(
    text: str, names: Collection[str], layout_names: Collection[str]
) -> dict[str, tuple[str, ...]]:
    """The operations that XLA gets for each of `names`, from a module before XLA's passes.

    To broadcast a constant is no operation, unless it is for one of `layout_names`: what computes
    something else has become that constant.
    """
    module = _parse(text)
    constants = {op.name for of in module.values() for op in of if op.operation == "constant"}
    by_name: dict[str, list[_Instruction]] = {}
    for instruction in module[""]:
        for name in _origins(instruction, names):
            by_name.setdefault(name, []).extend(
                op
                for op in _inlined(instruction, module)
                if name in layout_names or not _is_broadcast(op, constants)
            )
    return {
        name: tuple(instruction.operation for instruction in _that_count(instructions))
        for name, instructions in by_name.items()
    }


def _is_broadcast(instruction: _Instruction, constants: Collection[str]) -> bool:
    """Does it broadcast one of the constants?"""
    is_broadcast = instruction.operation == "broadcast"
    return is_broadcast and instruction.operands.split("%")[-1] in constants


def read_stage(title: str, text: str, names: Collection[str]) -> Stage:
    """The entry computation of a module; each instruction knows which of `names` it computes."""
    module = _parse(text)
    drawn: dict[str, tuple[str, ...]] = {}  # for an instruction, the nodes in its place
    nodes: list[Node] = []
    outputs: tuple[str, ...] = ()
    for instruction in module[""]:
        operands = re.findall(r"[\w.-]+", instruction.operands)
        inputs = tuple(dict.fromkeys(node for o in operands for node in drawn.get(o, ())))
        if instruction.operation in _PASSING:
            drawn[instruction.name] = inputs
        else:
            nodes.append(_node(instruction, inputs, module, names))
            drawn[instruction.name] = (instruction.name,)
        if instruction.is_root:
            outputs = drawn[instruction.name]
    return Stage(title, tuple(nodes), outputs)


def _node(
    instruction: _Instruction, inputs: tuple[str, ...], module: _Module, names: Collection[str]
) -> Node:
    """An input, a constant, or a step with what it computes."""
    if instruction.operation == "parameter":
        return Node(instruction.name)
    if instruction.operation == "constant":
        # One that is too large to be written down goes by its name.
        is_elided = "{...}" in instruction.operands
        value = f"{instruction.name} = {{...}}" if is_elided else instruction.operands
        return Node(instruction.name, attributes=value)
    inside = _that_count(list(_inlined(instruction, module)))
    parts = tuple(Part(inner.operation, _origins(inner, names)) for inner in inside)
    operation = parts[0].kind if len(parts) == 1 else instruction.operation
    return Node(instruction.name, operation, inputs, parts=parts)


def _that_count(instructions: Sequence[_Instruction]) -> Sequence[_Instruction]:
    """Those of several instructions that are counted.

    If there is control flow, nothing else; else what computes. If nothing computes, what arranges
    elements, without copies and reshapes unless these are all.
    """
    working = [op for op in instructions if op.operation not in _NO_WORK]
    control_flow = [op for op in working if op.operation in CONTROL_FLOW]
    computing = [op for op in working if op.operation not in LAYOUT_OPS]
    arranging = [op for op in working if op.operation not in ("copy", "reshape")]
    return control_flow or computing or arranging or working


def _origins(instruction: _Instruction, names: Collection[str]) -> frozenset[str]:
    """The one of `names` in whose scope an instruction was recorded, or none."""
    return frozenset(longest_scope(re.sub(r"^jit\([^/]*\)/", "", instruction.scope), names))


def longest_scope(path: str, names: Collection[str]) -> list[str]:
    """The longest of `names` with which a path begins, in a list; an empty one if there is none.

    >>> longest_scope("net/dense/add", {"net", "net/dense", "add"})
    ['net/dense']
    """
    words = path.split("/")
    scopes = ("/".join(words[:end]) for end in range(len(words), 0, -1))
    return [scope for scope in scopes if scope in names][:1]


def _inlined(instruction: _Instruction, module: _Module) -> Iterator[_Instruction]:
    """The instructions that a fusion or a call runs; any other instruction itself."""
    attribute = "to_apply" if instruction.operation == "call" else "calls"
    called = re.search(attribute + r"=%?([\w.-]+)", instruction.attributes)
    if not called:
        yield instruction
        return
    for inner in module.get(called[1], ()):
        yield from _inlined(inner, module)


def _parse(text: str) -> _Module:
    computation = ""
    module: dict[str, list[_Instruction]] = {"": []}
    for line in text.splitlines():
        if header := _COMPUTATION.match(line):
            is_entry, name = header.groups()
            computation = "" if is_entry else name
        elif match := _INSTRUCTION.match(line):
            root, name, operation, tail = match.groups()
            instruction = _instruction(bool(root), name, operation, tail)
            module.setdefault(computation, []).append(instruction)
    return module


def _instruction(is_root: bool, name: str, operation: str, tail: str) -> _Instruction:
    """`tail`: what stands behind the parenthesis that opens the operands."""
    depth, end = 1, 0
    while depth:
        depth += {"(": 1, ")": -1}.get(tail[end], 0)
        end += 1
    operands, attributes = tail[: end - 1], tail[end:]
    scope = re.search(r'op_name="([^"]*)"', attributes)
    target = re.search(r'custom_call_target="([^"]*)"', attributes)
    return _Instruction(
        is_root,
        name,
        target[1] if target else operation,
        operands,
        attributes,
        scope[1] if scope else "",
    )
