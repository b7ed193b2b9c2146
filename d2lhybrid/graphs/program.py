"""What a compiler makes of one call, counted: operations recorded, steps that run, of what kind.

Three kinds of operations behave differently: contractions (matrix products, convolutions,
attention), which are library calls and stay as they are; reductions, such as normalizations;
and element-wise operations, which a compiler fuses.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from d2lhybrid.core.i18n import count, ngettext
from d2lhybrid.graphs.fates import FOLDED, FREE, FUSED
from d2lhybrid.graphs.graph import Graph


@dataclass(frozen=True)
class Program:
    """The graphs of one call, counted."""

    # Operations recorded, and the steps that run for them, each a loop that the compiler wrote or
    # a call of a library.
    recorded: int
    steps: int
    # Of the steps, those that compute a product of matrices, a convolution or attention.
    contractions: int
    # Recorded operations that run in one step with others, and those computed in advance.
    fused: int
    folded: int
    # Recorded operations that only arrange elements, and for which no step runs.
    free: int = 0
    # Of the steps, those that are loops or branches. What runs inside them isn't counted, so it
    # isn't known here what most of the time is spent with.
    control_flow: int = 0
    # Recorded contractions that the compiler wrote as loops, such as a small product of matrices.
    contractions_in_loops: int = 0
    # What runs besides the steps and only copies, such as weights into another memory layout.
    copies: int = 0


def counted(graphs: Sequence[Graph]) -> Program | None:
    """All graphs of a call together; None if there is one of which it isn't known what runs."""
    if any(len(graph.stages) < 2 for graph in graphs):
        return None
    return Program(
        recorded=sum(len(graph.fates) for graph in graphs),
        steps=sum(len(graph.stages[-1].operations) - graph.copy_steps for graph in graphs),
        contractions=sum(graph.contraction_steps for graph in graphs),
        fused=sum(graph.count(FUSED) for graph in graphs),
        folded=sum(graph.count(FOLDED) for graph in graphs),
        free=sum(graph.count(FREE) for graph in graphs),
        control_flow=sum(graph.control_flow_steps for graph in graphs),
        contractions_in_loops=sum(graph.contractions_in_loops for graph in graphs),
        copies=sum(graph.copy_steps for graph in graphs),
    )


def with_contractions(steps: str, program: Program) -> str:
    """The steps, in words, with how many of them are contractions."""
    text = ngettext(
        "{steps}, {contractions} of them a matrix product, convolution or attention",
        "{steps}, {contractions} of them matrix products, convolutions or attention",
        program.contractions,
    )
    return text.format(steps=steps, contractions=count(program.contractions))
