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
    "i18n": ("errors",),
    "backends.protocol": ("errors", "i18n"),
    "backends.formats": ("errors", "i18n"),
    "backends.onnxruntime_formats": ("backends.formats", "errors"),
    "backends.*_formats": (
        "backends.formats",
        "backends.onnxruntime_formats",
        "backends.processor",
        "compat",
        "compiler",
        "errors",
        "i18n",
    ),
    "backends.processor": ("errors", "i18n"),
    "compiler": ("errors", "i18n"),
    "backends.explanation": ("i18n", "errors"),
    "backends.*_explain": ("backends.explanation", "i18n", "errors"),
    "backends.*_variants": ("backends.protocol", "compiler", "errors", "i18n"),
    "backends": ("backends.protocol", "errors", "i18n"),
    "backends.torch": ("backends.protocol", "errors", "i18n"),
    "backends.tensorflow": ("backends.protocol", "errors", "i18n"),
    "backends.mxnet": ("backends.protocol", "errors", "i18n"),
    "timing": ("backends", "errors", "i18n"),
    "quieting": (),
    "compat": ("errors", "i18n"),
    "doctor": ("backends", "compat", "errors", "i18n"),
    "__main__": ("errors", "i18n"),
    "stats": (),
    "jsonrecord": ("errors", "i18n"),
    "records": (
        "jsonrecord",
        "stats",
        "report",
        "plot",
        "errors",
        "i18n",
    ),  # report and plot when one is shown
    "provenance": ("backends", "records"),
    "report": ("i18n", "records"),
    "plot": ("i18n", "records", "report", "errors"),
    "answers": ("backends", "errors", "i18n"),
    "measuring": (
        "backends",
        "backends.protocol",
        "provenance",
        "records",
        "stats",
        "timing",
        "errors",
        "i18n",
    ),
    "comparing": ("answers", "measuring", "provenance", "records", "stats", "errors", "i18n"),
    "ways": ("backends", "measuring", "errors", "i18n"),
    "sweeping": ("comparing", "records", "ways", "errors", "i18n"),
    "teaching": ("i18n",),
    "shell": ("comparing", "errors", "i18n"),
    "magic": ("timing",),
    "explainer": ("backends", "backends.explanation", "errors", "i18n"),
    "artifacts": ("artifacts.*",),
    "artifacts.*": ("artifacts", "artifacts.*", "backends.*formats", "compiler", "errors", "i18n"),
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
        "import d2lhybrid, d2lhybrid.measure.timing\n"
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
