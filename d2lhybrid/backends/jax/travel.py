"""What brings JAX's objects and settings to a fresh process."""

from collections.abc import Mapping
from typing import Any

import jax

# Those of ``jax.config`` that decide what a program computes.
_SETTINGS = (
    "jax_enable_x64",
    "jax_default_matmul_precision",
    "jax_numpy_dtype_promotion",
    "jax_numpy_rank_promotion",
    "jax_default_prng_impl",
    "jax_threefry_partitionable",
    "jax_disable_jit",
    "jax_debug_nans",
    "jax_debug_infs",
)


def reduce(obj: Any) -> Any:
    """Functions with a gradient of the user's are objects that need an argument to be made."""
    if isinstance(obj, jax.custom_vjp | jax.custom_jvp):
        return object.__new__, (type(obj),), vars(obj)
    if isinstance(obj, type(jax.jit(len))):
        state = obj.__getstate__(), dict(vars(obj))
        return _new, (type(obj),), state, None, None, _set_jitted
    return NotImplemented


def _new(kind: Any) -> Any:
    return kind.__new__(kind)


def _set_jitted(function: Any, state: tuple[Any, dict[str, Any]]) -> None:
    """What ``jax.jit`` returned also has attributes, by which it is known; JAX leaves them out."""
    own, attributes = state
    function.__setstate__(own)
    vars(function).update(attributes)


def settings() -> Mapping[str, Any]:
    return {name: getattr(jax.config, name) for name in _SETTINGS if hasattr(jax.config, name)}


def apply_settings(settings: Mapping[str, Any]) -> None:
    for name, value in settings.items():
        jax.config.update(name, value)
