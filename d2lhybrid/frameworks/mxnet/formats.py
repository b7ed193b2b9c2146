"""The format that MXNet writes and reads, imported by the functions that need it."""

from importlib import import_module
from pathlib import Path
from typing import Any

from d2lhybrid.errors import SaveError
from d2lhybrid.frameworks.formats import Deferred, Format, Written
from d2lhybrid.frameworks.mxnet.compat import import_mxnet
from d2lhybrid.i18n import gettext as _
from d2lhybrid.i18n import noop as N_

mx = Deferred(import_mxnet)
parts = Deferred(lambda: import_module("d2lhybrid.frameworks.mxnet.tensors"))
PREFIX = "model"
SYMBOL, PARAMS = f"{PREFIX}-symbol.json", f"{PREFIX}-0000.params"


def default_format(model: Any) -> str:
    return "mxnet"


def write(model: Any, inputs: tuple[Any, ...], folder: Path) -> Written:
    """Symbol and parameters of a hybridized block; one that is not is hybridized meanwhile."""
    if not isinstance(model, mx.gluon.HybridBlock):
        raise SaveError(
            _(
                "Expected a HybridBlock, which can be compiled, received a {kind}; "
                "build the network from HybridBlocks."
            ).format(kind=type(model).__name__)
        )
    numpy_semantics = parts.is_numpy(inputs)
    was_active = model._active or isinstance(model, mx.gluon.SymbolBlock)
    with parts.semantics(numpy_semantics), parts.quiet_python():
        try:
            if not was_active:
                model.hybridize()
            if not model._cached_graph:  # what to export is known after the first compiled call
                model(*inputs)
            model.export(str(folder / PREFIX))
            called = [symbol.name for symbol in model._cached_graph[0]]  # in call order
        finally:
            if not was_active:
                model.hybridize(False)
        graph = mx.sym.load(str(folder / SYMBOL))
    held = {name for name, _parameter in model.collect_params().items()}
    # The graph lists them as its operations come to them, and those that nobody passes last.
    taken = [name for name in graph.list_inputs() if name not in held]
    names = tuple(sorted(taken, key=lambda n: called.index(n) if n in called else len(called)))
    if len(names) != len(inputs):
        raise SaveError(
            _(
                "The exported graph takes other inputs ({names}) than the example, which has "
                "{given}; a recurrent layer makes its first state outside the graph, so "
                "pass the state too, or put the layer inside a HybridSequential."
            ).format(names=", ".join(names), given=len(inputs))
        )
    options = {"numpy_semantics": numpy_semantics, "inputs": list(names)}
    return Written(names, tuple(graph.list_outputs()), options)


def read(folder: Path, options: dict[str, Any], into: Any) -> Any:
    numpy_semantics = bool(options.get("numpy_semantics"))
    with parts.semantics(numpy_semantics), parts.quiet_python():
        block = mx.gluon.SymbolBlock.imports(
            str(folder / SYMBOL), list(options["inputs"]), str(folder / PARAMS)
        )
    block.hybridize()

    def run(*inputs: Any) -> Any:
        with parts.semantics(numpy_semantics):
            return block(*inputs)

    return run


FORMATS = {
    "mxnet": Format(
        write,
        read,
        ("mxnet",),
        risk=N_("MXNet's native parser reads memory where a hostile file tells it to."),
        native="mxnet.c",
        note=N_("MXNet was retired in 2023; 1.9.1 is the last release."),
    )
}
