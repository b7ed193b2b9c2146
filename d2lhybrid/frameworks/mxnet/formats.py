"""The format that MXNet writes and reads."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from d2lhybrid.errors import SaveError
from d2lhybrid.frameworks.formats import Format, NativeProgram, Options, Written
from d2lhybrid.frameworks.mxnet.compat import import_mxnet
from d2lhybrid.frameworks.samples import Sample
from d2lhybrid.i18n import gettext as _
from d2lhybrid.i18n import noop as N_
from d2lhybrid.quieting import silent
from d2lhybrid.structure import leaves

SYMBOL, PARAMS = "model-symbol.json", "model-0000.params"


def default_format(model: Any) -> str:
    return "mxnet"


class SymbolAndParameters(Format):
    """Symbol and parameters of a hybridized block."""

    name = "mxnet"
    packages = ("mxnet",)
    risk = N_("MXNet's native parser reads memory where a hostile file tells it to.")
    note = N_("MXNet was retired in 2023; 1.9.1 is the last release.")
    file = SYMBOL
    native = NativeProgram(
        "mxnet.c", "mxnet", "-I{0}/include -L{0} -Wl,-rpath,{0} -lmxnet", "model",
        dtypes=("float32",),  # its C API hands out the bytes of any output as if they were these
    )  # fmt: skip

    def write(self, sample: Sample, folder: Path) -> Written:
        """A block that is not hybridized is hybridized meanwhile."""
        mx, model = import_mxnet(), sample.model
        from d2lhybrid.frameworks.mxnet.tensors import is_numpy, semantics

        if not isinstance(model, mx.gluon.HybridBlock):
            text = _(
                "Expected a HybridBlock, which can be compiled, received a {kind}; "
                "build the network from HybridBlocks."
            )
            raise SaveError(text, kind=type(model).__name__)
        numpy_semantics = is_numpy(tuple(sample.inputs))
        was_active = model._active or isinstance(model, mx.gluon.SymbolBlock)
        with semantics(numpy_semantics), silent():
            try:
                if not was_active:
                    model.hybridize()
                if not model._cached_graph:  # what to export is known after a compiled call
                    sample.tensors.infer(model, sample.args, sample.kwargs)
                model.export(str(folder / "model"))
                called = [symbol.name for symbol in model._cached_graph[0]]  # in call order
            finally:
                if not was_active:
                    model.hybridize(False)
            graph = mx.sym.load(str(folder / SYMBOL))
        held = {name for name, _parameter in model.collect_params().items()}
        # The graph lists them as its operations come to them, and those that nobody passes last.
        taken = [name for name in graph.list_inputs() if name not in held]
        names = sorted(taken, key=lambda n: called.index(n) if n in called else len(called))
        if len(names) != len(sample.inputs):
            text = _(
                "The exported graph takes other inputs ({names}) than the example, which has "
                "{given}; a recurrent layer makes its first state outside the graph, so "
                "pass the state too, or put the layer inside a HybridSequential."
            )
            raise SaveError(text, names=", ".join(names), given=len(sample.inputs))
        names = [names[place] for place in _places(sample)]
        options = {
            "numpy_semantics": numpy_semantics,
            "inputs": names,
            "tensors": [*names, *graph.list_outputs()],
        }
        return Written(options, sample.groups)

    def function(self, model: Any) -> Any:
        """``hybrid_forward`` behind F."""
        if hasattr(model, "hybrid_forward"):
            return partial(model.hybrid_forward, None)
        return getattr(model, "forward", model)

    def read(self, folder: Path, options: Options, into: Any = None) -> Any:
        mx = import_mxnet()
        from d2lhybrid.frameworks.mxnet.tensors import semantics

        numpy_semantics = bool(options.get("numpy_semantics"))
        with semantics(numpy_semantics), silent():
            block = mx.gluon.SymbolBlock.imports(
                str(folder / SYMBOL), list(options["inputs"]), str(folder / PARAMS)
            )
        block.hybridize()

        def run(*inputs: Any) -> Any:
            with semantics(numpy_semantics):
                return block(*inputs)

        return run

    def restorer(self, part: Any) -> Callable[[], None] | None:
        """What is no weight, such as running means."""
        if not isinstance(part, import_mxnet().gluon.Block):
            return None
        params = part.collect_params().values()
        states = [p for p in params if p.grad_req == "null" and p._data is not None]
        kept = [(p, p.data().copy()) for p in states]

        def restore() -> None:
            for parameter, value in kept:
                parameter.set_data(value)

        return restore


def _places(sample: Sample) -> list[int]:
    """Where each of the sample's inputs comes in the call, whose keywords MXNet takes in order."""
    from d2lhybrid.frameworks.mxnet.tensors import by_position

    marks = [object() for _tensor in sample.inputs]  # one tensor may stand in two places
    args, kwargs = sample.takes.filled(marks)
    if kwargs:
        args = (*args, *by_position(sample.model, args, kwargs).values())
    known = {id(mark) for mark in marks}
    called = [id(leaf) for _path, leaf in leaves(args) if id(leaf) in known]
    return [called.index(id(mark)) for mark in marks]


FORMATS: dict[str, Format] = {one.name: one for one in (SymbolAndParameters(),)}
