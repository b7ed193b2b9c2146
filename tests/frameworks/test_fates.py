"""Random functions: what `graph` says of each operation holds in the program that runs.

    python tests/frameworks/test_fates.py --count 200 --seed 0

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

from d2lhybrid.frameworks import known

NAMES = [framework.name for framework in known()]


class Program:
    """Lines, each an operation and the places of its operands; and the places of the outputs."""

    def __init__(self, room, lines, outputs):
        self.room, self.lines, self.outputs = room, lines, outputs
        self.first = len(room.INPUTS)
        self.needed = self._before(outputs)
        effects = (at for at, (name, _of) in enumerate(lines, self.first) if name in room.EFFECTS)
        self.live = self._before([*outputs, *effects])

    def _before(self, places):
        """The places of the lines that lead to some, with these."""
        found = set(places)
        for at in range(self.first + len(self.lines) - 1, self.first - 1, -1):
            found.update(self.lines[at - self.first][1] if at in found else ())
        return [at for at in sorted(found) if at >= self.first]

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

    def without_the_dead(self):
        places = {place: self.first + at for at, place in enumerate(self.live)}
        lines = (self.lines[place - self.first] for place in self.live)
        lines = [(name, tuple(places.get(p, p) for p in operands)) for name, operands in lines]
        return Program(self.room, lines, [places[place] for place in self.outputs])


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
    """For each compiler the kinds of which a single operation has more than were recorded."""
    of = room.OPERATIONS[name][0]
    found = Program(room, [(name, tuple(range(of)))], [len(room.INPUTS)]).pictures()
    return [count - words(room, picture.stages[0].operations) for picture, count in found]


def words(room, nodes):
    return Counter(room.WORDS[node.operation] for node in nodes if node.operation in room.WORDS)


def wrong_fates(program):
    """Yield what is said of the operations of a program and does not hold."""
    drawn = [program.lines[at - program.first][0] for at in program.needed]
    drawn = sum(name in program.room.EFFECTS for name in drawn)
    for compiler, (picture, count) in enumerate(program.pictures()):
        for stage in picture.stages[:-1]:
            for line in wrong_in(stage.operations, program, compiler, count):
                yield f"{picture.framework}, {stage.title}: {line}"
        first = picture.stages[0].operations
        dead = Counter(node.operation for node in first if node.fate == "dropped")
        if dead and len(program.live) < len(program.lines):
            live = program.without_the_dead().pictures()[compiler][0].stages[0].operations
            dead -= Counter(n.operation for n in first) - Counter(n.operation for n in live)
        if dead:
            yield f"dropped, and needed: {dict(dead)}"
        if sum(node.effect for node in first) < drawn:
            yield f"{drawn} operations have an effect, and not all are known to"


def wrong_in(nodes, program, compiler, count):
    for node in nodes:
        if node.effect and node.fate not in ("kept", "fused", "rewritten"):
            yield f"{node.name} has an effect, and is {node.fate}"
    names = {name for name, _operands in program.lines}
    by_fate = {n.fate: words(program.room, (m for m in nodes if m.fate == n.fate)) for n in nodes}
    for word, recorded in words(program.room, nodes).items():
        said = Counter({fate: of[word] for fate, of in by_fate.items()})
        gone = said["folded"] + said["dropped"] + said["free"]
        # A compiler may compute a cheap step once more for each step that it is fused into; then
        # the program has no fewer of them, and none is said to be merged.
        merged = said["merged"] and count[word] > recorded - said["dropped"] - said["merged"]
        missing = said["kept"] + said["fused"] > count[word]
        others = (gone == recorded and count[word]) or merged
        if missing or (others and not any(alone(program.room, n)[compiler][word] for n in names)):
            yield f"{word}: {dict(said)}; the program has {count[word]}"


def wrong_programs(name, seeds):
    """The random programs of a framework of which something is said that does not hold."""
    room = import_module(f"fates_{name}")
    for seed in seeds:
        program = at_random(room, random.Random(seed))
        if wrong := list(wrong_fates(program)):
            yield f"{name}, seed {seed}:{program}\n  " + "\n  ".join(wrong)


@pytest.mark.parametrize("name", NAMES)
def test_fates_hold_in_the_program_that_runs(name):
    assert not list(wrong_programs(name, range(25)))


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
