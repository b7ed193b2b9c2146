"""A pytest plugin for `make test-notebooks`: what nbval cannot know of these notebooks.

- A claim that holds shows an output of a type of its own, and so does one that the times leave
  undecided. They are left out of the comparison, on both sides, because they depend on the times,
  and at the end stands how many were decided: a run that decides few has tested little.
- Of cells with the tag `gpu`, what they print without a GPU is committed; with one, they only run.
  Where D2LHYBRID_REQUIRE_GPU names the framework, such a cell that was left out is a failure.
- What a cell with the tag `nbval-vectors` claims is false without vector instructions such as AVX2:
  the residual network compiled by Inductor is slower than eager there. So it is skipped.
- What tables and plots show depends on the times, so it is not compared, and the time limits of the
  notebooks are cut, and more so in the translations, which have the same code. An undecided claim
  is measured on.
- What of a comparison does not depend on the times is compared, whatever the cell's tags are: its
  rows, and what compilers made of them, as its JSON has it (``book.comparisons``). With a GPU there
  are other rows and other programs, so there it is not. At the end stands how much was compared.
- Notebooks that run beside one another have one thread each: threads that wait for cores would take
  all the time.
- The translations of a notebook compile the same programs. What PyTorch and JAX have compiled for
  the English one, they find again for the others, in spite of PyTorch's notebooks, which switch
  that off: the cold start of a reader is to be cold. Theirs run one after the other in one process,
  or AOTInductor would remove what it no longer needs under the hands of another process.
- Processors round differently: decimals may differ by one in their last digit, and pictures of
  graphs are compared by what they draw.
- Kernels are reached through sockets in a folder: of free ports, two processes may find the same.
"""

import atexit
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

from book.comparisons import Likeness, likeness
from book.errors import BookError
from book.execute import is_progress
from book.gpu import left_out, missed, require, required  # before nbval, which then starts faster
from book.likeness import DECIMAL, same_picture, same_text

# isort: split
import pytest
from nbval import kernel
from nbval.plugin import IPyNbCell
from xdist.scheduler import LoadScopeScheduling

from d2lhybrid import backends
from d2lhybrid.experiments.comparison import MIME as COMPARED
from d2lhybrid.experiments.judge import DECIDED, UNDECIDED

# Kernels inherit these.
MOST_SECONDS = "D2LHYBRID_MOST_SECONDS"
SECONDS = {} if MOST_SECONDS in os.environ else {"en": "0.2"}  # by language; else the user's
os.environ.setdefault("TORCHINDUCTOR_FORCE_DISABLE_CACHES", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("TORCHINDUCTOR_VEC_ISA_OK", "1")  # as in tests/conftest.py

if int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")) > 1:
    for framework in backends.known():
        for variable, count in framework.variables_for_threads(1).items():
            os.environ.setdefault(variable, count)

# No settings that this user has in other programs.
_settings = tempfile.TemporaryDirectory()
os.environ |= {name: f"{_settings.name}/{name}" for name in ("KERAS_HOME", "IPYTHONDIR")}
os.environ["MATPLOTLIBRC"] = os.devnull

_compare = IPyNbCell.compare_outputs
_manager = kernel.KernelManager


def compare_outputs(self: Any, test: Any, reference: Any, **options: Any) -> Any:
    """As nbval's own, without progress, what claims show, here or there, and what is rounding."""
    kept = [
        [out for out in side if outcome_of_claim(out) is None and not is_progress(out)]
        for side in (test, reference)
    ]
    for (ours, kind), (theirs, other) in zip(*map(texts, kept), strict=False):
        if kind == other and same(self.sanitize(ours[kind]), self.sanitize(theirs[kind])):
            ours[kind] = theirs[kind]
    return _compare(self, *kept, **options)


def texts(outputs: Sequence[Any]) -> list[tuple[Any, str]]:
    """Each text of the outputs: the mapping that it stands in, and its key there."""
    printed = [(output, "text") for output in outputs if "text" in output]
    shown = [output.get("data") or {} for output in outputs]
    kinds = ("image/svg+xml", "text/html", "text/plain")
    return printed + [(data, kind) for data in shown for kind in kinds if kind in data]


def same(one: str, other: str) -> bool:
    """Whether two texts differ by no more than rounding, as they may on two processors."""
    if "<svg" in one:
        return same_picture(one.encode(), other.encode())
    return same_text(one, other, DECIMAL)


def outcome_of_claim(output: Any) -> str | None:
    """'decided' or 'undecided' where it is what a claim shows."""
    data = output.get("data") or {}
    outcomes = {DECIDED: "decided", UNDECIDED: "undecided"}
    return next((outcome for kind, outcome in outcomes.items() if kind in data), None)


def comparisons(outputs: Sequence[Any]) -> list[Any]:
    """The JSON of each comparison that a cell shows."""
    shown = [output.get("data") or {} for output in outputs]
    return [data[COMPARED] for data in shown if COMPARED in data]


def held_against_committed(item: Any) -> Likeness:
    """The comparisons that a cell has shown, held against those that are committed."""
    received = comparisons(item.test_outputs)
    if item.cell.execution_count is None or shutil.which("nvidia-smi"):
        return Likeness(found=Counter(comparison=len(received)))
    return likeness(comparisons(item.cell.outputs), received)


def kernel_manager(**options: Any) -> Any:
    """As nbval's own, with sockets in a folder of its own. Their paths have to be short."""
    folder = tempfile.mkdtemp(prefix="kernel-", dir="/tmp")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return _manager(transport="ipc", connection_file=f"{folder}/kernel.json", **options)


IPyNbCell.compare_outputs = compare_outputs
kernel.KernelManager = kernel_manager


def _has_tag(item: Any, tag: str) -> bool:
    cell = getattr(item, "cell", None)
    return cell is not None and tag in cell.metadata.get("tags", ())


def _needs_gpu(item: Any) -> bool:
    return _has_tag(item, "gpu")


class SharedContext(LoadScopeScheduling):
    """Deals out notebooks, with their translations where these find what was compiled."""

    def _split_scope(self, nodeid: str) -> str:
        path = Path(nodeid.partition("::")[0])
        return "/".join(path.parts[-2:] if path.parent.name in ("pytorch", "jax") else path.parts)


def pytest_xdist_make_scheduler(config: Any, log: Any) -> SharedContext:
    """Let xdist deal out the cells like that."""
    return SharedContext(config, log)


def pytest_sessionstart(session: Any) -> None:
    """Stop before anything runs where a framework that must have a GPU has none."""
    if not hasattr(session.config, "workerinput"):
        try:
            require()
        except BookError as error:
            raise pytest.UsageError(*str(error).splitlines()) from None


def pytest_collection_modifyitems(items: Sequence[Any]) -> None:
    """Compare no output of the cells for a GPU on a machine with one."""
    machine, must = shutil.which("nvidia-smi"), required()
    for item in filter(_needs_gpu, items):
        if machine or item.path.parent.name in must:
            item.options["check"] = False


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: Any) -> None:
    """Before the kernel of a notebook starts, say how long it may measure, and where JAX keeps.

    Skip a cell that needs vector instructions where PyTorch has none.
    """
    if _has_tag(item, "nbval-vectors"):
        import torch

        if torch.backends.cpu.get_cpu_capability() == "DEFAULT":
            pytest.skip("needs vector instructions, such as AVX2")
    if SECONDS:
        os.environ[MOST_SECONDS] = SECONDS.get(item.path.parts[-3], "0.05")
    compiled = Path(tempfile.gettempdir(), f"jax-{item.path.stem}")
    os.environ["JAX_COMPILATION_CACHE_DIR"] = str(compiled)
    for shown in compiled.glob("jit_planted-*"):  # what XLA writes while it compiles this one
        shown.unlink(missing_ok=True)  # by then, that of another framework may have done it


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: Any) -> Generator[None, Any, None]:
    """Compare the comparisons of a cell. Note what was compared, and what its claims came to.

    Note also whether it only said that it needs a GPU.
    """
    outcome = yield
    outputs = getattr(item, "test_outputs", None) or ()
    outcomes = filter(None, map(outcome_of_claim, outputs))
    item.user_properties += [("claim", outcome) for outcome in outcomes]
    if outcome.excinfo is None and hasattr(item, "cell"):
        found = held_against_committed(item)
        item.user_properties += [("found", kind) for kind in found.found.elements()]
        item.user_properties += [("compared", kind) for kind in found.compared.elements()]
        item.user_properties.append(("cell", how_compared(item, found)))
        if found.differences:
            said = ["A comparison differs from the committed one.", *map(str, found.differences)]
            outcome.force_exception(pytest.fail.Exception("\n".join(said), pytrace=False))
    if _needs_gpu(item) and left_out(item.cell.source, outputs):
        item.user_properties.append(("cell", "left out"))
        tags = item.cell.metadata.tags
        if why := missed(item.path.parent.name, tags, item.cell.source, outputs):
            outcome.force_exception(pytest.fail.Exception(why, pytrace=False))


def how_compared(item: Any, found: Likeness) -> str:
    """What of a cell's outputs was compared, in a word."""
    if not item.cell.outputs:
        return "silent"
    if item.options["check"]:
        return "as printed"
    return "comparisons" if found.compared else "uncompared"


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say how much was compared, how many claims were decided, and how many cells were left out."""
    passed = terminalreporter.stats.get("passed", ())
    noted = Counter(note for report in passed for note in report.user_properties)
    write = terminalreporter.write_line
    printed, counted = noted["cell", "as printed"], noted["cell", "comparisons"]
    if shown := printed + counted + noted["cell", "uncompared"]:
        write(
            f"compared the outputs of {printed + counted} of {shown} cells: {printed} as printed, "
            f"{counted} by what their comparisons say without a clock"
        )
    if noted["found", "comparison"]:
        kinds = ("comparison", "label", "role", "fact", "cause")
        figures = (f"{noted['compared', kind]} of {noted['found', kind]} {kind}s" for kind in kinds)
        write(f"compared {', '.join(figures)}")
    decided, undecided = noted["claim", "decided"], noted["claim", "undecided"]
    if claims := decided + undecided:
        write(f"decided {decided} of {claims} claims")
    if left := noted["cell", "left out"]:
        write(f"cells left out: {left} (no GPU)")
