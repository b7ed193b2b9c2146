"""Random functions: what `graph` says of each operation holds in the program that runs.

    python tests/backends/test_fates.py --count 200 --seed 0

A framework's part is `fates_<framework>.py`: the operations that the functions are made of, and
how many of each kind the program has, counted without the package's own reader.
"""

import argparse
import random
import sys
import warnings
from collections import Counter
from functools import cache
from importlib import import_module

import pytest

from d2lhybrid.backends import known

NAMES = [framework.name for framework in known()]
ARRANGING = {"copy", "_copy", "transpose", "Reshape"}  # of the words in which programs are counted


class Program:
    """Lines, each an operation and the places of its operands; and the places of the outputs."""

    def __init__(self, room, lines, outputs):
        self.room, self.lines, self.outputs, self.first = room, lines, outputs, len(room.INPUTS)

    def __call__(self, *inputs):
        values = list(inputs)
        for name, operands in self.lines:
            values.append(self.room.OPERATIONS[name][1](*(values[place] for place in operands)))
        return tuple(values[place] for place in self.outputs)

    def __str__(self):
        lines = enumerate(self.lines, self.first)
        said = [f"v{at} = {name}({', '.join(f'v{p}' for p in of)})" for at, (name, of) in lines]
        return "\n    ".join(["", *said, f"return {', '.join(f'v{p}' for p in self.outputs)}"])

    def pictures(self):
        """For each compiler the graph, and how many of each kind the program has."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return list(self.room.programs(lambda *inputs: self(*inputs)))
        except Exception as error:
            error.add_note(str(self))
            raise

    def dead(self, effects):
        """The names of the lines that lead to no output, nor to one of the effects."""
        found, dead = set(self.outputs), []
        for at, (name, operands) in reversed(list(enumerate(self.lines, self.first))):
            needed = at in found or name in effects
            found.update(operands if needed else ())
            dead += [] if needed else [name]
        return dead


def at_random(room, rng):
    """A program that computes some things twice, and sometimes some in vain."""
    lines, first = [], len(room.INPUTS)
    for at in range(first, first + rng.randint(2, 9)):
        unused = set(range(at)).difference(*(operands for _name, operands in lines))
        name = rng.choice(list(room.OPERATIONS))
        operands = rng.choices([*range(at), *unused, *unused], k=room.OPERATIONS[name][0])
        again = lines and rng.random() < 0.2
        lines.append(rng.choice(lines) if again else (name, tuple(operands)))
    unused = set(range(first, at)).difference(*(operands for _name, operands in lines))
    return Program(room, lines, [at, *unused] if rng.random() < 0.7 else [at])


@cache
def alone(room, name):
    """For each compiler what is recorded of one operation, and what the program has besides."""
    line = name, tuple(range(room.OPERATIONS[name][0]))
    found = []
    for picture, count in Program(room, [line], [len(room.INPUTS)]).pictures():
        recorded = picture.stages[0].operations
        found.append((Counter(n.operation for n in recorded), count - words(room, recorded)))
    return found


def has_others(room, names, word, compiler):
    """May the program of these lines have more of a kind than is recorded?"""
    return any(alone(room, name)[compiler][1][word] for name in names)


def words(room, nodes):
    return Counter(room.WORDS[node.operation] for node in nodes if node.operation in room.WORDS)


def wrong_fates(program):
    """Yield what is said of the operations of a program and does not hold."""
    room, names = program.room, [name for name, _operands in program.lines]
    in_vain = getattr(room, "IN_VAIN", {})
    drawn = Counter(names) - Counter(program.dead(()))
    for compiler, (picture, count) in enumerate(program.pictures()):
        first = picture.stages[0].operations
        if sum(node.has_effect for node in first) < sum(drawn[name] for name in room.EFFECTS):
            yield "not all effects are known"
        dropped = Counter(node.operation for node in first if node.fate == "dropped")
        for name in program.dead(room.EFFECTS) if dropped else ():
            dropped -= alone(room, name)[compiler][0]
        # XLA finds more in vain than leads to no output; at least none of that runs.
        live = Counter(node.operation for node in first if node.fate != "dropped")
        for name in dropped:
            word = in_vain.get(name)
            runs = count[word] > live[name] and not has_others(room, names, word, compiler)
            if not word or runs:
                yield f"dropped, and needed: {name}"
        for nodes in (stage.operations for stage in picture.stages[:-1]):
            kept = ("kept", "fused", "rewritten")
            yield from (f"{n} is gone" for n in nodes if n.has_effect and n.fate not in kept)
            by_fate = {n.fate: words(room, (m for m in nodes if m.fate == n.fate)) for n in nodes}
            for word, recorded in words(room, nodes).items():
                said = Counter({fate: of[word] for fate, of in by_fate.items()})
                # A compiler may compute a cheap step once more for each step that it is fused
                # into; then the program has no fewer of them, and none is said to be merged.
                few = count[word] < said["kept"] + said["fused"]
                many = said["merged"] and count[word] > recorded - said["dropped"] - said["merged"]
                gone = said["folded"] + said["dropped"] + said["free"] == recorded and count[word]
                if word in ARRANGING:
                    gone = 0  # what the compiler arranges may be something else
                elif said["free"]:
                    yield f"{picture.framework}: {word} computes, and isn't free"
                if few or ((many or gone) and not has_others(room, names, word, compiler)):
                    yield f"{picture.framework}: {word}: {said}; the program has {count[word]}"


def wrong_programs(name, seeds):
    """The random programs of a framework of which something is said that does not hold."""
    room = import_module(f"fates_{name}")
    for seed in seeds:
        program = at_random(room, random.Random(seed))
        if wrong := list(wrong_fates(program)):
            yield f"{name}, seed {seed}:{program}\n  " + "\n  ".join(wrong)


@pytest.mark.parametrize("name", NAMES)
def test_fates_hold_in_the_program_that_runs(name):
    """A sample; ``make fuzz`` tries two hundred for each framework."""
    assert not list(wrong_programs(name, range(4)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("names", nargs="*", default=NAMES)
    asked = parser.parse_args()
    wrong = [
        found
        for name in asked.names
        for found in wrong_programs(name, range(asked.seed, asked.seed + asked.count))
    ]
    print(*wrong, f"{len(wrong)} wrong of {asked.count} for each of {asked.names}", sep="\n")
    sys.exit(bool(wrong))
