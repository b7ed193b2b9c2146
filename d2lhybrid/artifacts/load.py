"""``load``: the bytes are checked first, then trust, and then the framework reads them."""

import os
from typing import Any

from d2lhybrid.artifacts.examples import load_examples
from d2lhybrid.artifacts.store import Stored, not_a_path, read
from d2lhybrid.backends.failures import wrap_call_errors
from d2lhybrid.backends.outputs import to_host
from d2lhybrid.backends.verb import require_threads, verb
from d2lhybrid.core import errors
from d2lhybrid.core.compare_outputs import mismatch
from d2lhybrid.core.host_array import dtype_and_shape
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.core.pytree import leaves
from d2lhybrid.core.toolchain import missing


class LoadedModel:
    """A model from an artifact; calling it checks the inputs first.

    Attributes:
        model: What the framework's own loader gave: a program of flat tensors.
        manifest: What the artifact says about itself.
    """

    def __init__(self, stored: Stored, model: Any):
        self.model, self.manifest = model, stored.manifest
        self._stored = stored

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.manifest.format} {str(self._stored.root)!r}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the model on arguments like those that it was saved with.

        Returns:
            What the model returned, with lists, tuples and dictionaries in place of other classes.

        Raises:
            InputMismatchError: Structure, number, dtype or shape differ from what the model was
                saved with, or a tensor belongs to another framework.
            CallFailedError: The model raised, say, because a tensor is on another device.
        """
        framework = self._stored.framework
        inputs = self.manifest.flatten_call(args, kwargs)
        for expected, value in zip(self.manifest.inputs, inputs, strict=True):
            is_converted = self._stored.format.takes_arrays and hasattr(value, "dtype")
            if not is_converted and not framework.device.is_tensor(value):
                kind = f"{type(value).__module__}.{type(value).__name__}"
                text = _(
                    "Expected a {framework} tensor as {name}. Received: {kind}. Convert it, as "
                    "with {code}."
                )
                fields = {
                    "framework": framework.display,
                    "code": f"{framework.converter_code}(...)",
                }
                raise errors.InputMismatchError(text, name=expected.name, kind=kind, **fields)
        self.manifest.require([*map(dtype_and_shape, inputs)])
        with wrap_call_errors(self._stored.root.name, args, kwargs):
            outputs = self.model(*inputs)
        return self.manifest.out_spec.unflatten(_flat(outputs))

    def difference(self) -> str:
        """Run the recorded calls: how an output differs from the recorded one, or nothing.

        Raises:
            DamagedArtifactError: A file holds no recorded tensor.
            Otherwise what the model raises.
        """
        framework, root = self._stored.framework, self._stored.root
        names = [output.name for output in self.manifest.outputs]
        for number in range(self.manifest.examples):
            recorded = load_examples(root, number, "input", self.manifest.inputs)
            expected = load_examples(root, number, "output", self.manifest.outputs)
            options = self.manifest.options
            inputs = [framework.device.from_host(tensor, options) for tensor in recorded]
            outputs = _flat(framework.models.infer(self.model, tuple(inputs), {}))
            received = dict(zip(names, map(to_host, outputs), strict=True))
            if difference := mismatch(received, dict(zip(names, expected, strict=True))):
                return difference
        return ""


@verb("load('path')", "load('path', trust=True)", check=not_a_path)
def load(path: str | os.PathLike[str], /, *, trust: bool = False) -> LoadedModel:
    """Load an artifact as a callable.

    Every byte is checked before a framework sees it, and a format that can carry code loads only
    if this user made or trusted the artifact.

    Args:
        path: The artifact's folder.
        trust: Load it once without trusting it.

    Raises:
        ArtifactNotFoundError: There is nothing at the path, or no artifact.
        ArgumentError: `path` isn't a path, or there is an unknown option.
        UntrustedArtifactError: It can carry code, and you neither made nor trusted it.
        DamagedArtifactError: Something isn't as it was saved.
        UnknownFrameworkError, UnsupportedArtifactError: Its framework or format is unknown here,
            or cannot run here.
        MissingPackageError: Its framework isn't installed.
        ArtifactLoadError: The framework cannot load it.

    >>> import torch
    >>> from d2lhybrid import save
    >>> net, x = torch.nn.Linear(3, 2), torch.ones(1, 3)
    >>> artifact = save(net, "linear", x)
    >>> model = load("linear")
    >>> torch.allclose(model(x), net(x))
    True
    """
    stored = read(path)
    stored.require_intact()
    with stored.off_import_path(stored.require_allowed(trust)):
        return load_checked(stored)


def load_checked(stored: Stored) -> LoadedModel:
    """Let the framework read bytes that were checked.

    Raises:
        MissingPackageError, UnsupportedArtifactError, ArtifactLoadError: As ``load`` says.
    """
    framework = stored.framework
    require_threads(framework)
    try:
        framework.load()
    except ImportError as error:
        raise missing(framework.name, framework.name, error) from error
    with stored.explain_refusals():
        return LoadedModel(stored, stored.format.read(stored.root, stored.manifest.options))


def _flat(output: Any) -> list[Any]:
    """The tensors that a program returns, in order; some formats have None between them."""
    return [leaf for _path, leaf in leaves(output) if leaf is not None]
