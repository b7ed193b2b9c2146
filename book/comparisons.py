"""Stage 5, which differences count between a comparison that is committed and the same, run anew.

Its JSON holds what the clock decides, times and verdicts, and what it doesn't: which rows there
are, in which roles, and what the compilers made of them. Only the latter is compared. What the
committed one lacks isn't, because an earlier version of the package may have written it; the counts
say how much that is.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

# What isn't compared, though it stands among the facts of a row or is its cause, and why. No count
# of operations or steps is here: for the residual network and the encoder, with one example and
# with 32, in PyTorch, JAX and TensorFlow, each was the same without AVX, and with one thread.
LEFT_OUT = {
    "is_cut_short": "how much is asked in the second that there is, a busy machine decides",
    "entering": "this cause rests on the time that a call spends before compiled code begins",
    "faster_python": "this cause rests on the time that the quickest operation takes",
}
# Verdicts under which a cause is always named. What is faster has others, and whether it is
# undecided depends on how long was measured.
ASKED_WHY = ("slower", "same")
Summary = Mapping[str, Any]
_FIELDS = ("role", "deprecated", "other_runtime")


@dataclass(frozen=True)
class Difference:
    """What was committed and what was received in its place; `place` is a group, a size, a row."""

    place: str
    field: str
    committed: Any
    received: Any

    def __str__(self) -> str:
        return f"{self.place}: {self.field}: committed {self.committed}, received {self.received}"


@dataclass
class Likeness:
    """The differences, and how many of each kind were compared, of how many found."""

    differences: list[Difference] = field(default_factory=list)
    compared: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)

    def hold(self, kind: str, values: Difference, is_compared: bool = True) -> None:
        """Hold two values against each other, unless they aren't compared, and count that."""
        self.found[kind] += 1
        self.compared[kind] += is_compared
        if is_compared and values.committed != values.received:
            self.differences.append(values)


def likeness(committed: Sequence[Summary], received: Sequence[Summary]) -> Likeness:
    """Hold the JSON of comparisons, sweeps and reveals against the committed ones, in order."""
    found = Likeness()
    if len(committed) != len(received):
        found.differences.append(Difference("all", "number", len(committed), len(received)))
    for ours, theirs in zip(committed, received, strict=False):
        _one(ours, theirs, found)
    return found


def _one(committed: Summary, received: Summary, found: Likeness) -> None:
    ours, theirs = dict(_named(committed)), dict(_named(received))
    shapes = [(each["kind"], *by_name) for each, by_name in ((committed, ours), (received, theirs))]
    found.hold("comparison", Difference("all", "kind and names", *shapes))
    for name in theirs:
        if name in ours:
            _table(name, ours[name], theirs[name], found)


def without_clock(comparison: Summary) -> dict[str, Any]:
    """What is compared of this JSON, to be committed where no notebook has it."""
    row = ("label", "verdict", *_FIELDS, "facts", "cause")
    known = ("kind", "sizes", "baseline", "not_run")
    kept = {name: comparison[name] for name in known if name in comparison}
    if "rows" in comparison:
        rows = comparison["rows"]
        kept["rows"] = [{name: one[name] for name in row if name in one} for one in rows]
    else:
        kept["comparisons"] = [without_clock(each) for _name, each in _named(comparison)]
    return kept


def _named(comparison: Summary) -> Iterator[tuple[str, Summary]]:
    """The comparisons in it: one without a name, or each by its size, or by its group's name."""
    if "rows" in comparison:
        yield "", comparison
    elif "sizes" in comparison:
        sizes = (f"size {size}" for size in comparison["sizes"])
        yield from zip(sizes, comparison["comparisons"], strict=True)
    else:
        yield from comparison["comparisons"].items()


def _table(name: str, committed: Summary, received: Summary, found: Likeness) -> None:
    """One table: its rows in their order, those that were not run, and each row."""
    ours, theirs = ({row["label"]: row for row in each["rows"]} for each in (committed, received))
    for label in dict.fromkeys([*ours, *theirs]):
        place = _place(name, label)
        here = [label if label in rows else "no such row" for rows in (ours, theirs)]
        found.hold("label", Difference(place, "label", *here))
        if label in ours and label in theirs:
            _row(place, ours[label], theirs[label], found)
    orders = [[label for label in rows if label in ours.keys() & theirs] for rows in (ours, theirs)]
    found.hold("order", Difference(_place(name, "rows"), "order", *orders))
    for kind in ("baseline", "not_run"):
        values = committed.get(kind), received.get(kind)
        found.hold(kind, Difference(_place(name, "rows"), kind, *values), kind in committed)


def _place(name: str, label: str) -> str:
    return f"{name}, {label}" if name else label


def _row(place: str, committed: Summary, received: Summary, found: Likeness) -> None:
    for name in _FIELDS:
        values = committed.get(name), received.get(name)
        found.hold(name, Difference(place, name, *values), name in committed)
    ours, theirs = (each.get("facts") or {} for each in (committed, received))
    for name in dict.fromkeys([*theirs, *ours]):
        values = ours.get(name), theirs.get(name)
        is_open = name not in theirs and theirs.get("is_cut_short")
        is_known = name in ours and name not in LEFT_OUT and not is_open
        found.hold("fact", Difference(place, name, *values), is_known)
    causes = _cause(committed), _cause(received)
    if any(causes):
        is_known = "cause" in committed and _is_compared(causes, committed, received)
        found.hold("cause", Difference(place, "cause", *causes), is_known)


def _cause(row: Summary) -> str | None:
    """The kind of cause; None if there is none that decides."""
    cause = row.get("cause")
    return None if cause == "unknown" else cause


def _is_compared(
    causes: tuple[str | None, str | None], committed: Summary, received: Summary
) -> bool:
    """Does the clock decide neither of the causes, nor whether there is one?"""
    if any(cause in LEFT_OUT for cause in causes):
        return False
    return all(causes) or all(row["verdict"] in ASKED_WHY for row in (committed, received))
