"""What `make lab` and `make setup` install, and when they begin anew; pip is replaced."""

import fcntl
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import setup_env
from packaging.requirements import Requirement
from processes import ROOT

from book.frameworks import FRAMEWORKS

PYTORCH = "requirements/pytorch.in"
JAX = "requirements/jax.in"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where `.venv` would be; building pages finds nothing there."""
    monkeypatch.setattr(setup_env, "VENV", tmp_path / ".venv")
    monkeypatch.setattr(setup_env, "holds", lambda folder, extras: False)
    return setup_env.VENV


@pytest.fixture
def pip(monkeypatch, folder):
    """Sets up an environment: the files pip installed from, and whether it began anew."""
    commands = []

    def run(*command, usable=""):
        commands.append(command)
        if "venv" in command:
            (Path(command[-1]) / "bin").mkdir(parents=True)
            (Path(command[-1]) / "bin/python").touch()
        else:
            (Path(command[0]).parent / f"script{len(commands)}").write_text(f"#!{command[0]}")

    monkeypatch.setattr(setup_env, "run", run)

    def set_up(*options):
        commands.clear()
        monkeypatch.setattr(sys, "argv", ["setup_env.py", *options])
        setup_env.main()
        named = [part for command in commands for part in command if part.endswith((".in", ".txt"))]
        return named, any("venv" in command for command in commands)

    return set_up


@pytest.fixture
def newer(monkeypatch):
    """Brings a new lock file."""
    real = setup_env.digest
    return lambda: monkeypatch.setattr(setup_env, "digest", lambda one: "newer" + real(one))


def files(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_every_framework_of_the_notebooks_can_be_asked_for():
    assert setup_env.frameworks() == [*FRAMEWORKS]
    held = {line.partition("==")[0] for line in (ROOT / setup_env.LOCK).read_text().splitlines()}
    for name in FRAMEWORKS:
        lines = (ROOT / f"requirements/{name}.in").read_text().splitlines()
        wanted = [Requirement(line) for line in lines if not line.startswith("#")]
        assert {one.name for one in wanted} <= held


def test_make_lab_installs_one_framework_and_then_another(pip):
    lock = setup_env.LOCK
    assert pip("--lab", "pytorch") == ([lock, lock, PYTORCH], True)
    assert pip("--lab", "pytorch") == ([], False)
    assert pip("--lab", "pytorch, jax") == ([lock, JAX], False)
    assert pip("--lab", "jax") == ([], False)


def test_tests_need_more_and_jupyterlab_takes_none_of_it_away(pip):
    pip("--lab", "pytorch")
    assert pip() == ([setup_env.LOCK, "requirements/no-deps.txt"], False)
    for options in ((), ("--lab", "mxnet"), ("--lab", "")):
        assert pip(*options) == ([], False)


def test_without_a_choice_make_lab_installs_every_framework(pip):
    named, _ = pip("--lab", "")
    assert {f"requirements/{name}.in" for name in FRAMEWORKS} <= set(named)
    assert "requirements/no-deps.txt" in named  # MXNet


def test_another_lock_file_begins_anew(pip, newer):
    pip("--lab", "pytorch,jax")
    newer()
    named, anew = pip("--lab", "jax")
    assert JAX in named
    assert PYTORCH not in named
    assert anew


def test_what_a_reader_added_outlives_another_framework(pip, folder):
    pip("--lab", "pytorch")
    (folder / "mine.py").touch()
    pip("--lab", "jax")
    assert (folder / "mine.py").exists()
    scripts = [*(folder / "bin").glob("script*")]
    assert len(scripts) > 2
    assert {script.read_text() for script in scripts} == {f"#!{folder}/bin/python"}


@pytest.mark.parametrize("upgrade", [False, True], ids=["another framework", "a new lock file"])
def test_a_set_up_that_fails_leaves_the_environment_as_it_was(
    pip, newer, folder, monkeypatch, upgrade
):
    pip("--lab", "pytorch")
    before = files(folder)
    calm = setup_env.run

    def fail(*command, usable=""):
        calm(*command)
        if JAX in command:
            sys.exit(usable)

    monkeypatch.setattr(setup_env, "run", fail)
    if upgrade:
        newer()
    with pytest.raises(SystemExit, match=f"PY={folder}/bin/python"):
        pip("--lab", "jax")
    assert files(folder) == before
    if not upgrade:
        assert pip("--lab", "pytorch") == ([], False)
    monkeypatch.setattr(setup_env, "run", calm)
    assert JAX in pip("--lab", "jax")[0]


def test_a_set_up_that_ends_before_its_last_step_leaves_the_environment_as_it_was(
    pip, folder, monkeypatch
):
    pip("--lab", "pytorch")
    before = files(folder)
    monkeypatch.setattr(setup_env, "take_over", lambda *folders: sys.exit("killed"))
    with pytest.raises(SystemExit, match="killed"):
        pip("--lab", "jax")
    assert files(folder) == before


def test_a_second_set_up_waits_for_the_first(pip, folder, monkeypatch):
    said = threading.Event()
    monkeypatch.setattr(
        setup_env, "print", lambda text, **_: "Waiting" in text and said.set(), raising=False
    )
    with setup_env.alone(folder):
        second = threading.Thread(target=pip, args=("--lab", "jax"))
        second.start()
        assert said.wait(60)
        assert not folder.exists()
    second.join(60)
    assert folder.exists()


def test_pip_keeps_the_lock_of_a_set_up_that_was_killed(tmp_path):
    pip = [sys.executable, "-c", "import sys; print(flush=True); sys.stdin.read()"]
    code = f"""
from pathlib import Path
from setup_env import alone, run
with alone(Path({str(tmp_path / ".venv")!r})):
    run(*{pip})
"""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", code], cwd=ROOT / "tools", **pipes) as killed:
        killed.stdout.readline()  # pip is at work
        killed.kill()
        killed.wait()
        with (tmp_path / ".venv-lock").open() as lock:
            with pytest.raises(BlockingIOError):
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            killed.stdin.close()
            fcntl.flock(lock, fcntl.LOCK_EX)


@pytest.mark.parametrize("extras", setup_env.PAGES)
def test_pages_need_no_framework(pip, newer, monkeypatch, extras):
    assert pip("--for", extras) == ([setup_env.LOCK], True)
    assert pip("--lab", "jax") == ([setup_env.LOCK, setup_env.LOCK, JAX], False)
    newer()  # What the reader has stays, until JupyterLab is to be opened.
    assert pip("--for", extras) == ([setup_env.LOCK], False)
    assert pip("--lab", "jax")[1]
    monkeypatch.setattr(setup_env, "holds", lambda folder, extras: True)
    assert pip("--for", extras) == ([], False)


@pytest.mark.parametrize("target", ["environments", "html", "lock", "messages", "student", "watch"])
def test_make_sets_up_no_more_for_what_executes_nothing(target):
    plain = {name: text for name, text in os.environ.items() if not re.match("MAKE|MFLAGS", name)}
    said = subprocess.check_output(
        ["make", "-n", target, "PY=.venv/bin/python"], cwd=ROOT, env=plain, text=True
    )
    (set_up,) = re.findall(r"setup_env\.py.*", said)
    assert set_up.startswith("setup_env.py --for book")


@pytest.mark.parametrize(
    ("extras", "last"), [("book", "pyyaml"), ("book,site", "sphinx-autobuild")]
)
def test_an_environment_is_asked_for_its_packages(tmp_path, extras, last):
    assert setup_env.holds(Path(sys.prefix), extras)
    assert not setup_env.holds(tmp_path, extras)
    python = tmp_path / "bin/python"
    python.parent.mkdir()
    for lacking in (f'exec {sys.executable} -S "$@"', f'case "$*" in *{last}*) exit 1; esac'):
        python.write_text(f"#!/bin/sh\n{lacking}\n")
        python.chmod(0o700)
        assert not setup_env.holds(tmp_path, extras)


@pytest.mark.parametrize("names", ["torch", "pytorch,jaxx"])
def test_an_unknown_framework_is_named_beside_those_there_are(pip, names):
    with pytest.raises(
        SystemExit, match="Expected FRAMEWORK to be one of pytorch, tensorflow"
    ) as said:
        pip("--lab", names)
    assert str(said.value).endswith(f"Received: {names.split(',')[-1]}.")
