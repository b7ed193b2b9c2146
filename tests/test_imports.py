"""The rooms: who imports whom, read from the source. Doors open one way, and there is no circle."""

import ast
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from d2lhybrid.frameworks import known

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "d2lhybrid"
HEAVY = ("torch", "tensorflow", "jax", "mxnet", "matplotlib", "pandas", "scipy", "IPython", "tqdm")
# From the bottom to the top: a room imports from its own floor and from those below.
FLOORS = (
    ("errors",),
    (
        "calls",
        "compiler",
        "i18n",
        "importing",
        "installing",
        "jsonrecord",
        "quieting",
        "stats",
        "structure",
        "tensor",
        "waiting",
        "report.table",  # which knows nothing of results
        "report.stages",
        "report.picture",  # nor of frameworks
    ),
    ("frameworks", "same", "teaching"),
    ("report",),
    ("measurement",),
    ("artifacts",),
    ("__main__", "cli", "commands", "doctor", "magic"),
)
# What imports or names a framework stands here.
ROOMS: dict[str, str | tuple[str, ...]] = {
    **{framework.name: f"frameworks/{framework.name}/" for framework in known()},
    "keras": "frameworks/tensorflow/",
    "flax": "frameworks/jax/",
    "onnxruntime": ("frameworks/onnxruntime.py", "frameworks/torch/"),
}
FILES = sorted(PACKAGE.rglob("*.py"))


def name_of(path: Path) -> str:
    parts = ("d2lhybrid", *path.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(part for part in parts if part != "__init__")


def imported(path: Path) -> set[str]:
    """The absolute names of all that a file imports, wherever in it, its types among them."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            assert node.module
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                found.add(whole if whole in NAMES else node.module)
    return found


NAMES = {name_of(path) for path in FILES}


def floor_of(module: str) -> int:
    inside = module.removeprefix("d2lhybrid.")
    for room in (inside, inside.split(".")[0]):
        for number, rooms in enumerate(FLOORS):
            if room in rooms:
                return number
    pytest.fail(f"{module} is in a new room: give it its place in FLOORS")


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_doors_open_downwards_and_none_to_the_root(path):
    ours = {module for module in imported(path) if module.split(".")[0] == "d2lhybrid"}
    assert "d2lhybrid" not in ours, "the package root is for readers"
    assert "book" not in {module.split(".")[0] for module in imported(path)}
    if path.parent == PACKAGE and path.name == "__init__.py":
        return
    for module in ours:
        assert floor_of(module) <= floor_of(name_of(path)), f"a door upwards, to {module}"


def test_there_is_no_circle():
    graph = {name_of(path): imported(path) & NAMES - {name_of(path)} for path in FILES}
    TopologicalSorter(graph).prepare()  # raises CycleError, which names the circle


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_only_its_room_imports_a_framework(path):
    place = path.relative_to(PACKAGE).as_posix()
    for module in {module.split(".")[0] for module in imported(path)} & ROOMS.keys():
        assert place.startswith(ROOMS[module]), f"{place} imports {module}"


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_only_its_room_names_a_framework(path):
    place = path.relative_to(PACKAGE).as_posix()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    strings = [n.value for n in ast.walk(tree) if isinstance(n, ast.Constant)]
    modules = [module.module for module in ast.walk(tree) if isinstance(module, ast.ImportFrom)]
    named = {*strings, *filter(None, modules)}
    for framework in (framework.name for framework in known()):
        if place.startswith(ROOMS[framework]) or place == "__init__.py":
            continue
        found = [n for n in named if n == framework or f".{framework}." in f".{n}."]
        plain = [n for n in found if isinstance(n, str) and "\n" not in n and " " not in n]
        assert not plain, f"{place} names {framework}: {plain}"


def test_importing_the_package_loads_nothing_heavy_and_is_quick():
    code = (
        "import sys, numpy, time; start = time.process_time()\n"
        "import d2lhybrid, d2lhybrid.measurement.timing\n"
        "print(time.process_time() - start)\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    spent, heavy = done.stdout.splitlines()
    assert heavy == "[]"
    assert float(spent) < 0.5  # 50 ms on a quiet machine: benchmarks/agreement.py


def test_every_public_name_loads():
    code = "import d2lhybrid; [getattr(d2lhybrid, name) for name in d2lhybrid.__all__]"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


def test_no_room_takes_the_name_of_a_function():
    """Importing a room binds its name in the package, over whatever stood there."""
    rooms = {path.name for path in PACKAGE.iterdir() if path.is_dir()}
    modules = {path.stem for path in PACKAGE.glob("*.py")}
    import d2lhybrid

    assert not (rooms | modules) & set(d2lhybrid.__all__)
