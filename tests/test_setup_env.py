"""What `make lab` and `make setup` install, and when they begin anew; pip is replaced."""

import sys

import pytest
import setup_env
from packaging.requirements import Requirement
from processes import ROOT

from book.frameworks import FRAMEWORKS

PYTORCH = "requirements/pytorch.in"
JAX = "requirements/jax.in"


@pytest.fixture
def pip(monkeypatch, tmp_path):
    """Sets up an environment: the files pip installed from, and whether it began anew."""
    folder, commands = tmp_path / ".venv", []
    monkeypatch.setattr(setup_env, "VENV", folder)

    def run(*command):
        commands.append(command)
        if "venv" in command:
            folder.mkdir(parents=True)

    monkeypatch.setattr(setup_env, "run", run)

    def set_up(*options):
        commands.clear()
        monkeypatch.setattr(sys, "argv", ["setup_env.py", *options])
        setup_env.main()
        named = [part for command in commands for part in command if part.endswith((".in", ".txt"))]
        return named, any("venv" in command for command in commands)

    return set_up


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


def test_another_lock_file_and_an_interrupted_set_up_begin_anew(pip, monkeypatch, tmp_path):
    pip("--lab", "pytorch,jax")
    real = setup_env.digest
    monkeypatch.setattr(setup_env, "digest", lambda one: "newer" + real(one))
    named, anew = pip("--lab", "jax")
    assert JAX in named
    assert PYTORCH not in named
    assert anew
    calm = setup_env.run
    monkeypatch.setattr(setup_env, "run", lambda *command: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        pip("--lab", "pytorch")
    monkeypatch.setattr(setup_env, "run", calm)
    assert pip("--lab", "jax")[1]


@pytest.mark.parametrize("names", ["torch", "pytorch,jaxx"])
def test_an_unknown_framework_is_named_beside_those_there_are(pip, names):
    with pytest.raises(
        SystemExit, match="Expected FRAMEWORK to be one of pytorch, tensorflow"
    ) as said:
        pip("--lab", names)
    assert str(said.value).endswith(f"Received: {names.split(',')[-1]}.")
