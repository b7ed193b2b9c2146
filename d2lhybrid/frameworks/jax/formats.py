"""The formats that JAX writes and reads."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from d2lhybrid.errors import ArtifactLoadError, SaveError
from d2lhybrid.frameworks.formats import Format, Options, Sign, Written
from d2lhybrid.frameworks.samples import Group, Sample
from d2lhybrid.i18n import gettext as _
from d2lhybrid.i18n import noop as N_
from d2lhybrid.installing import require

PLATFORMS = ("cpu", "cuda")  # a program that is saved on one of them runs on the other


def default_format(model: Any) -> str:
    return "jax.export"


class JAXFormat(Format):
    """What both formats share."""

    converts = True

    def function(self, model: Any) -> Any:
        from d2lhybrid.frameworks.jax.modules import unjitted

        return unjitted(model)

    def restorer(self, part: Any) -> Callable[[], None] | None:
        """What a call changes in a module or a variable, such as running means."""
        from flax import nnx

        if isinstance(part, nnx.Variable):
            return partial(part.copy_from, part.copy())
        if not isinstance(part, nnx.Module):
            return None
        state = nnx.state(nnx.clone(part))
        held = [(one, dict(vars(one))) for _path, one in nnx.iter_modules(part)]

        def restore() -> None:
            for one, attributes in held:  # nnx.jit takes them away where it fails in a trace
                vars(one).update(attributes)
            nnx.update(part, state)

        return restore


class Exported(JAXFormat):
    """A program of ``jax.export``: StableHLO, with the weights in it."""

    name = "jax.export"
    packages = ("jax", "jaxlib")
    risk = N_("Its program can call every native function that JAX has registered in the process.")
    note = N_("StableHLO, which needs JAX or another runtime for it: no wheel brings one for C.")
    file = "model.stablehlo"
    signs = (Sign(".stablehlo", rb"(xla_(?:ffi_)?python_\w+callback)", N_("a call of {name}")),)

    def write(self, sample: Sample, folder: Path) -> Written:
        exported, groups = _exported(sample)
        (folder / self.file).write_bytes(exported.serialize())
        return Written({}, groups)

    def read(self, folder: Path, options: Options, into: Any = None) -> Any:
        import jax

        exported = jax.export.deserialize(bytearray((folder / self.file).read_bytes()))
        run = jax.jit(exported.call)

        def one_or_many(*inputs: Any) -> Any:
            found = run(*inputs)
            return found[0] if len(found) == 1 else found

        return one_or_many


def _exported(sample: Sample) -> tuple[Any, list[Group]]:
    """A program of flat tensors that returns flat ones, and which groups of axes vary."""
    import jax

    from d2lhybrid.frameworks.jax.modules import evaluating, pure

    with evaluating(sample.model):
        model = pure(sample.model)
    function = jax.jit(replace(sample, model=partial(model.run, model.weights)).flat)
    export = jax.export.export(function, platforms=PLATFORMS)
    return sample.built(lambda groups: export(*_specs(sample, groups)))


def _specs(sample: Sample, groups: Sequence[Group]) -> list[Any]:
    """The inputs' shapes and dtypes; axes that vary together have one symbol."""
    import jax

    scope = jax.export.SymbolicScope()
    shapes = [list(tensor.shape) for tensor in sample.inputs]
    for number, group in enumerate(groups):
        (symbol,) = jax.export.symbolic_shape(f"n{number}", scope=scope)
        for shape, axes in zip(shapes, group, strict=True):
            for axis in axes:
                shape[axis] = symbol
    dtypes = [jax.dtypes.canonicalize_dtype(tensor.dtype) for tensor in sample.inputs]
    return [jax.ShapeDtypeStruct(*one) for one in zip(shapes, dtypes, strict=True)]


class Weights(JAXFormat):
    """The weights of a module alone."""

    name = "safetensors"
    packages = ("jax", "flax", "safetensors")
    note = N_("Weights alone: load(path, into=model) puts them into a model that you build.")
    weights_only = True
    file = "model.safetensors"

    def write(self, sample: Sample, folder: Path) -> Written:
        library = require("safetensors.flax", "safetensors")
        weights = _weights(sample.model)
        if not weights:
            raise SaveError(_("The model has no weights, so there is nothing to save."))
        library.save_file(weights, str(folder / self.file))
        return Written({})

    def read(self, folder: Path, options: Options, into: Any = None) -> Any:
        """The weights by name; or, if `into` is a module, that module with the weights loaded."""
        found = require("safetensors.flax", "safetensors").load_file(str(folder / self.file))
        if into is None:
            return found
        expected, received = (
            {name: (array.shape, array.dtype) for name, array in weights.items()}
            for weights in (found, _weights(into))
        )
        differing = sorted(n for n in {*expected, *received} if expected.get(n) != received.get(n))
        if differing:
            text = _(
                "Expected a module with the parameters that were saved, received a {kind} that "
                "differs: {error}"
            )
            error = ", ".join(differing)
            raise ArtifactLoadError(text, kind=type(into).__name__, error=error)
        for name, variable in _variables(into).items():
            variable[...] = found[name]
        return into

    def differing(self, model: Any, folder: Path) -> str:
        """The first tensor in the file that is not the model's, in words."""
        import numpy as np

        mine = _weights(model)
        found = require("safetensors.flax", "safetensors").load_file(str(folder / self.file))
        for name, stored in found.items():
            bits = [np.asarray(array).tobytes() for array in (stored, mine[name])]
            if stored.dtype != mine[name].dtype or bits[0] != bits[1]:
                return _("{name!r} differs").format(name=name)
        return ""


def _weights(model: Any) -> dict[str, Any]:
    return {name: variable[...] for name, variable in _variables(model).items()}


def _variables(model: Any) -> dict[str, Any]:
    """What a module of Flax NNX holds, by name, but for the keys of its random numbers."""
    from flax import nnx

    if not isinstance(model, nnx.Module):
        text = _("Expected a module of Flax NNX, whose weights have names, received a {kind}.")
        raise SaveError(text, kind=type(model).__name__)
    return {
        ".".join(map(str, path)): part
        for path, part in nnx.iter_graph(model)
        if isinstance(part, nnx.Variable) and not isinstance(part, nnx.RngState)
    }


FORMATS: dict[str, Format] = {one.name: one for one in (Exported(), Weights())}
