"""A graph at each stage of compilation: as a picture and as text."""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from html import escape

from d2lhybrid.core.i18n import gettext as _, pad, width
from d2lhybrid.graphs.fates import FATES, FREE, REWRITTEN
from d2lhybrid.graphs.picture import LARGEST, svg
from d2lhybrid.graphs.stages import Stage


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
        return svg(self.stages, headline, "\n".join(lines), alone=alone)

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
                fate = pad(_(node.fate), fate_width)
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
