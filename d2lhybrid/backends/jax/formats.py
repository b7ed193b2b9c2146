"""The format that JAX writes and reads."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from d2lhybrid.backends.formats import ExampleCall, Format, Option, Options
from d2lhybrid.core.i18n import noop as N_

PLATFORMS = ("cpu", "cuda")  # a program that is saved on one of them runs on the other


class Exported(Format):
    """A program of ``jax.export``: StableHLO, with the weights in it."""

    name = "jax.export"
    packages = ("jaxlib",)
    risk = N_("Its program can call every native function that JAX has registered in the process.")
    note = N_(
        "StableHLO, which JAX or another runtime for it can run; no wheel includes one for C."
    )
    lasts = N_(
        "JAX releases up to six months newer than the one that saved it can read it, or three "
        "weeks older; others may refuse it."
    )
    takes_arrays = True

    def write(self, example: ExampleCall, folder: Path) -> dict[str, Option]:
        import jax

        from d2lhybrid.backends.jax.modules import eager, inference, pure
        from d2lhybrid.backends.state import kept_attributes

        model = pure(eager(inference(example.model)))
        function = jax.jit(replace(example, model=partial(model.run, model.weights)).flat)
        with kept_attributes(example.model):
            exported = jax.export.export(function, platforms=PLATFORMS)(*_specs(example))
        (folder / "model.stablehlo").write_bytes(exported.serialize())
        return {}

    def read(self, folder: Path, options: Options) -> Any:
        import jax

        from d2lhybrid.backends.jax.device import with_64_bits

        exported = jax.export.deserialize(bytearray((folder / "model.stablehlo").read_bytes()))
        compiled = jax.jit(exported.call)

        def run(*inputs: Any) -> Any:  # also where 64 bits are switched off
            plain = (x[...] if hasattr(x, "__jax_array__") else x for x in inputs)  # Flax's Param
            with with_64_bits(options):
                return compiled(*plain)

        return run

    def options(self, inputs: Any) -> dict[str, Option]:
        import jax

        return {"x64": bool(jax.config.jax_enable_x64)}


def _specs(example: ExampleCall) -> list[Any]:
    """The inputs' shapes and dtypes; axes that vary together have one symbol."""
    import jax

    names = list(dict.fromkeys(name for axes in example.dynamic_dims for name in axes.values()))
    symbols = ",".join(f"n{number}" for number in range(len(names)))
    sizes = dict(zip(names, jax.export.symbolic_shape(symbols), strict=True)) if names else {}
    shapes = [
        [sizes[axes[i]] if i in axes else size for i, size in enumerate(tensor.shape)]
        for tensor, axes in zip(example.inputs, example.dynamic_dims, strict=True)
    ]
    dtypes = [jax.dtypes.canonicalize_dtype(tensor.dtype) for tensor in example.inputs]
    return list(map(jax.ShapeDtypeStruct, shapes, dtypes))


FORMATS: dict[str, Format] = {Exported.name: Exported()}
