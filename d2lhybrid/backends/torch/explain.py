"""What TorchDynamo makes of a model: graphs, graph breaks and recompilations."""

from dataclasses import replace
from functools import partial
from inspect import isfunction
from types import CodeType
from typing import Any

import torch

from d2lhybrid.backends.failures import require_runs, without_logs
from d2lhybrid.backends.torch import dynamo
from d2lhybrid.backends.torch.compiler import compiled
from d2lhybrid.backends.torch.modules import compiled_in, eager, is_compiled
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

_Seen = tuple[list[Any], Exception | None]


def explain(model: Any, args: Args, kwargs: Kwargs) -> Explanation:
    """Run a module or function once under TorchDynamo; what was compiled before stays.

    One that is not compiled itself, but calls what is, runs as it is: its graphs are those of what
    is compiled in it. So does one with a decorator around it, because compilers look at the mode
    that ``torch.no_grad()``, say, sets.
    """
    missing, name = MissingNames(), name_of(eager(model))

    def record(*graph: Any) -> Function:
        """What makes the graph, once somebody asks."""
        return dynamo.in_tracing_context(partial(graph_of, name, *graph))

    compilations = missing.ask(lambda: dynamo.compilations(model), 0)
    limits = missing.ask(lambda: dynamo.limits(model), [])
    before = missing.ask(dynamo.noted, dynamo.NOTHING)
    wrapper = compiled_wrapper(model)
    in_parts = wrapper is None and is_compiled(model)
    is_inside = in_parts or (isfunction(model) and wrapper not in (None, model))
    recorded, error = _run(record, model, is_inside, args, kwargs)
    new = missing.ask(dynamo.noted, dynamo.NOTHING).since(before)
    breaks, failures = new.breaks, new.failures
    if not failures and not recorded:  # of what it gave up before, TorchDynamo says no more
        asked = compiled_in(model) or [model]
        earlier = dynamo.failure(missing.ask(lambda: dynamo.records_of(asked), None) or [])
        failures = [earlier] if earlier else []
    notes = missing.notes(VERSION)
    if in_parts:
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


def _run(see: Function, model: Any, is_inside: bool, args: Args, kwargs: Kwargs) -> _Seen:
    """Run a model compiled anew; or as it is, with what is compiled inside of it compiled anew.

    The graphs run as they are. What is compiled inside may share a program, so there each graph
    counts as often as it runs.

    Returns:
        What `see` makes of each graph and its inputs, and what TorchDynamo raises instead.
    """
    seen: list[Any] = []

    def backend(graph: Any, inputs: Any) -> Any:
        made = see(graph, inputs)
        if not is_inside:
            seen.append(made)
            return graph.forward

        def run(*tensors: Any) -> Any:
            seen.append(made)
            return graph.forward(*tensors)

        return run

    with without_logs():
        try:
            if is_inside:
                with dynamo.compiling_with(backend):
                    model(*args, **kwargs)
            else:
                compiled(eager(model), backend=backend)(*args, **kwargs)
        except Exception as error:
            eagerly = torch.compiler.set_stance("force_eager")(model) if is_inside else eager(model)
            require_runs(name_of(eager(model)), eagerly, args, kwargs)
            return seen, error
    return seen, None


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
