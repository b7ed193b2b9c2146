"""What PyTorch shows of how a call was compiled, and of what comes before its compiled code."""

import copy
import statistics
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Any

import torch
from torch.autograd.profiler import profile

from d2lhybrid.core.arguments import name_of
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.frameworks.base import BEFORE_CALLS, BEFORE_SECONDS
from d2lhybrid.frameworks.failures import quiet
from d2lhybrid.frameworks.torch import device, dynamo, inductor, private
from d2lhybrid.frameworks.torch.explain import VERSION, made, why_no_graph
from d2lhybrid.frameworks.torch.parts import compiled_in
from d2lhybrid.frameworks.torch.stages import graph_of
from d2lhybrid.frameworks.variant import Function
from d2lhybrid.graphs.explanation import Explanation, Finding, MissingNames, Recording

_REGION = "Torch-Compiled Region: "  # the profiler's name for the code around a program
_RUN_PACKAGE = "boxed_run"  # what runs a program of AOTInductor; it is no event of the profiler


# What a first call compiles.


@contextmanager
def first_call() -> Iterator[Callable[[], Explanation | None]]:
    """What the block compiles in this thread, as ``Framework.first_call`` says it.

    TorchDynamo records a graph also where its program is found on the disk.
    """
    found: list[Explanation] = []
    missing = MissingNames()
    before = missing.ask(_noted, _NOTHING)
    with inductor.graphs_noted(_recorded) as graphs:
        yield lambda: found[0] if found else None
    after = missing.ask(_noted, _NOTHING)
    earlier = {id(record) for record in before[1]}  # which `before` keeps alive
    records = [record for record in after[1] if id(record) not in earlier]
    count = max(len(list(filter(dynamo.has_graph, records))), len(graphs))
    if not count:
        return
    failures = [failure[0] for failure in after[0].failures if failure not in before[0].failures]
    is_known = len(graphs) == count and None not in graphs
    found.append(
        Explanation(
            VERSION,
            model="",
            compilations=0,
            graph_count=count,
            breaks=tuple(after[0].breaks[len(before[0].breaks) :]),
            fallbacks=tuple(replace(one, reason=one.reason.splitlines()[0]) for one in failures),
            notes=missing.notes(VERSION),
            recording=Recording(partial(made, graphs)) if is_known else None,
        )
    )


_NOTHING: tuple[dynamo.DynamoRecords, list[Any]] = dynamo.NO_RECORDS, []


def _noted() -> tuple[dynamo.DynamoRecords, list[Any]]:
    """What TorchDynamo has noted so far, which must not be imported for it."""
    if "torch._dynamo" not in sys.modules:
        return _NOTHING
    return dynamo.dynamo_records(), dynamo.compilation_records()


def _recorded(graph: Any, inputs: Any, options: dict[str, Any]) -> Function | None:
    """What makes the stages of a graph, once somebody asks; None if Inductor would have to try.

    Inductor may change the graph that it compiles, so this is a copy.
    """
    if options.get("max_autotune"):
        return None
    own = torch.fx.GraphModule(graph, copy.deepcopy(graph.graph))

    def make() -> Any:
        with torch._inductor.config.patch(options):
            return graph_of(VERSION, "", own, inputs)

    return dynamo.in_tracing_context(make)


# One call that is watched.


def runs_compiled(run: Function) -> bool:
    """Call `run` once. Does it run a graph of TorchDynamo's, or a program of AOTInductor's?

    TorchDynamo also compiles code of Python's without any graph in it.
    """
    called, before = set(), sys.getprofile()

    def note(_frame: Any, event: str, function: Any) -> None:
        if event == "c_call":
            called.add(function.__name__)

    with profile(use_kineto=False) as profiled:
        sys.setprofile(note)
        try:
            run()
        finally:
            sys.setprofile(before)
    names = [event.name for event in profiled.function_events]
    regions = {name.removeprefix(_REGION) for name in names if name.startswith(_REGION)}
    records = [record for record in dynamo.compilation_records() if record.co_name]
    # The latest of each number, as TorchDynamo counts from 0 again after a reset.
    has_graph = {str(record.compile_id): dynamo.has_graph(record) for record in records}
    return _RUN_PACKAGE in called or any(has_graph.get(region, True) for region in regions)


def seconds_before(run: Function) -> float | None:
    """Seconds from the beginning of a call to that of its first program; the median of some calls.

    None if no program of Inductor's runs: those of other backends are code of Python's.
    """
    before: list[float] = []
    end = perf_counter() + BEFORE_SECONDS
    with inductor.programs_timed() as begun:
        while len(before) < BEFORE_CALLS and (not before or perf_counter() < end):
            begun.clear()
            start = perf_counter()
            run()
            device.synchronize()
            if not begun:
                return None
            before.append(begun[0] - start)
    return statistics.median(before)


# Why a call compiles again, or runs nothing that is compiled.


def compiled_again(run: Callable[[], Any]) -> Finding | None:
    """Call `run` twice. Why TorchDynamo made a graph in the second call; None if it made none."""
    with quiet():
        run()
        graphs, records = private.graphs_made(), dynamo.compilation_records()
        run()
    if private.graphs_made() == graphs:
        return None
    earlier = {id(record) for record in records}  # which `records` keeps alive
    new = [one for one in dynamo.compilation_records() if id(one) not in earlier]
    forward = [one for one in new if one.co_name and not one.fail_type]
    if not forward:
        return Finding(_("TorchDynamo gives no reason"))
    return dynamo.why_compiled(forward[0])


def apart() -> AbstractContextManager[object] | None:
    """TorchDynamo makes its graphs anew; they run as they are, because no guard is a backend's.

    None of a PyTorch that keeps all programs of a function in one place.
    """
    if not (private.APART and dynamo.can_compile_parts()):
        return None
    return dynamo.compiling_with(lambda graph, _inputs: graph.forward)


def why_not_compiled(function: Function) -> str:
    """Why a call of `function` runs nothing compiled, by what TorchDynamo has noted of its code."""
    parts, records = compiled_in(function), dynamo.records_of(function)
    if records is None or not parts:
        return ""
    if not records:
        text = _("Calls don't reach what was compiled, {name}.")
        return text.format(name=name_of(parts[0]))
    if limit := dynamo.limit_reached(records):
        text = _(
            "The limit of {limit} compilations of this code is reached ({setting}): {place}. The "
            "last one had this reason: {reason}."
        )
        setting, value, finding = limit
        place = str(finding).partition("\n")[0]
        names = {"limit": value, "setting": f"torch._dynamo.config.{setting}", "place": place}
        return text.format(reason=finding.reason, **names)
    failure = dynamo.failure(records)
    if failure or not any(map(dynamo.has_graph, records)):
        reason = why_no_graph(failure.reason if failure else "")
        text = _("Python runs this code, because {reason}.")
        place = str(failure).partition("\n")[0] if failure and failure.file else ""
        if place:
            text = _("Python runs this code, because {reason}: {place}.")
        return text.format(reason=reason, place=place)
    return ""
