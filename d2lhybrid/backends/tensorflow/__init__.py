"""TensorFlow, and Keras on top of it."""

from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

from d2lhybrid.backends.base import Framework


def _import() -> Any:
    """Import TensorFlow, and before it Triton if it is installed, as PyTorch for GPUs has it.

    Both contain an LLVM that registers its options with the process. If TensorFlow comes first,
    Triton aborts the process when PyTorch first compiles.
    """
    with suppress(ImportError):
        import_module("triton")
    return import_module("tensorflow")


FRAMEWORK = Framework(
    name="tensorflow",
    display="TensorFlow",
    folder=__name__,
    order=2,
    packages=("keras",),  # if Keras computes with it
    importer=_import,
    # TensorFlow reads its own when it first uses a GPU, of which it would otherwise take all the
    # memory. JAX, which Keras imports, would take three quarters.
    environment={
        "TF_FORCE_GPU_ALLOW_GROWTH": "true",
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
    },
    thread_variables={
        "TF_NUM_INTRAOP_THREADS": "{count}",
        "TF_NUM_INTEROP_THREADS": "{count}",
    },
    converter_code="tf.convert_to_tensor",
    inference="net(x, training=False)",
    busy_bound=3.9,
)

if TYPE_CHECKING:
    from d2lhybrid.backends.protocol import Modules
    from d2lhybrid.backends.tensorflow import (
        compiler,
        device,
        explain,
        formats,
        models,
        training,
        variants,
        why,
    )

    _MODULES: Modules = (device, models, variants, compiler, training, explain, formats, why)
