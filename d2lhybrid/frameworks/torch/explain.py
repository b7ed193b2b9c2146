"""What TorchDynamo makes of a model: graphs, graph breaks and recompilations."""

import inspect
import re
import types
from typing import Any

import torch
import torch._dynamo
from torch._dynamo import eval_frame, output_graph
from torch._dynamo.utils import counters

from d2lhybrid.calls import name_of
from d2lhybrid.frameworks.explanation import (
    Explanation,
    Finding,
    from_error,
    nothing_compiled,
    quiet,
    require_runs,
)
from d2lhybrid.frameworks.protocol import Args, Kwargs
from d2lhybrid.frameworks.torch.variants import compiled, uncompiled
from d2lhybrid.i18n import gettext as _


class _Recorder:
    """A backend that counts the graphs it is given and runs them as they are."""

    def __init__(self) -> None:
        self.graphs = 0

    def __call__(self, graph: Any, example_inputs: Any) -> Any:
        self.graphs += 1
        return graph.forward


def explain(model: Any, args: Args, kwargs: Kwargs) -> Explanation:
    """Run a module or function once under TorchDynamo; what was compiled before stays.

    The graph breaks are the list that ``torch._dynamo.explain`` reports from.
    """
    original, eager = eager_of(model)
    in_place = eager is not original
    known_before = in_place or original is not model
    compilations, fallbacks = _history(model, original) if known_before else (0, ())
    recorder = _Recorder()
    unsupported: tuple[Finding, ...] = ()
    known = len(output_graph.graph_break_reasons)
    said_before = counters["unimplemented"].copy()
    with quiet():
        try:
            compiled(eager, backend=recorder)(*args, **kwargs)
        except Exception as error:
            require_runs(name_of(original), lambda: eager(*args, **kwargs))
            stack = getattr(error, "real_stack", None)  # Dynamo's own record of the user's code
            frames = stack and [(frame.filename, frame.lineno or 0) for frame in stack]
            unsupported = (from_error(error, frames),)
    breaks = tuple(
        Finding(b.reason.splitlines()[0], b.user_stack[-1].filename, b.user_stack[-1].lineno or 0)
        for b in output_graph.graph_break_reasons[known:]
    )
    said = [*(counters["unimplemented"] - said_before)]
    # Of a function that it has given up on before, Dynamo says nothing any more.
    places = [(code.co_filename, code.co_firstlineno) for code in _codes(model, original)]
    ever = filter(None, map(_skipped, counters["unimplemented"]))
    new = [*filter(None, map(_skipped, said))]
    skipped = tuple(one for one in ever if one in new or (one.file, one.line) in places)
    notes: tuple[str, ...] = ()
    if not recorder.graphs and not unsupported:
        notes = (nothing_compiled(_why_nothing(original, in_place, said, skipped)),)
    elif breaks and _in_one_piece(model, original):
        notes = (
            _("compiled with fullgraph=True: a call raises an error at the first graph break"),
        )
    return Explanation(
        f"PyTorch {torch.__version__.partition('+')[0]}",
        name_of(original),
        compilations,
        recorder.graphs,
        breaks,
        fallbacks + skipped,
        unsupported,
        notes,
    )


def eager_of(model: Any) -> tuple[Any, Any]:
    """What was compiled, and what runs it eagerly: another where module.compile() was called."""
    original = uncompiled(model)
    in_place = getattr(original, "_compiled_call_impl", None) is not None
    return original, original._call_impl if in_place else original


def _in_one_piece(model: Any, original: Any) -> bool:
    """Was it compiled with ``fullgraph=True``, so that its calls refuse what is looked at here?"""
    compiled_call = getattr(original, "_compiled_call_impl", None) or model
    context = getattr(model, "dynamo_ctx", None)
    if context is None and isinstance(compiled_call, types.FunctionType):
        context = inspect.getclosurevars(compiled_call).nonlocals.get("self")
    return getattr(context, "fullgraph", False) is True


def _skipped(said: str) -> Finding | None:
    """The function that Dynamo left to Python, where it says so."""
    found = re.search(r"frame skipped: .* \((.*) line (\d+)\)", said)
    return Finding(said.splitlines()[0], found[1], int(found[2])) if found else None


def _why_nothing(
    original: Any, in_place: bool, said: list[str], skipped: tuple[Finding, ...]
) -> str:
    if skipped:
        text = _(
            "a graph ends inside a loop ({reason}), and TorchDynamo then leaves the whole function "
            "to Python"
        )
        return text.format(reason=skipped[-1].reason)
    if getattr(getattr(original, "forward", None), "_torchdynamo_disable", False):
        return _("torch.compiler.disable keeps TorchDynamo away from it")
    if said:
        return said[-1].splitlines()[0]
    if in_place and type(original).__module__.startswith("torch.nn."):
        text = _(
            "{kind}.compile() compiles the forward of {kind}, which is code of PyTorch, and "
            "TorchDynamo leaves that to Python; write torch.compile(net)"
        )
        return text.format(kind=type(original).__name__)
    return _("TorchDynamo found no operation on tensors in this call")


def _history(model: Any, original: Any) -> tuple[int, tuple[Finding, ...]]:
    """Count the compilations in Dynamo's cache; name the code that has used up its limit."""
    backend: Any = getattr(getattr(model, "dynamo_ctx", None), "callback", None)
    while hasattr(backend, "_torchdynamo_orig_backend"):
        backend = backend._torchdynamo_orig_backend
    codes = _codes(model, original)
    entries = [e for code in codes for e in eval_frame._debug_get_cache_entry_list(code)]
    count = sum(
        entry.backend is backend
        if backend
        else not isinstance(getattr(entry.backend, "compiler_fn", None), _Recorder)
        for entry in entries
    )
    limit = torch._dynamo.config.recompile_limit
    if count < limit:
        return count, ()
    place = codes[-1].co_filename, codes[-1].co_firstlineno
    return count, (Finding(f"recompile_limit ({limit})", *place),)


def _codes(model: Any, original: Any) -> list[types.CodeType]:
    """Return the code that Dynamo compiles for a model; for one of torch.nn it is a wrapper."""
    wrapper = getattr(getattr(model, "forward", model), "_torchdynamo_orig_callable", original)
    forward = type(original).forward if isinstance(original, torch.nn.Module) else original
    found = [getattr(f, "__code__", None) for f in (wrapper, forward)]
    return list({id(code): code for code in found if code}.values())
