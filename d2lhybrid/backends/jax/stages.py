"""The stages of a graph of JAX: the jaxpr that was traced, and what XLA leaves of it."""

import inspect
import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal, jaxpr_as_fun

from d2lhybrid.backends.failures import without_logs
from d2lhybrid.backends.jax import private
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.graphs.fates import decide_fates
from d2lhybrid.graphs.graph import Graph
from d2lhybrid.graphs.hlo import CONTRACTIONS, CONTROL_FLOW, LAYOUT_OPS, lowered_ops, read_stage
from d2lhybrid.graphs.stages import Node, Stage, describe_constant

VERSION = f"JAX {jax.__version__}"
# Equations that only hold a function, by the name of the parameter with its jaxpr.
_HOLDERS = dict.fromkeys(("closed_call", "custom_jvp_call", "custom_vjp_call"), "call_jaxpr")
_HOLDERS |= {"jit": "jaxpr", "remat2": "jaxpr"}
LAYOUT = LAYOUT_OPS | {"broadcast_in_dim", "squeeze", "stop_gradient"}

# A value in a trace, with the names of the nodes that are drawn for it; none for a literal.
_Value = tuple[Any, tuple[str, ...]]


class Program(NamedTuple):
    """What JAX compiles as a whole."""

    name: str
    jaxpr: Any  # closed
    executable: Any = None  # what was compiled, if a call has done so


def graphs_of(programs: Sequence[Program]) -> tuple[Graph, ...]:
    with without_logs():
        return tuple(map(_graph_of, programs))


def _graph_of(program: Program) -> Graph:
    stages = _stages_of(program.jaxpr, program.executable)
    return Graph(
        VERSION,
        program.name,
        stages,
        contractions=CONTRACTIONS,
        control_flow=CONTROL_FLOW,
        copy_steps=sum(step.operation == "copy" for step in stages[-1].operations),
    )


def _stages_of(closed: Any, executable: Any) -> tuple[Stage, ...]:
    """The stages of a closed jaxpr, with fates; this compiles it unless it is there compiled.

    What a call has compiled names no node, so less is known of what its steps come from.

    A function that is held, such as ``jnp.clip``, is compiled where it is called. XLA simplifies it
    alone first, so the program of a call may differ: two clamps for one ``clip`` of another.
    """
    recorder, output_names, lowered = _recorded(closed)
    names = {node.name for node in recorder.nodes if node.operation}
    layout = {node.name for node in recorder.nodes if node.operation in LAYOUT}

    def ops_of(given_to_xla: Any) -> dict[str, tuple[str, ...]]:
        text = given_to_xla.as_text(dialect="hlo", debug_info=True)
        return dict.fromkeys(names, ()) | lowered_ops(text, names, layout)

    by_name = ops_of(lowered)
    absent = [name for name in by_name if name not in layout and not by_name[name]]
    # What XLA gets only if its result is an output is dead, though a simplification hides it.
    if_output = ops_of(_recorded(closed, absent)[2]) if absent else {}
    dead = {name for name in absent if not LAYOUT_OPS.issuperset(if_output[name])}
    nodes = tuple(
        replace(node, lowered_to=by_name.get(node.name, ()), is_dead=node.name in dead)
        for node in recorder.nodes
    )
    text = (lowered.compile() if executable is None else executable).as_text()
    left = read_stage(_("as XLA leaves it"), text, names if executable is None else ())
    return decide_fates((Stage(_("traced"), nodes, output_names), left), LAYOUT)


def _recorded(
    closed: Any, more_outputs: Collection[str] = ()
) -> tuple["_Recorder", tuple[str, ...], Any]:
    """The nodes of a closed jaxpr, the names of its outputs, and what XLA gets for it.

    `more_outputs`: nodes whose results are outputs as well.
    """
    recorder = _Recorder()
    inputs = [recorder.add(_input_name(path)) for path in private.input_paths(closed.jaxpr)]
    outputs: list[_Value] = []

    def run(*arrays: Any) -> list[Any]:
        values = [(array, (name,)) for array, name in zip(arrays, inputs, strict=True)]
        outputs.extend(recorder.run(closed, values))
        results = [result for name in more_outputs for result in recorder.results[name]]
        return [*(value for value, _names in outputs), *results]

    kind = inspect.Parameter.POSITIONAL_ONLY  # for XLA to call its parameters as we do
    signature = inspect.Signature([inspect.Parameter(name, kind) for name in inputs])
    run.__signature__ = signature  # type: ignore[attr-defined]
    args = (jax.ShapeDtypeStruct(a.shape, a.dtype, weak_type=a.weak_type) for a in closed.in_avals)
    lowered = jax.jit(run).lower(*args)
    return recorder, tuple(name for _value, names in outputs for name in names), lowered


class _Recorder:
    """Runs a jaxpr, each equation in a scope of its own name, and keeps the equations as nodes.

    What functions in it hold stands where they are called.
    """

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.results: dict[str, list[Any]] = {}  # of each equation, by the name of its node
        self._uses: Counter[str] = Counter()  # of each name

    def add(self, wanted: str, **facts: Any) -> str:
        """Keep a node with these facts under a name that no other one has: tanh, tanh_1, ..."""
        number = self._uses[wanted]
        self._uses[wanted] += 1
        name = f"{wanted}_{number}" if number else wanted
        self.nodes.append(Node(name, **facts))
        return name

    def run(self, closed: Any, inputs: Sequence[_Value]) -> list[_Value]:
        """The outputs of a closed jaxpr, each with the names of its nodes."""
        constants = [
            (constant, (self.add("constant", attributes=_constant_text(constant)),))
            for constant in closed.consts
        ]
        values = dict(zip(closed.jaxpr.constvars, constants, strict=True))
        values |= dict(zip(closed.jaxpr.invars, inputs, strict=True))

        def value_of(atom: Any) -> _Value:
            return (atom.val, ()) if isinstance(atom, Literal) else values[atom]

        for equation in closed.jaxpr.eqns:
            operands = list(map(value_of, equation.invars))
            holder = _HOLDERS.get(equation.primitive.name, "")
            # What a checkpoint computes again for a gradient is one step, which merges with none.
            is_again = equation.params.get("differentiated")
            held = None if is_again else equation.params.get(holder)
            if held:
                closed_held = ClosedJaxpr(held, ()) if isinstance(held, Jaxpr) else held
                results = self.run(closed_held, operands)
            else:
                results = self._step(equation, operands)
            values |= dict(zip(equation.outvars, results, strict=True))
        return list(map(value_of, closed.jaxpr.outvars))

    def _step(self, equation: Any, operands: Sequence[_Value]) -> list[_Value]:
        """Run one equation in the scope of its node."""
        kind = equation.primitive.name
        variables = {
            atom: value
            for atom, (value, _names) in zip(equation.invars, operands, strict=True)
            if not isinstance(atom, Literal)
        }
        literals = {at: str(value) for at, (value, names) in enumerate(operands) if not names}
        result_types = [str(variable.aval) for variable in equation.outvars]
        name = self.add(
            kind,
            operation=kind,
            inputs=tuple(name for _value, names in operands for name in names),
            attributes=f"{result_types} {equation.params} {literals}",
            has_effect=bool(equation.effects),
        )
        alone = Jaxpr((), list(variables), equation.outvars, [equation], equation.effects)
        with jax.named_scope(name):
            results = jaxpr_as_fun(ClosedJaxpr(alone, ()))(*variables.values())
        self.results[name] = results
        return [(result, (name,)) for result in results]


def _constant_text(array: Any) -> str:
    try:
        return describe_constant(np.asarray(array))
    except TypeError:  # random keys
        return repr(array)


def _input_name(path: str) -> str:
    """layers_0_kernel of given[0].layers[0].kernel.value, as ``Pure.jitted`` calls the weights."""
    words = re.findall(r"\w+", path)
    is_weight = words[:2] == ["given", "0"]
    return "_".join(words[2:-1] if is_weight else ()) or "input"
