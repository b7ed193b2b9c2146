"""What TorchDynamo makes of a model: graphs, graph breaks and recompilations."""

from typing import Any

import torch

from d2lhybrid.calls import name_of
from d2lhybrid.frameworks.explanation import (
    Explanation,
    Finding,
    Missing,
    from_error,
    nothing_compiled,
    quiet,
    require_runs,
)
from d2lhybrid.frameworks.protocol import Args, Function, Kwargs
from d2lhybrid.frameworks.torch import private
from d2lhybrid.frameworks.torch.eager import compiled, eager, isolated
from d2lhybrid.i18n import gettext as _

VERSION = f"PyTorch {torch.__version__.partition('+')[0]}"


class _Recorder:
    """A backend that counts the graphs it is given and runs them as they are."""

    def __init__(self) -> None:
        self.graphs = 0

    def __call__(self, graph: Any, example_inputs: Any) -> Any:
        self.graphs += 1
        return graph.forward


def explain(model: Any, args: Args, kwargs: Kwargs) -> Explanation:
    """Run a module or function once under TorchDynamo; what was compiled before stays."""
    missing, plain, recorder = Missing(), eager(model), _Recorder()
    compilations, fallbacks = missing.ask(lambda: _history(model), (0, ()))
    breaks_before = len(missing.ask(private.breaks, ()))
    failures_before = missing.ask(private.failures, ())
    unsupported: tuple[Finding, ...] = ()
    with quiet():
        try:
            anew(model, recorder)(*args, **kwargs)
        except Exception as error:
            require_runs(name_of(plain), lambda: eager(model)(*args, **kwargs))
            unsupported = (from_error(error, private.users_frames(error)),)
    breaks = missing.ask(private.breaks, ())[breaks_before:]
    failures = missing.ask(private.failures, ())
    known = [record for record, *_rest in failures_before]
    failed = [rest for record, *rest in failures if not any(record is one for one in known)]
    if not failed and not recorder.graphs:  # of what it gave up before, TorchDynamo says no more
        places = [[code.co_filename, code.co_firstlineno] for code in private.codes_of(model)]
        failed = [rest for _record, *rest in failures if rest[1:] in places][-1:]
    if not unsupported:
        fallbacks += tuple(Finding(said.splitlines()[0], *place) for said, *place in failed)
    notes = missing.notes(VERSION)
    if not recorder.graphs and not unsupported:
        notes = (nothing_compiled(_why_nothing(model, plain, failed)), *notes)
    return Explanation(
        VERSION,
        name_of(plain),
        compilations,
        recorder.graphs,
        tuple(Finding(reason.splitlines()[0], *place) for reason, *place in breaks),
        fallbacks,
        unsupported,
        notes,
    )


def anew(model: Any, backend: Function) -> Function:
    """The model, compiled for this backend as it was compiled: as a whole, or in place."""
    plain = eager(model)
    if private.is_compiled_in_place(private.original(model)):
        plain.compile(backend=backend, **isolated())  # of the copy
        return plain
    return compiled(plain, backend=backend)


def _history(model: Any) -> tuple[int, tuple[Finding, ...]]:
    """Count the programs compiled before; name the code that has used up its limit."""
    inner = private.original(model)
    if inner is model and not private.is_compiled_in_place(model):
        return 0, ()
    codes = private.codes_of(model)
    backends = private.backends_of(model, codes)
    count = sum(not isinstance(backend, _Recorder) for backend in backends)
    limit = private.recompile_limit()
    if count < limit:
        return count, ()
    place = codes[-1].co_filename, codes[-1].co_firstlineno
    return count, (Finding(f"recompile_limit ({limit})", *place),)


def _why_nothing(model: Any, plain: Any, failed: list[Any]) -> str:
    if failed:
        said = str(failed[-1][0])
        text = _(
            "a graph ends inside a loop ({reason}), and TorchDynamo then leaves the whole function "
            "to Python"
        )
        reason = said.splitlines()[0]
        return text.format(reason=reason) if "loop" in said else reason
    if private.is_disabled(getattr(plain, "forward", plain)):
        return _("torch.compiler.disable keeps TorchDynamo away from it")
    if plain is not model and type(plain).__module__.startswith("torch.nn."):
        text = _(
            "{kind}.compile() compiles the forward of {kind}, which is code of PyTorch, and "
            "TorchDynamo leaves that to Python; write torch.compile(net)"
        )
        return text.format(kind=type(plain).__name__)
    return _("TorchDynamo found no operation on tensors in this call")
