"""Which axes of a model's inputs may vary: as the user says, or found by trial."""

from collections.abc import Mapping
from typing import Any

from d2lhybrid.errors import ArgumentError
from d2lhybrid.frameworks.samples import Group, Sample
from d2lhybrid.i18n import gettext as _

Dynamic = Mapping[str, Mapping[int, str]]
MAX_TRIALS = 8


def named_groups(sample: Sample, dynamic: Dynamic) -> list[Group]:
    """The groups that a user named, in the order of the names.

    Raises:
        ArgumentError: An input of that name is not there, or has no such axis.
    """
    found: dict[str, Group] = {}
    for name, axes in dynamic.items():
        if name not in sample.names:
            raise ArgumentError(
                _(
                    "Expected names of the inputs ({names}) in dynamic. Received: {received!r}."
                ).format(names=", ".join(sample.names), received=name)
            )
        which = sample.names.index(name)
        rank = len(sample.inputs[which].shape)
        for axis, called in axes.items():
            if axis not in range(rank):
                raise ArgumentError(
                    _("Expected one of the {rank} axes of {name}. Received: {received!r}.").format(
                        name=name, rank=rank, received=axis
                    )
                )
            group = found.setdefault(str(called), [[] for _input in sample.inputs])
            group[which].append(axis)
    return list(found.values())


def free_groups(sample: Sample) -> list[Group]:
    """The groups of axes that the model itself runs with twice, that of the batch first.

    The first axes of all inputs are tried together, or else the first axis of each input that is as
    long as the first axis of the first one, as for the states of recurrent layers. Then the other
    axes are tried, those of one length and place together.
    """
    shapes = [tuple(map(int, t.shape)) for t in sample.inputs]
    if not any(shapes):
        return []
    long = next(shape[0] for shape in shapes if shape)
    first = [[0] if shape else [] for shape in shapes]
    alike = [[shape.index(long)] if long in shape else [] for shape in shapes]
    found = [group for group in (first, alike) if _runs(sample, group)][:1]
    taken = {(i, axis) for group in found for i, axes in enumerate(group) for axis in axes}
    others: dict[tuple[int, int], Group] = {}
    for i, shape in enumerate(shapes):
        for axis, size in enumerate(shape):
            if (i, axis) not in taken and axis:
                others.setdefault((axis, size), [[] for _shape in shapes])[i].append(axis)
    found += [group for group in list(others.values())[:MAX_TRIALS] if _runs(sample, group)]
    return found if len(found) < 2 or _together(sample, found) else found[:1]


def _runs(sample: Sample, group: Group) -> bool:
    return _together(sample, [group])


def _together(sample: Sample, groups: list[Group]) -> bool:
    try:
        found: Any = sample.run(sample.doubled(groups))
    except Exception:  # any refusal means the same
        return False
    return found is not None
