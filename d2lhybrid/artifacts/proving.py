"""What ``save`` proves: what another process computes from the file is what the model computes."""

import contextlib
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from d2lhybrid.artifacts import proof
from d2lhybrid.artifacts.examples import raw_of
from d2lhybrid.artifacts.manifest import TensorSpec
from d2lhybrid.artifacts.program import unlike
from d2lhybrid.errors import SaveError
from d2lhybrid.frameworks.formats import Format, Written, others
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
    imports: list[str] = field(default_factory=list)


@contextlib.contextmanager
def prover_for(framework: Framework, chosen: Format) -> Iterator[proof.Prover | None]:
    """The process for the proof; weights alone are compared without one."""
    if chosen.weights_only:
        yield None
    else:
        with proof.fresh(framework.name) as prover:
            yield prover


def prove(
    framework: Framework, chosen: Format, sample: Sample, written: Written,
    prover: proof.Prover | None, folder: Path,
) -> Proved:  # fmt: skip
    """Compare the file with the model in memory, on the example and for each group of axes.

    Raises:
        SaveError: It does not load, does not run, or computes something else.
    """
    if prover is None:
        _require_equal(chosen.differing(sample.model, folder))
        return Proved()
    trials: list[tuple[Group | None, list[Any], list[Raw]]] = [
        (None, sample.inputs, sample.expected)
    ]
    for group in written.groups:
        inputs = sample.doubled([group])
        expected = _outputs(sample, inputs)
        if expected is not None:
            trials.append((group, inputs, expected))
    job = {
        "folder": str(folder),
        "framework": framework.name,
        "format": chosen.name,
        "options": written.options,
        "takes": asdict(sample.takes),
    }
    given = [[raw_of(sample.tensors, t) for t in inputs] for _group, inputs, _expected in trials]
    (first, *results), imports = _ask(framework, chosen, sample, prover, job, given)
    if isinstance(first, str):
        text = _("What was saved loads in another process, but does not run there: {error}.")
        raise SaveError(sentences(text.format(error=first), advice(framework, chosen)))
    _require_equal(unlike(sample.expected, first, sample.outputs))
    proved = Proved(imports=imports)
    for (held, _inputs, expected), received in zip(trials[1:], results, strict=True):
        if not isinstance(received, str) and not unlike(expected, received):
            proved.groups.append(held or [])
            proved.received.append(received)
    if sample.strict and len(proved.groups) < len(sample.groups):
        lost = [group for group in sample.groups if group not in proved.groups]
        named = [dict(zip(sample.names, group, strict=True)) for group in lost]
        axes = ", ".join(f"{name}: {axis}" for one in named for name in one for axis in one[name])
        text = _("The saved model does not let these axes vary: {axes}.").format(axes=axes)
        raise SaveError(sentences(text, advice(framework, chosen)))
    return proved


def specs(sample: Sample, given: Sequence[Raw], proved: Proved) -> tuple[Specs, Specs]:
    """Inputs and outputs; an axis is free where the proof varied it."""
    free = free_axes(proved.groups, len(given))
    inputs = tuple(
        _spec(name, raw, axes) for name, raw, axes in zip(sample.names, given, free, strict=True)
    )
    outputs = []
    for i, (name, raw) in enumerate(zip(sample.outputs, sample.expected, strict=True)):
        shapes = [found[i].array.shape for found in proved.received]
        varied = {a for a, n in enumerate(raw.array.shape) for shape in shapes if shape[a] != n}
        outputs.append(_spec(name, raw, varied))
    return inputs, tuple(outputs)


def advice(framework: Framework, chosen: Format) -> str:
    """That nothing was changed, and in which formats the model might be saved."""
    nothing = _("Nothing was changed at the path.")
    found = others(framework.name, chosen.name)
    if not found:
        return nothing
    return sentences(
        nothing, _("Other formats of this framework: {formats}.").format(formats=found)
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
    return [raw_of(sample.tensors, leaf.value) for leaf in found] if same else None


def _require_equal(found: str) -> None:
    if found:
        raise SaveError(
            _(
                "What was saved does not compute what the model computes ({difference}); is the "
                "model random or does it keep state? Nothing was changed at the path."
            ).format(difference=found)
        )


def _ask(
    framework: Framework, chosen: Format, sample: Sample, prover: proof.Prover,
    job: dict[str, Any], trials: list[list[Raw]],
) -> tuple[list[list[Raw] | str], list[str]]:  # fmt: skip
    """The outputs from the other process; if it must be, with the model's own modules imported."""
    try:
        return prover.prove({**job, "imports": []}, trials), []
    except SaveError as error:
        first = error
    modules = _modules(framework, sample.model)
    imports = [name for name in modules if name != "__main__"]
    if imports:
        with contextlib.suppress(SaveError):
            return prover.prove({**job, "imports": imports}, trials), imports
    text = _("A process that has the artifact alone cannot load it as {format!r}: {error}.")
    found = [text.format(format=chosen.name, error=first)]
    if "__main__" in modules:
        found.append(
            _("It cannot import classes from a notebook or a script; put them in a module.")
        )
    raise SaveError(sentences(*found, advice(framework, chosen))) from first


def _modules(framework: Framework, model: Any) -> list[str]:
    """The modules, other than the framework's and Python's, that the model's classes come from."""
    parts = [*held_by(model)]
    for name in ("modules", "_flatten_layers"):
        with contextlib.suppress(Exception):  # whatever else has a method of that name
            parts += getattr(model, name)()
    known = {*sys.stdlib_module_names, framework.module, "d2lhybrid", "builtins"} - {"__main__"}
    found = {type(part).__module__ for part in parts}
    return sorted(name for name in found if name.partition(".")[0] not in known)[:MAX_IMPORTS]
