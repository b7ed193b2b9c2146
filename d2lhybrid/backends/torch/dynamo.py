"""What TorchDynamo has done, by private names of it, each behind a small function.

As those of ``private.py``, they are looked up when they are asked for.
"""

import re
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import CodeType
from typing import Any, NamedTuple

import torch

from d2lhybrid.backends.torch.private import (
    APART,
    backend_of,
    compiled_wrapper,
    is_dynamo_imported,
    original,
    recompile_limit,
)
from d2lhybrid.core.arguments import Function
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.core.user_code import last_user_frame, place_of
from d2lhybrid.graphs.explanation import Finding

LIMIT = "torch._dynamo.config.recompile_limit"  # what a user sets
_FRAMES = re.compile(r'^  File "(.+)", line (\d+), in ', re.MULTILINE)  # beneath a reason


def switched_off() -> str:
    """The setting that lets TorchDynamo compile nothing; nothing if none is seen."""
    dynamo = sys.modules.get("torch._dynamo")
    if getattr(getattr(dynamo, "config", None), "disable", False):
        return "torch._dynamo.config.disable"
    stance = getattr(getattr(dynamo, "eval_frame", None), "_stance", None)
    is_eager = getattr(stance, "stance", "") == "force_eager"
    return 'torch.compiler.set_stance("force_eager")' if is_eager else ""


class Noted(NamedTuple):
    """What TorchDynamo has noted in this process so far."""

    breaks: list[Finding]  # the graph breaks, each at the line of the user's code
    failed_records: list[Any]  # its records of the latest functions that it gave up

    def since(self, before: "Noted") -> "Noted":
        """What was noted after `before`."""
        old = before.failed_records
        new = [record for record in self.failed_records if record not in old]
        return Noted(self.breaks[len(before.breaks) :], new)

    @property
    def failed_findings(self) -> list[Finding]:
        """The functions that it gave up, with all that it said."""
        return [Finding(one.fail_reason, *place_of(one)) for one in self.failed_records]


NOTHING = Noted([], [])


def noted() -> Noted:
    """What TorchDynamo has noted so far."""
    if not is_dynamo_imported():
        return NOTHING
    breaks = [
        (graph_break.reason.splitlines()[0], graph_break.user_stack[-1])
        for graph_break in torch._dynamo.output_graph.graph_break_reasons
        if graph_break.user_stack
    ]
    records = compilation_records()
    return Noted(
        [Finding(reason, frame.filename, frame.lineno or 0) for reason, frame in breaks],
        [record for record in records if record.fail_type == "Unsupported"],
    )


def codes_of(model: Any) -> list[CodeType]:
    """The code that TorchDynamo compiles for a model; for a module of ``torch.nn`` a wrapper."""
    inner = original(model)
    wrapper = getattr(getattr(model, "forward", model), "_torchdynamo_orig_callable", inner)
    is_module = isinstance(inner, torch.nn.Module)
    forward = getattr(type(inner), "forward", None) if is_module else inner  # TorchScript has none
    codes = [getattr(function, "__code__", None) for function in (wrapper, forward)]
    return list({id(code): code for code in codes if code}.values())


def programs_kept(compiled: Sequence[Any]) -> int:
    """How many programs TorchDynamo keeps of what was compiled, for the backends of each.

    Modules of ``torch.nn`` share the code of their wrapper, and with them all programs.
    """
    programs_of = torch._dynamo.eval_frame._debug_get_cache_entry_list
    found = set()  # by their code, as two callables may have the same programs
    for one in compiled:
        backend = backend_of(one)
        programs = [program for code in codes_of(one) for program in programs_of(code)]
        found |= {id(program.code) for program in programs if program.backend is backend}
    return len(found)


def limits(compiled: Sequence[Any]) -> list[tuple[CodeType, int]]:
    """The code, and the limit, where TorchDynamo compiles no more programs of what was compiled.

    A PyTorch that can't keep programs apart has those of one code in one place.
    """
    reached: dict[int, tuple[CodeType, int]] = {}
    for one in compiled:
        wrapper = compiled_wrapper(one)
        limit = recompile_limit(wrapper)
        for code in codes_of(one):
            if len(_programs_it_may_take(code, wrapper)) >= limit:
                reached[id(code)] = code, limit
    return list(reached.values())


def _programs_it_may_take(code: CodeType, wrapper: Any) -> Sequence[Any]:
    """The programs that this compiled function may take for this code."""
    frames: Any = torch._dynamo.eval_frame
    if not APART:
        found: Sequence[Any] = frames._debug_get_cache_entry_list(code)
    else:
        found = frames._get_cache_entries_for_region(code, wrapper._isolate_recompiles_id)
    return found


@contextmanager
def compiling_with(backend: Function) -> Iterator[None]:
    """Let this thread run what the user has compiled as programs that this backend makes anew.

    They are kept apart from the user's, as far as this version of PyTorch can keep programs apart.
    """
    frames, thread = torch._dynamo.eval_frame, threading.get_ident()
    context: Any = torch._dynamo.optimize(backend=backend, **APART)
    chosen_callback = frames._callback_from_stance

    def callback_of_ours(callback: Any) -> Any:
        chosen = chosen_callback(callback)
        if chosen in (False, None) or threading.get_ident() != thread:  # it is to run eagerly, say
            return chosen
        if APART:  # the caller of this puts back which programs are looked up
            frames.set_eval_frame_isolate_recompiles_id(context._isolate_recompiles_id)
        return context.callback

    frames._callback_from_stance = callback_of_ours
    try:
        yield
    finally:
        frames._callback_from_stance = chosen_callback


def compilation_records() -> list[Any]:
    """What TorchDynamo has noted of its latest compilations."""
    records: list[Any] = torch._dynamo.utils.get_compilation_metrics()
    return records


def has_graph(record: Any) -> bool:
    """Was a graph compiled, and not only code without any operation on tensors?"""
    return bool(record.co_name and not record.fail_type and record.graph_op_count)


def records_of(callables: Sequence[Any]) -> list[Any] | None:
    """The latest compilations of the code of these, also those that failed.

    None if there may have been others, which TorchDynamo has forgotten since.
    """
    places = {place_of(code) for one in callables for code in codes_of(one)}
    records = compilation_records()
    found = [record for record in records if place_of(record) in places]
    is_full = len(records) == torch._dynamo.utils._compilation_metrics.maxlen
    return None if is_full and not found else found


def last_failure(records: Sequence[Any]) -> Finding | None:
    """The latest of these compilations that failed: all that was said, and the user's line."""
    for record in reversed(records):
        if record.fail_type:
            line = record.fail_user_frame_filename or "", record.fail_user_frame_lineno or 0
            return Finding(record.fail_reason, *last_user_frame([place_of(record), line]))
    return None


def why_compiled(record: Any) -> Finding:
    """Why a compilation was needed: the first guard that the latest program failed, and its line.

    The line is where the user's code first uses what the guard is about, or else that of the
    function that was compiled.
    """
    said = record.recompile_reason
    if not said:
        text = _("TorchDynamo had no program for {function} yet").format(function=record.co_name)
        return Finding(text, *last_user_frame([place_of(record)]))
    _program, _colon, guard = said.splitlines()[0].partition(": ")
    frames = [(file, int(line)) for file, line in _FRAMES.findall(said)]
    reason = guard.partition("  # ")[0].strip()  # without the line of code behind it
    return Finding(reason, *last_user_frame([place_of(record), *frames]))


def users_frames(error: Exception) -> list[tuple[str, int]] | None:
    """The lines of the user's code on the way to an error of TorchDynamo, where it noted them."""
    stack = getattr(error, "real_stack", None)
    return stack and [(frame.filename, frame.lineno or 0) for frame in stack]


def in_tracing_context(make: Function) -> Function:
    """`make`, to be called when TorchDynamo is done, with what it knows of sizes now.

    Also with the mode of now: Inductor freezes weights only where nobody wants gradients.
    """
    context, with_gradients = torch._guards.TracingContext.try_get(), torch.is_grad_enabled()
    # Which sizes are numbers TorchDynamo forgets after it has compiled a graph.
    sizes = [*getattr(context, "tensor_to_context", {}).items()]

    def call() -> Any:
        if context and sizes:
            context.tensor_to_context.update(sizes)
        with torch._guards.tracing(context), torch.set_grad_enabled(with_gradients):
            return make()

    return call
