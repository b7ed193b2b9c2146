"""The ways to run a model that MXNet offers."""

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from mxnet.gluon import Block, HybridBlock, SymbolBlock

from d2lhybrid.frameworks.folder import Folder
from d2lhybrid.frameworks.mxnet.tensors import TENSORS, by_position, is_numpy, semantics
from d2lhybrid.frameworks.program import Program
from d2lhybrid.frameworks.protocol import (
    Args,
    Function,
    Kwargs,
    Lazy,
    Variant,
    copied,
    require_options,
)
from d2lhybrid.i18n import noop as N_
from d2lhybrid.structure import leaves

_STATIC = {"static_alloc": True, "static_shape": True}
_ARRAYS = N_("it is written for a block whose arguments are arrays")
_HYBRIDIZED = "net.hybridize({})\ny = net(x)"


def variants(
    net: Any, args: Args, kwargs: Kwargs, everything: bool, options: Kwargs
) -> dict[str, Variant]:
    """Each way by its name: a callable, or the reason why it cannot be built here.

    hybridize() changes a block for good, so each way gets a block of its own. They share the
    parameters of the model, which is not touched.
    """
    require_options("hybridize()", options, ("backend",))
    eager = Variant(net, "y = net(x)")
    if not isinstance(net, Block):
        return {"eager": eager, "hybridized": Variant(N_("there is no block to hybridize"))}
    if kwargs:
        behind = by_position(net, args, kwargs)
        found = variants(net, (*args, *behind.values()), {}, everything, options)
        return {name: _with_keywords(one, behind) for name, one in found.items()}
    net(*args)  # parameters whose shapes were left open get them now
    if not isinstance(net, HybridBlock):
        reason = N_("a plain Block cannot be hybridized; use HybridBlock")
        return {"eager": eager, "hybridized": Variant(reason)}
    if isinstance(net, SymbolBlock):
        reason = N_("a SymbolBlock keeps no Python code to run: hand over what it was made from")
        eager = Variant(reason)
    else:
        eager = Variant(twin(net, active=False), "net.hybridize(False)\ny = net(x)")
    found = {
        "eager": eager,
        "hybridized": _hybridized(net, args, options),
        "static_alloc": _hybridized(net, args, options, static_alloc=True),
        "static_shape": _hybridized(net, args, options, **_STATIC),
    }
    if everything:
        found["hybridized MKLDNN"] = _hybridized(net, args, {"backend": "MKLDNN"}, **_STATIC)
        found["one thread"] = _one_thread(net, args)
    return found


def _with_keywords(variant: Variant, behind: Kwargs) -> Variant:
    """The variant as a function that takes keyword arguments, and these where none are given."""

    def taking(block: Function) -> Function:
        return lambda *args, **kwargs: block(*args, *(behind | kwargs).values())

    run = variant.run
    if isinstance(run, str):
        return variant
    if not isinstance(run, Lazy):
        return replace(variant, run=taking(run))
    if run.ahead:
        return replace(variant, run=_ARRAYS)
    return replace(variant, run=Lazy(lambda: taking(run.load())))


def twin(net: Any, active: bool = True, **flags: bool) -> Any:
    """A block that shares its parameters with `net`, hybridized for itself."""
    memo = {id(parameter): parameter for parameter in net.collect_params().values()}
    memo |= {id(op): None for block in _blocks(net) if (op := getattr(block, "_cached_op", None))}
    made = copied(net, memo)
    made.hybridize(active, **flags)
    return made


def _blocks(net: Any) -> Iterator[Any]:
    yield net
    for child in net._children.values():
        yield from _blocks(child)


def _hybridized(net: Any, args: Args, options: Kwargs, **flags: bool) -> Variant:
    backend = options.get("backend")
    written = ", ".join(f"{name}={value}" for name, value in flags.items())
    if backend is None:
        return Variant(Lazy(lambda: twin(net, **flags)), _HYBRIDIZED.format(written))

    def build() -> Function:
        block = twin(net, **flags)
        block.optimize_for(*args, backend=backend, **flags)
        return block

    given = ", ".join(filter(None, ["x", f"backend={backend!r}", written]))
    return Variant(Lazy(build), f"net.optimize_for({given})\ny = net(x)")


_ONE_THREAD = """# in a process of its own, started with
# MXNET_ENGINE_TYPE=NaiveEngine OMP_NUM_THREADS=1
net.optimize_for(x, backend="MKLDNN", static_alloc=True, static_shape=True)
y = net(x)"""


def _one_thread(net: Any, args: Args) -> Variant:
    """Without the engine that queues operations and without threads; a process decides once."""
    if not args or not all(map(TENSORS.is_tensor, args)):
        return Variant(_ARRAYS, _ONE_THREAD)

    def build() -> Folder:
        folder = Folder()
        with semantics(is_numpy(args)):
            block = twin(net)
            block(*args)
            block.export(str(folder.path / "model"))
            names = [symbol.name for symbol in block._cached_graph[0]]
        options = {
            "names": names,
            "numpy": is_numpy(args),
            "inputs": [[raw.dtype, raw.array.shape] for raw in map(TENSORS.to_raw, args)],
        }
        (folder.path / "model.json").write_text(json.dumps(options), encoding="utf-8")
        return folder

    def load(folder: Folder) -> Function:
        outputs = [TENSORS.to_raw(leaf) for _path, leaf in leaves(net(*args))]
        inputs = [TENSORS.to_raw(arg).array for arg in args]
        root = str(Path(__file__).parents[3])
        env = {
            **os.environ,
            "MXNET_ENGINE_TYPE": "NaiveEngine",
            "OMP_NUM_THREADS": "1",
            "PYTHONPATH": os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")])),
        }
        command = [sys.executable, "-W", "ignore", "-m", "d2lhybrid.frameworks.mxnet.one_thread"]
        program = Program(
            [*command, str(folder.path)], inputs, [raw.array for raw in outputs], env=env
        )
        program.folder = folder  # which is there as long as the program
        return program

    return Variant(Lazy(build, load), _ONE_THREAD)
