"""The doctor's table and answer, that nothing a framework does can stop it, and its hints."""

import re
import sys

import pytest

from d2lhybrid import __main__ as cli, doctor
from d2lhybrid.core import i18n, toolchain
from d2lhybrid.teaching import has_compiler
from d2lhybrid.verbs import doctor as verb


@pytest.fixture
def fake_torch(tmp_path, monkeypatch):
    """Put a module of this content before the real one, for other processes."""
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    return (tmp_path / "torch.py").write_text


@pytest.fixture
def without(monkeypatch):
    """Let no framework be installed, or no more than these."""

    def only(*names):
        found = verb.find_spec
        monkeypatch.setattr(verb, "find_spec", lambda n: found(n) if n in names else None)

    return only


def test_a_framework_that_works():
    found = doctor("torch")
    assert found.ok
    assert [one.name for one in found.checks] == ["Python", "NumPy", "torch", "C", "C++"]
    assert "computes on cpu" in found.checks[2].found
    assert str(found).endswith("\n\nEverything that was checked works.")


def test_what_is_not_installed_is_a_fault_only_if_asked_for(without, fake_torch, capsys):
    without("torch")
    fake_torch("raise ImportError('cannot open libx.so')")
    assert cli.main(["doctor"]) == 1
    said = capsys.readouterr().out
    assert re.fullmatch(r".*! torch .*\n  mxnet .*Not working: torch\.\n", said, re.DOTALL)
    assert cli.main(["doctor", "mxnet"]) == 1
    assert toolchain.install_command("mxnet") in capsys.readouterr().out
    without()
    assert not doctor().ok


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("import os; os.kill(os.getpid(), 11)", "status -11 (SIGSEGV): it printed nothing"),
        ("import time; time.sleep(60)", "no answer within 3 s"),
        ("import sys; sys.exit('dying')", "status 1: dying"),
        (
            "from d2lhybrid.core.i18n import language; raise ValueError(language())",
            "ValueError: zh",
        ),
    ],
)
def test_a_framework_that_misbehaves(fake_torch, monkeypatch, body, said):
    fake_torch(body)
    if "sleep" in body:
        monkeypatch.setattr(verb, "SECONDS", 3.0)
    if "zh" in said:  # the process speaks the reader's language
        monkeypatch.setattr(i18n, "_chosen", "zh")
    found = doctor("torch")
    assert not found.ok
    assert said in str(found)


def test_compilers(tmp_path, monkeypatch, without):
    without()
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CC", "")
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert not has_compiler()
    (tmp_path / "cc").write_text("#!/bin/sh\necho cc 1.0\necho more")
    (tmp_path / "cc").chmod(0o755)
    c, cpp = doctor().checks[-2:]
    assert (c.found, c.works) == ("cc 1.0", True)
    assert "no-such-compiler), found none. Install one: apt install g++" in cpp.found
    assert cpp.works  # who needs none lacks nothing
    monkeypatch.setenv("CXX", "cc -x")
    assert has_compiler()


def test_hints_install_from_where_the_package_lies(monkeypatch, tmp_path):
    monkeypatch.setattr(toolchain, "_ROOT", tmp_path)
    assert toolchain.install_command("torch") == 'pip install "d2lhybrid[torch]"'
    (tmp_path / "pyproject.toml").touch()
    assert toolchain.install_command("torch") == f'pip install --editable "{tmp_path}[torch]"'


def test_what_is_on_top_of_a_framework_has_a_line_and_is_no_fault_if_missing(without):
    without("jax")
    found = doctor("jax")
    assert found.checks[3] == verb.Check("flax", "not installed: pip install flax")
    assert found.ok
