"""sweep on a simulated machine."""

from itertools import count
from unittest.mock import Mock

import numpy as np
import pytest
from fake import Machine

from d2lhybrid.backends.variant import Variant
from d2lhybrid.errors import ArgumentError, UnknownLabelError
from d2lhybrid.verbs.sweep import Sweep, sweep
from d2lhybrid.verbs.ways import Variants


def test_sweep():
    m = Machine()

    def make(n):
        return {"eager": m.function(1e-4 + n * 1e-8), "compiled": m.function(1e-5 + n * 1e-8)}, n

    sizes = (10**at for at in (1, 4, 7))  # a generator will do
    s = sweep(make, sizes, timer=m.clock, progress=False)
    assert s.sizes == (10, 10**4, 10**7)
    assert [c.verdict("compiled") for c in s.comparisons] == ["faster", "faster", "same"]


def test_the_sizes_have_the_name_that_the_function_gives_them():
    m = Machine()
    ways = {"a": m.function(1e-3), "b": m.function(1e-4)}

    def stack(width):
        return ways, width

    named = {"batch": lambda batch: (ways, batch), "width": stack}
    nameless = lambda _: (ways,), lambda *sizes: (ways, *sizes)
    for name, make in [*named.items(), *(("size", make) for make in nameless)]:
        s = sweep(make, [1, 2], timer=m.clock, progress=False)
        assert Sweep.from_json(s.to_json()) == s
        assert repr(s).startswith(name)
        assert s.plot().get_xlabel() == name


def test_an_interrupt_ends_a_sweep_with_the_sizes_that_there_are():
    m = Machine()

    def make(n):
        f, calls = m.function(5e-3), count(1)

        def work():
            if next(calls) == 40 and n > 1:
                raise KeyboardInterrupt
            return f()

        return ({"a": work, "b": m.function(1e-3)},)

    s = sweep(make, np.array([1, 2, 3]), timer=m.clock, progress=False)
    assert (s.sizes, s.comparisons[1].stopped) == ((1, 2), "interrupted")
    assert type(s.sizes[0]) is int
    with pytest.raises(KeyboardInterrupt):
        sweep(lambda n: ({"a": Mock(side_effect=KeyboardInterrupt)},), [1])


def test_a_sweep_shows_a_variant_that_is_missing_at_a_size():
    m = Machine()

    def make(n):
        b = m.function(1e-4) if n == 1 else "no room"
        return (Variants({"a": Variant(m.function(1e-3)), "b": Variant(b)}),)

    s = sweep(make, [1, 2], timer=m.clock, progress=False)
    assert [list(c) for c in s.comparisons] == [["a", "b"], ["a"]]
    assert "no room" in repr(s)
    with pytest.raises(UnknownLabelError, match="no room"):
        s.claim("b", "faster")


def test_only_chooses_among_functions_as_among_variants():
    m = Machine()
    made = ({"a": m.function(1e-3), "b": m.function(1e-4), "c": m.function(1e-2)},)
    s = sweep(lambda n: made, [1], only=["a", "c"], timer=m.clock, progress=False)
    assert list(s.comparisons[0]) == ["a", "c"]
    with pytest.raises(UnknownLabelError, match="Received: 'd'"):
        sweep(lambda n: made, [1], only=["d"], timer=m.clock, progress=False)


FUNCTIONS = ({"a": list},)


@pytest.mark.parametrize(
    ("made", "sizes", "options", "said"),
    [
        (FUNCTIONS, [], {}, r"Expected sizes, at least one.*\[\]"),
        (FUNCTIONS, 3, {}, "Expected sizes.*: 3"),
        (FUNCTIONS, ["float32"], {}, "Expected sizes.*'float32'"),
        (FUNCTIONS, [np.ones(2)], {}, "Expected sizes, at least one"),
        (FUNCTIONS, [1], {"dynamics": True}, "no dynamics, only sizes, only, baseline"),
        (FUNCTIONS, [1], {"seed": "first"}, "a whole number.*'first'"),
        (list, [1], {}, r"\(net, x\) from make.*list"),
        ((), [1], {}, r"\(net, x\) from make.*tuple"),
    ],
)
def test_bad_input_is_named(made, sizes, options, said):
    with pytest.raises(ArgumentError, match=said):
        sweep(lambda n: made, sizes, progress=False, **options)
