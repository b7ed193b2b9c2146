"""Possible causes of a variant's time, each with its sentence: the rules of ``why.reason``.

This module has facts that hold whatever the verdict, and reasons why something isn't faster;
``gains`` has reasons why it is.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from d2lhybrid.core.i18n import count, gettext as _, names, ngettext, sentences
from d2lhybrid.display.table import seconds
from d2lhybrid.experiment.facts import Facts
from d2lhybrid.experiment.rows import Row
from d2lhybrid.graphs.explanation import Finding
from d2lhybrid.graphs.program import Program

# The second program of a call is one for another dtype, say, and the second of a shape is dynamic.
# From the third on, what differs will differ again.
FEWEST_AGAIN = 3
AGAIN_SHARE = 0.05  # of the calls: a compilation takes at least as long as some twenty small calls
# A steady call that takes at least this part of the first one, which compiles, may compile, too; it
# is asked then. A first call that is shorter compiles nothing.
LIKE_THE_FIRST = 0.5
LONG_FIRST_SECONDS = 0.01
# Of the steps, from which on contractions rule: each takes longer than an element-wise step.
LIBRARY_SHARE = 1 / 3
# Of a call's time, or of what a call has lost: what explains so much is a cause.
ENTERING_SHARE = 0.2
# Of a call that is slower. Long steps leave little in the caches of what entering needs,
# and of what eager calls need: a small share says nothing against compiled code.
LEAST_ENTERING_SHARE = 0.05
MOVED_SHARE = 0.1
# Seconds of a call that runs no step: entering takes less. What takes longer computes elsewhere.
MOST_FOR_NOTHING = 5e-4
MOST, NEARLY_ALL = 0.5, 0.9
# A variant whose interval ends below this ratio is hardly faster.
NEARLY = 1.1
# What stays as it is may take a little longer, but not so many times.
MUCH_SLOWER = 1.25


class Found(NamedTuple):
    """Causes that hold, what to say of them, and the part of a call's time that they explain."""

    causes: tuple[str, ...]
    sentence: str
    share: float = 0.0


@dataclass(frozen=True)
class Case:
    """A row with its facts, beside the baseline."""

    row: Row
    baseline: Row
    facts: Facts

    @property
    def label(self) -> str:
        return self.row.label

    @property
    def seconds(self) -> float:
        return self.row.latency.seconds

    @property
    def saved(self) -> float:
        """Seconds that a call saves, below 0 if it takes longer."""
        return self.baseline.latency.seconds - self.seconds

    @property
    def is_faster(self) -> bool:
        return self.row.latency.shown_verdict == "faster"

    @property
    def is_slower(self) -> bool:
        return self.row.latency.shown_verdict == "slower"

    @property
    def is_much_slower(self) -> bool:
        """Does it take so much longer that a program which stays as it is can't be all of it?"""
        return self.is_slower and self.row.latency.ratio < 1 / MUCH_SLOWER

    @property
    def is_undecided(self) -> bool:
        return self.row.latency.shown_verdict == "undecided"

    @property
    def is_hardly_faster(self) -> bool:
        """Is it at most next to nothing faster?"""
        return not self.row.is_busy and 0 < self.row.latency.interval[1] < NEARLY

    @property
    def is_not_faster(self) -> bool:
        """Is it slower, the same, or undecided and at most next to nothing faster?"""
        return self.is_hardly_faster if self.is_undecided else not self.is_faster

    @property
    def program(self) -> Program | None:
        """The graphs of a call, counted; None if it has loops, whose steps nobody has counted."""
        program = self.facts.program
        return program if program and not program.control_flow else None


# Facts, whatever the verdict


def computes_nothing(case: Case) -> Found | None:
    if case.facts.computes_nothing:
        text = _("{label} computes nothing: each call returns the same objects.")
    elif (
        case.program
        and case.facts.graph_count
        and not case.program.steps
        and case.seconds < MOST_FOR_NOTHING
    ):
        text = _("{label} computes nothing: a call runs no step.")
    else:
        return None
    return Found(("nothing_to_rewrite",), text.format(label=case.label))


def not_whole(case: Case) -> Iterator[Found]:
    facts = case.facts
    if facts.not_compiled:
        text = _("{label} runs without a compiler.").format(label=case.label)
        yield Found(("not_whole",), sentences(text, facts.not_compiled))
    elif facts.breaks:
        text = ngettext(
            "{label} isn't compiled as a whole: it has {n} graph break, where Python runs a step.",
            "{label} isn't compiled as a whole: it has {n} graph breaks, where Python runs a step.",
            len(facts.breaks),
        )
        text = text.format(label=case.label, n=count(len(facts.breaks)))
        # Translators: such as "It is at net.py, line 7: x.item() – …"
        where = _("It is at {place}") if len(facts.breaks) == 1 else _("The first is at {place}")
        place = _in_one_line(facts.breaks[0])
        yield Found(("not_whole",), sentences(text, where.format(place=place)))
    elif facts.fallbacks and not case.is_faster:
        causes: tuple[str, ...] = ("not_whole",)
        text = _("{label} isn't compiled as a whole: part of it runs in Python. {place}")
        if facts.fallbacks[0].is_limit:
            text = _limit_text(facts)
            causes = ("not_whole", "recompiled") if case.row.later_compilations else causes
        numbers = {"n": count(facts.calls_in_python), "calls": count(facts.calls_tried)}
        place = _in_one_line(facts.fallbacks[0])
        yield Found(causes, text.format(label=case.label, place=place, **numbers))


def _limit_text(facts: Facts) -> str:
    """What to say where the compiler makes no more programs; a call that fits one runs that."""
    if facts.calls_tried:
        return _(
            "{label} runs eagerly in {n} of {calls} calls: it was compiled as often as its "
            "compiler allows, and these calls fit none of its programs. {place}"
        )
    return _(
        "{label} was compiled as often as its compiler allows, and a call that fits none of its "
        "programs runs eagerly. {place}"
    )


def recompiled(case: Case) -> Iterator[Found]:
    text = _how_often(case)
    if text:
        yield Found(("recompiled",), sentences(text, *_why_again(case)))


def baseline_recompiled(case: Case) -> Iterator[Found]:
    text = _how_often(case)
    if text:
        about_ratios = _("Every ratio here mostly measures how long {label} takes to compile.")
        about_ratios = about_ratios.format(label=case.label)
        if compiles_again(case.row) and not compiles_in_most_calls(case.row):
            about_ratios = ""
        yield Found(("recompiled",), sentences(text, about_ratios, *_why_again(case)))


def compared_with_a_compiler(case: Case) -> Iterator[Found]:
    """What is faster than a baseline that compiles in its calls is so because it doesn't."""
    if compiles_in_most_calls(case.baseline) and not compiles_again(case.row):
        text = _(
            "{label} is faster because the baseline, {baseline}, compiles again and again: "
            "{programs} programs in {calls} calls after the first."
        )
        yield Found(("recompiled",), _with_compilations(text, case.label, case.baseline))


def compiles_again(row: Row) -> bool:
    """Is it compiled again and again, by what was counted?

    A call may take several programs, as one with graph breaks does, so it is compared with the
    first call; each of several processes has one.
    """
    later, calls = row.later_compilations or 0, row.later_calls
    again = later / max(1, row.first_compilations or 0) / max(1, row.latency.processes)
    return again >= FEWEST_AGAIN and later >= AGAIN_SHARE * calls


def compiles_in_most_calls(row: Row) -> bool:
    """Does it compile so often that this takes most of its time, whatever else there is?"""
    return compiles_again(row) and (row.later_compilations or 0) >= MOST * row.later_calls


def is_like_the_first(row: Row) -> bool:
    """Does a call take about as long as the first one, which compiles, so that it may do so too?"""
    first = row.first_seconds or 0.0
    return first >= LONG_FIRST_SECONDS and row.latency.seconds >= LIKE_THE_FIRST * first


def _how_often(case: Case) -> str:
    """The sentence that says so, or nothing."""
    if compiles_again(case.row):
        text = _(
            "{label} compiles again and again: {programs} programs in {calls} calls after the "
            "first."
        )
        return _with_compilations(text, case.label, case.row)
    if case.facts.compiled_again:
        text = _(
            "{label} compiles in each call: a call takes {time}, and the first one took {first}."
        )
        first = seconds(case.row.first_seconds or 0.0)
        return text.format(label=case.label, time=seconds(case.seconds), first=first)
    return ""


def _with_compilations(text: str, label: str, row: Row) -> str:
    programs, calls = count(row.later_compilations or 0), count(row.later_calls)
    return text.format(label=label, baseline=row.label, programs=programs, calls=calls)


def _why_again(case: Case) -> Iterator[str]:
    if case.facts.mixed_modes:
        text = _("These arguments were made in a different mode from the others: {arguments}.")
        yield text.format(arguments=names(case.facts.mixed_modes))
    if again := case.facts.compiled_again:  # last, for it ends without a full stop
        yield _("The reason: {reason}").format(reason=_in_one_line(again))


def _in_one_line(finding: Finding) -> str:
    """The place in the user's code and the first line of the framework's reason."""
    short = replace(finding, reason=finding.reason.strip().partition("\n")[0])
    return str(short).replace("\n", " – ")


# Why it isn't faster


def not_faster(case: Case) -> list[Found]:
    parts = sorted([*_entering(case), *moved(case)], key=lambda part: -part.share)
    library = [*calls_of_a_library(case)]
    if parts and parts[0].share > MOST:
        return parts[:1]
    if parts:
        return [*library, *parts]
    if library and case.is_much_slower:
        text = _("It isn't known what makes {label} slower.").format(label=case.label)
        return [*library, Found(("unknown",), text)]
    return library if library or case.is_slower else [*_nothing_to_fuse(case)]


def calls_of_a_library(case: Case) -> Iterator[Found]:
    program = case.program
    if not program or not program.contractions >= max(1, LIBRARY_SHARE * program.steps):
        return
    if program.steps == 1:
        # Translators: {label} names a variant, such as "torch.compile"; its compiler is meant.
        text = _(
            "{label} has nothing to rewrite: the only step that runs is a matrix product, "
            "a convolution or attention, which calls a library that no compiler here rewrites."
        )
    else:
        # Translators: {label} names a variant, such as "torch.compile"; its compiler is meant.
        text = ngettext(
            "{label} has little to rewrite: {n} of the {steps} steps that run is a matrix "
            "product, a convolution or attention (operations recorded: {recorded}), which calls a "
            "library that no compiler here rewrites.",
            "{label} has little to rewrite: {n} of the {steps} steps that run are matrix "
            "products, convolutions or attention (operations recorded: {recorded}), which call "
            "libraries that no compiler here rewrites.",
            program.contractions,
        )
    yield Found(("nothing_to_rewrite",), with_program(text, case.label, program))


def _nothing_to_fuse(case: Case) -> Iterator[Found]:
    program = case.program
    if program is None or program.fused + left_out(program):
        return
    if program.steps >= program.recorded - program.free:
        # Translators: {label} names a variant, such as "torch.compile"; its compiler is meant.
        text = _(
            "{label} finds nothing to fuse: no two operations run as one step (operations "
            "recorded: {recorded}, steps that run: {steps})."
        )
        yield Found(("nothing_to_rewrite",), with_program(text, case.label, program))


def with_program(text: str, label: str, program: Program) -> str:
    recorded, steps = count(program.recorded), count(program.steps)
    return text.format(label=label, recorded=recorded, steps=steps, n=count(program.contractions))


def _entering(case: Case) -> Iterator[Found]:
    entry, eager = case.facts.entry_seconds, case.facts.eager_entry_seconds
    if entry is None or eager is None or entry <= eager:
        return
    extra = entry - eager
    enough = ENTERING_SHARE * case.seconds
    if case.is_slower:
        enough = max(-MOST * case.saved, LEAST_ENTERING_SHARE * case.seconds)
    if extra < enough:
        return
    if case.is_slower:
        text = _(
            "The overhead of calling compiled code is larger than what it saves: about {entry} of "
            "the {time} of a call of {label}. An eager {example} takes {eager} in total."
        )
    else:
        text = _(
            "The overhead of calling compiled code is as large as what it saves: about {entry} of "
            "the {time} of a call of {label}. An eager {example} takes {eager} in total."
        )
    n = case.facts.entry_tensors
    example = "x + 1" if n <= 1 else _("x + 1 with {n} arguments").format(n=count(n))
    times = {"entry": seconds(entry), "eager": seconds(eager), "time": seconds(case.seconds)}
    said = text.format(label=case.label, example=example, **times)
    yield Found(("entering",), said, extra / case.seconds)


def moved(case: Case) -> Iterator[Found]:
    facts, took = case.facts, case.facts.converted_seconds or 0.0
    arguments = names((*facts.converted, *facts.moved))
    if not took or took < MOVED_SHARE * case.seconds:
        return
    if facts.moved:
        text = _(
            "Each call of {label} moves {arguments} to another device, which takes {took} of its "
            "{time}."
        )
    else:
        text = _(
            "Each call of {label} converts {arguments} to tensors, which takes {took} of its "
            "{time}."
        )
        arguments = arguments or _("arrays or numbers")
    times = {"took": seconds(took), "time": seconds(case.seconds)}
    said = text.format(label=case.label, arguments=arguments, **times)
    yield Found(("moved_data",), said, took / case.seconds)


def left_out(program: Program) -> int:
    """The operations that don't run because they are constant, equal others, or are not used."""
    return program.folded + program.merged + program.dropped
