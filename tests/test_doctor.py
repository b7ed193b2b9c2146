"""The doctor's table and answer, that nothing a framework does can stop it, and its hints."""

from importlib.machinery import PathFinder
from importlib.metadata import version

import pytest

from d2lhybrid import cli, diagnosing, doctor, i18n, installing
from d2lhybrid.frameworks import get
from d2lhybrid.teaching import has_compiler


@pytest.fixture
def fake_torch(tmp_path, monkeypatch):
    """Put a module of this content before the real one, for other processes."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    return (tmp_path / "torch.py").write_text


@pytest.fixture
def without(monkeypatch):
    """Let no framework be installed, or no more than these."""

    def only(*names: str) -> None:
        found = diagnosing.find_spec
        monkeypatch.setattr(diagnosing, "find_spec", lambda n: found(n) if n in names else None)

    return only


def test_a_framework_that_works():
    found = doctor("torch")
    assert found.ok
    said = str(found).splitlines()
    assert said[0].startswith("  Python  3.")
    assert said[1].split() == ["NumPy", version("numpy")]
    assert "computes on cpu" in said[2]
    assert [one.name for one in found.findings] == ["Python", "NumPy", "torch", "C", "C++"]
    assert said[-1] == "Everything asked for works."


def test_what_is_not_installed_is_a_fault_only_if_asked_for(without, fake_torch, capsys):
    without("torch")
    fake_torch("raise ImportError('cannot open libx.so')")
    assert cli.main(["doctor"]) == 1
    said = capsys.readouterr().out
    assert "! torch" in said
    assert "  mxnet " in said
    assert said.endswith("Not working: torch.\n")
    assert cli.main(["doctor", "mxnet"]) == 1
    assert installing.install_command("mxnet") in capsys.readouterr().out


def test_without_any_framework_nothing_works(without):
    without()
    found = doctor()
    assert not found.ok
    assert "No framework is installed." in repr(found)


def test_a_folder_of_its_name_is_no_framework(tmp_path, monkeypatch):
    (tmp_path / "jax").mkdir()
    find = PathFinder.find_spec
    monkeypatch.setattr(diagnosing, "find_spec", lambda name: find(name, [str(tmp_path)]))
    assert "jax     not installed" in str(doctor("jax"))


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "status SIGSEGV"),
        ("import time; time.sleep(60)", "no answer within 3 s"),
        ("import sys; print('dying', file=sys.stderr); sys.exit(3)", "status 3: dying"),
        ("import os; os._exit(3)", "it said nothing"),
        ("import nothing_here", "No module named 'nothing_here'"),
    ],
)
def test_a_framework_that_misbehaves(fake_torch, body, said):
    fake_torch(body)
    found = doctor("torch", timeout=3 if "sleep" in body else 120)
    assert not found.ok
    assert said in str(found)


def test_a_process_speaks_the_readers_language(fake_torch):
    fake_torch("from d2lhybrid.i18n import language; raise ValueError(language())")
    i18n.set_language("zh")
    try:
        assert "ValueError: zh" in str(doctor("torch"))
    finally:
        i18n.set_language(None)


@pytest.mark.parametrize(
    ("script", "said", "works"),
    [
        ("#!/bin/sh\necho cc 1.0\necho more", "cc 1.0", True),
        ("#!/bin/sh\nprintf '\\377 cc'", "\ufffd cc", True),
        ("#!/bin/sh\nexec /bin/sleep 60", "no answer within 1 s", False),
        ("#!/nowhere/at/all", "could not be started: ", False),
        ("", "found none. Install one: apt install gcc", True),  # who needs none lacks nothing
    ],
)
def test_compilers(tmp_path, monkeypatch, without, script, said, works):
    without()
    if script:
        (tmp_path / "cc").write_text(script)
        (tmp_path / "cc").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(diagnosing, "ANSWER_SECONDS", 1.0)
    (found,) = [one for one in doctor().findings if one.name == "C"]
    assert said in found.found
    assert found.works == works


def test_hints_install_from_where_the_package_lies(monkeypatch, tmp_path):
    monkeypatch.setattr(installing, "_ROOT", tmp_path)
    assert installing.install_command("torch") == 'pip install "d2lhybrid[torch]"'
    (tmp_path / "pyproject.toml").touch()
    assert installing.install_command("torch") == f'pip install --editable "{tmp_path}[torch]"'


def test_a_device_that_computes_wrongly(monkeypatch, capsys):
    diagnosing.probe("torch")
    assert "computes on cpu" in capsys.readouterr().out
    monkeypatch.setattr(get("torch").tensors, "compute_on", lambda device: 7.0)
    with pytest.raises(SystemExit, match="came out wrong on cpu"):
        diagnosing.probe("torch")


@pytest.mark.parametrize(("named", "there"), [("python3 -x", True), ("no-such-compiler", False)])
def test_the_compiler_that_is_named_counts(monkeypatch, named, there):
    monkeypatch.setenv("CXX", named)
    assert has_compiler() == there
