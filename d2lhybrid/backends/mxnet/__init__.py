"""MXNet and Gluon."""

from typing import TYPE_CHECKING, Any

from d2lhybrid.backends.base import Framework


def _import() -> Any:
    """MXNet 1.9.1, so that it runs on today's NumPy."""
    from d2lhybrid.backends.mxnet.compat import import_mxnet

    return import_mxnet()


FRAMEWORK = Framework(
    name="mxnet",
    display="MXNet",
    folder=__name__,
    order=9,
    importer=_import,
    thread_variables={"MXNET_CPU_WORKER_NTHREADS": "1"},
    converter_code="mx.nd.array",
    inference="with autograd.predict_mode(): ...",
    busy_bound=2.5,
)

if TYPE_CHECKING:
    from d2lhybrid.backends.mxnet import (
        compiler,
        device,
        explain,
        formats,
        models,
        training,
        variants,
        why,
    )
    from d2lhybrid.backends.protocol import Modules

    _MODULES: Modules = (device, models, variants, compiler, training, explain, formats, why)
