"""A graph at each stage of compilation: as a picture and as text."""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from html import escape

from d2lhybrid.core.i18n import gettext as _, pad, width
from d2lhybrid.graphs.fates import DROPPED, FATES, FOLDED, FREE, FUSED, KEPT, MERGED, REWRITTEN
from d2lhybrid.graphs.picture import LARGEST, Box, Panel, svg
from d2lhybrid.graphs.stages import Node, Stage

# Light fills under dark letters, which can be read on a light page and on a dark one. What is
# dropped has dashes instead.
_FILLS = {KEPT: "#d5d5d5", FUSED: "#a9d6f5", FOLDED: "#f7d488", MERGED: "#dcbce6"}
_FILLS |= {FREE: "#c3e5b8", REWRITTEN: "#f6bfae"}
_MOST_PARTS = 12  # that a box lists
_LONGEST_VALUE = 10  # letters of a constant that is shown in place of its name


@dataclass(frozen=True, repr=False)
class Graph:
    """A graph at each `stage` of compilation, from the recorded graph to the one that runs.

    As the last expression of a cell it is a picture; printed, it is text. ``notes``: sentences
    about what the picture doesn't show. ``contractions``: in the words of the last stage, the
    kinds of operations that are matrix products, convolutions or attention. ``layout``: the
    memory layout, in a word, to which the compiler converts tensors that arrive in a different one.
    ``control_flow``: the kinds of operations that run others, such as loops; the others aren't
    steps here. ``contractions_in_loops``: how many recorded contractions the compiler writes as
    loops, without a library call; these don't count as `contractions`. ``copy_steps``: how many
    steps of the last stage only copy, such as weights into another memory layout.
    """

    framework: str
    model: str
    stages: tuple[Stage, ...]
    notes: tuple[str, ...] = ()
    contractions: frozenset[str] = frozenset()
    layout: str = ""
    control_flow: frozenset[str] = frozenset()
    contractions_in_loops: int = 0
    copy_steps: int = 0

    @cached_property
    def fates(self) -> dict[str, str]:
        """What became of each recorded operation, by its name: see `graph`."""
        return {node.name: node.fate for node in self.stages[0].operations}

    def count(self, fate: str) -> int:
        """How many of the recorded operations were "kept", "fused", "folded", ..."""
        return Counter(self.fates.values())[fate]

    @property
    def contraction_steps(self) -> int:
        """How many of the steps that run compute a contraction, alone or with what is fused to it.

        Contractions are matrix products, convolutions and attention.
        """
        return self._steps_with(self.contractions)

    @property
    def control_flow_steps(self) -> int:
        """How many of the steps that run are loops or branches, in which others run."""
        return self._steps_with(self.control_flow)

    def _steps_with(self, wanted: frozenset[str]) -> int:
        """How many steps compute an operation of one of these kinds, alone or with others."""
        steps = self.stages[-1].operations
        kinds = [{step.operation, *(part.kind for part in step.parts)} for step in steps]
        return sum(not wanted.isdisjoint(of_step) for of_step in kinds)

    def svg(self) -> str:
        """All stages side by side as an SVG picture; its text takes the color of the page.

        For a screen reader its title is the first line of the printed graph, its description the
        rest.
        """
        return self._svg()

    def _svg(self, alone: bool = False) -> str:
        headline, *lines = repr(self).splitlines()
        panels = [_panel(stage) for stage in self.stages]
        return svg(panels, headline, "\n".join(lines), alone=alone)

    def _headline(self) -> str:
        text = _("{model} ({framework}): operations recorded: {recorded}, steps that run: {left}")
        if self.copy_steps:
            text = _(
                "{model} ({framework}): operations recorded: {recorded}, steps that run: {left}, "
                "copies besides: {copies}"
            )
        return text.format(
            model=self.model,
            framework=self.framework,
            recorded=len(self.fates),
            left=len(self.stages[-1].operations) - self.copy_steps,
            copies=self.copy_steps,
        )

    def __repr__(self) -> str:
        lines = [self._headline(), *(f"  {note}" for note in self.notes)]
        rare = {FREE, REWRITTEN} - set(self.fates.values())
        fate_width = max(8, *(width(_(fate)) for fate in FATES if fate not in rare))
        for stage in self.stages:
            lines.append(f"  {stage.title}")
            for node in stage.operations:
                kinds = [part.kind for part in node.parts]
                computes = ", ".join(kinds) if len(kinds) > 1 else node.operation
                fate = pad(_fate_text(node), fate_width)
                lines.append(f"    {fate} {node.name} = {computes}({', '.join(node.inputs)})")
        return "\n".join(lines)

    @property
    def _is_too_large(self) -> bool:
        return any(len(stage.nodes) > LARGEST for stage in self.stages)

    def _repr_svg_(self) -> str | None:
        """For what shows no HTML, or takes the picture out of it; what shows both prefers HTML."""
        return None if self._is_too_large else self._svg(alone=True)

    def _repr_html_(self) -> str:
        if self._is_too_large:
            return f"<pre>{escape(repr(self))}</pre>"
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return f'<div style="overflow-x:auto">{self.svg()}</div>{notes}'


def _fate_text(node: Node) -> str:
    return _(node.fate) if node.fate else ""  # gettext answers "" with the head of its catalog


def _panel(stage: Stage) -> Panel:
    return Panel(stage.title, tuple(map(_box, stage.nodes)))


def _box(node: Node) -> Box:
    """What a picture shows of a node: for a fused step its parts, for others the operation."""
    return Box(
        node.name,
        _lines(node),
        node.inputs,
        caption=_fate_text(node),
        fill=_FILLS.get(node.fate, ""),
        is_dashed=node.fate == DROPPED,
        is_round=not node.operation,
    )


def _lines(node: Node) -> tuple[str, ...]:
    if not node.operation:
        is_short = node.is_constant and len(node.attributes) <= _LONGEST_VALUE
        return (node.attributes if is_short else node.name,)
    kinds = tuple(part.kind for part in node.parts)
    if len(kinds) <= 1:
        return (node.operation,)
    hidden = len(kinds) - _MOST_PARTS
    return (*kinds[:_MOST_PARTS], f"… + {hidden}") if hidden > 0 else kinds
