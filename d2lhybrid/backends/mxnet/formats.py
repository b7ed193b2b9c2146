"""The format that MXNet writes and reads."""

import threading
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from d2lhybrid.backends.formats import ExampleCall, Format, NativeProgram, Option, Options
from d2lhybrid.backends.mxnet.compat import import_mxnet
from d2lhybrid.core.errors import SaveError
from d2lhybrid.core.i18n import gettext as _, noop as N_
from d2lhybrid.core.output import silent
from d2lhybrid.core.pytree import leaves

# A block's graph belongs to one thread at a time: two that call it with a new shape can find it
# without the shapes that the other one is inferring.
_CALLING = threading.Lock()
SYMBOL, PARAMS = "model-symbol.json", "model-0000.params"


class SymbolAndParameters(Format):
    """Symbol and parameters of a block that can be hybridized."""

    name = "mxnet"
    risk = N_("MXNet's native parser reads memory where a hostile file tells it to.")
    note = N_("MXNet was retired in 2023; 1.9.1 is the last release.")
    native = NativeProgram(
        "mxnet.c", "mxnet", "-I{0}/include -L{0} -Wl,-rpath,{0} -lmxnet", "model",
        dtypes=("float32",),  # its C API hands out the bytes of any output as if they were these
    )  # fmt: skip

    def write(self, example: ExampleCall, folder: Path) -> dict[str, Option]:
        """Hand symbols to the block, as hybridizing does; so it stays as it is."""
        mx, model = import_mxnet(), example.model
        from d2lhybrid.backends.mxnet.device import is_numpy, semantics, symbol_like

        if not isinstance(model, mx.gluon.HybridBlock):
            text = _(
                "Expected a HybridBlock, which can be compiled, received a {kind}; "
                "build the network from HybridBlocks."
            )
            raise SaveError(text, kind=type(model).__name__)
        names = [f"data{number}" for number in range(len(example.inputs))]
        if len(names) == 1:
            names = ["data"]
        numpy_semantics = is_numpy(example.inputs)
        with semantics(numpy_semantics), silent():
            args, kwargs = example.arguments(map(symbol_like, names, example.inputs))
            outputs = [one for _path, one in leaves(model(*args, **kwargs)) if one is not None]
            graph = mx.sym.Group([output.as_nd_ndarray() for output in outputs])
            graph.save(str(folder / SYMBOL))
            states, graph_inputs = graph.list_auxiliary_states(), graph.list_inputs()
            arrays = {}
            for name, parameter in model.collect_params().items():
                if name in graph_inputs:
                    kind = "aux" if name in states else "arg"
                    arrays[f"{kind}:{name}"] = parameter.list_data()[0].as_in_context(mx.cpu())
            save_arrays = mx.npx.save if numpy_semantics else mx.nd.save
            save_arrays(str(folder / PARAMS), arrays)
        return {"inputs": tuple(names), "tensors": (*names, *graph.list_outputs())}

    def function(self, model: Any) -> Any:
        """``hybrid_forward`` behind F."""
        if hasattr(model, "hybrid_forward"):
            return partial(model.hybrid_forward, None)
        return getattr(model, "forward", model)

    def options(self, inputs: Sequence[Any]) -> dict[str, Option]:
        from d2lhybrid.backends.mxnet.device import is_numpy

        return {"numpy_semantics": is_numpy(inputs)}

    def read(self, folder: Path, options: Options) -> Any:
        mx = import_mxnet()
        from d2lhybrid.backends.mxnet.device import semantics

        numpy_semantics = bool(options["numpy_semantics"])
        with semantics(numpy_semantics), silent():
            files = str(folder / SYMBOL), str(folder / PARAMS)
            block = mx.gluon.SymbolBlock.imports(files[0], list(options["inputs"]), files[1])
        block.hybridize()

        def run(*inputs: Any) -> Any:
            with _CALLING, semantics(numpy_semantics):
                return block(*inputs)

        return run


FORMATS: dict[str, Format] = {SymbolAndParameters.name: SymbolAndParameters()}
