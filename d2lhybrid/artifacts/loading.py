"""``load``, ``verify`` and ``trust``: bytes first, then the signature, then the framework."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from d2lhybrid.artifacts.examples import check_inputs, is_array, recall, tensors_of
from d2lhybrid.artifacts.inspection import Inspection, inspect, require_closed, table
from d2lhybrid.artifacts.manifest import Manifest
from d2lhybrid.artifacts.program import flat, run_raw, unlike
from d2lhybrid.artifacts.store import Stored, check_files, read, require_intact
from d2lhybrid.artifacts.trust import sign, signer
from d2lhybrid.errors import (
    ArtifactLoadError,
    D2LHybridError,
    DamagedArtifactError,
    InputMismatchError,
    MissingPackageError,
    UnsupportedArtifactError,
    UntrustedArtifactError,
    brief,
)
from d2lhybrid.frameworks import format_of, get
from d2lhybrid.i18n import gettext as _
from d2lhybrid.i18n import listed, pgettext, sentences
from d2lhybrid.installing import missing
from d2lhybrid.tensor import spec


class LoadedModel:
    """A model from an artifact; calling it checks the inputs first.

    Attributes:
        model: What the framework's own loader gave: a program of flat tensors.
        manifest: What the artifact says about itself.
    """

    def __init__(self, model: Any, manifest: Manifest, takes: str, trusted: bool):
        self.model = model
        self.manifest = manifest
        self._takes = takes  # the package whose tensors alone the model takes; any if empty
        self._trusted = trusted  # may output classes be made, whose modules are imported then?
        self._structured = format_of(manifest.framework, manifest.format).structured

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the model on arguments like those that it was saved with.

        Raises:
            InputMismatchError: Structure, number, dtype or shape are not what the model was saved
                with, or a tensor is of another framework.
        """
        inputs = tensors_of(self.manifest, args, kwargs)
        check_inputs(self.manifest.inputs, list(map(_spec, inputs)))
        for x in inputs:
            self._require_framework(x)
        if self._structured:
            args, kwargs = self.manifest.takes.filled(inputs)
            return self.model(*args, **kwargs)
        output = self.model(*inputs)
        if self.manifest.returns.form == 0:
            return output
        found = output if isinstance(output, (list, tuple)) else [output]
        if not all(map(is_array, found)):
            found = flat(get(self.manifest.framework).tensors, output)
        return self.manifest.returns.filled(found, classes=self._trusted)

    def _require_framework(self, value: Any) -> None:
        packages = {kind.__module__.partition(".")[0] for kind in type(value).__mro__}
        if self._takes and self._takes not in packages:
            text = _("Expected a tensor of {framework}, received a {kind}; convert it.")
            raise InputMismatchError(
                text, framework=self._takes, kind=f"{type(value).__module__}.{type(value).__name__}"
            )

    def __repr__(self) -> str:
        takes = "; ".join(map(str, self.manifest.inputs))
        return _("<{framework} model from format {format!r}: {inputs}>").format(
            framework=self.manifest.framework, format=self.manifest.format, inputs=takes
        )


@dataclass(frozen=True, repr=False)
class Verification:
    """What ``verify`` found.

    Attributes:
        path: The artifact's folder.
        problems: What is wrong with the bytes; empty if all is as saved.
        outputs: ``"same"``, how they differ, or why they were not compared.
        compared: Whether the model was run on the recorded example.
    """

    path: Path
    problems: tuple[str, ...]
    outputs: str
    compared: bool

    @property
    def ok(self) -> bool:
        """True when the bytes are as saved and no output differs.

        Also where the outputs were not compared, as for an artifact that you do not trust; look at
        `compared`.
        """
        return not self.problems and (self.outputs == "same" or not self.compared)

    def __str__(self) -> str:
        state = listed(self.problems) or _("as saved")
        same = self.outputs == "same"
        outputs = pgettext("outputs", "same") if same else self.outputs
        return table(self.path, [(_("bytes:"), state), (_("outputs:"), outputs)])

    __repr__ = __str__


def load(
    path: str | os.PathLike[str],
    *,
    framework: str | None = None,
    trust: bool = False,
    into: Any = None,
) -> Any:
    """Load an artifact as a callable.

    Every byte is checked before a framework sees it, and a format that can carry code loads only
    if this user made or trusted the artifact.

    Args:
        path: The artifact's folder.
        framework: The framework to load into: the one it came from (the default), or
            ``"onnxruntime"`` for an ONNX file, which then takes and returns NumPy arrays.
        trust: Load it this once although nobody that you trust made it.
        into: For weights alone, the model to put them into.

    Returns:
        A LoadedModel; for weights alone the model given as `into`, or else a dictionary.

    Raises:
        ArtifactNotFoundError: Nothing is at the path, or no artifact.
        ArtifactAccessError: The system does not let us read it.
        UntrustedArtifactError: It can carry code, and you neither made nor trusted it.
        DamagedArtifactError: Something is not as it was saved.
        UnsupportedArtifactError: It is of another framework, or of a format unknown here.
        MissingPackageError: Its framework, or a module that the model needs, is not installed.
        ArtifactLoadError: The framework refuses it.

    >>> import torch
    >>> from d2lhybrid import save
    >>> net, x = torch.nn.Linear(3, 2), torch.ones(1, 3)
    >>> artifact = save(net, "linear", x)
    >>> model = load("linear")
    >>> torch.allclose(model(x), net(x))
    True
    """
    stored = read(path)
    manifest = stored.manifest
    chosen = stored.format
    if into is not None and not chosen.weights_only:
        raise UnsupportedArtifactError(
            _("The format {format!r} holds a whole model; leave out into= to load it."),
            format=manifest.format,
        )
    trusted = require_loadable(stored, trust)
    if framework not in (None, manifest.framework):
        return LoadedModel(_read_alone(stored, str(framework)), manifest, "numpy", trusted)
    model = _read(stored, trusted, into)
    if not chosen.weights_only:
        takes = "" if chosen.converts else stored.framework.module
        return LoadedModel(model, manifest, takes, trusted)
    differing = _recorded_difference(stored, into) if into is not None else ""
    if differing:
        text = _(
            "The {kind} took the weights, but it does not compute what the model that was "
            "saved did: {difference}. Build it as it was built then."
        )
        raise ArtifactLoadError(text, kind=type(into).__name__, difference=differing)
    return model


def verify(path: str | os.PathLike[str], *, trust: bool = False) -> Verification:
    """Check that the bytes are as saved, and that the model computes its recorded outputs.

    The model is run only if loading it would be allowed, with `trust` as in ``load``. Damaged files
    are reported, not raised.

    Returns:
        A Verification.

    Raises:
        ArtifactNotFoundError, ArtifactAccessError: As in ``load``.
        DamagedArtifactError: The manifest cannot be read.
        UnsupportedArtifactError, MissingPackageError, ArtifactLoadError: It cannot be run here.

    >>> import torch
    >>> from d2lhybrid import save
    >>> net, x = torch.nn.Linear(3, 2), torch.ones(1, 3)
    >>> artifact = save(net, "linear", x)
    >>> verify("linear").ok
    True
    >>> with open("linear/model.pt2", "ab") as file:
    ...     _ = file.write(b"!")
    >>> verify("linear").ok
    False
    """
    stored = read(path)
    manifest = stored.manifest
    problems: list[str] = []
    try:
        signer(stored)
        problems = check_files(stored)
        if problems:
            why = _("the bytes differ")
        elif stored.format.weights_only:
            why = _("weights alone compute nothing")
        elif not manifest.example_outputs:
            why = _("the example was too big to keep")
        else:
            trusted = _require_allowed(stored, trust)
            found = _recorded_difference(stored, _read(stored, trusted))
            return Verification(stored.root, (), found or "same", True)
    except UntrustedArtifactError as error:
        why = str(error)
    except DamagedArtifactError as error:
        problems, why = [str(error)], _("the bytes differ")
    outputs = _("not compared: {reason}").format(reason=why)
    return Verification(stored.root, tuple(problems), outputs, False)


def trust(path: str | os.PathLike[str]) -> Inspection:
    """Declare that this artifact may run with your permissions; ``inspect`` it first.

    Signs the artifact as it is now. Any change afterwards takes the trust away again.

    Raises:
        DamagedArtifactError: It is not as it was saved, so nothing was signed.
        ArtifactAccessError: Its folder cannot be written to.

    >>> import torch
    >>> from d2lhybrid import save
    >>> net, x = torch.nn.Linear(3, 2), torch.ones(1, 3)
    >>> artifact = save(net, "linear", x)
    >>> trust("linear").signer.startswith("you")
    True
    """
    stored = read(path)
    require_intact(stored)
    signer(stored)
    sign(stored)
    return inspect(path)


def require_loadable(stored: Stored, trust: bool) -> bool:
    """Raise unless every byte is as it was saved, and the model may and can run here.

    Returns whether the user trusts it, so that its modules and classes may be imported.
    """
    require_intact(stored)
    return _require_allowed(stored, trust)


def _require_allowed(stored: Stored, trust: bool) -> bool:
    """Raise if code could run that the user does not trust or that this machine does not know."""
    chosen = stored.format
    made = signer(stored)  # also notices a manifest that was changed after signing
    mine = made.who == "you"
    if chosen.risk and not trust and not mine:
        text = _("{path!r} was signed by nobody, and its format {format!r} can carry code.")
        if made.who != "nobody":
            text = _(
                "{path!r} was signed by someone else (key {key}), and its format {format!r} can "
                "carry code."
            )
        advice = _(
            "Look at it with inspect(path); if you know where it comes from, use trust(path), or "
            "load(path, trust=True) once."
        )
        found = text.format(path=str(stored.root), key=made.key or "?", format=chosen.name)
        raise UntrustedArtifactError(sentences(found, _(chosen.risk), advice))
    if not mine:
        require_closed(stored)
    chosen.require(stored.manifest.options)
    return trust or mine


def _spec(value: Any) -> tuple[str, tuple[int, ...]]:
    try:
        return spec(value)
    except (AttributeError, TypeError, ValueError):
        return _("a {kind}, not a tensor").format(kind=type(value).__name__), ()


def _read_alone(stored: Stored, package: str) -> Any:
    """What `package` makes of the file in place of the framework."""
    with _explaining(stored):
        found = stored.format.read_alone(stored.root, package)
    if found is None:
        text = _(
            "Expected an artifact for {expected!r}, received one of {received!r} in the "
            "format {format!r}; leave out framework= to load it."
        )
        raise UnsupportedArtifactError(
            text,
            expected=package,
            received=stored.manifest.framework,
            format=stored.manifest.format,
        )
    return found


def _read(stored: Stored, trusted: bool, into: Any = None) -> Any:
    """What the framework makes of bytes that were checked."""
    manifest, framework = stored.manifest, stored.framework
    try:
        framework.load()
    except ImportError as error:
        raise missing(framework.module, framework.extra, error) from error
    for module in manifest.options.get("imports", []) if trusted else ():
        try:
            import_module(module)
        except ImportError as error:
            raise MissingPackageError(
                _("This model needs the module {module} when it is loaded: {error}.").format(
                    module=module, error=error
                )
            ) from error
    with _explaining(stored):
        return stored.format.read(stored.root, manifest.options, into)


@contextmanager
def _explaining(stored: Stored) -> Iterator[None]:
    """Say that a framework does not load bytes that are as they were saved."""
    try:
        yield
    except D2LHybridError:
        raise
    except Exception as error:
        text = _(
            "{framework} does not load {path!r}, whose bytes are as saved: {error}. "
            "It was saved with {versions}; try those versions, or save the model again."
        )
        versions = ", ".join(f"{k} {number}" for k, number in stored.manifest.versions.items())
        said = text.format(
            framework=stored.manifest.framework, path=str(stored.root), error=brief(error),
            versions=versions,
        )  # fmt: skip
        raise ArtifactLoadError(said) from error


def _recorded_difference(stored: Stored, program: Any) -> str:
    """How the outputs for the recorded example differ from the recorded ones; empty if equal."""
    manifest, tensors = stored.manifest, stored.framework.tensors
    recorded = recall(stored.root, manifest.example_inputs)
    if not recorded:
        return ""
    try:
        received = run_raw(
            stored.format, tensors, program, manifest.takes, recorded, manifest.options
        )
    except D2LHybridError:
        raise
    except Exception as error:
        text = _("{path!r} loads but does not run on its example: {error}")
        raise ArtifactLoadError(text, path=str(stored.root), error=brief(error)) from error
    names = [output.name for output in manifest.outputs]
    return unlike(recall(stored.root, manifest.example_outputs), received, names)
