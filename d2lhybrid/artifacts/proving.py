"""What ``save`` proves: what another process computes from the file is what the model computes."""

import contextlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from d2lhybrid.artifacts.examples import raw_of
from d2lhybrid.artifacts.manifest import TensorSpec
from d2lhybrid.artifacts.program import unlike
from d2lhybrid.artifacts.proof import Job, Prover
from d2lhybrid.errors import SaveError
from d2lhybrid.frameworks.formats import Format, Written
from d2lhybrid.frameworks.layout import Structure
from d2lhybrid.frameworks.protocol import Framework
from d2lhybrid.frameworks.samples import Group, Sample, free_axes, held_by
from d2lhybrid.i18n import gettext as _
from d2lhybrid.i18n import sentences
from d2lhybrid.tensor import Raw

Specs = tuple[TensorSpec, ...]
MAX_IMPORTS = 20


@dataclass
class Proved:
    """The groups of axes that vary in the file, what came back for each, and what it imports."""

    groups: list[Group] = field(default_factory=list)
    received: list[list[Raw]] = field(default_factory=list)
    imports: tuple[str, ...] = ()


def prove(
    framework: Framework, chosen: Format, sample: Sample, written: Written, prover: Prover | None,
    folder: Path,
) -> Proved:  # fmt: skip
    """Compare the file with the model in memory, on the example and for each group of axes.

    Raises:
        SaveError: It does not load, does not run, or computes something else.
    """
    if prover is None:  # of weights alone
        _require_equal(chosen.differing(sample.model, folder))
        return Proved()
    inputs, expected, groups = [sample.inputs], [sample.expected], []
    for group in written.groups:
        doubled = sample.doubled([group])
        outputs = _outputs(sample, doubled)
        if outputs is not None:
            inputs.append(doubled)
            expected.append(outputs)
            groups.append(group)
    job = Job(folder, framework.name, chosen.name, written.options, sample.takes)
    trials = [[raw_of(sample.tensors, t) for t in tensors] for tensors in inputs]
    (first, *results), imports = _ask(framework, sample.model, prover, job, trials)
    if isinstance(first, str):
        text = _("What was saved loads in another process, but does not run there: {error}.")
        raise SaveError(text, error=first)
    _require_equal(unlike(sample.expected, first, sample.outputs))
    proved = Proved(imports=imports)
    for group, outputs, received in zip(groups, expected[1:], results, strict=True):
        if not isinstance(received, str) and not unlike(outputs, received):
            proved.groups.append(group)
            proved.received.append(received)
    lost = [group for group in sample.groups if group not in proved.groups]
    if sample.strict and lost:
        named = [dict(zip(sample.names, group, strict=True)) for group in lost]
        axes = ", ".join(f"{name}: {axis}" for one in named for name in one for axis in one[name])
        text = _("The saved model does not let these axes vary: {axes}.")
        raise SaveError(text, axes=axes)
    return proved


def specs(sample: Sample, given: Sequence[Raw], proved: Proved) -> tuple[Specs, Specs]:
    """Inputs and outputs; an axis is free where the proof varied it."""
    varied = [
        {
            axis
            for received in proved.received
            for axis, size in enumerate(raw.array.shape)
            if received[i].array.shape[axis] != size
        }
        for i, raw in enumerate(sample.expected)
    ]
    free = free_axes(proved.groups, len(given))
    return (
        tuple(map(_spec, sample.names, given, free)),
        tuple(map(_spec, sample.outputs, sample.expected, varied)),
    )


def _spec(name: str, raw: Raw, free: set[int]) -> TensorSpec:
    shape = tuple(None if axis in free else n for axis, n in enumerate(raw.array.shape))
    return TensorSpec(name, raw.dtype, shape)


def _outputs(sample: Sample, inputs: Sequence[Any]) -> list[Raw] | None:
    """What the model returns for other sizes; None if it refuses, or returns other constants."""
    try:
        returns, found = Structure.of(sample.run(inputs), sample.tensors, "output")
    except Exception:  # any refusal means the same
        return None
    same = returns == sample.returns
    return [raw_of(sample.tensors, t) for _path, t in found] if same else None


def _require_equal(found: str) -> None:
    if found:
        text = _(
            "What was saved does not compute what the model computes ({difference}); is the "
            "model random or does it keep state?"
        )
        raise SaveError(text, difference=found)


def _ask(
    framework: Framework, model: Any, prover: Prover, job: Job, trials: list[list[Raw]]
) -> tuple[list[list[Raw] | str], tuple[str, ...]]:
    """The outputs from the other process; if it must be, with the model's own modules imported."""
    try:
        return prover.prove(job, trials), ()
    except SaveError as error:
        first = error
    modules = _modules(framework, model)
    imports = tuple(name for name in modules if name != "__main__")
    if imports:
        with contextlib.suppress(SaveError):
            return prover.prove(replace(job, imports=imports), trials), imports
    text = _("A process that has the artifact alone cannot load it as {format!r}: {error}.")
    found = [text.format(format=job.format, error=first)]
    if "__main__" in modules:
        found.append(
            _("It cannot import classes from a notebook or a script; put them in a module.")
        )
    raise SaveError(sentences(*found)) from first


def _modules(framework: Framework, model: Any) -> list[str]:
    """The modules, other than the framework's and Python's, that the model's classes come from."""
    parts = [*held_by(model)]
    for name in ("modules", "_flatten_layers"):
        with contextlib.suppress(Exception):  # whatever else has a method of that name
            parts += getattr(model, name)()
    known = {*sys.stdlib_module_names, framework.module, "d2lhybrid", "builtins"} - {"__main__"}
    found = {type(part).__module__ for part in parts}
    return sorted(name for name in found if name.partition(".")[0] not in known)[:MAX_IMPORTS]
