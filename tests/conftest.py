"""What every test finds, and what it leaves behind for the next: nothing."""

import gc
import os
import shutil
import signal
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from processes import ROOT

from book.errors import BookError
from book.frameworks import FRAMEWORKS
from book.gpu import require, required
from d2lhybrid.backends import get

# Tools are scripts, which import one another by their bare names.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))
os.environ["D2LHYBRID_LANGUAGE"] = "en"  # of this process and those it starts, wherever they run
os.environ["AOT_INDUCTOR_COMPILE_WRAPPER_OPT_LEVEL"] = "O0"  # to optimize it takes longest
# Inductor believes what the processor says of its instructions. Otherwise it would try each set of
# them in a program and a Python of its own, in every process that compiles: two to ten seconds.
os.environ["TORCHINDUCTOR_VEC_ISA_OK"] = "1"

# No settings that this user has in other programs, before they read them.
_settings = tempfile.TemporaryDirectory()
os.environ |= {name: f"{_settings.name}/{name}" for name in ("KERAS_HOME", "IPYTHONDIR")}
os.environ["MATPLOTLIBRC"] = os.devnull

# A shell that starts something in the background may make it deaf to Ctrl-C, and nohup to the end
# of its terminal, with all that it starts; some tests send these.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP"):
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

# PyTorch's builds for NVIDIA GPUs bring Triton and load it late. Triton and TensorFlow hold an LLVM
# each: loaded after TensorFlow, Triton ends the process; before it, both work.
with suppress(ImportError):
    import triton  # noqa: F401


# The files that take longest come first, so that no process waits for another one at the end.
LONGEST = (
    *("test_pages", "test_contract", "test_formats", "test_structures", "test_first_verb"),
    *("test_built_site", "test_nbval", "test_docs", "test_processes", "test_fates"),
    *("test_saving_interrupted", "test_no_compiler", "test_circumstances", "test_jax"),
)


def pytest_sessionstart(session):
    """Stop before anything runs where a framework that must have a GPU has none."""
    if not hasattr(session.config, "workerinput"):
        try:
            require()
        except BookError as error:
            raise pytest.UsageError(*str(error).splitlines()) from None


def pytest_collection_modifyitems(items):
    """Sort them by how long their files take; the others stay as they were."""
    rank = {name: number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: rank.get(Path(item.path).stem, len(rank)))


def pytest_runtest_setup(item):
    """Skip a test that needs a GPU where there is none; fail it where there had to be one."""
    for mark in item.iter_markers("gpu"):
        (name,) = mark.args
        devices = get(FRAMEWORKS[name].module).device.devices()
        if all("cpu" in device.lower() for device in devices):
            without = pytest.fail if name in required() else pytest.skip
            without(f"needs a GPU; {name} sees {', '.join(devices)}")


def pytest_collection_finish():
    """Set aside what the frameworks are made of: 0.4 s, each time the collector looks."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def user(tmp_path_factory, monkeypatch):
    """A user with a data folder; calling it changes to another one. What is compiled, all share."""
    session = tmp_path_factory.getbasetemp()
    shared = session.parent if "PYTEST_XDIST_WORKER" in os.environ else session
    monkeypatch.setenv("D2LHYBRID_CACHE", str(shared / "cache"))

    def become(name="me"):
        monkeypatch.setenv("D2LHYBRID_DATA", str(session / f"user-{name}"))

    become()
    return become


@pytest.fixture(autouse=True)
def _other_tests_hold_no_cores(monkeypatch):
    """Or what is compared would move to another process whenever tests run side by side."""
    monkeypatch.setattr("d2lhybrid.measuring.disturbance.cores_others_use", lambda _seconds: 0.0)


@pytest.fixture
def no_compiler(tmp_path, monkeypatch):
    """Nothing on the path that compiles, and no program from earlier."""
    (tmp_path / "bin").mkdir()
    for name in ("sh", "env", "uname", "ldconfig"):  # Python's search for libraries uses some of it
        if found := shutil.which(name):
            (tmp_path / "bin" / name).symlink_to(found)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("D2LHYBRID_CACHE", str(tmp_path / "cache"))
    for name in ("CC", "CXX", "TORCHINDUCTOR_VEC_ISA_OK"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def gpu_for_torch(tmp_path):
    """Variables of a process in which PyTorch seems to have a GPU, on which a sum comes out so."""
    (folder := tmp_path / "gpu_for_torch").mkdir()

    def variables(result):
        (folder / "sitecustomize.py").write_text(
            "import sys\n"
            "if sys.orig_argv[-1] == 'torch':  # the process that asks PyTorch for its devices\n"
            "    from types import SimpleNamespace\n"
            "    from d2lhybrid.backends.torch import FRAMEWORK\n"
            "    FRAMEWORK.device = SimpleNamespace(\n"
            f"        devices=lambda: ['cpu', 'cuda:0'], compute_on=lambda device: {result}\n"
            "    )\n"
        )
        path = os.pathsep.join([str(folder), str(ROOT)])
        # Bytecode of a file is taken for another one's that is as long and of the same second.
        return {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}

    return variables


@pytest.fixture(autouse=True)
def _mxnet_without_numpy_semantics():
    """Switch MXNet's NumPy semantics off again, which ``set_np()`` switches on for the process."""
    yield
    mxnet = sys.modules.get("mxnet")
    if mxnet is not None and hasattr(mxnet, "npx"):
        mxnet.npx.reset_np()
