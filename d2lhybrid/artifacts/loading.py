"""``load``, ``verify`` and ``trust``: bytes first, then the signature, then the framework."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from d2lhybrid.artifacts.examples import check_inputs, raw_of, recall
from d2lhybrid.artifacts.inspection import Inspection, inspect, require_closed, table
from d2lhybrid.artifacts.manifest import Manifest
from d2lhybrid.artifacts.program import brief, flat, run_flat, unlike
from d2lhybrid.artifacts.store import Stored, check_files, read, require_intact
from d2lhybrid.artifacts.trust import Signer, sign, signer
from d2lhybrid.errors import (
    ArtifactLoadError,
    D2LHybridError,
    DamagedArtifactError,
    InputMismatchError,
    MissingPackageError,
    UnsupportedArtifactError,
    UntrustedArtifactError,
)
from d2lhybrid.frameworks import get
from d2lhybrid.frameworks.formats import Format, find, missing
from d2lhybrid.i18n import gettext as _
from d2lhybrid.i18n import listed, pgettext, sentences
from d2lhybrid.tensor import spec


class LoadedModel:
    """A model from an artifact; calling it checks the inputs first.

    Attributes:
        model: What the framework's own loader gave: a program of flat tensors.
        manifest: What the artifact says about itself.
    """

    def __init__(self, model: Any, manifest: Manifest, takes: str = "", importing: bool = False):
        self.model = model
        self.manifest = manifest
        self._takes = takes  # the package whose tensors alone the model takes; any if empty
        self._importing = importing  # may output classes be made, whose modules are imported then?
        self._chosen = find(manifest.framework, manifest.format)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the model on arguments like those that it was saved with.

        Raises:
            InputMismatchError: Structure, number, dtype or shape are not what the model was saved
                with, or a tensor is of another framework.
        """
        takes, returns = self.manifest.takes, self.manifest.returns
        inputs = list(args)
        alone = not kwargs and len(args) == len(self.manifest.inputs) and all(map(_is_array, args))
        if takes is not None and not (takes.flat and not kwargs) and not alone:
            inputs = takes.tensors_in((args, kwargs), "")
        check_inputs(self.manifest.inputs, [_spec(x) for x in inputs])
        for x in inputs:
            self._require_framework(x)
        if takes is not None and self._chosen.structured:
            args, kwargs = takes.filled(inputs)
            return self.model(*args, **kwargs)
        output = self.model(*inputs)
        if returns is None or returns.form == 0:
            return output
        found = output if isinstance(output, (list, tuple)) else [output]
        if not all(map(_is_array, found)):
            found = flat(get(self.manifest.framework).tensors, output)
        return returns.filled(found, importing=self._importing, plain=not self._importing)

    def _require_framework(self, value: Any) -> None:
        packages = {kind.__module__.partition(".")[0] for kind in type(value).__mro__}
        if self._takes and self._takes not in packages:
            raise InputMismatchError(
                _("Expected a tensor of {framework}, received a {kind}; convert it.").format(
                    framework=self._takes, kind=f"{type(value).__module__}.{type(value).__name__}"
                )
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
    chosen = find(manifest.framework, manifest.format)
    if into is not None and not chosen.weights_only:
        raise UnsupportedArtifactError(
            _("The format {format!r} holds a whole model; leave out into= to load it.").format(
                format=manifest.format
            )
        )
    trusted = require_loadable(stored, trust)
    alone = None
    if framework not in (None, manifest.framework):
        alone = _read_alone(stored, chosen, str(framework))
        return LoadedModel(alone, manifest, "numpy", trusted)
    model = _read(stored, trusted, into)
    if not chosen.weights_only:
        takes = "" if chosen.converts else get(manifest.framework).module
        return LoadedModel(model, manifest, takes, trusted)
    unlike_ = _recorded_difference(stored, into) if into is not None else ""
    if unlike_:
        raise ArtifactLoadError(
            _(
                "The {kind} took the weights, but it does not compute what the model that was "
                "saved did: {difference}. Build it as it was built then."
            ).format(kind=type(into).__name__, difference=unlike_)
        )
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
    try:
        signer(stored)
        problems = check_files(stored)
        if problems:
            why = _("the bytes differ")
        elif find(manifest.framework, manifest.format).weights_only:
            why = _("weights alone compute nothing")
        elif not manifest.example_outputs:
            why = _("the example was too big to keep")
        else:
            trusted = _require_allowed(stored, trust)
            found = _recorded_difference(stored, _read(stored, trusted))
            return Verification(stored.root, (), found or "same", True)
    except UntrustedArtifactError as error:
        problems, why = [], str(error)
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


def require_loadable(stored: Stored, trusted: bool) -> bool:
    """Raise unless every byte is as it was saved, and the model may and can run here.

    Returns whether the user trusts it, so that its modules and classes may be imported.
    """
    require_intact(stored)
    return _require_allowed(stored, trusted)


def _require_allowed(stored: Stored, trusted: bool) -> bool:
    """Raise if code could run that the user does not trust or that this machine does not know."""
    chosen = find(stored.manifest.framework, stored.manifest.format)
    made = signer(stored)  # also notices a manifest that was changed after signing
    if chosen.risk and not trusted and made.who != "you":
        raise _untrusted(stored, chosen, made)
    if made.who != "you":
        require_closed(stored, chosen)
    chosen.require(stored.manifest.options)
    return trusted or made.who == "you"


def _untrusted(stored: Stored, chosen: Format, made: Signer) -> UntrustedArtifactError:
    if made.who == "nobody":
        text = _("{path!r} was signed by nobody, and its format {format!r} can carry code.")
    else:
        text = _(
            "{path!r} was signed by someone else (key {key}), and its format {format!r} can carry "
            "code."
        )
    advice = _(
        "Look at it with inspect(path); if you know where it comes from, use trust(path), or "
        "load(path, trust=True) once."
    )
    found = text.format(path=str(stored.root), key=made.key or "?", format=chosen.name)
    return UntrustedArtifactError(sentences(found, _(chosen.risk), advice))


def _is_array(value: Any) -> bool:
    return hasattr(value, "dtype") and hasattr(value, "shape")


def _spec(value: Any) -> tuple[str, tuple[int, ...]]:
    try:
        return spec(value)
    except (AttributeError, TypeError, ValueError):
        return _("a {kind}, not a tensor").format(kind=type(value).__name__), ()


def _read_alone(stored: Stored, chosen: Format, package: str) -> Any:
    """What `package` makes of the file in place of the framework."""
    with _explaining(stored):
        found = chosen.read_alone(stored.root, package)
    if found is not None:
        return found
    raise UnsupportedArtifactError(
        _(
            "Expected an artifact for {expected!r}, received one of {received!r} in the "
            "format {format!r}; leave out framework= to load it."
        ).format(expected=package, received=stored.manifest.framework, format=chosen.name)
    )


def _read(stored: Stored, trusted: bool, into: Any = None) -> Any:
    """What the framework makes of bytes that were checked."""
    manifest = stored.manifest
    framework = get(manifest.framework)
    try:
        framework.load()
    except ImportError as error:
        raise missing(framework.module, framework.extra, error) from error
    for module in manifest.imports if trusted else ():
        try:
            import_module(module)
        except ImportError as error:
            raise MissingPackageError(
                _("This model needs the module {module} when it is loaded: {error}.").format(
                    module=module, error=error
                )
            ) from error
    with _explaining(stored):
        return find(manifest.framework, manifest.format).read(stored.root, manifest.options, into)


@contextmanager
def _explaining(stored: Stored) -> Iterator[None]:
    """Say that a framework does not load bytes that are as they were saved."""
    try:
        yield
    except D2LHybridError:
        raise
    except Exception as error:
        versions = ", ".join(f"{k} {number}" for k, number in stored.manifest.versions.items())
        text = _(
            "{framework} does not load {path!r}, whose bytes are as saved: {error}. "
            "It was saved with {versions}; try those versions, or save the model again."
        )
        raise ArtifactLoadError(
            text.format(
                framework=stored.manifest.framework,
                path=str(stored.root),
                error=brief(error),
                versions=versions,
            )
        ) from error


def _recorded_difference(stored: Stored, program: Any) -> str:
    """How the outputs for the recorded example differ from the recorded ones; empty if equal."""
    manifest = stored.manifest
    chosen, tensors = find(manifest.framework, manifest.format), get(manifest.framework).tensors
    recorded = recall(stored.root, manifest.example_inputs)
    if not recorded:
        return ""
    try:
        inputs = [tensors.from_raw(raw, manifest.options) for raw in recorded]
        if chosen.weights_only and manifest.takes is not None:
            args, kwargs = manifest.takes.filled(inputs)
            outputs = flat(tensors, tensors.infer(program, args, kwargs))
        else:
            outputs = run_flat(chosen, tensors, program, manifest.takes, inputs)
        received = [raw_of(tensors, t) for t in outputs]
    except D2LHybridError:
        raise
    except Exception as error:
        raise ArtifactLoadError(
            _("{path!r} loads but does not run on its example: {error}").format(
                path=str(stored.root), error=brief(error)
            )
        ) from error
    names = [output.name for output in manifest.outputs]
    return unlike(recall(stored.root, manifest.example_outputs), received, names)
