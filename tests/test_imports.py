"""Who imports whom, read from the source: imports go down the floors, and never in a circle."""

import ast
import io
import tokenize
from graphlib import TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest
from processes import ROOT, python

from d2lhybrid.backends import known

PACKAGE = ROOT / "d2lhybrid"
HEAVY = (
    *("torch", "tensorflow", "jax", "mxnet", "matplotlib", "pandas", "scipy", "IPython", "tqdm"),
    *("psutil", "onnxruntime", "ai_edge_litert"),
)
# From the top to the bottom. A module imports from its own folder and from the floors below;
# of the other folders and modules on its floor, only from those that stand in one group with it.
FLOORS: tuple[tuple[set[str], ...], ...] = (
    ({"teaching"}, {"__main__"}, {"errors"}),
    ({"verbs"},),
    ({"experiments"},),
    ({"showing"},),
    ({"why"},),
    ({"artifacts"}, {"measuring"}),
    ({"timing"},),
    ({"backends"},),
    ({"graphs"},),
    ({"core"},),
)
# The folder in which a framework, or what belongs to it, may be imported and named.
FOLDERS = {
    **{framework.name: f"backends/{framework.name}/" for framework in known()},
    "keras": "backends/tensorflow/",
    "flax": "backends/jax/",
    "onnxruntime": "backends/torch/",
    "ai_edge_litert": "backends/tensorflow/",
}


def module_name(path: Path) -> str:
    parts = ("d2lhybrid", *path.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(part for part in parts if part != "__init__")


SOURCES = {
    path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(PACKAGE.rglob("*.py"))
}
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
NO_CODE = (
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE),
    *(tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER),
)
MODULES = {module_name(path) for path in SOURCES}


def imports_of(path: Path) -> set[str]:
    """The absolute names of all modules that a file imports, at its top or inside a function."""
    names = set()
    for node in ast.walk(SOURCES[path]):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.module, f"{path}: a relative import"
            for alias in node.names:
                submodule = f"{node.module}.{alias.name}"
                names.add(submodule if submodule in MODULES else node.module)
    return names


def floor_and_group(module: str) -> tuple[int, set[str]]:
    top = module.split(".")[1]
    for number, floor in enumerate(FLOORS):
        for group in floor:
            if top in group:
                return number, group
    pytest.fail(f"{module} is new: give it its place in FLOORS")


@pytest.mark.parametrize("path", sorted(set(SOURCES) - {PACKAGE / "__init__.py"}), ids=module_name)
def test_imports_go_down(path):
    floor, group = floor_and_group(module_name(path))
    for imported in imports_of(path):
        assert imported.split(".")[0] not in {"book", "website", "recording"}
        assert imported != "d2lhybrid", "the package's root is for readers"
        if imported in MODULES:
            imported_floor, imported_group = floor_and_group(imported)
            assert imported_floor > floor or imported_group == group, imported


def test_no_imports_go_in_a_circle():
    inside = {module_name(path): imports_of(path) & MODULES for path in SOURCES}
    graph = {name: imported - {name} for name, imported in inside.items()}
    TopologicalSorter(graph).prepare()  # raises CycleError, which names the circle


def test_no_class_of_ours_is_called_any():
    """`Comparison = Any` would hide an import that goes up, and everything from mypy."""
    for path, tree in SOURCES.items():
        for node in ast.walk(tree):
            value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
            assert not (isinstance(value, ast.Name) and value.id == "Any"), (path, node.lineno)


def test_only_its_folder_imports_or_names_a_framework():
    for path, tree in SOURCES.items():
        place = path.relative_to(PACKAGE).as_posix()
        imported = imports_of(path)
        for package in {name.split(".")[0] for name in imported} & FOLDERS.keys():
            assert place.startswith(FOLDERS[package]), f"{place} imports {package}"
        strings = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
        words = {text for text in strings if isinstance(text, str) and " " not in text}
        for framework in known():
            if place.startswith((FOLDERS[framework.name], "__init__.py")):
                continue
            named = {word for word in words | imported if f".{framework.name}." in f".{word}."}
            assert not named, f"{place} names {named}"


def test_importing_and_waiting_load_nothing_heavy_and_are_quick():
    code = (
        "import sys, numpy, time; start = time.process_time()\n"
        "import d2lhybrid, d2lhybrid.teaching, d2lhybrid.timing\n"
        "print(time.process_time() - start)\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])\n"
        "d2lhybrid.synchronize()\nwith d2lhybrid.Benchmark(): pass\n"
        f"print([name for name in {[*FOLDERS]} if name in sys.modules])"
    )
    seconds, heavy, _benchmark, frameworks = python("-c", code).stdout.splitlines()
    assert heavy == frameworks == "[]"
    assert float(seconds) < 0.5  # 50 ms on a quiet machine: benchmarks/agreement.py


@pytest.mark.parametrize("name", [framework.name for framework in known()])
def test_waiting_loads_of_a_framework_only_what_waits(name):
    code = (
        "import sys, d2lhybrid; from d2lhybrid.backends import get; get(sys.argv[1]).load()\n"
        "with d2lhybrid.Benchmark(): pass\n"
        "print(*(name for name in sys.modules if name.startswith('d2lhybrid.')))"
    )
    loaded = set(python("-c", code, name).stdout.splitlines()[-1].split())
    # Keras imports JAX, so that is waited for, too.
    folders = tuple(f"d2lhybrid.backends.{framework.name}." for framework in known())
    parts = {module.rpartition(".")[2] for module in loaded if module.startswith(folders)}
    assert {"device"} <= parts <= {"device", "bindings", "private", "compat"}
    floors = ("d2lhybrid.graphs", "d2lhybrid.showing", "d2lhybrid.measuring", "d2lhybrid.why")
    assert not {module for module in loaded if module.startswith(floors)}


TIMES = """
from d2lhybrid import Benchmark, Timer
with Benchmark():
    torch.ones(2) + 1
Timer().stop()
"""
SAVES = """
from d2lhybrid import load, save
net, x = torch.nn.Linear(2, 2), torch.ones(1, 2)
save(net, "linear", x)
load("linear")(x)
"""
COMPARES = """
from d2lhybrid import compare
functions = {"sin": torch.sin, "cos": torch.cos}
c = compare(functions, torch.ones(9), time_limit=0.1, progress=False, check=False)
print(c, c._repr_html_())
"""


# What a program does, and the folders and modules of the package that it may load.
@pytest.mark.parametrize(
    ("program", "rooms"),
    [
        (TIMES, {"timing", "backends", "core"}),
        (SAVES, {"artifacts", "backends", "core"}),
        (COMPARES, {"verbs", "experiments", "showing", "measuring", "timing", "backends", "core"}),
    ],
    ids=[
        "uses Benchmark and Timer",
        "saves and loads a PyTorch model",
        "compares two PyTorch functions and prints",
    ],
)
def test_a_program_loads_what_it_uses(program, rooms, tmp_path, request):
    listed = "import sys\nprint(*(name for name in sys.modules if name.startswith('d2lhybrid.')))"
    printed = python("-c", f"import torch\n{program}\n{listed}", cwd=tmp_path).stdout
    modules = MODULES & {"d2lhybrid", *printed.splitlines()[-1].split()}
    lines = sum(lines_of_code(path) for path in SOURCES if module_name(path) in modules)
    print(f"| {request.node.callspec.id} | {len(modules)} modules | {lines} lines |")
    assert {name.split(".")[1] for name in modules - {"d2lhybrid"}} <= rooms


def lines_of_code(path: Path) -> int:
    """Without empty lines, comments and docstrings."""
    code = set()
    for token in tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline):
        if token.type not in NO_CODE:
            code |= {*range(token.start[0], token.end[0] + 1)}
    for node in ast.walk(SOURCES[path]):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node) is not None:
            code -= {*range(node.body[0].lineno, node.body[0].end_lineno + 1)}
    return len(code)


@pytest.mark.parametrize("module", ["d2lhybrid", "d2lhybrid.teaching", "d2lhybrid.errors"])
def test_every_public_name_loads_and_says_what_it_is(module):
    public = import_module(module)
    assert set(public.__all__) <= set(dir(public))
    for name in set(public.__all__) - {"__version__"}:
        assert getattr(public, name).__doc__, name
    with pytest.raises(AttributeError, match="compar_e"):
        public.compar_e  # noqa: B018


def test_no_module_takes_the_name_of_a_public_verb():
    """Importing a module binds its name in the package, over whatever stood there."""
    modules = {path.stem for path in PACKAGE.iterdir()}
    assert not modules & set(import_module("d2lhybrid").__all__) - {"errors"}


def test_the_stub_names_what_loads_on_first_use():
    """Type checkers read the stub, and readers get what ``__init__.py`` loads."""
    stub = ast.parse((PACKAGE / "__init__.pyi").read_text(encoding="utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    named = {alias.name: (node.module or "") for node in imports for alias in node.names}
    public = import_module("d2lhybrid")
    assert named == {**public._MODULES, "errors": ""}
    assert {*public.__all__} == {*named}
