"""The rooms: who imports whom, read from the source. Doors open one way, and there is no circle."""

import ast
from graphlib import TopologicalSorter
from importlib import import_module

import pytest
from processes import ROOT, python

from d2lhybrid.frameworks import known

PACKAGE = ROOT / "d2lhybrid"
HEAVY = (
    *("torch", "tensorflow", "jax", "mxnet", "matplotlib", "pandas", "scipy", "IPython", "tqdm"),
    *("psutil", "networkx", "onnxruntime"),
)
# From the bottom to the top: a room imports from its own floor and from those below.
FLOORS = (
    ("errors",),
    (
        *("calls", "i18n", "installing", "quieting", "stats", "subprocesses", "tensor"),
        *("report.table", "report.picture"),  # know no result and no framework
    ),
    ("frameworks", "same"),
    ("report",),
    ("measurement",),
    ("artifacts",),
    ("__main__", "diagnosing", "teaching"),
)
# What imports or names a framework stands here.
ROOMS: dict[str, str | tuple[str, ...]] = {
    **{framework.name: f"frameworks/{framework.name}/" for framework in known()},
    "keras": "frameworks/tensorflow/",
    "flax": "frameworks/jax/",
    "onnxruntime": "frameworks/torch/",
}


def name_of(path):
    parts = ("d2lhybrid", *path.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(part for part in parts if part != "__init__")


TREES = {
    path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(PACKAGE.rglob("*.py"))
}
NAMES = set(map(name_of, TREES))


def imported(path):
    """The absolute names of all that a file imports, wherever in it, its types among them."""
    found = set()
    for node in ast.walk(TREES[path]):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.module, f"{path}: relative import"
            whole = [f"{node.module}.{alias.name}" for alias in node.names]
            found.update(name if name in NAMES else node.module for name in whole)
    return found


def floor_of(module):
    inside = module.removeprefix("d2lhybrid.")
    for room in (inside, inside.split(".")[0]):
        for number, rooms in enumerate(FLOORS):
            if room in rooms:
                return number
    pytest.fail(f"{module} is in a new room: give it its place in FLOORS")


def test_doors_open_downwards_and_none_to_the_root_or_out_of_the_package():
    for path in set(TREES) - {PACKAGE / "__init__.py"}:
        tops = {module.split(".")[0] for module in imported(path)}
        assert not tops & {"book", "website", "recording"}, path
        for module in imported(path) & NAMES:
            assert module != "d2lhybrid", f"{path}: the package root is for readers"
            assert floor_of(module) <= floor_of(name_of(path)), f"{path}: a door up, to {module}"


def test_there_is_no_circle():
    inside = {name_of(path): imported(path) & NAMES for path in TREES}
    graph = {name: others - {name} for name, others in inside.items()}
    TopologicalSorter(graph).prepare()  # raises CycleError, which names the circle


def test_only_its_room_imports_or_names_a_framework():
    for path, tree in TREES.items():
        place = path.relative_to(PACKAGE).as_posix()
        for module in {module.split(".")[0] for module in imported(path)} & ROOMS.keys():
            assert place.startswith(ROOMS[module]), f"{place} imports {module}"
        strings = [one.value for one in ast.walk(tree) if isinstance(one, ast.Constant)]
        words = {text for text in strings if isinstance(text, str) and " " not in text}
        for framework in (framework.name for framework in known()):
            named = [text for text in words | imported(path) if f".{framework}." in f".{text}."]
            here = place.startswith((str(ROOMS[framework]), "__init__.py"))
            assert not named or here, f"{place} names {named}"


def test_importing_and_waiting_load_nothing_heavy_and_are_quick():
    code = (
        "import sys, numpy, time; start = time.process_time()\n"
        "import d2lhybrid, d2lhybrid.teaching, d2lhybrid.timing\n"
        "print(time.process_time() - start)\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])\n"
        "d2lhybrid.synchronize()\nwith d2lhybrid.Benchmark(): pass\n"
        f"print([name for name in {[*ROOMS]} if name in sys.modules])"
    )
    spent, heavy, _time, frameworks = python("-c", code).stdout.splitlines()
    assert heavy == frameworks == "[]"
    assert float(spent) < 0.5  # 50 ms on a quiet machine: benchmarks/agreement.py


@pytest.mark.parametrize("module", ["d2lhybrid", "d2lhybrid.teaching"])
def test_every_public_name_loads_and_says_what_it_is(module):
    public = import_module(module)
    assert set(public.__all__) <= set(dir(public))
    for name in set(public.__all__) - {"__version__"}:
        assert getattr(public, name).__doc__, name
    with pytest.raises(AttributeError, match="compar_e"):
        public.compar_e  # noqa: B018


def test_no_room_takes_the_name_of_a_function():
    """Importing a room binds its name in the package, over whatever stood there."""
    assert not {path.stem for path in PACKAGE.iterdir()} & set(import_module("d2lhybrid").__all__)
