"""``load``, ``verify``, ``inspect`` and ``trust``: bytes first, then trust, then the framework.

``inspect`` and ``trust`` run and unpickle nothing, and pass no bytes to a framework.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from d2lhybrid.artifacts.manifest import Manifest
from d2lhybrid.artifacts.proof import verify_in_subprocess
from d2lhybrid.artifacts.store import Stored, not_a_path, read
from d2lhybrid.artifacts.trusted import add_trusted
from d2lhybrid.backends.failures import wrap_call_errors
from d2lhybrid.backends.outputs import to_host
from d2lhybrid.backends.verb import verb
from d2lhybrid.core import errors
from d2lhybrid.core.arguments import BoundToProcess
from d2lhybrid.core.compare_outputs import mismatch
from d2lhybrid.core.host_array import dtype_and_shape
from d2lhybrid.core.i18n import count, gettext as _, listed, noop as N_, pgettext, sentences
from d2lhybrid.core.pytree import leaves
from d2lhybrid.core.toolchain import missing
from d2lhybrid.core.usage import written_as

ANSWERS = {"proved": N_("proved"), "failed": N_("failed"), "not run": N_("not run")}


class LoadedModel(BoundToProcess):
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
            is_converted = self._stored.format.converts and hasattr(value, "dtype")
            if not is_converted and not framework.device.is_tensor(value):
                kind = f"{type(value).__module__}.{type(value).__name__}"
                text = _(
                    "Expected a {framework} tensor as {name}. Received: {kind}. Convert it, as "
                    "with {code}."
                )
                fields = {"framework": framework.display, "code": f"{framework.converter}(...)"}
                raise errors.InputMismatchError(text, name=expected.name, kind=kind, **fields)
        self.manifest.require([*map(dtype_and_shape, inputs)])
        with wrap_call_errors(self._stored.root.name, args, kwargs):
            outputs = self.model(*inputs)
        return self.manifest.out_spec.unflatten(_flat(outputs))

    def differences(self) -> Iterator[str]:
        """Run the recorded calls, and say how their outputs differ from the recorded ones, if so.

        Raises:
            DamagedArtifactError: A file holds no recorded tensor.
            Otherwise what the model raises.
        """
        stored, framework = self._stored, self._stored.framework
        names = [output.name for output in self.manifest.outputs]
        for number in range(self.manifest.examples):
            inputs = [
                framework.device.from_host(host_array, self.manifest.options)
                for host_array in stored.load_inputs(number)
            ]
            output = framework.models.infer(self.model, tuple(inputs), {})
            received = dict(zip(names, map(to_host, _flat(output)), strict=True))
            expected = dict(zip(names, stored.load_outputs(number), strict=True))
            difference = mismatch(received, expected)
            if difference is not None:
                yield str(difference)


@dataclass(frozen=True, repr=False)
class Verification:
    """What ``verify`` found.

    Attributes:
        path: The artifact's folder.
        answer: ``"proved"``: the bytes are as saved, and the model ran and gave the recorded
            outputs. ``"not run"``: the bytes are as saved, but the model was not run because you
            don't trust it. ``"failed"``: anything else.
        reason: Why it isn't proved.
        problems: What is wrong with the bytes; empty if all are as saved.
    """

    path: Path
    answer: Literal["proved", "not run", "failed"]
    reason: str = ""
    problems: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """True when the answer is ``"proved"``."""
        return self.answer == "proved"

    def __str__(self) -> str:
        if self.ok:
            outputs = pgettext("outputs", "same")
        elif self.problems or self.answer == "not run":
            outputs = _("not run: {reason}").format(reason=self.reason)
        else:
            outputs = _("failed: {reason}").format(reason=self.reason)
        bytes_found = listed(self.problems) or _("as saved")
        lines = [
            (_("answer:"), _(ANSWERS[self.answer])),
            (_("bytes:"), bytes_found),
            (_("outputs:"), outputs),
        ]
        return _table(self.path, lines)

    __repr__ = __str__


@dataclass(frozen=True, repr=False)
class Inspection:
    """An artifact as ``inspect`` sees it, shown as a small table.

    Attributes:
        path: The artifact's folder.
        manifest: What the artifact says: `format`, `framework`, `versions`, `created`, `inputs`,
            `outputs`, `files`.
        trusted: Did this user save it as it is, or call ``trust``?
        risk: What such a file can do when it is loaded.
        note: What else to know about the format, and why no axis can vary.
        problems: What isn't as it was saved; empty if every byte is.
    """

    path: Path
    manifest: Manifest
    trusted: bool
    risk: str
    note: str
    problems: tuple[str, ...]

    def __str__(self) -> str:
        manifest = self.manifest
        versions = [f"{package} {number}" for package, number in manifest.versions.items()]
        size = _("{size:>12} bytes")
        rows = [
            (_("format:"), f"{manifest.format} ({manifest.framework})"),
            (_("with:"), ", ".join(versions)),
            (_("created:"), manifest.created),
        ]
        rows += [(_("input:"), str(spec)) for spec in manifest.inputs]
        rows += [(_("output:"), str(spec)) for spec in manifest.outputs]
        for file in manifest.files:
            rows.append((_("file:"), f"{size.format(size=count(file.size))}  {file.path}"))
        trusted = _("yes, by you") if self.trusted else _("no; trust(path) changes that")
        rows += [(_("trusted:"), trusted), (_("may:"), self.risk)]
        if self.note:
            rows.append((_("note:"), self.note))
        rows += [(_("PROBLEM:"), problem) for problem in self.problems]
        return _table(self.path, rows)

    __repr__ = __str__


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
        UnreadableArtifactError: The system doesn't let us read it.
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
    with stored.off_import_path(trust):
        stored.require_intact()
        return _load(stored, stored.require_allowed(trust))


@verb("verify('path')", "verify('path', trust=True)", check=not_a_path)
def verify(path: str | os.PathLike[str], /, *, trust: bool = False) -> Verification:
    """Check that the bytes are as saved, and that the model computes its recorded outputs.

    There are three answers: proved, failed, and not run, because the files are intact but untrusted
    (`trust` is as in ``load``). ``ok`` is true only for the first. Damaged files and errors from
    the model are reported, not raised. A model that you don't trust, of a format that holds no
    code, runs in a fresh process, for ten minutes at most.

    Raises:
        ArtifactNotFoundError, UnreadableArtifactError, ArgumentError: As in ``load``.
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
    with stored.off_import_path(trust):
        return _verify(stored, trust)


def _verify(stored: Stored, trust: bool) -> Verification:
    """As ``verify``, of an artifact whose manifest was read."""
    if problems := stored.find_problems():
        return Verification(stored.root, "failed", _("the bytes differ"), problems)
    try:
        trusted = stored.require_allowed(trust)
    except errors.UntrustedArtifactError as error:
        return Verification(stored.root, "not run", str(error))
    model = _load(stored, trusted)
    try:
        if trusted:
            difference = next(model.differences(), "")
        else:  # which may never come to an end
            difference = verify_in_subprocess(stored.root, trust=False)
    except errors.D2LHybridError as error:
        return Verification(stored.root, "failed", str(error))
    except Exception as error:
        return Verification(stored.root, "failed", errors.brief(error))
    if difference:
        return Verification(stored.root, "failed", difference)
    return Verification(stored.root, "proved")


@written_as("inspect('path')", check=not_a_path)
def inspect(path: str | os.PathLike[str], /) -> Inspection:
    """Describe an artifact without executing anything.

    Raises:
        ArtifactNotFoundError: There is nothing at the path, or no artifact.
        DamagedArtifactError: Its manifest cannot be read.
        UnknownFrameworkError, UnsupportedArtifactError: Its version, its framework or its format is
            unknown here.

    >>> import torch
    >>> from d2lhybrid import save
    >>> net, x = torch.nn.Linear(3, 2), torch.ones(1, 3)
    >>> artifact = save(net, "linear", x)
    >>> print(inspect("linear").manifest.inputs[0])
    input: float32 (any, 3)
    """
    stored = read(path)
    chosen = stored.format
    risk = _(chosen.risk) or _("Nothing: this format holds no code.")
    note = sentences(_(chosen.note), _(chosen.lasts))
    if stored.manifest.fixed:
        fixed = _("No axis can vary: {reason}.").format(reason=stored.manifest.fixed)
        note = sentences(note, fixed)
    problems = stored.find_problems()
    return Inspection(stored.root, stored.manifest, stored.trusted, risk, note, problems)


@written_as("trust('path')", check=not_a_path)
def trust(path: str | os.PathLike[str], /) -> Inspection:
    """Declare that this artifact may run with your permissions; ``inspect`` it first.

    It is trusted as it is now. Any change afterwards ends the trust.

    Raises:
        DamagedArtifactError: It isn't as it was saved.
        UnwritableFolderError: Your list of trusted artifacts cannot be written to.

    >>> import torch
    >>> from d2lhybrid import save
    >>> net, x = torch.nn.Linear(3, 2), torch.ones(1, 3)
    >>> artifact = save(net, "linear", x)
    >>> trust("linear").trusted
    True
    """
    stored = read(path)
    stored.require_intact()
    add_trusted(stored.digest)
    return inspect(path)


def _flat(output: Any) -> list[Any]:
    """The tensors that a program returns, in order; some formats have None between them."""
    return [leaf for _path, leaf in leaves(output) if leaf is not None]


def _load(stored: Stored, trusted: bool) -> LoadedModel:
    """Let the framework read bytes that were checked.

    Raises:
        MissingPackageError, UnsupportedArtifactError, ArtifactLoadError: As ``load`` says.
    """
    framework = stored.framework
    try:
        framework.load()
    except ImportError as error:
        raise missing(framework.name, framework.name, error) from error
    options = stored.manifest.options
    with stored.explain_refusals():
        module = options.get("module")
        if trusted and isinstance(module, str):
            import_module(module)
        return LoadedModel(stored, stored.format.read(stored.root, options))


def _table(path: Path, rows: Sequence[tuple[str, str]]) -> str:
    """The path, and below it the rows in two columns."""
    from d2lhybrid.core.table import Column, Table  # what is not printed needs no table

    indented = [[f"  {label}", text] for label, text in rows]
    name = str(path)  # escaped where a terminal would obey it or break the line
    title = name if name.isprintable() else repr(name)
    return f"{title}\n{Table([Column(left=True)] * 2, indented, gap=' ')}"
