"""PyTorch's compiler: what a process pays for it once, and what it has compiled."""

import os
from contextlib import suppress
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import torch

from d2lhybrid.backends import get
from d2lhybrid.backends.torch import device, inductor, private
from d2lhybrid.backends.torch.modules import compiled_in
from d2lhybrid.backends.variant import DeferredBuild
from d2lhybrid.core.arguments import Function
from d2lhybrid.core.output import silent
from d2lhybrid.core.toolchain import USUAL_CXX, no_compiler
from d2lhybrid.core.variables import variable_set

INDUCTOR = "Inductor"
no_inductor = partial(no_compiler, "C++", USUAL_CXX)  # Inductor calls that one
disk_cache_hits = inductor.disk_cache_hits
is_imported = private.is_dynamo_imported
programs_compiled = private.graphs_made
_seconds: float | None = None  # that starting Inductor took in this process, once it was timed


def compiled(net: Function, **options: Any) -> Function:
    """torch.compile with a cache of its own, or what was compiled before would be taken again.

    A PyTorch that cannot do that shares one cache among all models whose code is the same, up to
    eight programs in all; behind these it runs them eagerly.
    """
    fast: Function = torch.compile(net, **options, **private.APART)
    return fast


def start(function: Function) -> tuple[str, float | None]:
    """Import Inductor and let it compile a smallest program, if this function needs it.

    This also lets Inductor find out by g++ what the processor knows and translate its headers
    once. Loading a package of AOTInductor imports only a part of it, and nobody knows how long that
    part takes, so no seconds are returned for what is compiled ahead of time.
    """
    if not _needs_inductor(function):
        return "", None
    if _seconds is None and not inductor.has_compiled():
        _start_inductor()
    is_ahead = isinstance(function, DeferredBuild) and function.ahead
    return INDUCTOR, None if is_ahead else _seconds


def use_disk_cache(folder: Path) -> None:
    for name, path in get("torch").variables_for_caches(folder).items():
        os.environ[name] = str(path)
    inductor.forget_programs()


def _start_inductor() -> None:
    global _seconds
    begin = perf_counter()
    # Inductor runs ``python -c`` for each set of instructions that the processor may know, which
    # must not import a file of the current folder that has the name of a library's module. A row
    # that fails for the same reason says so.
    with suppress(Exception), silent(), variable_set("PYTHONSAFEPATH"):
        for used in device.used() or [torch.device("cpu")]:
            _compile_smallest(used)
        inductor.start_disk_cache()
    _seconds = perf_counter() - begin


def _needs_inductor(function: Any) -> bool:
    if isinstance(function, DeferredBuild):
        return function.compiler == INDUCTOR
    return any(map(private.is_compiled_by_inductor, compiled_in(function)))


def _compile_smallest(used: torch.device) -> None:
    """With a product, a pointwise operation and a reduction: each is lowered by other modules.

    It is compiled anew, because what is found on the disk starts only a part of the compiler.
    """
    ones = torch.ones(8, 8, device=used)
    with torch.no_grad(), inductor.without_disk_cache():
        compiled(lambda x, w: torch.relu(x @ w + 1).sum(-1))(ones, ones)
