"""JAX, and Flax on top of it."""

from typing import TYPE_CHECKING

from d2lhybrid.backends.base import Framework

FRAMEWORK = Framework(
    name="jax",
    display="JAX",
    folder=__name__,
    order=3,
    packages=("jaxlib", "flax", "optax", "equinox"),  # arrays are of jaxlib's classes
    # Read when JAX first uses a GPU, of which it would otherwise take three quarters of the memory.
    environment={"XLA_PYTHON_CLIENT_PREALLOCATE": "false"},
    thread_variables={"NPROC": "{count}"},
    cache_variables={"JAX_COMPILATION_CACHE_DIR": None},  # without a folder, JAX keeps nothing
    companions=("flax",),
    converter_code="jax.numpy.asarray",
    busy_bound=9.5,
)

if TYPE_CHECKING:
    from d2lhybrid.backends.jax import (
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
