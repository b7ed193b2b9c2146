"""Does the collection pass on the newest PyTorch and TensorFlow? A part of `make audit`.

Their newest releases go into ``.venv-newest`` together with the newest of everything else that the
two need; MXNet and what it holds back stay away. There the tests of the adapters and formats run,
and the English notebooks of the two frameworks.
"""

import json
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from run_notebooks import command, selected
from setup_env import D2L

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv-newest"
PYTHON = VENV / "bin" / "python"
FRAMEWORKS = ("pytorch", "tensorflow")
EXTRAS = "torch,onnx,safetensors,notebooks,test"
# On Linux and Windows the build without CUDA, as in requirements/notebooks.in.
TENSORFLOW = "tensorflow" if sys.platform == "darwin" else "tensorflow-cpu"
PACKAGES = ("torch", TENSORFLOW, "keras", "numpy", "onnx", "onnxruntime", "nbval")
TESTS = (
    "tests/backends",
    "tests/artifacts/test_torch_formats.py",
    "tests/artifacts/test_tensorflow_formats.py",
)
_COLOUR = re.compile(r"(?:\x1b|#x1B)\[[0-9;]*m")


@dataclass(frozen=True)
class Outcome:
    """What ran, how many tests or cells it had, and which of them failed, each with a reason."""

    name: str
    count: int
    failed: tuple[tuple[str, str], ...]


def create() -> None:
    """Create the environment, or bring it up to date."""
    if not PYTHON.exists():
        subprocess.run([sys.executable, "-m", "venv", str(VENV)], check=True)
    install = [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    newest = ["--upgrade", "--upgrade-strategy", "eager"]
    for arguments in (
        [*newest, "pip"],
        [*newest, "--editable", f".[{EXTRAS}]", TENSORFLOW],
        ["--no-deps", D2L],
    ):
        if status := subprocess.run([*install, *arguments], cwd=ROOT).returncode:
            sys.exit(f"Set-up of {VENV.name} stopped: pip ended with status {status}, see above.")


def versions() -> dict[str, str]:
    """What the environment holds of the packages that matter most."""
    listing = [str(PYTHON), "-m", "pip", "list", "--format", "json"]
    done = subprocess.run(listing, capture_output=True, text=True, check=True)
    found = {package["name"].lower(): package["version"] for package in json.loads(done.stdout)}
    return {name: found[name] for name in PACKAGES if name in found}


def notebooks() -> list[Path]:
    """The English notebooks of the two frameworks."""
    return [path for framework in FRAMEWORKS for path in selected("en", framework, "*")[0]]


def run() -> list[Outcome]:
    """Run the tests, then each notebook, in the environment."""
    pytest = [str(PYTHON), "-m", "pytest", "-p", "no:cacheprovider", "-q"]
    outcomes = [outcome("tests of the adapters and formats", [*pytest, "-k", "not mxnet", *TESTS])]
    for path in notebooks():
        ours = command([path], "0", "-q")
        name = path.relative_to(ROOT / "notebooks").with_suffix("").as_posix()
        outcomes.append(outcome(name, [str(PYTHON), *ours[1:]]))
    return outcomes


def outcome(name: str, pytest: Sequence[str]) -> Outcome:
    """Run a pytest command and read its report."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        done = subprocess.run([*pytest, f"--junitxml={report}"], cwd=ROOT)
        if not report.exists():
            return Outcome(
                name, 0, (("pytest", f"ended with status {done.returncode} and no report"),)
            )
        return read(name, report)


def read(name: str, report: Path) -> Outcome:
    """What a JUnit report says; skipped tests do not count."""
    count, failed = 0, []
    for test in ElementTree.parse(report).iter("testcase"):
        if test.find("skipped") is not None:
            continue
        count += 1
        for problem in (*test.findall("failure"), *test.findall("error")):
            label = str(test.get("name"))
            if cell := re.fullmatch(r"Cell (\d+)", label):
                label = f"cell {int(cell[1]) + 1}"  # as JupyterLab counts
            failed.append((label, reason(problem.get("message") or problem.text or "")))
    return Outcome(name, count, tuple(failed))


def reason(text: str) -> str:
    """The line of a failure that says most: the error, or the first two lines that differ."""
    lines = [line.strip() for line in _COLOUR.sub("", text).splitlines() if line.strip()]
    if any(line.endswith("Cell outputs differ") for line in lines):
        changed = [line for line in lines if re.match(r"[-+] ", line)]
        more = [line for line in lines if line.startswith("Unexpected output fields")]
        return " ".join(changed[:2] or more[:1]) or "the outputs differ"
    if lines and lines[0] == "Notebook cell execution failed":
        errors = [line for line in lines if re.match(r"[\w.]*(Error|Exception)\b", line)]
        return errors[-1] if errors else lines[-1]
    return lines[0] if lines else "no reason given"
