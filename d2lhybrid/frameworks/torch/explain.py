"""What TorchDynamo makes of a model: graphs, graph breaks and recompilations."""

from dataclasses import replace
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
from d2lhybrid.frameworks.torch.programs import compiled, eager
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
    missing, recorder, name = Missing(), _Recorder(), name_of(eager(model))
    compilations = missing.ask(lambda: private.compilations(model, _Recorder), 0)
    breaks_before = len(missing.ask(private.breaks, ()))
    failures_before = missing.ask(private.failures, ())
    error = run_with(recorder, model, args, kwargs)
    breaks = missing.ask(private.breaks, ())[breaks_before:]
    failures = missing.ask(private.failures, ())
    failed = [finding for one, finding in failures if (one, finding) not in failures_before]
    if not failed and not recorder.graphs:  # of what it gave up before, TorchDynamo says no more
        places = [(code.co_filename, code.co_firstlineno) for code in private.codes_of(model)]
        failed = [one for _record, one in failures if (one.file, one.line) in places][-1:]
    notes = missing.notes(VERSION)
    if not recorder.graphs and not error:
        notes = (nothing_compiled(_why_nothing(model, failed)), *notes)
    lines = (replace(one, reason=one.reason.splitlines()[0]) for one in failed)
    return Explanation(
        VERSION,
        name,
        compilations,
        recorder.graphs,
        breaks=tuple(breaks),
        fallbacks=() if error else tuple(lines),
        unsupported=(from_error(error, private.users_frames(error)),) if error else (),
        notes=notes,
    )


def run_with(backend: Function, model: Any, args: Args, kwargs: Kwargs) -> Exception | None:
    """Run a model that is compiled anew for a backend; what TorchDynamo raises instead."""
    plain = eager(model)
    with quiet():
        try:
            compiled(plain, backend=backend)(*args, **kwargs)
        except Exception as error:
            require_runs(name_of(plain), lambda: eager(model)(*args, **kwargs))
            return error
    return None


def _why_nothing(model: Any, failed: list[Finding]) -> str:
    if failed:
        said = failed[-1].reason
        reason = said.splitlines()[0]
        text = _(
            "a graph ends inside a loop ({reason}), and TorchDynamo then leaves the whole function "
            "to Python"
        )
        return text.format(reason=reason) if "loop" in said else reason
    plain = eager(model)
    if private.is_disabled(getattr(plain, "forward", plain)):
        return _("torch.compiler.disable keeps TorchDynamo away from it")
    return _("TorchDynamo found no operation on tensors in this call")
