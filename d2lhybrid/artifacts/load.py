"""``load``, ``verify``, ``inspect`` and ``trust``: bytes first, then trust, then the framework.

``inspect`` and ``trust`` run and unpickle nothing, and hand no bytes to a framework.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from d2lhybrid.artifacts import store
from d2lhybrid.artifacts.manifest import Manifest
from d2lhybrid.core import errors
from d2lhybrid.core.arguments import BoundToProcess
from d2lhybrid.core.compare_outputs import Mismatch, mismatch
from d2lhybrid.core.host_array import dtype_and_shape
from d2lhybrid.core.i18n import count, gettext as _, listed, pgettext, sentences
from d2lhybrid.core.pytree import leaves
from d2lhybrid.core.toolchain import missing
from d2lhybrid.display.table import Column, Table
from d2lhybrid.frameworks import to_host


class LoadedModel(BoundToProcess):
    """A model from an artifact; calling it checks the inputs first.

    Attributes:
        model: What the framework's own loader gave: a program of flat tensors.
        manifest: What the artifact says about itself.
    """

    def __init__(self, stored: store.Stored, model: Any, trusted: bool):
        self.model, self.manifest = model, stored.manifest
        # Trusted: may output classes be made, whose modules are imported then?
        self._stored, self._trusted = stored, trusted

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the model on arguments like those that it was saved with.

        Raises:
            InputMismatchError: Structure, number, dtype or shape are not what the model was saved
                with, or a tensor is of another framework.
        """
        framework = self._stored.framework
        inputs = self.manifest.in_spec.flatten_like((args, kwargs), "")
        for expected, value in zip(self.manifest.inputs, inputs, strict=True):
            known = self._stored.format.converts and hasattr(value, "dtype")
            if not known and not framework.is_tensor(value):
                kind = f"{type(value).__module__}.{type(value).__name__}"
                text = _("Expected a tensor of {framework}, received a {kind}; convert it.")
                raise errors.InputMismatchError(text, framework=framework.display, kind=kind)
            expected.require(*dtype_and_shape(value))
        return self.manifest.out_spec.unflatten(_flat(self.model(*inputs)), classes=self._trusted)


@dataclass(frozen=True, repr=False)
class Verification:
    """What ``verify`` found.

    Attributes:
        path: The artifact's folder.
        problems: What is wrong with the bytes; empty if all is as saved.
        outputs: Whether the outputs for the recorded example are the recorded ones: ``"same"``,
            ``"different"``, ``"failed"`` where the model raised, or ``"not run"``.
        reason: How they differ, what was raised, or why the model was not run.
    """

    path: Path
    problems: tuple[str, ...]
    outputs: Literal["same", "different", "failed", "not run"]
    reason: str = ""

    @property
    def ok(self) -> bool:
        """True when the bytes are as saved, and the model was run and computed the same."""
        return self.answer == "proved"

    @property
    def answer(self) -> Literal["proved", "not run", "failed"]:
        """What is known: it ran and gave the recorded outputs (``"proved"``); it is as it was
        saved, and was not run because you do not trust it (``"not run"``); or neither.
        """
        if self.problems or self.outputs in ("different", "failed"):
            return "failed"
        return "proved" if self.outputs == "same" else "not run"

    def __str__(self) -> str:
        state = listed(self.problems) or _("as saved")
        said = {"same": pgettext("outputs", "same"), "not run": _("not run: {reason}")}
        outputs = said.get(self.outputs, _("failed: {reason}")).format(reason=self.reason)
        return _table(self.path, [(_("bytes:"), state), (_("outputs:"), outputs)])

    __repr__ = __str__


@dataclass(frozen=True, repr=False)
class Inspection:
    """An artifact as ``inspect`` sees it; shown as a small table.

    Attributes:
        path: The artifact's folder.
        manifest: What the artifact says: `format`, `framework`, `versions`, `created`, `inputs`,
            `outputs`, `files`.
        trusted: Did this user save it as it is, or call ``trust``?
        may: What the format lets such a file do when it is loaded.
        note: What else there is to know of the format, and why no axis may vary.
        problems: What is not as it was saved; empty if every byte is.
    """

    path: Path
    manifest: Manifest
    trusted: bool
    may: str
    note: str
    problems: tuple[str, ...]

    def __str__(self) -> str:
        said = self.manifest
        versions = ", ".join(f"{k} {v}" for k, v in said.versions.items())
        size = _("{size:>12} bytes")
        trusted = _("yes, by you") if self.trusted else _("no; trust(path) changes that")
        rows = [(_("format:"), f"{said.format} ({said.framework})"), (_("with:"), versions)]
        rows += [(_("created:"), said.created)]
        rows += [(_("input:"), str(spec)) for spec in said.inputs]
        rows += [(_("output:"), str(spec)) for spec in said.outputs]
        rows += [(_("file:"), f"{size.format(size=count(f.size))}  {f.path}") for f in said.files]
        rows += [(_("trusted:"), trusted), (_("may:"), self.may)]
        rows += [(_("note:"), self.note)] if self.note else []
        rows += [(_("PROBLEM:"), text) for text in self.problems]
        return _table(self.path, rows)

    __repr__ = __str__


def load(path: str | os.PathLike[str], *, trust: bool = False) -> LoadedModel:
    """Load an artifact as a callable.

    Every byte is checked before a framework sees it, and a format that can carry code loads only
    if this user made or trusted the artifact.

    Args:
        path: The artifact's folder.
        trust: Load it this once although nobody that you trust made it.

    Raises:
        ArtifactNotFoundError: Nothing is at the path, or no artifact.
        OSError: The system does not let us read it.
        UntrustedArtifactError: It can carry code, and you neither made nor trusted it.
        DamagedArtifactError: Something is not as it was saved.
        UnknownFrameworkError, UnsupportedArtifactError: It is of a framework or a format that is
            unknown here, or cannot run here.
        MissingPackageError: Its framework is not installed.
        ArtifactLoadError: The framework refuses it.

    >>> import torch
    >>> from d2lhybrid import save
    >>> net, x = torch.nn.Linear(3, 2), torch.ones(1, 3)
    >>> artifact = save(net, "linear", x)
    >>> model = load("linear")
    >>> torch.allclose(model(x), net(x))
    True
    """
    stored = store.read(path)
    store.require_intact(stored)
    trusted = store.require_allowed(stored, trust)
    return LoadedModel(stored, _program(stored, trusted), trusted)


def verify(path: str | os.PathLike[str], *, trust: bool = False) -> Verification:
    """Check that the bytes are as saved, and that the model computes its recorded outputs.

    There are three answers: proved, failed, and intact but not run, because loading it would not be
    allowed (with `trust` as in ``load``). Only the first is ``ok``. Damaged files, and what the
    model raises, are reported, not raised.

    Raises:
        ArtifactNotFoundError, OSError: As in ``load``.
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
    stored = store.read(path)
    if problems := store.problems_of(stored):
        return Verification(stored.root, problems, "not run", _("the bytes differ"))
    try:
        trusted = store.require_allowed(stored, trust)
    except errors.UntrustedArtifactError as error:
        return Verification(stored.root, (), "not run", str(error))
    program = _program(stored, trusted)
    try:
        for example in range(stored.manifest.examples):
            if found := _difference(stored, program, example):
                return Verification(stored.root, (), "different", str(found))
    except errors.D2LHybridError as error:
        return Verification(stored.root, (), "failed", str(error))
    except Exception as error:
        return Verification(stored.root, (), "failed", errors.brief(error))
    return Verification(stored.root, (), "same")


def inspect(path: str | os.PathLike[str]) -> Inspection:
    """Describe an artifact without executing anything.

    Raises:
        ArtifactNotFoundError: Nothing is at the path, or no artifact.
        DamagedArtifactError: Its manifest cannot be read.
        UnknownFrameworkError, UnsupportedArtifactError: Its version, its framework or its format is
            not known here.

    >>> import torch
    >>> from d2lhybrid import save
    >>> net, x = torch.nn.Linear(3, 2), torch.ones(1, 3)
    >>> artifact = save(net, "linear", x)
    >>> print(inspect("linear").manifest.inputs[0])
    input: float32 (any, 3)
    """
    stored = store.read(path)
    fixed, chosen = stored.manifest.fixed, stored.format
    may, note = _(chosen.risk) or _("Nothing: this format holds no code."), _(chosen.note)
    if fixed:
        note = sentences(note, _("No axis may vary: {reason}.").format(reason=fixed))
    problems = store.problems_of(stored)
    return Inspection(stored.root, stored.manifest, stored.trusted, may, note, problems)


def trust(path: str | os.PathLike[str]) -> Inspection:
    """Declare that this artifact may run with your permissions; ``inspect`` it first.

    It is trusted as it is now. Any change afterwards takes the trust away again.

    Raises:
        DamagedArtifactError: It is not as it was saved.
        UnwritableFolderError: Your list of trusted artifacts cannot be written to.

    >>> import torch
    >>> from d2lhybrid import save
    >>> net, x = torch.nn.Linear(3, 2), torch.ones(1, 3)
    >>> artifact = save(net, "linear", x)
    >>> trust("linear").trusted
    True
    """
    stored = store.read(path)
    store.require_intact(stored)
    store.add_trusted(stored.digest)
    return inspect(path)


def _flat(output: Any) -> list[Any]:
    """The tensors that a program returns, in order; in some formats with None between them."""
    return [one for _path, one in leaves(output) if one is not None]


def _program(stored: store.Stored, trusted: bool) -> Any:
    """What the framework makes of bytes that were checked."""
    framework = stored.framework
    try:
        framework.load()
    except ImportError as error:
        raise missing(framework.name, framework.name, error) from error
    options = stored.manifest.options
    with store.refusals(stored):
        modules = options.get("imports", ())
        for module in modules if trusted and isinstance(modules, tuple) else ():
            import_module(module)
        return stored.format.read(stored.root, options)


def _difference(stored: store.Stored, program: Any, example: int) -> Mismatch | None:
    """How the outputs for an example differ from the recorded ones; None if they do not."""
    tensors, manifest = stored.framework, stored.manifest
    raws = stored.recall(example, "input")
    inputs = tuple(tensors.from_host(raw, manifest.options) for raw in raws)
    received = map(to_host, _flat(tensors.infer(program, inputs, {})))
    names = [output.name for output in manifest.outputs]
    expected = dict(zip(names, stored.recall(example, "output"), strict=True))
    return mismatch(dict(zip(names, received, strict=True)), expected)


def _table(path: Path, rows: Sequence[tuple[str, str]]) -> str:
    """The path, and below it the rows in two columns."""
    shown = [[f"  {label}", text] for label, text in rows]
    name = str(path)  # escaped where a terminal would obey it or break the line
    title = name if name.isprintable() else repr(name)
    return f"{title}\n{Table([Column(left=True)] * 2, shown, gap=' ')}"
