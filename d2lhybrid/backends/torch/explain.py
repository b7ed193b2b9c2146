"""What TorchDynamo makes of a model: graphs, graph breaks and recompilations."""

from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from inspect import isfunction
from types import CodeType
from typing import Any

import torch

from d2lhybrid.backends.failures import require_runs, without_logs
from d2lhybrid.backends.torch import dynamo
from d2lhybrid.backends.torch.compiler import compiled
from d2lhybrid.backends.torch.modules import (
    compiled_and_what_it_calls,
    compiled_in,
    eager,
    is_compiled,
)
from d2lhybrid.backends.torch.private import compiled_wrapper
from d2lhybrid.backends.torch.stages import VERSION, graph_of, graphs_of
from d2lhybrid.core.arguments import Args, Function, Kwargs
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.core.user_code import place_of
from d2lhybrid.core.wording import name_of
from d2lhybrid.graphs.explanation import (
    Explanation,
    Finding,
    MissingNames,
    Recording,
    calls_what_is_compiled,
    nothing_compiled,
)


def explain(model: Any, args: Args, kwargs: Kwargs) -> Explanation:
    """Run a module or function once under TorchDynamo; what was compiled before stays.

    One that is not compiled itself, but calls what is, runs as it is: its graphs are those of what
    is compiled in it. So does one with a decorator around it, because compilers look at the mode
    that ``torch.no_grad()``, say, sets.
    """
    missing, name, inside = MissingNames(), name_of(eager(model)), compiled_in(model)
    compilations = missing.ask(lambda: dynamo.programs_kept(inside), 0)
    limits = missing.ask(lambda: dynamo.limits(inside), [])
    before = missing.ask(dynamo.noted, dynamo.NOTHING)
    recorded, error = _record(model, name, args, kwargs)
    new = missing.ask(dynamo.noted, dynamo.NOTHING).since(before)
    breaks, failures = new.breaks, new.failed_findings
    if not failures and not recorded:  # of what it gave up before, TorchDynamo says no more
        asked = compiled_and_what_it_calls(inside or [model])
        earlier = dynamo.last_failure(missing.ask(lambda: dynamo.records_of(asked), None) or [])
        failures = [earlier] if earlier else []
    notes = missing.notes(VERSION)
    if is_compiled(model) and not compiled_wrapper(model):
        notes = (calls_what_is_compiled(name), *notes)
    if not recorded and not error:
        reasons = [finding.reason for finding in (*breaks, *failures)]
        notes = (nothing_compiled(why_no_graph(reasons[-1] if reasons else "")), *notes)
    given_up = [replace(failure, reason=failure.reason.splitlines()[0]) for failure in failures]
    reached = [_no_more_programs(code, limit) for code, limit in limits]
    return Explanation(
        VERSION,
        name,
        compilations,
        len(recorded),
        tuple(breaks),
        fallbacks=() if error else (*given_up, *reached),
        unsupported=(Finding.of(error, dynamo.users_frames(error)),) if error else (),
        notes=notes,
        recording=Recording(partial(graphs_of, recorded)),
    )


def _record(
    model: Any, name: str, args: Args, kwargs: Kwargs
) -> tuple[list[Function], Exception | None]:
    """Call a model compiled anew; or as it is, with what is compiled inside of it compiled anew.

    Graphs run as they are. Parts may share a program, so each graph counts as often as it runs.

    Returns:
        What makes each graph, once somebody asks, and what TorchDynamo raises instead.
    """
    recorded: list[Function] = []

    def backend(graph: Any, inputs: Any) -> Function:
        make = dynamo.in_tracing_context(partial(graph_of, name, graph, inputs))

        def run(*tensors: Any) -> Any:
            recorded.append(make)
            return graph.forward(*tensors)

        return run

    wrapper = compiled_wrapper(model)
    is_decorated = isfunction(model) and wrapper is not model
    runs_as_it_is = is_compiled(model) and (wrapper is None or is_decorated)
    try:
        with without_logs(), dynamo.compiling_with(backend) if runs_as_it_is else nullcontext():
            run = model if runs_as_it_is else compiled(eager(model), backend=backend)
            run(*args, **kwargs)
    except Exception as error:
        require_runs(name, torch.compiler.set_stance("force_eager")(model), args, kwargs)
        return recorded, error
    return recorded, None


def _no_more_programs(code: CodeType, limit: int) -> Finding:
    """What to say of code of which TorchDynamo compiles no more programs."""
    text = _(
        "The limit of {limit} compilations is reached ({setting}): a call that fits none of these "
        "programs runs eagerly, or raises with fullgraph=True. {command} shows why it was compiled "
        "again."
    )
    names = {"setting": dynamo.LIMIT, "command": "TORCH_LOGS=recompiles"}
    return Finding(text.format(limit=limit, **names), *place_of(code))


def why_no_graph(message: str) -> str:
    """Why a call took no graph, by what TorchDynamo said of the last function it gave up."""
    reason = message.partition("\n")[0]
    if "loop" in message:
        text = _(
            "a graph ends inside a loop ({reason}), and TorchDynamo then leaves the whole function "
            "to Python"
        )
        return text.format(reason=reason)
    return reason or _("TorchDynamo found no operation on tensors in this call")
