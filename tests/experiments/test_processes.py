"""compare in several fresh processes: what comes back, what ends them, and that nothing is left."""

import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import psutil
import pytest
from by_hand import ENV, comparison
from processes import ROOT

from d2lhybrid import call
from d2lhybrid.backends.variant import DeferredBuild, Folder
from d2lhybrid.core import i18n
from d2lhybrid.errors import (
    ArgumentError,
    CallFailedError,
    CannotBuildError,
    DifferentAnswerError,
    UnknownLabelError,
)
from d2lhybrid.experiments.process_experiment import ProcessExperiment
from d2lhybrid.measuring import disturbance
from d2lhybrid.verbs.compare import compare
from d2lhybrid.verbs.sweep import sweep

SHORT = {"time_limit": 0.2, "progress": False, "seed": 1}


@pytest.fixture(autouse=True)
def nothing_left(tmp_path, monkeypatch):
    """No test leaves a file in the folder of temporary files, or a process that it started."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    monkeypatch.setenv("TMPDIR", str(folder))
    yield
    assert [*folder.iterdir()] == []
    assert [
        child for child in psutil.Process().children(recursive=True) if child.is_running()
    ] == []


def quick(x):
    return x + 1


def slow(x):
    sum(range(20_000))
    return x + 1


def test_each_process_gives_one_number():
    # With one thread, other programs leave no doubt about these two.
    c = compare({"quick": quick, "slow": slow}, 1.0, processes=6, threads=1, **SHORT)
    # Beside other programs there are a few more.
    assert len(c.processes) == len(c["slow"].samples) == c["slow"].processes >= 6
    assert c.verdict("slow") == "slower"
    assert len({process.seed for process in c.processes}) == len(c.processes)
    assert c.seed == 1
    assert c.stopped in ("clear", "limit")
    _ratio, low, high = c.ratio("slow")
    assert 0 < low <= high < 1


def test_a_process_that_others_disturbed_is_replaced(monkeypatch):
    """Here without any process: what they find is made by hand."""
    times = {"quick": 1e-3, "slow": 1.5e-3}
    quiet, busy = (comparison(times, busy=busy) for busy in (False, True))
    found = [busy, *[quiet] * 5, busy, *[quiet] * 5]
    monkeypatch.setattr(ProcessExperiment, "_measure_in_one", lambda *_about: found.pop(0))
    c = compare({"quick": quick, "slow": slow}, 1.0, processes=6, **SHORT)
    assert (len(c.processes), c.busy, c.verdict("slow")) == (8, False, "slower")
    assert len(c.log_ratios("slow")) == 6  # of those that were not disturbed
    assert "Other programs disturbed 2 of these processes." in str(c)
    found[:] = [busy] * 20
    c = compare({"quick": quick, "slow": slow}, 1.0, processes=6, **SHORT)
    assert (len(c.processes), c.busy, c.verdict("slow")) == (9, True, "undecided")
    c = compare({"quick": quick, "slow": slow}, 1.0, processes=4, **SHORT)  # six can't be quiet
    assert (len(c.processes), c.busy, c.verdict("slow")) == (4, True, "undecided")


def test_a_claim_adds_no_processes_to_those_that_others_disturbed(monkeypatch):
    busy = comparison({"quick": 1e-3, "slow": 1.5e-3}, busy=True)
    monkeypatch.setattr(ProcessExperiment, "_measure_in_one", lambda *_about: busy)
    c = compare({"quick": quick, "slow": slow}, 1.0, processes=6, **SHORT)
    judgement = c.claim("slow", "slower")
    assert (judgement.outcome, judgement.comparison) == ("undecided", c)


def test_a_claim_in_processes_says_first_in_how_many(monkeypatch, capsys):
    quiet = comparison({"quick": 1e-3, "slow": 2e-3})
    monkeypatch.setattr(ProcessExperiment, "_measure_in_one", lambda *_about: quiet)
    options = SHORT | {"progress": True}
    c = compare({"quick": quick, "slow": slow}, 1.0, processes=2, **options)
    c.claim("slow", "slower")
    assert "the claim is undecided: measuring in up to 6 processes" in capsys.readouterr().err


def test_fewer_than_six_give_no_interval():
    c = compare({"quick": quick, "slow": slow}, 1.0, processes=2, **SHORT)
    assert len(c.processes) in (2, 3)  # one more beside other programs
    assert c.verdict("slow") == "undecided"


def test_the_functions_of_a_script_without_a_main_guard(tmp_path):
    script = tmp_path / "script.py"
    (tmp_path / "beside.py").write_text("def double(x):\n    return 2 * x\n")
    script.write_text(
        "import beside, os\n"
        "from d2lhybrid import compare\n"
        "print('once')\n"
        "class Adds:\n"
        "    def __call__(self, x):\n"
        "        return x + x\n"
        "functions = {'module': beside.double, 'class': Adds(), 'lambda': lambda x: x * 2}\n"
        "c = compare(functions, 2.0, processes=2, time_limit=0.2)\n"
        "print(list(c), c.unavailable)\n"
        "print(len(c.processes) in (2, 3))\n"  # one more beside other programs
    )
    said = script_output(script)
    assert said.splitlines() == ["once", "['module', 'class', 'lambda'] {}", "True"]


def script_output(script, **variables):
    env = os.environ | {"PYTHONPATH": str(ROOT)} | variables
    command = [sys.executable, str(script)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_functions_of_a_notebook_and_of_a_file_that_it_writes(tmp_path, monkeypatch):
    """A cell's names belong to ``__main__``, and there is no file to import them from."""
    import nbformat
    from nbclient import NotebookClient

    cells = [
        "from d2lhybrid import compare\nscale = 3.0",
        "def scaled(x):\n    return scale * x",
        "c = compare({'cell': scaled, 'lambda': lambda x: x * scale}, 2.0, processes=2, "
        "time_limit=0.2)\nprint(list(c), c.unavailable)",
        f"%%writefile model.py\n{MODEL}",
        "c = compare('model.py:example', processes=2, time_limit=0.2)\nprint(list(c))",
    ]
    notebook = nbformat.v4.new_notebook(cells=[*map(nbformat.v4.new_code_cell, cells)])
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert notebook.cells[2].outputs[-1].text == "['cell', 'lambda'] {}\n"
    assert notebook.cells[4].outputs[-1].text == "['locked', 'plain']\n"


class Ends:
    """A function that ends its process at one of its calls."""

    def __init__(self, how, call=1):
        self.how, self.call, self.calls = how, call, 0

    def __call__(self, x):
        self.calls += 1
        if self.calls == self.call:
            print("the last words", flush=True)
            self.how()
        return x + 1


def killed():
    os.kill(os.getpid(), signal.SIGKILL)


def segmentation_fault():
    import ctypes

    ctypes.string_at(0)


@pytest.mark.parametrize(
    ("how", "status"),
    [
        (killed, "-9 (SIGKILL)"),
        (segmentation_fault, "-11 (SIGSEGV)"),
        (lambda: os._exit(3), "3"),
        (lambda: sys.exit(0), "0"),
    ],
    ids=["killed", "segmentation fault", "os._exit", "sys.exit"],
)
@pytest.mark.parametrize("call", [1, 200])
def test_a_callable_that_ends_its_process_is_a_row_with_its_reason(how, status, call):
    functions = {"quick": quick, "ends": Ends(how, call), "slow": slow}
    c = compare(functions, 1.0, processes=2, **SHORT)
    assert list(c) == ["quick", "slow"]
    assert len(c.processes) in (2, 3)  # one more beside other programs
    assert c.unavailable == {"ends": f"its process ended: {status}"}
    assert f"ends was left out: its process ended: {status}" in repr(c)


def test_a_baseline_that_ends_its_process():
    with pytest.raises(CallFailedError, match=r"its process ended: -9 \(SIGKILL\)") as raised:
        compare({"ends": Ends(killed), "quick": quick}, 1.0, processes=2, **SHORT)
    assert raised.value.label == "ends"
    assert "the last words" in str(raised.value)


def test_what_ends_the_third_process_alone_is_left_out_of_all(tmp_path):
    count = tmp_path / "count"
    count.write_text("")

    def ends(x):
        if not hasattr(np, "_counted"):
            np._counted = True
            with count.open("a") as file:
                file.write("x")
            if len(count.read_text()) == 3:
                os.kill(os.getpid(), signal.SIGKILL)
        return x + 1

    c = compare({"quick": quick, "ends": ends, "slow": slow}, 1.0, processes=4, **SHORT)
    assert list(c) == ["quick", "slow"]
    assert len(c.processes) in (4, 5, 6)
    assert c.unavailable == {"ends": "its process ended: -9 (SIGKILL)"}
    assert "ends was left out: its process ended" in str(c)  # two processes had measured it
    assert len(count.read_text()) == 3  # the fourth process doesn't try it


@pytest.mark.parametrize("how", [killed, lambda: 1 / 0], ids=["killed", "raises"])
def test_a_baseline_that_fails_in_the_second_process_leaves_the_first(tmp_path, how):
    count = tmp_path / "count"
    count.write_text("")

    def fails(x):
        if not hasattr(np, "_counted"):
            np._counted = True
            with count.open("a") as file:
                file.write("x")
            if len(count.read_text()) == 2:
                how()
        return x + 1

    c = compare({"fails": fails, "slow": slow}, 1.0, processes=4, **SHORT)
    assert (list(c), len(c.processes)) == (["fails", "slow"], 1)
    said = "A later process failed, so there are only those before it: Could not run 'fails'"
    assert said in str(c)


def test_a_full_disk_loses_no_process_that_is_complete(monkeypatch):
    found = [comparison({"quick": 1e-3, "slow": 2e-3}), OSError("No space left on device")]

    def measure(*_about):
        each = found.pop(0)
        if isinstance(each, OSError):
            raise each
        return each

    monkeypatch.setattr(ProcessExperiment, "_measure_in_one", measure)
    c = compare({"quick": quick, "slow": slow}, 1.0, processes=4, **SHORT)
    assert (list(c), len(c.processes)) == (["quick", "slow"], 1)
    assert "there are only those before it: No space left on device" in str(c)
    found += [comparison({"quick": 1e-3, "slow": 2e-3})] * 12
    judgement = c.claim("slow", "slower")
    assert (judgement.outcome, len(judgement.comparison.processes)) == ("holds", 6)
    assert "later process failed" not in str(judgement.comparison)


def test_a_claim_about_what_a_later_process_left_out_is_no_failure_of_it(monkeypatch):
    times = {"quick": 1e-3, "slow": 2e-3}
    found = [comparison(times), comparison({"quick": 1e-3}, unavailable={"slow": "no chip"})]
    monkeypatch.setattr(ProcessExperiment, "_measure_in_one", lambda *_about: found.pop(0))
    c = compare({"quick": quick, "slow": slow}, 1.0, processes=1, **SHORT)
    with pytest.raises(UnknownLabelError, match="no chip"):
        c.claim("slow", "slower")
    assert "later process failed" not in str(c.experiment.comparison())


def test_errors_of_the_baseline_are_those_of_one_process(tmp_path):
    def raises(x):
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied\nand more")

    made = [0]

    def changes(x):
        made[0] += 1
        return x + made[0]

    def builds():
        raise RuntimeError("no compiler")

    for function, kind in [
        (raises, CallFailedError),
        (changes, DifferentAnswerError),
        (DeferredBuild(builds), CannotBuildError),
    ]:
        said = []
        for processes in (None, 2):
            with pytest.raises(kind) as raised:
                compare({"a": function, "b": quick}, 1.0, processes=processes, **SHORT)
            said.append((str(raised.value), vars(raised.value)))
            made[0] = 0
        assert said[0] == said[1]


def test_a_variant_that_raises_is_a_row_and_the_processes_after_it_leave_it_out(tmp_path):
    calls = tmp_path / "calls"
    calls.write_text("")

    def raises(x):
        with calls.open("a") as file:
            file.write("x")
        raise ValueError("wrong")

    c = compare({"quick": quick, "raises": raises}, 1.0, processes=3, **SHORT)
    assert "ValueError: wrong" in c.unavailable["raises"]
    assert calls.read_text() == "x"


def endless(x):
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.Signals)  # as native code may
    time.sleep(1000)


@pytest.mark.skipif(os.name != "posix", reason="Windows has no such signals")
def test_a_build_that_nothing_interrupts_ends_with_its_process(monkeypatch):
    monkeypatch.setattr("d2lhybrid.experiments.process_experiment.START_SECONDS", 4.0)
    functions = {"quick": quick, "endless": endless}
    begin = time.monotonic()
    c = compare(functions, 1.0, processes=2, build_timeout=0.5, **SHORT)
    assert c.unavailable == {"endless": "its process took longer than 5.4 s"}
    with pytest.raises(CallFailedError, match=r"Could not run 'endless' .*its process took"):
        compare({"endless": endless}, 1.0, processes=2, build_timeout=0.5, **SHORT)
    assert time.monotonic() - begin < 60


class Hangs:
    """A function that never returns from one of its calls."""

    def __init__(self, call):
        self.call, self.calls = call, 0

    def __call__(self, x):
        self.calls += 1
        if self.calls == self.call:
            time.sleep(1000)
        return x + 1


def test_a_call_that_never_returns_ends_with_its_process(monkeypatch):
    monkeypatch.setattr("d2lhybrid.experiments.process_experiment.START_SECONDS", 8.0)
    functions = {"quick": quick, "hangs": Hangs(call=30)}
    c = compare(functions, 1.0, processes=1, build_timeout=0.5, **SHORT)
    assert list(c) == ["quick"]
    assert c.unavailable == {"hangs": "its process took longer than 9.8 s"}


class HangsThere:
    """An object that a fresh process never finishes making."""

    def __reduce__(self):
        return time.sleep, (1000,)


def test_a_process_that_never_begins_ends(monkeypatch):
    monkeypatch.setattr("d2lhybrid.experiments.process_experiment.START_SECONDS", 2.0)
    with pytest.raises(CallFailedError, match=r"called any callable \(its process took longer"):
        compare({"max": max}, 1, HangsThere(), processes=1, build_timeout=0.5, **SHORT)


def kills_who_asks(x):
    """As a compiler may that is asked what it has done."""
    from d2lhybrid.experiments.comparison import Comparison

    Comparison.asked = lambda _comparison: killed()
    return x + 1


def test_a_crash_of_what_is_asked_after_the_rounds_loses_none_of_them():
    c = compare({"quick": quick, "kills": kills_who_asks}, 1.0, processes=1, **SHORT)
    assert (list(c), c.unavailable, len(c.processes)) == (["quick", "kills"], {}, 1)


LOCK = threading.Lock()
IN_FILE = """
def example():
    return call(net, x)

compare("model.py:example", processes=6)"""


@pytest.mark.parametrize(
    ("part", "what", "args"),
    [
        ("'mine'", {"sum": sum, "mine": lambda x: LOCK and x}, ([1],)),
        ("argument 2", {"max": max}, (1, LOCK)),
        ("key=", call({"max": max}, 1, 2, key=LOCK), ()),
    ],
)
def test_what_cannot_be_sent_is_named_and_three_lines_say_how(part, what, args):
    with pytest.raises(ArgumentError, match="lock' object") as raised:
        compare(what, *args, processes=2, **SHORT)
    assert f"Received: {part}, which cannot be" in str(raised.value)
    assert str(raised.value).endswith(IN_FILE)


class Vanishing:
    """An object that can be sent, but not made again."""

    def __reduce__(self):
        return __import__, ("a_module_that_is_nowhere",)


def test_what_cannot_be_made_again_there():
    with pytest.raises(ArgumentError, match="No module named 'a_module_that_is_") as raised:
        compare({"max": max}, 1, Vanishing(), processes=2, **SHORT)
    assert str(raised.value).endswith(IN_FILE)


MODEL = """
import threading
from d2lhybrid import call
lock = threading.Lock()
def locked(x, more):
    with lock:
        return x + more
def example():
    return {"locked": call(locked, 1.0, more=2.0), "plain": lambda: 3.0}
def raises():
    raise ValueError("no data")
"""


def test_what_a_file_makes_needs_not_be_sent(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("model.py").write_text(MODEL)
    monkeypatch.setattr(sys, "path", sys.path[:])
    c = compare("model.py:example", processes=2, **SHORT)
    assert list(c) == ["locked", "plain"]
    assert len(c.processes) in (2, 3)  # one more beside other programs
    assert list(compare("model.py:example", **SHORT)) == ["locked", "plain"]
    for what, args, said in [
        ("model.py:raises", (), r"ValueError: no data \(model\.py, line 11\)"),
        ("model.py:exmaple", (), "Write 'example'"),
        ("model.py", (), "as model.py:example"),
        ("eager", (1.0,), "'eager' cannot be called"),
        ("model.py:example", (1.0,), "The function in model.py:example returns its arguments"),
    ]:
        with pytest.raises(ArgumentError, match=said):
            compare(what, *args, processes=2, **SHORT)
    sys.modules.pop("file_model")


CLOSURE = """
import threading
def example():
    lock = threading.Lock()
    def locked():
        with lock:
            return 1.0
    return {"locked": locked}
"""


def test_beside_a_file_the_clock_is_what_cannot_be_sent(tmp_path, monkeypatch):
    (tmp_path / "closure.py").write_text(CLOSURE)
    monkeypatch.setattr(sys, "path", sys.path[:])

    def timer():
        return LOCK and time.perf_counter()

    with pytest.raises(ArgumentError, match="Received: timer=, which cannot be"):
        compare(f"{tmp_path}/closure.py:example", processes=2, timer=timer, **SHORT)
    sys.modules.pop("file_closure")


def test_what_python_prints_at_its_start_is_no_result(tmp_path, monkeypatch):
    (tmp_path / "sitecustomize.py").write_text("print('a line')\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), str(ROOT)]))
    assert list(compare({"quick": quick}, 1.0, processes=1, **SHORT)) == ["quick"]


def test_what_functions_print_goes_nowhere(capfd):
    def prints(x):
        print("a line of a reasonable length, again and again" * 20)
        print("and one of errors", file=sys.stderr)
        return x + 1

    c = compare({"quick": quick, "prints": prints}, 1.0, processes=2, **SHORT)
    assert list(c) == ["quick", "prints"]
    assert capfd.readouterr() == ("", "")


INTERRUPTED = """
import sys, time
from pathlib import Path
from d2lhybrid import compare
here, number = Path(sys.argv[1]), int(sys.argv[2])
def f(x):
    if not hasattr(sys, "counted"):
        sys.counted = True
        with (here / "count").open("a") as file:
            file.write("x")
        if len((here / "count").read_text()) == number:
            (here / "waits").touch()
            time.sleep(300)
    return x + 1
try:
    c = compare({"a": f, "b": lambda x: x + 1}, 1.0, processes=6, time_limit=1.0)
    print(c.stopped, len(c.processes), len(c['a'].samples))
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.skipif(os.name != "posix", reason="Windows has no such signals")
@pytest.mark.parametrize(("number", "said"), [(1, "interrupted"), (3, "interrupted 2 2")])
def test_an_interrupt_keeps_the_processes_that_are_complete(tmp_path, number, said):
    script = tmp_path / "script.py"
    script.write_text(INTERRUPTED)
    command = [sys.executable, str(script), str(tmp_path), str(number)]
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 60
        while not (tmp_path / "waits").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        children = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGINT)
        out, _err = process.communicate(timeout=60)
    assert out.strip() == said
    assert process.returncode == 0
    assert children
    assert not any(child.is_running() for child in children)


def test_a_claim_adds_processes_until_it_is_decided():
    c = compare({"quick": quick, "slow": slow}, 1.0, processes=4, **SHORT)
    judgement = c.claim("slow", "slower")
    assert judgement.outcome == ("undecided" if judgement.comparison.busy else "holds")
    assert 6 <= len(judgement.comparison.processes) <= 12
    alone = compare({"quick": quick, "slow": slow}, 1.0, processes=1, **SHORT)
    assert len(alone.claim("slow", "slower").comparison.processes) >= 6


def test_a_sweep_in_processes():
    points = sweep(lambda size: ({"sum": sum}, [1] * size), [10, 1000], processes=2, **SHORT)
    assert {len(comparison.processes) for comparison in points.comparisons} <= {2, 3}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"processes": 0}, "processes=6. Received: 0"),
        ({"processes": 2.5}, "Received: 2.5"),
        ({"processes": True}, "Received: True"),
        ({"processes": 2, "threads": 0}, "threads=1. Received: 0"),
        ({"threads": 0}, "threads=1. Received: 0"),
    ],
)
def test_options_that_do_not_fit(options, said):
    with pytest.raises(ArgumentError, match=said):
        compare({"quick": quick}, 1.0, **SHORT, **options)


@pytest.fixture
def in_portuguese():
    i18n.set_language("pt")
    yield
    i18n.set_language(None)


@pytest.mark.usefixtures("in_portuguese")
def test_language_and_threads_of_a_process():
    """A process speaks the reader's language."""

    def tells(x):
        raise ValueError([os.environ.get(n) for n in ("D2LHYBRID_LANGUAGE", "OMP_NUM_THREADS")])

    c = compare({"quick": quick, "tells": tells}, 1.0, processes=1, threads=1, **SHORT)
    assert "['pt', '1']" in c.unavailable["tells"]
    assert "Não foi possível" in c.unavailable["tells"]


def test_threads_alone_measure_in_one_process_whose_rounds_decide():
    options = SHORT | {"time_limit": 2}  # six rounds fit, whatever else runs
    c = compare({"quick": quick, "slow": slow}, 1.0, threads=1, **options)
    assert (c.processes, c.seed) == ((), 1)
    assert c.verdict("slow") == "slower" or c.busy  # other programs leave it undecided
    assert c.rounds >= 6
    # As a claim does, first one that is decided.
    assert c.experiment.measure_on(lambda _comparison: True).seed == c.seed
    longer = c.experiment.measure_on(lambda _comparison: False)
    assert longer.seed != c.seed  # in another process, whose rounds are other ones
    assert c.experiment.measure_on(lambda _comparison: False).seed == longer.seed  # only once


def crowded(monkeypatch, held, threads=2):
    """Others hold so many cores, and a framework uses so many threads."""
    device = SimpleNamespace(thread_count=lambda: threads, is_started=lambda: True)
    framework = SimpleNamespace(device=device)
    monkeypatch.setattr("d2lhybrid.measuring.disturbance.loaded", lambda: (framework,))
    monkeypatch.setattr(disturbance, "cores_others_use", lambda seconds: held)
    env = replace(ENV, cores=2)
    monkeypatch.setattr("d2lhybrid.measuring.disturbance.environment", lambda: env)


@pytest.mark.parametrize(
    ("held", "threads", "limit", "is_alone"),
    [
        (1.7, 2, 1.0, True),
        (0.6, 2, 1.0, True),  # one of two cores is left
        (0.4, 2, 1.0, False),
        (1.7, 1, 1.0, False),
        (1.7, 2, 0.9, False),  # a quick try
    ],
)
def test_where_others_hold_cores_one_thread_measures(monkeypatch, held, threads, limit, is_alone):
    crowded(monkeypatch, held, threads)
    c = compare({"a": quick, "b": quick}, 1.0, **SHORT | {"time_limit": limit})
    cores = f"Measured with one thread, because other programs hold {round(held)} of 2 cores."
    assert c.circumstance == (cores if is_alone else "")


def test_what_cannot_travel_is_measured_here_and_the_table_says_why(monkeypatch):
    crowded(monkeypatch, 2)
    lock = threading.Lock()

    def locked(x):
        with lock:
            return x + 1

    c = compare({"a": quick, "b": locked}, 1.0, **SHORT | {"time_limit": 1})
    assert list(c) == ["a", "b"]
    assert "no process with one thread could measure this: Expected callables" in str(c)
    assert "def example" not in str(c)


def test_compilers_find_empty_caches(monkeypatch, tmp_path):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "mine"))

    def tells(x):
        raise ValueError(os.environ["TORCHINDUCTOR_CACHE_DIR"])

    c = compare({"quick": quick, "tells": tells}, 1.0, processes=1, **SHORT)
    assert str(tmp_path / "temporary") in c.unavailable["tells"]


def test_what_is_built_into_a_folder_is_built_once_for_all_processes(tmp_path):
    def build():
        (tmp_path / str(os.getpid())).touch()
        return Folder()

    built = DeferredBuild(build, lambda _folder: quick)
    c = compare({"quick": quick, "built": built}, 1.0, processes=3, **SHORT)
    assert list(c) == ["quick", "built"]
    assert sum(map(Path.is_file, tmp_path.iterdir())) == 1


def test_the_repeat_of_a_first_process_that_ended_finds_nothing_built(tmp_path):
    def build():
        (tmp_path / str(os.getpid())).touch()
        return Folder()

    built = DeferredBuild(build, lambda _folder: quick)
    functions = {"quick": quick, "built": built, "ends": Ends(killed)}
    c = compare(functions, 1.0, processes=2, **SHORT)
    assert list(c) == ["quick", "built"]
    assert sum(map(Path.is_file, tmp_path.iterdir())) == 2  # by the repeat for those after it


def test_progress_shows_the_process_and_the_callable(capsys):
    def dawdles(x):
        time.sleep(0.3)
        return x + 1

    functions = {"quick": quick, "dawdles": dawdles}
    compare(functions, 1.0, processes=2, time_limit=2, progress=True)
    shown = capsys.readouterr().err
    assert "process 2 of 2, " in shown
