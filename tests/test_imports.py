"""The doors between the rooms: who imports whom, read from the source."""

import ast
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "d2lhybrid"
HEAVY = ("torch", "tensorflow", "mxnet", "matplotlib", "pandas", "scipy", "IPython", "tqdm")

# module -> modules of d2lhybrid that it may import; the first line that fits counts
DOORS = {
    "errors": (),
    "backends.protocol": ("errors",),
    "backends.formats": ("errors",),
    "backends.onnxruntime_formats": ("backends.formats", "errors"),
    "backends.*_formats": (
        "backends.formats",
        "backends.onnxruntime_formats",
        "backends.processor",
        "compat",
        "compiler",
        "errors",
    ),
    "backends.processor": ("errors",),
    "compiler": ("errors",),
    "backends.explanation": ("i18n", "errors"),
    "backends.*_explain": ("backends.explanation", "i18n", "errors"),
    "backends": ("backends.protocol", "errors"),
    "backends.torch": ("backends.protocol", "errors"),
    "backends.tensorflow": ("backends.protocol", "errors"),
    "backends.mxnet": ("backends.protocol", "errors"),
    "timing": ("backends", "errors"),
    "quieting": (),
    "compat": ("errors",),
    "doctor": ("backends", "compat", "errors"),
    "__main__": ("errors",),
    "i18n": ("errors",),
    "stats": (),
    "jsonrecord": ("errors",),
    "records": (
        "jsonrecord",
        "stats",
        "report",
        "plot",
        "errors",
    ),  # the last two when one is shown
    "provenance": ("backends", "records"),
    "report": ("i18n", "records"),
    "plot": ("i18n", "records", "report", "errors"),
    "answers": ("backends", "errors"),
    "measuring": (
        "backends",
        "backends.protocol",
        "provenance",
        "records",
        "stats",
        "timing",
        "errors",
    ),
    "comparing": ("answers", "measuring", "provenance", "records", "stats", "errors"),
    "ways": ("backends", "measuring", "errors"),
    "sweeping": ("comparing", "records", "ways", "errors"),
    "shell": ("comparing", "errors"),
    "magic": ("timing",),
    "backends.*_variants": ("backends.protocol", "compiler", "errors"),
    "explainer": ("backends", "backends.explanation", "errors"),
    "artifacts": ("artifacts.*",),
    "artifacts.*": ("artifacts", "artifacts.*", "backends.*formats", "compiler", "errors"),
    "": (),
}
FRAMEWORKS = ("torch", "tensorflow", "mxnet", "keras", "onnxruntime")


def name_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def imported(path: Path) -> set[str]:
    """The absolute names of all that a file imports, wherever in the file."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            assert node.module
            below = PACKAGE / Path(*node.module.split(".")[1:])
            for alias in node.names:
                part = (below / alias.name).is_dir() or (below / f"{alias.name}.py").is_file()
                submodule = node.module.split(".")[0] == "d2lhybrid" and part
                found.add(f"{node.module}.{alias.name}" if submodule else node.module)
    return found


FILES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_every_door_is_known(path):
    name = name_of(path)
    ours = {module for module in imported(path) if module.split(".")[0] == "d2lhybrid"}
    assert "d2lhybrid" not in ours, f"{name} imports the package root"
    allowed = next((doors for room, doors in DOORS.items() if fnmatch(name, room)), None)
    if allowed is None:
        pytest.fail(f"{name} is a new room: give it its line in DOORS")
    for module in sorted(ours):
        known = any(fnmatch(module.removeprefix("d2lhybrid."), door) for door in allowed)
        assert known, f"{name} opens a new door to {module}"


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_only_its_adapter_imports_a_framework(path):
    tops = {module.split(".")[0] for module in imported(path)}
    assert "book" not in tops
    for framework in FRAMEWORKS:
        if framework in tops:
            assert path.parent.name == "backends"
            assert path.name.startswith(f"{framework}") or framework == "keras"


def test_importing_the_package_loads_nothing_heavy_and_is_quick():
    code = (
        "import sys, numpy, time; start = time.perf_counter()\n"
        "import d2lhybrid, d2lhybrid.timing\n"
        "print(time.perf_counter() - start)\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    spent, heavy = done.stdout.splitlines()
    assert heavy == "[]"
    assert float(spent) < 0.5  # 50 ms on a quiet machine: benchmarks/overhead.py


def test_every_public_name_loads():
    code = "import d2lhybrid; [getattr(d2lhybrid, name) for name in d2lhybrid.__all__]"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
