"""What brings MXNet's objects and settings to a fresh process.

Arrays travel as NumPy's, whatever semantics are switched on there at the moment, and blocks without
what was compiled of them: a hybridized block is compiled again at its first call there.
"""

from collections.abc import Mapping
from typing import Any

import mxnet
import numpy as np
from mxnet.gluon import HybridBlock, Parameter, SymbolBlock, Trainer
from mxnet.ndarray.sparse import BaseSparseNDArray

from d2lhybrid.backends.mxnet.device import semantics


def reduce(obj: Any) -> Any:
    if isinstance(obj, mxnet.nd.NDArray) and not isinstance(obj, BaseSparseNDArray):
        is_numpy = isinstance(obj, mxnet.np.ndarray)
        return _array, (obj.asnumpy(), is_numpy, obj.context, obj.grad is not None)
    if isinstance(obj, mxnet.sym.Symbol):
        return _symbol, (obj.tojson(), type(obj) is not mxnet.sym.Symbol)
    if isinstance(obj, Parameter):
        state = {**vars(obj), "_var": None, "_grad": None}
        return object.__new__, (type(obj),), state, None, None, _restore_parameter
    if isinstance(obj, HybridBlock):
        state = {**vars(obj), "_cached_op": None, "_cached_op_args": []}
        if not isinstance(obj, SymbolBlock):  # whose graph is all that it has
            state["_cached_graph"] = ()
        return object.__new__, (type(obj),), state
    if isinstance(obj, Trainer):
        return object.__new__, (Trainer,), vars(obj), None, None, _restore_trainer
    return NotImplemented


def _array(values: np.ndarray, is_numpy: bool, context: Any, has_gradient: bool) -> Any:
    """An array with these semantics."""
    with semantics(is_numpy):
        make = mxnet.np.array if is_numpy else mxnet.nd.array
        array = make(values, dtype=values.dtype, ctx=context)
        if has_gradient:
            array.attach_grad()
    return array


def _symbol(json: str, is_numpy: bool) -> Any:
    with semantics(is_numpy):
        symbol = mxnet.sym.load_json(json)
    return symbol.as_np_ndarray() if is_numpy else symbol


def _restore_parameter(parameter: Any, state: dict[str, Any]) -> None:
    """Give a new parameter its state, and new memory for its gradient."""
    vars(parameter).update(state)
    if parameter._data is not None:
        with semantics(isinstance(parameter._data[0], mxnet.np.ndarray)):
            parameter._init_grad()


def _restore_trainer(trainer: Any, state: dict[str, Any]) -> None:
    """Give a new trainer its state; of its optimizer, MXNet leaves out the parameters."""
    vars(trainer).update(state)
    trainer._optimizer.param_dict = dict(enumerate(trainer._params))


def settings() -> Mapping[str, Any]:
    return {"shape": mxnet.util.is_np_shape(), "array": mxnet.util.is_np_array()}


def apply_settings(settings: Mapping[str, Any]) -> None:
    mxnet.npx.set_np(**settings)
