"""The names in cells for a GPU exist, as far as one can see without running them.

They run on a GPU: ``make record``. Nothing here says that they work.
"""

import ast
import builtins
import sys
from dataclasses import replace
from functools import cache
from inspect import isclass
from types import ModuleType

import pytest
from processes import ROOT

from book.frameworks import FRAMEWORKS
from d2lhybrid.backends import get
from recording.notebook_code import code_cells, names

OF_JUPYTER = {"display"}


@pytest.fixture(params=FRAMEWORKS)
def cells(request):
    """Of a framework, in all languages: each cell for a GPU, and those before it."""
    get(FRAMEWORKS[request.param].module).load()
    found = []
    for path in sorted((ROOT / "notebooks").glob(f"*/{request.param}/*.ipynb")):
        of_notebook = code_cells(path)
        for at, cell in enumerate(of_notebook):
            if "gpu" in cell.tags:
                found.append((cell, of_notebook[:at]))
    return found


def nodes(cell, *kinds):
    return [node for node in ast.walk(ast.parse(cell.source)) if isinstance(node, kinds)]


def imported(cells):
    """What these cells import, by name."""
    space = {}
    for cell in cells:
        for node in nodes(cell, ast.Import, ast.ImportFrom):
            exec(compile(ast.Module([node], []), cell.place, "exec"), space)
    return space


def module_of(node, space):
    """The module that this expression is; None if it is none, or may be anything."""
    found = space.get(node.id) if isinstance(node, ast.Name) else None
    if isinstance(node, ast.Attribute):
        found = getattr(module_of(node.value, space), node.attr, None)
    return found if isinstance(found, ModuleType) else None


@cache
def attributes(module):
    """Those of all its classes: a value may be of any of them."""
    return {name for one in vars(module).values() if isclass(one) for name in dir(one)}


def strange(cell, before):
    """The names in a cell that nothing gives, and the attributes that nothing has."""
    reads, _gives = names(cell.compiled())
    given = {name for one in before for name in names(one.compiled())[1]}
    space = imported([*before, cell])
    owners = {one: module_of(one.value, space) for one in nodes(cell, ast.Attribute)}
    modules = {one for one in (*space.values(), *owners.values()) if isinstance(one, ModuleType)}
    modules |= {one for name, one in sys.modules.items() if name.startswith("d2lhybrid.")}
    of_values = set().union(*map(attributes, {builtins, *modules}))
    return (reads - given - vars(builtins).keys() - OF_JUPYTER) | {
        ast.unparse(one)
        for one, owner in owners.items()
        if not (hasattr(owner, one.attr) if owner else one.attr in of_values)
    }


def misspelled(cell):
    """The cell with the last name misspelled of those that are used on a GPU."""
    (statement,) = ast.parse(cell.source).body
    inside = [one for part in statement.body for one in ast.walk(part)]
    used = [one for one in inside if isinstance(one, ast.Attribute | ast.Name)]
    last = max(used, key=lambda one: (one.end_lineno, one.end_col_offset))
    lines = cell.source.encode().splitlines(keepends=True)
    line = lines[last.end_lineno - 1]
    lines[last.end_lineno - 1] = (
        line[: last.end_col_offset] + b"_misspelled" + line[last.end_col_offset :]
    )
    return replace(cell, source=b"".join(lines).decode())


def test_they_exist(cells):
    assert cells
    for cell, before in cells:
        assert not strange(cell, before), cell.place


def test_a_misspelled_one_is_found(cells):
    for cell, before in cells:
        (found,) = strange(misspelled(cell), before)
        assert "_misspelled" in found, cell.place
