"""How many programs each callable compiles, in its first call and in later ones."""

import sys
from dataclasses import replace

import numpy as np
import toy
from by_hand import comparison
from fake import Gpu

from d2lhybrid import backends
from d2lhybrid.experiments.join import join
from d2lhybrid.measuring.measurement import Measurement
from d2lhybrid.verbs.compare import compare
from d2lhybrid.verbs.measure import measure


def compared(compiler, functions, **options):
    clock = compiler.machine.clock
    options = {"time_limit": 1, "seed": 1, "why": False, **options}  # it calls them once more
    return compare(functions, timer=clock, progress=False, **options)


def counted(measurement):
    return measurement.first_compilations, measurement.later_compilations


def test_each_callable_has_its_own_and_every_call_since_the_first_counts(compiler):
    calls = 0

    def plain():
        nonlocal calls
        calls += 1
        return run()

    run = compiler.machine.function(1e-3)
    ways = {
        "eager": compiler.machine.function(1e-3),
        "plain": plain,
        "once": compiler.function(1e-3),
        "twice": compiler.function(1e-3, again=lambda call: call == 1),
        "thirds": compiler.function(1e-3, again=lambda call: call % 3 == 0),
        "always": compiler.function(1e-3, again=lambda call: True),
    }
    c = compared(compiler, ways)
    assert c["plain"].later_calls == calls - 1 > 20
    assert counted(c["eager"]) == counted(c["plain"]) == (0, 0)
    assert counted(c["once"]) == (1, 0)
    assert counted(c["twice"]) == (1, 1)
    assert counted(c["thirds"]) == (1, c["thirds"].later_calls // 3)
    assert counted(c["always"]) == (1, c["always"].later_calls)
    more = c.experiment.measure_on(lambda c: c.rounds > 100)["always"]
    assert counted(more) == (1, more.later_calls)
    assert more.later_calls > c["always"].later_calls
    rows = {row.label: row for row in c.rows}
    assert rows["always"].compilations_per_call == 1.0
    assert rows["once"].compilations_per_call == 0.0
    assert (rows["twice"].first_compilations, rows["twice"].later_compilations) == (1, 1)


def test_a_second_call_that_is_checked_counts_as_later(compiler):
    """That of the baseline, which is called once more before anything is timed."""
    calls = {"again": lambda call: call == 1}
    c = compared(compiler, {"a": compiler.function(1e-3, **calls)}, check=True)
    assert counted(c["a"]) == (1, 1)


def test_calls_that_are_waited_for_one_by_one_count_too(on_a_gpu, monkeypatch):
    machine, gpu = on_a_gpu(launch=5e-6, wait=2e-6, wake=60e-6)
    programs, kernel = 0, gpu.kernel(1e-4)
    monkeypatch.setattr(gpu.framework, "compiler", gpu)
    monkeypatch.setattr(gpu, "programs_compiled", lambda: programs)

    def compiles():
        nonlocal programs
        programs += 1
        return kernel()

    m = measure(compiles, timer=machine.clock, time_limit=1)
    assert m.stream_calls is not None
    assert counted(m) == (1, m.later_calls)
    assert programs == 1 + m.later_calls


def test_where_nobody_counts_it_is_not_known(compiler, monkeypatch):
    machine = compiler.machine
    gpu = Gpu(machine, launch=5e-6)
    monkeypatch.setitem(sys.modules, "gpu", toy)  # loaded as well, and counts nothing
    records = {"compiler": compiler.framework, "gpu": gpu.framework}
    monkeypatch.setattr(backends, "_records", records)
    array = np.ones(3)
    numpy = machine.function(1e-3, result=array)
    ways = {"numpy": numpy, "kernel": gpu.kernel(1e-3)}
    c = compared(compiler, ways, check=False)
    assert counted(c["numpy"]) == (0, 0)  # no framework in particular, so all that count
    assert counted(c["kernel"]) == (None, None)
    assert min(m.later_calls for m in c.measurements) > 20
    assert {row.compilations_per_call for row in c.rows[1:]} == {None}


def test_a_measurement_says_what_later_calls_compiled(compiler, monkeypatch):
    clock = compiler.machine.clock
    steady = measure(compiler.function(1e-3), timer=clock)
    assert "compiled" not in str(steady)
    monkeypatch.setattr(compiler, "start", lambda function: ("Compiler", 2.0))
    m = measure(compiler.function(1e-3, again=lambda call: call == 5), timer=clock)
    assert f"The {m.later_calls:,} calls after the first compiled 1 more program." in str(m)
    assert (m.compiler, m.compiler_seconds) == ("Compiler", 2.0)
    assert Measurement.from_json(m.to_json()) == m
    many = replace(m, later_calls=4300, later_compilations=4120)
    assert "The 4,300 calls after the first compiled 4,120 more programs." in str(many)


def test_a_measurement_says_where_other_programs_held_it_up_too_often():
    m = comparison({"a": 1e-3})["a"]
    few, many = (replace(m, times=replace(m.times, disturbed=(*range(n),))) for n in (24, 25))
    assert "other programs" not in str(few)
    said = "⚠ The machine was busy: in 25 of 30 samples, other programs held a up, so"
    assert str(many).startswith(said)


def test_of_several_processes_later_ones_are_summed_and_first_ones_are_those_of_the_first():
    changes = [
        {"a": {"first_compilations": 4, "later_compilations": at, "later_calls": 10}}
        for at in range(3)
    ]
    changes[1]["a"]["first_compilations"] = 1
    processes = [comparison({"a": 1e-3, "b": 1e-3}, changes=each) for each in changes]
    joined = join(processes, seed=1)
    assert (*counted(joined["a"]), joined["a"].later_calls) == (4, 3, 30)
    assert counted(joined["b"]) == (None, None)
    assert joined.rows[0].compilations_per_call == 0.1
    assert type(joined).from_json(joined.to_json()) == joined
