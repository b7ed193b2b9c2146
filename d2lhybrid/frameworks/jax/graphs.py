"""A program of JAX on its way: the jaxpr that was traced, and what XLA leaves of it."""

import inspect
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import jax
import numpy as np
from jax.extend.core import Literal

from d2lhybrid.calls import name_of
from d2lhybrid.frameworks.explanation import quiet, require_runs
from d2lhybrid.frameworks.fates import content, judged
from d2lhybrid.frameworks.graph import Graph
from d2lhybrid.frameworks.hlo import read
from d2lhybrid.frameworks.jax.explain import trace
from d2lhybrid.frameworks.jax.modules import eager
from d2lhybrid.frameworks.protocol import Args, Kwargs
from d2lhybrid.i18n import gettext as _
from d2lhybrid.report.stages import Node, Stage

# Equations that only hold a function, by the name of the parameter with its jaxpr.
_HOLDERS = {
    "jit": "jaxpr",
    "closed_call": "call_jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
}
# Those that only say how elements are arranged are not drawn, as in HLO.
_TRANSPARENT = {"broadcast_in_dim", "reshape", "squeeze", "expand_dims", "copy", "copy_p"}
_ORIGIN = re.compile(r'op_name="jit\([^"/]*\)/([^"/]+)[^"]*"')


@dataclass(frozen=True)
class _Step:
    """An equation with a name of its own; what it reads and writes are names or literals."""

    name: str
    equation: Any
    reads: tuple[Any, ...]
    writes: tuple[str, ...]


@dataclass
class _Record:
    """A jaxpr without functions in it: what they hold stands where they are called."""

    steps: list[_Step] = field(default_factory=list)
    constants: dict[str, Any] = field(default_factory=dict)
    inputs: tuple[str, ...] = ()
    outputs: tuple[Any, ...] = ()
    names: dict[str, int] = field(default_factory=dict)

    def name(self, wanted: str) -> str:
        """A name that no other value or step has: tanh, tanh_1, ..."""
        number = self.names[wanted] = self.names.get(wanted, -1) + 1
        return f"{wanted}_{number}" if number else wanted

    def constant(self, value: Any) -> str:
        name = self.name("constant")
        self.constants[name] = value
        return name


def graphs(model: Any, args: Args, kwargs: Kwargs) -> tuple[Graph, ...]:
    """Trace a model once, apart from its own compilations, and compile what was traced."""
    with quiet():
        try:
            traced = trace(model, args, kwargs)
        except Exception:
            require_runs(name_of(model), lambda: eager(model)(*args, **kwargs))
            return ()
        record = _record(traced.jaxpr, model)
        stages = [_traced(record), _compiled(record, traced.jaxpr.in_avals)]
    return (Graph(f"JAX {jax.__version__}", name_of(model), judged(stages)),)


def _record(closed: Any, model: Any) -> _Record:
    record = _Record()
    paths = closed.jaxpr.debug_info.safe_arg_names(len(closed.jaxpr.invars))
    record.inputs = tuple(record.name(_readable(path, model)) for path in paths)
    record.outputs = tuple(_flatten(closed, record.inputs, record))
    return record


def _readable(path: str, model: Any) -> str:
    """The name of an input: layers_0_kernel of given[0].layers[0].kernel.value, x of given[1]."""
    words = re.findall(r"\w+", path)
    if words[:1] == ["given"]:  # by Pure.jitted: the weights, and the arguments by their number
        words = words[2:-1] if words[1] == "0" else [_parameter(model, int(words[1]) - 1)]
    return "_".join(words) or "input"


def _parameter(model: Any, place: int) -> str:
    try:
        return list(inspect.signature(eager(model)).parameters)[place]
    except (TypeError, ValueError, IndexError):  # none, or *args
        return "input"


def _flatten(closed: Any, given: Sequence[Any], record: _Record) -> list[Any]:
    """Add the equations of a jaxpr that gets these values; return the values of its results."""
    jaxpr = closed.jaxpr
    known = dict(zip(jaxpr.constvars, map(record.constant, closed.consts), strict=True))
    known |= dict(zip(jaxpr.invars, given, strict=True))

    def value(atom: Any) -> Any:
        return atom if isinstance(atom, Literal) else known[atom]

    for equation in jaxpr.eqns:
        reads = tuple(map(value, equation.invars))
        kind = equation.primitive.name
        if kind in _HOLDERS:
            found = _flatten(equation.params[_HOLDERS[kind]], reads, record)
        else:
            name = record.name(kind)
            found = [f"{name}:{place}" for place in range(len(equation.outvars))]
            record.steps.append(_Step(name, equation, reads, tuple(found)))
        known |= dict(zip(equation.outvars, found, strict=True))
    return list(map(value, jaxpr.outvars))


def _traced(record: _Record) -> Stage:
    """The equations as nodes; a literal that was only spread over an array is a constant."""
    nodes = [Node(name) for name in record.inputs]
    nodes += [Node(name, key=_content(array)) for name, array in record.constants.items()]
    shown: dict[str, tuple[str, ...]] = {node.name: (node.name,) for node in nodes}
    for step in record.steps:
        literals = [str(read.val) for read in step.reads if isinstance(read, Literal)]
        named = [read for read in step.reads if not isinstance(read, Literal)]
        inputs = tuple(source for read in named for source in shown[read])
        if named and _is_transparent(step):
            shown |= dict.fromkeys(step.writes, inputs)
            continue
        shown |= dict.fromkeys(step.writes, (step.name,))
        constant = _is_transparent(step)
        places = [place for place, r in enumerate(step.reads) if isinstance(r, Literal)]
        types = [str(variable.aval) for variable in step.equation.outvars]
        key = f"{types} {step.equation.params} {literals} {places}"
        operation = "" if constant else step.equation.primitive.name
        nodes.append(Node(step.name, operation, inputs, literals[0] if constant else key))
    outputs = [name for out in record.outputs if isinstance(out, str) for name in shown[out]]
    return Stage(_("traced"), tuple(nodes), tuple(outputs))


def _is_transparent(step: _Step) -> bool:
    kind, given = step.equation.primitive.name, step.equation.invars[:1]
    before = [(atom.aval.shape, atom.aval.dtype) for atom in given]
    after = [(variable.aval.shape, variable.aval.dtype) for variable in step.equation.outvars]
    return kind in _TRANSPARENT or (kind == "convert_element_type" and before == after)


def _content(array: Any) -> str:
    try:
        return content(np.asarray(array))
    except TypeError:  # random keys
        return repr(array)


def _compiled(record: _Record, inputs: Sequence[Any]) -> Stage:
    """What XLA makes of the equations, each of which runs in a scope of its own name."""

    def replay(*given: Any) -> list[Any]:
        values = record.constants | dict(zip(record.inputs, given, strict=True))

        def value(read: Any) -> Any:
            return read.val if isinstance(read, Literal) else values[read]

        for step in record.steps:
            primitive = step.equation.primitive
            bound = primitive.get_bind_params(step.equation.params)
            functions, params = bound if isinstance(bound, tuple) else ((), bound)  # before 0.10
            with jax.named_scope(step.name), step.equation.ctx.manager:
                found = primitive.bind(*functions, *map(value, step.reads), **params)
            several = primitive.multiple_results
            values |= dict(zip(step.writes, found if several else [found], strict=True))
        return [value(output) for output in record.outputs]

    kind = inspect.Parameter.POSITIONAL_ONLY  # for XLA to call its parameters as we do
    replay.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(name, kind) for name in record.inputs]
    )
    structs = [
        jax.ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak_type) for aval in inputs
    ]
    text = jax.jit(replay).lower(*structs).compile().as_text()
    names = {step.name for step in record.steps}
    stage = read(_("as XLA leaves it"), _ORIGIN.sub(r'op_name="\1"', text), names)
    return replace(stage, nodes=tuple(map(_named, stage.nodes)))


def _named(node: Node) -> Node:
    """A fusion of a single operation, such as one that a library computes, is that operation.

    A constant too large for XLA to write down goes by its name.
    """
    if node.key == "{...}":
        return replace(node, key=f"{node.name} = {node.key}")
    alone = node.operation == "fusion" and len(node.parts) == 1
    return replace(node, operation=node.parts[0]) if alone else node
