"""What JAX makes of a model: the jaxpr that it traces, what it refuses, what XLA leaves."""

import gc
import inspect
import re
import weakref
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal, jaxpr_as_fun, jaxprs_in_params

from d2lhybrid.core.arguments import name_of
from d2lhybrid.core.errors import CallFailedError
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.display.graph_svg import Node, Stage
from d2lhybrid.frameworks.failures import from_error, last_user_frame, quiet, require_runs
from d2lhybrid.frameworks.jax import private
from d2lhybrid.frameworks.jax.modules import eager, is_jitted, pure, traced
from d2lhybrid.frameworks.variant import Args, Kwargs
from d2lhybrid.graphs.explanation import Explanation, Finding, Graph, Graphs, Missing
from d2lhybrid.graphs.fates import content, judged
from d2lhybrid.graphs.hlo import ARRANGING, CONTROL, kinds, read

_VERSION = f"JAX {jax.__version__}"
_NO_CHECK = nullcontext()
_CALLBACKS = {"pure_callback", "io_callback", "debug_callback", "debug_print"}
# Equations that only hold a function, by the name of the parameter with its jaxpr.
_HOLDERS = dict.fromkeys(("closed_call", "custom_jvp_call", "custom_vjp_call"), "call_jaxpr")
_HOLDERS |= {"jit": "jaxpr", "remat2": "jaxpr"}
_CONTROL = {"cond", "scan", "while"}
_ARRANGING = ARRANGING | {"broadcast_in_dim", "squeeze"}

# A value in a trace, with the names of the nodes that are drawn for it; none for a literal.
_Value = tuple[Any, tuple[str, ...]]


def explain(model: Any, args: Args, kwargs: Kwargs) -> Explanation:
    """Trace a model once for these arguments, apart from its own compilations.

    Twice where tracers leak, because JAX then raises an error in place of the jaxpr. A program of
    JAX is always whole, so there are no graph breaks.
    """
    missing = Missing()
    compilations = missing.ask(lambda: private.compilations(model) if is_jitted(model) else 0, 0)
    leaks: tuple[Finding, ...] = ()
    jaxpr, error = _traced(model, args, kwargs, missing.ask(private.leak_check, _NO_CHECK))
    if error and private.is_leak(error):
        complaint = missing.ask(partial(private.leaked, error), [])
        held = [weakref.ref(tracer) for tracer in complaint]
        del complaint, error
        leaks = tuple(_leaks(held, model))
        try:
            jaxpr, error = _traced(model, args, kwargs)
        except CallFailedError:
            if not leaks:
                raise
            jaxpr, error = None, None  # what has leaked is in the way of a second call
    notes = missing.notes("JAX")
    name = name_of(model)
    report = Explanation(_VERSION, name, compilations, graphs=0, notes=notes)
    if not jaxpr:
        refused = (from_error(error),) if error else ()
        return replace(report, unsupported=(*leaks, *refused))
    if not leaks:  # they count as inputs when the second trace meets them
        notes = (_signature(model, jaxpr), *notes)
    fallbacks = tuple(_calls_into_python(jaxpr.jaxpr))
    made = Graphs(1, lambda: _made(name, jaxpr))
    return replace(report, graphs=made, fallbacks=fallbacks, unsupported=leaks, notes=notes)


def _traced(
    model: Any, args: Args, kwargs: Kwargs, check: AbstractContextManager[Any] = _NO_CHECK
) -> tuple[Any, Exception | None]:
    """The jaxpr of a model, with its own static arguments where it is compiled; or a refusal.

    Raises:
        CallFailedError: it cannot run uncompiled either.
    """
    with quiet():
        try:
            with check:
                return traced(model, args, kwargs).jaxpr, None
        except Exception as error:
            if not private.is_leak(error):
                require_runs(name_of(model), lambda: eager(model)(*args, **kwargs))
            return None, error


def _leaks(held: Sequence[Any], model: Any) -> Iterator[Finding]:
    """Where the tracers of which JAX complained were made, each line once.

    JAX also complains of what a debugger still holds, or an object that is gone together with its
    error, so they are known by weak references: what is alive after that has leaked.
    """
    gc.collect()
    leaked = [tracer for one in held if (tracer := one()) is not None]
    within = {id(operand) for tracer in leaked for operand in private.operands(tracer)}
    found = dict.fromkeys(_leak(tracer, model) for tracer in leaked if id(tracer) not in within)
    placed = [one for one in found if one.file]  # what jax.grad makes of one has no line itself
    yield from placed or found


def _leak(tracer: Any, model: Any) -> Finding:
    """What to say of a leaked tracer; where JAX noted no line, at that of the model's code."""
    text = _(
        "A tracer leaks: the value of type {type} from this line is still held after tracing has "
        "ended. Using it then raises an error. Return it instead."
    )
    inner = eager(model)
    code = getattr(inner, "__code__", None) or getattr(type(inner).__call__, "__code__", None)
    begins = [(code.co_filename, code.co_firstlineno)] if code else []
    place = last_user_frame([*begins, *private.made_at(tracer)])
    return Finding(text.format(type=tracer.aval.str_short()), *place)


def _signature(model: Any, jaxpr: Any) -> str:
    """What the program is for, in the types that decide whether the next call fits it."""
    weights = 0 if is_jitted(model) else len(jax.tree.leaves(pure(model).weights))
    weak, avals = _("{type} (weak type)"), jaxpr.in_avals[weights:]
    types = [(weak if a.weak_type else "{type}").format(type=a.str_short()) for a in avals]
    return _(
        "Compiled for {types}. Another shape, dtype, weak type or static argument compiles anew."
    ).format(types=", ".join(types))


def _calls_into_python(jaxpr: Any) -> Iterator[Finding]:
    """The callbacks of a jaxpr and of those in it, each with its line of the user's code."""
    for equation in jaxpr.eqns:
        if equation.primitive.name in _CALLBACKS:
            yield Finding(
                equation.primitive.name, *last_user_frame(private.frames(equation.source_info))
            )
        for inner in jaxprs_in_params(equation.params):
            yield from _calls_into_python(inner)


def graphs(model: Any, args: Args, kwargs: Kwargs) -> tuple[Graph, ...]:
    """Trace a model once, apart from its own compilations, and compile what was traced."""
    closed, error = _traced(model, args, kwargs)
    return () if error else _made(name_of(model), closed)


def _made(name: str, closed: Any) -> tuple[Graph, ...]:
    with quiet():
        return (Graph(_VERSION, name, judged(_stages(closed), _ARRANGING)),)


def _stages(closed: Any) -> tuple[Stage, Stage]:
    recorder = _Recorder()
    inputs = [recorder.node(_input_name(path)) for path in private.input_paths(closed.jaxpr)]
    outputs: list[_Value] = []

    def run(*given: Any) -> list[Any]:
        values = [(value, (name,)) for value, name in zip(given, inputs, strict=True)]
        outputs.extend(recorder.run(closed, values))
        return [value for value, _sources in outputs]

    kind = inspect.Parameter.POSITIONAL_ONLY  # for XLA to call its parameters as we do
    signature = inspect.Signature([inspect.Parameter(name, kind) for name in inputs])
    run.__signature__ = signature  # type: ignore[attr-defined]
    args = (jax.ShapeDtypeStruct(a.shape, a.dtype, weak_type=a.weak_type) for a in closed.in_avals)
    lowered = jax.jit(run).lower(*args)
    names = {node.name for node in recorder.nodes if node.operation}
    handed = kinds(lowered.as_text(dialect="hlo", debug_info=True), names)
    nodes = tuple(replace(node, kinds=_kinds(node, handed)) for node in recorder.nodes)
    drawn = tuple(name for _value, sources in outputs for name in sources)
    left = read(_("as XLA leaves it"), lowered.compile().as_text(), names)
    return Stage(_("traced"), nodes, drawn), left


def _kinds(node: Node, handed: Mapping[str, tuple[str, ...]]) -> tuple[str, ...] | None:
    """What XLA is handed for a node; of control flow that JAX resolves not what is in it."""
    found = handed.get(node.name, ())
    return None if node.operation in _CONTROL and not CONTROL.intersection(found) else found


class _Recorder:
    """Runs a jaxpr, each equation in a scope of its own name, and keeps the equations as nodes.

    What functions in it hold stands where they are called.
    """

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._names: Counter[str] = Counter()

    def node(self, wanted: str, **facts: Any) -> str:
        """Keep a node with these facts under a name that no other one has: tanh, tanh_1, ..."""
        number = self._names[wanted]
        self._names[wanted] += 1
        name = f"{wanted}_{number}" if number else wanted
        self.nodes.append(Node(name, **facts))
        return name

    def run(self, closed: Any, given: Sequence[_Value]) -> list[_Value]:
        constants = [(c, (self.node("constant", key=_content(c)),)) for c in closed.consts]
        known = dict(zip(closed.jaxpr.constvars, constants, strict=True))
        known |= dict(zip(closed.jaxpr.invars, given, strict=True))

        def value(atom: Any) -> _Value:
            return (atom.val, ()) if isinstance(atom, Literal) else known[atom]

        for equation in closed.jaxpr.eqns:
            reads = list(map(value, equation.invars))
            held = equation.params.get(_HOLDERS.get(equation.primitive.name, ""))
            if equation.params.get("differentiated") and equation.params["prevent_cse"]:
                barrier = jax.make_jaxpr(lambda *given: jax.lax.optimization_barrier(given))
                reads = self.run(barrier(*(value for value, _s in reads)), reads)  # as JAX does
            closed_held = ClosedJaxpr(held, ()) if isinstance(held, Jaxpr) else held
            found = self.run(closed_held, reads) if held else self._step(equation, reads)
            known |= dict(zip(equation.outvars, found, strict=True))
        return list(map(value, closed.jaxpr.outvars))

    def _step(self, equation: Any, reads: Sequence[_Value]) -> list[_Value]:
        kind = equation.primitive.name
        pairs = list(zip(equation.invars, reads, strict=True))
        variables = {atom: value for atom, (value, _s) in pairs if not isinstance(atom, Literal)}
        sources = tuple(source for _value, names in reads for source in names)
        literals = {at: str(value) for at, (value, names) in enumerate(reads) if not names}
        types = [str(variable.aval) for variable in equation.outvars]
        key = f"{types} {equation.params} {literals}"
        given, made = [one.aval for one in equation.invars], equation.outvars[:1]
        passes = any(variable.aval in given for variable in made)
        effect = bool(equation.effects)
        facts = {"inputs": sources, "key": key, "effect": effect, "passes": passes}
        name = self.node(kind, operation=kind, **facts)
        alone = Jaxpr((), list(variables), equation.outvars, [equation], equation.effects)
        with jax.named_scope(name):
            found = jaxpr_as_fun(ClosedJaxpr(alone, ()))(*variables.values())
        return [(value, (name,)) for value in found]


def _content(array: Any) -> str:
    try:
        return content(np.asarray(array))
    except TypeError:  # random keys
        return repr(array)


def _input_name(path: str) -> str:
    """layers_0_kernel of given[0].layers[0].kernel.value, as ``Pure.jitted`` calls the weights."""
    words = re.findall(r"\w+", path)
    weights = words[:2] == ["given", "0"]
    return "_".join(words[2:-1] if weights else ()) or "input"
