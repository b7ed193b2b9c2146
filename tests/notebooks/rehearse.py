"""Rehearse what needs a GPU without one: ``rehearse.py FRAMEWORK``; prints what was run, as JSON.

The cells run in all languages, each after those that it needs, on stand-ins: names and signatures
are those of the framework, the work is done on the CPU. So it proves that the code runs and that
its names exist, and nothing about a GPU or about times: a check of times may fail.
"""

import ast
import contextlib
import dis
import json
import linecache
import os
import resource
import sys
from functools import partial
from pathlib import Path
from time import perf_counter
from types import CodeType, ModuleType
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
# To sizes and programs that a CPU has done in no time, and to a device that there is.
SMALLER = {
    "262144": "64",
    "images(1024)": "images(4)",
    '"cuda"': '"cpu"',
    "range(1000)": "range(10)",
    '"aotinductor"': '"eager"',
}


def stand_in(owner, name, does):
    """Let a function or class be another one, with the names and signatures that it has."""
    mock.patch.object(owner, name, autospec=True, side_effect=does).start()


def pytorch():
    import torch
    import torch._inductor.compile_fx  # whose annotations want the classes themselves
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves

    class Recorded(TorchDispatchMode):
        """The calls that were recorded. What they computed meanwhile is nobody's to read."""

        def __init__(self):
            super().__init__()
            self.calls = []

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.calls.append((func, args, kwargs or {}, func(*args, **kwargs or {})))
            return self.calls[-1][-1]

        def made(self):
            """Each output beside what now computes it; a view of something else is none."""
            for func, args, kwargs, output in self.calls:
                places = [one.data_ptr() for one in tree_leaves(args) if torch.is_tensor(one)]
                for at, one in enumerate(tree_leaves(output)):
                    if one.data_ptr() not in places:
                        call = partial(func, *args, **kwargs)
                        yield one, lambda call=call, at=at: tree_leaves(call())[at]

        def __exit__(self, *error):
            super().__exit__(*error)
            for output, _again in self.made():
                if output.is_floating_point():  # batch normalization also returns bytes
                    output.fill_(float("nan"))

        def replay(self):
            for output, again in self.made():
                output.copy_(again())

    def recording(*args, **kwargs):
        one = mock.create_autospec(graph_class, instance=True)
        one.recorded = Recorded()
        one.replay.side_effect = one.recorded.replay
        return one

    class Event:
        """As a class: PyTorch asks whether something is one. Its own shows no signature."""

        def __init__(self, device=None, *, enable_timing=False):
            self.at = None

        def record(self, stream=None):
            self.at = perf_counter()

        def elapsed_time(self, end_event):
            return (end_event.at - self.at) * 1e3

        def synchronize(self):
            assert self.at, "an event that was not recorded"

    def outside(function):
        """What PyTorch itself asks, it is told the truth."""

        def asked(*args, **kwargs):
            frame = sys._getframe()
            while frame.f_code.co_filename in (__file__, mock.__file__, "<string>"):
                frame = frame.f_back
            return not frame.f_globals["__name__"].startswith("torch.")

        return asked

    graph_class, gpu = torch.cuda.CUDAGraph, torch.device("cuda", 0)
    stand_in(torch.cuda, "is_available", outside(torch.cuda.is_available))
    stand_in(torch.cuda, "is_initialized", outside(torch.cuda.is_initialized))
    if hasattr(torch._C, "_cuda_hasPrimaryContext"):  # in a build for CUDA; it shows no signature
        mock.patch.object(torch._C, "_cuda_hasPrimaryContext", lambda _index: True).start()
    stand_in(torch.cuda, "get_device_name", lambda *_: "stand-in")
    stand_in(torch.cuda, "reset_peak_memory_stats", lambda *_: None)
    stand_in(torch.cuda, "max_memory_allocated", lambda *_: peak())
    stand_in(torch.cuda, "CUDAGraph", recording)
    stand_in(torch.cuda, "graph", lambda one, *_, **__: one.recorded)
    stand_in(torch.accelerator, "current_accelerator", lambda *_, **__: gpu)
    stand_in(torch.accelerator, "device_count", lambda: 1)
    stand_in(torch.accelerator, "synchronize", lambda *_: None)
    stand_in(torch.accelerator, "current_stream", lambda *_: None)
    assert {one for one in vars(Event) if one[0] != "_"} <= {*dir(torch.Event)}
    torch.Event = Event


def tensorflow():
    import tensorflow as tf

    cpu = tf.config.list_physical_devices("CPU")
    stand_in(tf.config, "list_physical_devices", lambda *_: cpu)
    stand_in(tf.config, "list_logical_devices", lambda *_: cpu)
    experimental = tf.config.experimental
    stand_in(experimental, "get_device_details", lambda _device: {"device_name": "stand-in"})
    stand_in(experimental, "get_memory_info", lambda _device: {"current": 0, "peak": peak()})
    stand_in(experimental, "reset_memory_stats", lambda _device: None)


def jax():
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
    import jax

    _first, second = jax.devices()
    jax.config.update("jax_default_device", second)
    gpu = mock.create_autospec(second, instance=True, platform="gpu", device_kind="stand-in")
    stand_in(jax, "devices", lambda *_: [gpu])


def mxnet():
    from d2lhybrid import import_mxnet

    mx = import_mxnet()
    stand_in(mx.npx, "num_gpus", lambda: 1)
    stand_in(mx.npx, "gpu", lambda *_: mx.cpu(1))


def peak():
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def names(code):
    """The names that a cell reads from others, and those that it gives to others."""
    reads, gives = set(), set()
    for step in dis.get_instructions(code):
        if step.opname == "STORE_NAME":
            gives.add(step.argval)
        elif step.opname in ("LOAD_NAME", "LOAD_GLOBAL"):
            reads |= {step.argval} - gives
        elif isinstance(step.argval, CodeType):
            reads |= names(step.argval)[0] - gives
    return reads, gives


def compiled(source, place):
    for old, new in SMALLER.items():
        source = source.replace(old, new)
    linecache.cache[place] = (len(source), None, source.splitlines(keepends=True), place)
    return compile(source, place, "exec")


def cells(path):
    """The code of what needs a GPU, and of what comes before it because it is needed; in order."""
    found, needed = [], set()
    sheets = [one for one in json.loads(path.read_bytes())["cells"] if one["cell_type"] == "code"]
    for number, cell in reversed([*enumerate(sheets)][1:]):  # the first one installs
        source = "".join(cell["source"])
        tags = cell["metadata"].get("tags", ())
        code = compiled(source, f"{path.relative_to(ROOT)}, code cell {number}")
        reads, gives = names(code)
        asks = "has_gpu" in reads and "if not has_gpu" not in source
        if "gpu" in tags or asks or gives & needed:
            needed = needed - gives | reads
            found.append((source, code, tags))
    return found[::-1] if any("gpu" in tags for _source, _code, tags in found) else []


def show(thing):
    """In the place of ``display``: shows it as text, and lets no row be missing."""
    print(thing)
    assert not thing.unavailable, thing.unavailable


def planted(source):
    """The cell with the last name misspelled of those that are used on a GPU."""
    (cell,) = ast.parse(source).body
    inside = [one for part in cell.body for one in ast.walk(part)]
    used = [one for one in inside if isinstance(one, ast.Attribute | ast.Name)]
    last = max(used, key=lambda one: (one.end_lineno, one.end_col_offset))
    lines = source.encode().splitlines(keepends=True)
    line, end = lines[last.end_lineno - 1], last.end_col_offset
    lines[last.end_lineno - 1] = line[:end] + b"_misspelled" + line[end:]
    return b"".join(lines).decode()


def complaint(code, space):
    """What a cell with a misspelled name ends with; nothing where it goes unnoticed."""
    try:
        exec(code, space)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def main(framework):
    """Where a translation has the code of the English cell, it takes what that one has made."""
    globals()[framework]()
    ran, made = {}, {}
    for path in sorted((ROOT / "notebooks").glob(f"*/{framework}/*.ipynb")):  # English is first
        # A module, where TorchDynamo looks up what a function of a cell reads from others.
        module = sys.modules["rehearsed"] = ModuleType("rehearsed")
        space = vars(module)
        space["display"] = show
        for source, code, tags in cells(path):
            start, place = perf_counter(), code.co_filename
            same = path.stem, place.split()[-1], ast.dump(ast.parse(source))
            if same in made and "gpu" not in tags:
                space |= made[same]
                continue
            with contextlib.redirect_stdout(sys.stderr):
                if "gpu" in tags:
                    wrong = path.parts[-3] == "en" and compiled(planted(source), "planted")
                    ran[place] = wrong and complaint(wrong, space)
                with contextlib.suppress(AssertionError if "hide-input" in tags else ()):
                    exec(code, space)
            made[same] = {name: space[name] for name in names(code)[1] if name in space}
            print(f"{perf_counter() - start:6.2f}", place, file=sys.stderr)
    print(json.dumps(ran))


if __name__ == "__main__":
    main(sys.argv[1])
