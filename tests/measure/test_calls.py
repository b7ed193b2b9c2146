"""How a model and its arguments are handed over: beside options, and inside call(...)."""

import numpy as np
import pytest
from fake import Machine

from d2lhybrid.calls import call
from d2lhybrid.errors import ArgumentError
from d2lhybrid.measurement.comparing import compare, measure
from d2lhybrid.measurement.sweeping import sweep


def swallowing(x, **keywords):
    return x


class Model:
    """As frameworks have them: the call takes anything, the forward pass names it."""

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def forward(self, x, labels=None):
        return x


@pytest.mark.parametrize(
    ("verb", "first", "keyword", "ours"),
    [
        (compare, {"a": swallowing}, "time_limt", "time_limit="),
        (compare, {"a": swallowing}, "chek", "check="),
        (compare, {"a": np.exp}, "references_", "references="),
        (measure, swallowing, "labels", "label="),
    ],
)
def test_a_misspelt_option_is_no_keyword_of_the_model(verb, first, keyword, ours):
    with pytest.raises(ArgumentError, match=rf"{keyword}.*{ours}.*call\("):
        verb(first, 1.0, **{keyword: 60})


def test_what_a_callable_names_itself_is_its_own():
    assert len(compare({"a": lambda x, *, chek=0: x}, 1.0, chek=2, time_limit=0.01)) == 1
    assert measure(Model(), 1.0, labels=2, time_limit=0.01).median > 0


def test_keywords_reach_the_callables_by_every_way():
    m, seen = Machine(), []
    f = m.function(1e-3)

    def takes(x, *, seed=None, scale=None):
        seen.append((x, seed, scale))
        return f()

    options = {"clock": m.clock, "progress": False}
    each = {"a": call(takes, 1, seed=3), "b": call(takes, 2, seed=4)}
    for run, expected in [
        (lambda: compare({"a": takes}, 1, scale=2, seed=5, **options), {(1, None, 2)}),
        (lambda: compare(call({"a": takes}, 1, seed=3), seed=5, **options), {(1, 3, None)}),
        (lambda: compare(each, 9, seed=5, **options), {(1, 3, None), (2, 4, None)}),
        (lambda: measure(call(takes, 1, seed=2), clock=m.clock), {(1, 2, None)}),
        (lambda: measure(call(call(takes, seed=2), 1), scale=3, clock=m.clock), {(1, 2, 3)}),
        (lambda: sweep(lambda n: call({"a": takes}, n, seed=2), [1, 2], **options),
         {(1, 2, None), (2, 2, None)}),
    ]:  # fmt: skip
        seen.clear()
        run()
        assert set(seen) == expected
