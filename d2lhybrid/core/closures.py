"""What a function refers to, without running it."""

import dis
from contextlib import suppress
from typing import Any


def named_in(function: Any) -> list[Any]:
    """The objects that a function names as globals or takes from around it, as far as they exist.

    ``inspect.getclosurevars`` takes an attribute for a global of the same name, and fails where
    what is around the function doesn't exist yet.

    >>> def total(numbers):
    ...     return sum(numbers)
    >>> named_in(total)
    []
    >>> add = lambda number: total([number, 1])
    >>> named_in(add) == [total]
    True
    """
    from_around = []
    for cell in function.__closure__ or ():
        with suppress(ValueError):  # it is empty
            from_around.append(cell.cell_contents)
    loads = [i.argval for i in dis.get_instructions(function) if i.opname == "LOAD_GLOBAL"]
    names, module = dict.fromkeys(loads), function.__globals__
    return [*from_around, *(module[name] for name in names if name in module)]
