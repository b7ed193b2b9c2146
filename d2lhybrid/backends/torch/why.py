"""What PyTorch shows of how a call was compiled, and of what comes before its compiled code."""

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from operator import neg
from typing import Any

import torch
from torch.autograd.profiler import profile

from d2lhybrid.backends.defaults import why as defaults
from d2lhybrid.backends.failures import without_logs
from d2lhybrid.backends.overhead import seconds_until_noted
from d2lhybrid.backends.torch import device, dynamo, inductor, modules, private
from d2lhybrid.backends.torch.explain import why_no_graph
from d2lhybrid.backends.torch.nodes import operation_name
from d2lhybrid.backends.torch.stages import VERSION, graph_of, graphs_of, is_view
from d2lhybrid.core.arguments import Function
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.core.user_code import place_of
from d2lhybrid.core.wording import name_of
from d2lhybrid.graphs.explanation import (
    Explanation,
    Finding,
    MissingNames,
    Recording,
    never_reached,
)
from d2lhybrid.graphs.facts import WatchedCall

eager_operations = defaults.eager_operations
hint = defaults.hint
is_compiled = modules.is_compiled
_REGION = "Torch-Compiled Region: "  # the profiler's name for the code around a program
# Seconds for each operation that it takes Inductor, about, to plan once more what it runs.
_PLANNING_SECONDS = 0.01


@contextmanager
def first_call() -> Iterator[Callable[[], Explanation | None]]:
    """What the block compiles, as ``WhyModule.first_call`` says it.

    TorchDynamo records a graph also where its program is found on the disk.
    """
    found: list[Explanation] = []
    missing = MissingNames()
    before, made_before = missing.ask(dynamo.noted, dynamo.NOTHING), private.graphs_made()
    with inductor.graphs_noted(_recorded) as graphs:
        yield lambda: found[0] if found else None
    count = max(private.graphs_made() - made_before, len(graphs))
    if not count:
        return
    new = missing.ask(dynamo.noted, dynamo.NOTHING).since(before)
    is_known = len(graphs) == count and None not in graphs
    found.append(
        Explanation(
            VERSION,
            model="",
            compilations=0,
            graph_count=count,
            breaks=tuple(new.breaks),
            fallbacks=tuple(new.failed_findings),
            recording=_recording(graphs) if is_known else None,
        )
    )


def _recording(graphs: Sequence[Any]) -> Recording:
    """Graphs that are made by functions, beside each of which stands how many operations it has.

    Eager code starts at least those: what only changes a view isn't counted.
    """
    operations = sum(of_one for _make, of_one in graphs)
    make = partial(graphs_of, [make for make, _operations in graphs])
    return Recording(make, _PLANNING_SECONDS * operations, operations)


def eager_operation() -> Callable[[], Any]:
    return partial(neg, torch.ones(1, device="cpu"))


def _recorded(graph: Any, inputs: Any, options: dict[str, Any]) -> tuple[Function, int] | None:
    """What makes the stages of a graph, once somebody asks, and its operations but for views.

    None if Inductor would have to try what is quickest. Inductor may change the graph that it
    compiles, so this is a copy.
    """
    if options.get("max_autotune"):
        return None
    own = torch.fx.GraphModule(graph, copy.deepcopy(graph.graph))

    def make() -> Any:
        with inductor.configured(options):
            return graph_of("", own, inputs)

    called = [node for node in graph.graph.nodes if node.op.startswith("call_")]
    operations = sum(not is_view(operation_name(node)) for node in called)
    return dynamo.in_tracing_context(make), operations


def watched_call(run: Function) -> WatchedCall:
    """By TorchDynamo's records of the call, and by the profiler's of the programs that it enters.

    TorchDynamo also compiles code of Python's without any graph in it, which is no program.
    """
    with without_logs():
        run()
        earlier = {id(record): record for record in dynamo.compilation_records()}
        with profile(use_kineto=False) as profiled:
            run()
    records = dynamo.compilation_records()
    new = [one for one in records if id(one) not in earlier and one.co_name and not one.fail_type]
    names = [event.name for event in profiled.function_events]
    regions = [name.removeprefix(_REGION) for name in names if name.startswith(_REGION)]
    # The latest of each number, as TorchDynamo counts from 0 again after a reset.
    has_graph = {str(one.compile_id): dynamo.has_graph(one) for one in records if one.co_name}
    return WatchedCall(
        programs=sum(has_graph.get(region, True) for region in regions),
        again=dynamo.why_compiled(new[0]) if new else None,
    )


def seconds_before(run: Function) -> float | None:
    """Seconds from the beginning of a call to that of its first program, the least of some.

    None if no program of Inductor's runs: those of other backends are code of Python's.
    """
    with inductor.programs_timed() as begun:
        return seconds_until_noted(begun, run, device.synchronize)


def why_not_compiled(function: Function) -> str:
    """Why a call of `function` runs nothing compiled, by what TorchDynamo has noted of its code."""
    if is_compiled(function) and (setting := dynamo.switched_off()):
        return _("{setting} switches the compiler off.").format(setting=setting)
    compiled = modules.compiled_in(function)
    records = dynamo.records_of(modules.compiled_and_what_it_calls(compiled))
    if not compiled or records is None:
        return ""
    if not records:
        return never_reached([name_of(compiled[0])])
    if reached := _why_no_more_programs(compiled, records):
        return reached
    if failure := dynamo.last_failure(records):
        text = _("Python runs this code, because {reason}.")
        if failure.file:
            text = _("Python runs this code, because {reason}: {place}.")
        return text.format(reason=why_no_graph(failure.reason), place=_place(failure))
    return ""


def _why_no_more_programs(compiled: Sequence[Any], records: Sequence[Any]) -> str:
    """Which code of these TorchDynamo compiles no more, and why it was compiled last."""
    for code, limit in dynamo.limits(compiled):
        text = _(
            "The limit of {limit} compilations of this code is reached ({setting}): {place}. The "
            "last one had this reason: {reason}."
        )
        of_code = [one for one in records if place_of(one) == place_of(code)]
        if of_code:  # or TorchDynamo has forgotten them
            latest = dynamo.why_compiled(of_code[-1])
            # Without a file, the code is PyTorch's own.
            where = latest if latest.file else Finding("", *place_of(code))
            names = {"limit": limit, "setting": dynamo.LIMIT}
            return text.format(place=_place(where), reason=latest.reason, **names)
    return ""


def _place(finding: Finding) -> str:
    """The line, with its code."""
    return str(finding).partition("\n")[0]
