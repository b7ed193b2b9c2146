"""What a function refers to, without running it."""

import dis
from collections.abc import Iterator, Mapping
from contextlib import suppress
from inspect import ismodule
from types import CodeType
from typing import Any


def named_in(function: Any) -> list[Any]:
    """The objects that a function names as globals or takes from around it, as far as they exist.

    Also those that a function inside it names. ``inspect.getclosurevars`` takes an attribute for a
    global of the same name, and fails where what is around the function doesn't exist yet.

    >>> def total(numbers):
    ...     return sum(numbers)
    >>> named_in(total)
    []
    >>> add = lambda number: total([number, 1])
    >>> named_in(add) == [total]
    True
    """
    loads = [
        instruction.argval
        for code in _codes(function.__code__)
        for instruction in dis.get_instructions(code)
        if instruction.opname == "LOAD_GLOBAL"
    ]
    names, module = dict.fromkeys(loads), function.__globals__
    found = {name: module[name] for name in names if name in module} | _around(function)
    return [*found.values()]


def attributes_in(function: Any) -> list[Any]:
    """The attributes of modules that a function names, or a function inside it, each once.

    >>> import math
    >>> attributes_in(lambda numbers: [math.sqrt(number) for number in numbers])
    [<built-in function sqrt>]
    """
    names = {"LOAD_GLOBAL": function.__globals__, "LOAD_DEREF": _around(function)}
    found = [value for code in _codes(function.__code__) for value in _attributes(code, names)]
    return [*{id(value): value for value in found}.values()]


def words_in(function: Any) -> set[str]:
    """The names of globals and attributes in the code of a function, and of those inside it.

    >>> sorted(words_in(lambda model: [model.layer(row) for row in model.rows]))
    ['layer', 'rows']
    """
    return {word for code in _codes(function.__code__) for word in code.co_names}


def _around(function: Any) -> dict[str, Any]:
    """What a function takes from around it, by name, as far as it exists."""
    found: dict[str, Any] = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with suppress(ValueError):  # it is empty
            found[name] = cell.cell_contents
    return found


def _codes(code: CodeType) -> Iterator[CodeType]:
    """The code of a function, and of those that are written inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _attributes(code: CodeType, names: Mapping[str, Mapping[str, Any]]) -> Iterator[Any]:
    """The attributes of modules in some code; `names` by the instruction that loads them."""
    module: Any = None  # what was loaded last, if that is a module
    for instruction in dis.get_instructions(code):
        is_attribute = instruction.opname in ("LOAD_ATTR", "LOAD_METHOD")
        known = vars(module) if module and is_attribute else names.get(instruction.opname, {})
        value = known.get(instruction.argval)
        if module and is_attribute and value is not None and not ismodule(value):
            yield value
        module = value if ismodule(value) else None
