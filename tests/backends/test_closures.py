"""What a function refers to before it runs."""

import math
import os
from math import cos

from d2lhybrid.backends.closures import attributes_in, named_in


def around():
    return 1


def test_names_and_attributes_of_modules_also_in_functions_inside():
    own = lambda: 2  # noqa: E731

    def function(numbers):
        inside = lambda number: math.sin(number) + around() + own()  # noqa: E731
        return os.path.join("a", "b"), cos(0), [inside(number) for number in numbers], later()

    named = named_in(function)
    assert {around, own, cos} <= {value for value in named if callable(value)}
    assert set(attributes_in(function)) == {os.path.join, math.sin}
    later = around
    assert around in named_in(lambda: later)


def test_an_attribute_is_no_global_of_its_name():
    assert named_in(lambda model: model.cos) == attributes_in(lambda model: model.cos) == []
