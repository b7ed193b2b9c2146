"""What TorchDynamo has done, by private names of it, each behind a small function.

As those of ``private.py``, they are looked up when they are asked for.
"""

import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from inspect import getclosurevars
from pathlib import Path
from types import CodeType, SimpleNamespace
from typing import Any, NamedTuple

import torch

from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.frameworks.failures import is_users, last_user_frame
from d2lhybrid.frameworks.torch.parts import callables_in
from d2lhybrid.frameworks.torch.private import APART, compiled_wrapper, original
from d2lhybrid.frameworks.variant import Function
from d2lhybrid.graphs.explanation import Finding

# A frame of Python as TorchDynamo writes it: beneath a reason, or as a comment behind a guard.
_FRAMES = re.compile(r'^  File "(.+)", line (\d+), in ', re.MULTILINE)
_COMMENT = re.compile(r"# ([^#(]+?):(\d+) in ")
# Of an object, which is another in each process; but no number that the user's code has.
_ID = re.compile(r"(___check_\w+_id\(.*?, )\d+|\b0x[0-9a-f]+\b")
_GLOBAL = re.compile(r"G\['(\w+)'\]")
# What follows what a guard says: a comment with its line, or descriptions of backends.
_REST = re.compile(r"  # .*| Cached backend: .*")
_LIMIT = re.compile(
    r"exceeding\sthe\s(\w+)\s.*currently\sset\sto\s(\d+)"
)  # of a compilation that failed
_CALL = re.compile(r"Line: (\d+), Name: .*, Filename: (.*)")  # on the stack of a compilation


class DynamoRecords(NamedTuple):
    """What TorchDynamo has noted in this process so far.

    ``breaks``: the graph breaks, each at the line of the user's code. ``failures``: the latest
    functions that it gave up, with all that it said, each with the record of that compilation.
    """

    breaks: list[Finding]
    failures: list[tuple[Finding, object]]


NO_RECORDS = DynamoRecords([], [])


def dynamo_records() -> DynamoRecords:
    """What TorchDynamo has noted so far."""
    breaks = [
        (graph_break.reason.splitlines()[0], graph_break.user_stack[-1])
        for graph_break in torch._dynamo.output_graph.graph_break_reasons
        if graph_break.user_stack
    ]
    failed = [
        metrics
        for metrics in torch._dynamo.utils.get_compilation_metrics()
        if metrics.fail_type == "Unsupported"
    ]
    return DynamoRecords(
        [Finding(reason, frame.filename, frame.lineno or 0) for reason, frame in breaks],
        [(Finding(m.fail_reason, m.co_filename, m.co_firstlineno), m) for m in failed],
    )


def codes_of(model: Any) -> list[CodeType]:
    """The code that TorchDynamo compiles for a model; for a module of ``torch.nn`` a wrapper."""
    inner = original(model)
    wrapper = getattr(getattr(model, "forward", model), "_torchdynamo_orig_callable", inner)
    is_module = isinstance(inner, torch.nn.Module)
    forward = getattr(type(inner), "forward", None) if is_module else inner  # TorchScript has none
    codes = [getattr(function, "__code__", None) for function in (wrapper, forward)]
    return list({id(code): code for code in codes if code}.values())


def compilations(model: Any) -> int:
    """How many programs TorchDynamo keeps of what is compiled of a model, for its own backends.

    Modules of ``torch.nn`` share the code of their wrapper, and with them all programs.
    """
    programs_of = torch._dynamo.eval_frame._debug_get_cache_entry_list
    counted = set()  # by their code, as two callables may have the same programs
    for inner in callables_in(model):
        if wrapper := compiled_wrapper(inner):
            backend = torch._dynamo.eval_frame.innermost_backend(_callback(wrapper))
            programs = [program for code in codes_of(inner) for program in programs_of(code)]
            counted |= {id(program.code) for program in programs if program.backend is backend}
    return len(counted)


def limits(model: Any) -> list[tuple[CodeType, int]]:
    """The code of a model of which TorchDynamo compiles no more programs, and the limit.

    What is not compiled itself counts as well: the next to compile it meets the same limit,
    because the programs belong to the code.
    """
    reached: dict[int, tuple[CodeType, int]] = {}
    for inner in callables_in(model):
        wrapper = compiled_wrapper(inner)
        if inner is not model and not wrapper:
            continue
        limit = _own_limit(_callback(wrapper)) if wrapper else None
        limit = torch._dynamo.config.recompile_limit if limit is None else limit
        region = getattr(wrapper, "_isolate_recompiles_id", -1)
        for code in codes_of(inner):
            if _program_count(code, region) >= limit:
                reached[id(code)] = code, limit
    return list(reached.values())


def _program_count(code: CodeType, region: int) -> int:
    """How many programs of a code count for the limit of a region; before regions, all."""
    of_region = getattr(torch._dynamo.eval_frame, "_get_cache_entries_for_region", None)
    if of_region:
        return len(of_region(code, region))
    return len(torch._dynamo.eval_frame._debug_get_cache_entry_list(code))


def _own_limit(callback: Any) -> int | None:
    """The limit that ``torch.compile`` was given for this model alone."""
    while callback is not None:
        limit: int | None = getattr(callback, "_recompile_limit", None)
        if limit is not None:
            return limit
        callback = getattr(callback, "_torchdynamo_orig_backend", None)
    return None


def _callback(wrapper: Any) -> Any:
    return SimpleNamespace(**getclosurevars(wrapper).nonlocals).callback  # a lack is no KeyError


_replaced = threading.RLock()  # held while a name of PyTorch's means something of ours


@contextmanager
def compiling_with(backend: Function) -> Iterator[None]:
    """Let this thread run what the user has compiled as programs that this backend makes anew.

    They are kept apart from the user's, as far as this version of PyTorch can keep programs apart.
    Another thread that wants to do so waits.
    """
    with _replaced:
        yield from _compiling_with(backend)


def _compiling_with(backend: Function) -> Iterator[None]:
    frames, thread = torch._dynamo.eval_frame, threading.get_ident()
    chosen_callback = frames._callback_from_stance
    context: Any = torch._dynamo.optimize(backend=backend, **APART)

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


def can_compile_parts() -> bool:
    """Does this version of PyTorch have what ``compiling_with`` needs?"""
    return hasattr(torch._dynamo.eval_frame, "_callback_from_stance")


def compilation_records() -> list[Any]:
    """What TorchDynamo has noted of its latest compilations; nothing if it doesn't tell."""
    return getattr(torch._dynamo.utils, "get_compilation_metrics", list)()


def has_graph(record: Any) -> bool:
    """Was a graph compiled, and not only code without any operation on tensors?"""
    return bool(record.co_name and not record.fail_type and record.graph_op_count)


def records_of(model: Any) -> list[Any] | None:
    """The latest compilations of what a model may call, those that failed included.

    They are of code of it, or began below code of the user's in it. None if there may have been
    others, which TorchDynamo has forgotten since.
    """
    records = _since_reset(compilation_records())
    codes = [code for thing in callables_in(model) for code in codes_of(thing)]
    places = {(code.co_filename, code.co_firstlineno) for code in codes}
    lines = {
        (code.co_filename, line)
        for code in codes
        if is_users(code.co_filename)
        for _start, _end, line in code.co_lines()
    }
    of_model = {
        _frame(one)
        for one in records
        if (one.co_filename, one.co_firstlineno) in places
        or not lines.isdisjoint((file, int(line)) for line, file in _stack(one))
    }
    found = [one for one in records if _frame(one) in of_model]
    return (
        found if found or len(records) < torch._dynamo.utils._compilation_metrics.maxlen else None
    )


def _since_reset(records: Sequence[Any]) -> list[Any]:
    """The latest records of compilations of code, of which each has a higher number than before.

    ``torch.compiler.reset()`` lets TorchDynamo count from 0 again.
    """
    first: dict[str, int] = {}  # number of the compilations of each code
    latest: list[Any] = []
    for record in reversed(records):
        if "/" not in str(record.compile_id) or not (record.co_name or record.fail_type):
            continue
        frame, number = _frame(record), int(str(record.compile_id).rpartition("/")[2])
        if number >= first.get(frame, number + 1):
            break
        first[frame] = number
        latest.insert(0, record)
    return latest


def _frame(record: Any) -> str:
    """The number of the code that was compiled, which all of its compilations share."""
    return str(record.compile_id).partition("/")[0]


def _stack(record: Any) -> list[tuple[str, str]]:
    """The line and file of each call on the way to a compilation."""
    return [found for entry in record.stack_trace or () for found in _CALL.findall(entry)]


def limit_reached(records: Sequence[Any]) -> tuple[str, str, Finding] | None:
    """The setting, its value, and the last reason to compile code again that has reached it.

    The reason has the line in the code, or where the code begins.
    """
    for record in records:
        if limit := _LIMIT.search(record.fail_reason or ""):
            same = next(one for one in records if one.co_name and _frame(one) == _frame(record))
            code = {
                name: getattr(same, name) for name in ("co_name", "co_filename", "co_firstlineno")
            }
            finding = why_compiled(replace(record, **code))
            place = finding.file, finding.line
            if not finding.file:  # a function of PyTorch's own
                place = same.co_filename, same.co_firstlineno
            return limit[1], limit[2], Finding(finding.reason, *place)
    return None


def failure(records: Sequence[Any]) -> Finding | None:
    """The latest of these compilations that failed: all that was said, and the user's line."""
    for record in reversed(records):
        if record.fail_type and record.co_name:
            frames = [
                (record.co_filename, record.co_firstlineno),
                (record.fail_user_frame_filename or "", record.fail_user_frame_lineno or 0),
            ]
            return Finding(record.fail_reason, *last_user_frame(frames))
    return None


def why_compiled(record: Any) -> Finding:
    """Why a compilation was needed: the first guard that the latest program failed, and its line.

    The line is where the user's code first uses what the guard is about, or else that of the
    function that was compiled.
    """
    name, function = record.co_name, (record.co_filename or "", record.co_firstlineno or 0)
    said = getattr(record, "recompile_reason", None)
    if not said:
        text = _("TorchDynamo had no program for {function} yet").format(function=name)
        return Finding(text, *last_user_frame([function]))
    guard, *stack = said.splitlines()
    _program, _colon, guard = guard.partition(": ")
    frames = [(file, int(line)) for file, line in _FRAMES.findall("\n".join(stack))]
    comment = _COMMENT.search(guard)
    if comment and not frames and (path := _whole_path(comment[1], function[0])):
        frames = [(path, int(comment[2]))]
    reason = _GLOBAL.sub(r"\1", _ID.sub(r"\1…", _REST.sub("", guard).strip()))
    return Finding(reason, *last_user_frame([function, *frames]))


def _whole_path(shortened: str, file: str) -> str:
    """The path of which TorchDynamo leaves out what it has in common with PyTorch's own folder.

    Nothing if there is no such file.
    """
    if file.endswith(shortened):
        return file
    paths = (str(folder / shortened) for folder in Path(torch.__file__).parents)
    return next((path for path in paths if Path(path).is_file()), "")


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
