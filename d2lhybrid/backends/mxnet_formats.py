"""The format that MXNet writes and reads, imported by the functions that need it."""

import contextlib
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from d2lhybrid.backends.formats import Format, Lazy, Raw, Written, flatten
from d2lhybrid.compat import import_mxnet
from d2lhybrid.errors import SaveError
from d2lhybrid.i18n import gettext as _
from d2lhybrid.i18n import noop as N_

mx = Lazy(import_mxnet)
PREFIX = "model"
SYMBOL, PARAMS = f"{PREFIX}-symbol.json", f"{PREFIX}-0000.params"


def default_format(model: Any) -> str:
    return "mxnet"


def call(model: Any, inputs: tuple[Any, ...]) -> list[Raw]:
    with semantics(_is_numpy(inputs)), _quiet():
        return [to_raw(t) for t in flatten(model(*inputs))]


def to_raw(tensor: Any) -> Raw:
    return Raw.of(tensor.asnumpy())


def from_raw(raw: Raw, options: dict[str, Any]) -> Any:
    numpy_semantics = bool(options.get("numpy_semantics"))
    with semantics(numpy_semantics):
        make = mx.np.array if numpy_semantics else mx.nd.array
        return make(raw.array, dtype=raw.array.dtype)


def doubled(tensor: Any) -> Any:
    with semantics(_is_numpy((tensor,))):
        if not tensor.ndim:
            return tensor
        if _is_numpy((tensor,)):
            return mx.np.concatenate([tensor, tensor])
        return mx.nd.concat(tensor, tensor, dim=0)


def _is_numpy(inputs: tuple[Any, ...]) -> bool:
    return bool(inputs) and isinstance(inputs[0], mx.np.ndarray)


@contextlib.contextmanager
def semantics(numpy_semantics: bool) -> Iterator[None]:
    """NumPy or classic semantics, whatever the caller has switched on at the moment."""
    modes = [mx.util.np_shape(numpy_semantics), mx.util.np_array(numpy_semantics)]
    with contextlib.ExitStack() as stack:
        for mode in modes if numpy_semantics else reversed(modes):  # arrays never without shapes
            stack.enter_context(mode)
        yield


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Silence what MXNet warns itself about."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def write(model: Any, inputs: tuple[Any, ...], folder: Path) -> Written:
    """Symbol and parameters of a hybridized block; one that is not is hybridized meanwhile."""
    if not isinstance(model, mx.gluon.HybridBlock):
        raise SaveError(
            _(
                "Expected a HybridBlock, which can be compiled, received a {kind}; "
                "build the network from HybridBlocks."
            ).format(kind=type(model).__name__)
        )
    numpy_semantics = _is_numpy(inputs)
    was_active = model._active or isinstance(model, mx.gluon.SymbolBlock)
    with semantics(numpy_semantics), _quiet():
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
    with semantics(numpy_semantics), _quiet():
        block = mx.gluon.SymbolBlock.imports(
            str(folder / SYMBOL), list(options["inputs"]), str(folder / PARAMS)
        )
    block.hybridize()

    def run(*inputs: Any) -> Any:
        with semantics(numpy_semantics):
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
