"""What TorchDynamo makes of a model: graphs, graph breaks and recompilations."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from types import CodeType
from typing import Any

import torch

from d2lhybrid.core.arguments import name_of
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.frameworks.failures import from_error, quiet
from d2lhybrid.frameworks.torch import private
from d2lhybrid.frameworks.torch.export import eager, run_with
from d2lhybrid.frameworks.torch.stages import graph_of
from d2lhybrid.frameworks.variant import Args, Function, Kwargs
from d2lhybrid.graphs.explanation import (
    Explanation,
    Finding,
    MissingNames,
    Recording,
    nothing_compiled,
)
from d2lhybrid.graphs.graph import Graph

_VERSION = f"PyTorch {torch.__version__.partition('+')[0]}"
_NO_RECORDS = private.DynamoRecords([], [])


def explain(model: Any, args: Args, kwargs: Kwargs) -> Explanation:
    """Run a module or function once under TorchDynamo; what was compiled before stays."""
    missing, name = MissingNames(), name_of(eager(model))
    recorded: list[Function] = []  # for each graph what makes it, once somebody asks

    def record(*graph: Any) -> None:
        make = partial(graph_of, _VERSION, name, *graph)
        recorded.append(private.in_tracing_context(make))

    compilations = missing.ask(lambda: private.compilations(model), 0)
    limits = missing.ask(lambda: private.limits(model), [])
    before = missing.ask(private.dynamo_records, _NO_RECORDS)
    error = run_with(record, model, args, kwargs)
    after = missing.ask(private.dynamo_records, _NO_RECORDS)
    breaks = tuple(after.breaks[len(before.breaks) :])
    failures = [failure[0] for failure in after.failures if failure not in before.failures]
    if not failures and not recorded:  # of what it gave up before, TorchDynamo says no more
        places = [(code.co_filename, code.co_firstlineno) for code in private.codes_of(model)]
        earlier = [finding for finding, _metrics in after.failures]
        failures = [finding for finding in earlier if (finding.file, finding.line) in places][-1:]
    notes = missing.notes(_VERSION)
    if not recorded and not error:
        reasons = [finding.reason for finding in (*breaks, *failures)]
        notes = (nothing_compiled(_why_no_graph(reasons[-1] if reasons else "")), *notes)
    report = Explanation(
        _VERSION,
        name,
        compilations,
        len(recorded),
        breaks,
        notes=notes,
        recording=Recording(partial(_made, recorded)),
    )
    if error:
        refused = from_error(error, private.users_frames(error))
        return replace(report, unsupported=(refused,))
    given_up = [replace(failure, reason=failure.reason.splitlines()[0]) for failure in failures]
    reached = [_limit_reached(code, limit) for code, limit in limits]
    return replace(report, fallbacks=(*given_up, *reached))


def _made(recorded: Sequence[Function]) -> tuple[Graph, ...]:
    with quiet():
        return tuple(make() for make in recorded)


def _limit_reached(code: CodeType, limit: int) -> Finding:
    """What to say of code of which TorchDynamo compiles no more programs."""
    text = _(
        "The limit of {limit} compilations is reached ({setting}): a call that fits none of these "
        "programs runs eagerly, or raises with fullgraph=True. {command} shows why it was compiled "
        "again."
    )
    names = {"setting": "torch._dynamo.config.recompile_limit", "command": "TORCH_LOGS=recompiles"}
    said, place = text.format(limit=limit, **names), (code.co_filename, code.co_firstlineno)
    return Finding(said, *place, is_limit=True)


def _why_no_graph(message: str) -> str:
    """Why a call took no graph, by what TorchDynamo said of the last function it gave up."""
    reason = message.partition("\n")[0]
    if "loop" in message:
        text = _(
            "a graph ends inside a loop ({reason}), and TorchDynamo then leaves the whole function "
            "to Python"
        )
        return text.format(reason=reason)
    return reason or _("TorchDynamo found no operation on tensors in this call")


def graphs(model: Any, args: Args, kwargs: Kwargs) -> tuple[Graph, ...]:
    """Run a module or function once under TorchDynamo; nothing is compiled, no compiler needed.

    What was compiled before stays. A graph that Inductor cannot plan has its recorded stage only.
    """
    missing, name = MissingNames(), name_of(eager(model))
    recorded: list[Graph] = []

    def record(*graph: Any) -> None:
        recorded.append(graph_of(_VERSION, name, *graph))

    before = missing.ask(private.dynamo_records, _NO_RECORDS)
    run_with(record, model, args, kwargs)
    after = missing.ask(private.dynamo_records, _NO_RECORDS)
    # Several graphs show that there is a break; of a single one, a note has to.
    if len(recorded) == 1 and len(after.breaks) > len(before.breaks):
        text = _("This call has a graph break, where Python runs a step; {explain} names its line.")
        note = text.format(explain="explain(model, ...)")
        return (replace(recorded[0], notes=(*recorded[0].notes, note)),)
    return tuple(recorded)
