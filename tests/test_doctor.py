"""The doctor's table and exit status, and that nothing a framework does can stop it."""

import sys

import pytest

from d2lhybrid import __main__, doctor
from d2lhybrid.doctor import Row


@pytest.fixture
def healthy(monkeypatch):
    monkeypatch.setattr(doctor, "examine", lambda name, timeout: Row(name, "1.0"))


def test_a_healthy_machine(healthy, capsys):
    assert __main__.main(["doctor", "torch", "mxnet"]) == 0
    out = capsys.readouterr().out
    for word in ("Python", "NumPy", "torch", "mxnet", "Everything asked for works."):
        assert word in out


def test_a_broken_framework_counts_when_it_is_installed(monkeypatch, capsys):
    monkeypatch.setattr(doctor, "examine", lambda name, timeout: Row(name, "bad", name != "mxnet"))
    monkeypatch.setattr(doctor, "_installed", lambda name: True)
    assert __main__.main(["doctor"]) == 1
    assert "! mxnet" in capsys.readouterr().out
    assert __main__.main(["doctor", "torch"]) == 1
    monkeypatch.setattr(doctor, "_installed", lambda name: name == "torch")
    assert __main__.main(["doctor", "torch"]) == 0


def test_what_is_not_installed_is_named_with_its_extra(healthy, monkeypatch, capsys):
    monkeypatch.setattr(doctor, "_installed", lambda name: False)
    assert __main__.main(["doctor"]) == 0
    assert 'pip install "d2lhybrid[torch]"' in capsys.readouterr().out


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "SIGSEGV"),
        ("import time; time.sleep(60)", "no answer within 3 s"),
        ("raise RuntimeError('cannot open libx.so')", "cannot open libx.so"),
        ("import sys; print('dying', file=sys.stderr); sys.exit(3)", "status 3: dying"),
        ("import nothing_here", "No module named 'nothing_here'"),
    ],
)
def test_a_framework_that_misbehaves(tmp_path, monkeypatch, body, said):
    (tmp_path / "torch.py").write_text(body)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    row = doctor.examine("torch", 3)
    assert not row.works
    assert said in row.found


def test_a_missing_framework(tmp_path, monkeypatch):
    body = "raise ModuleNotFoundError('no torch', name='torch')"
    (tmp_path / "torch.py").write_text(body)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert 'pip install "d2lhybrid[torch]"' in doctor.examine("torch", 30).found


def test_the_real_thing():
    row = doctor.examine("torch", 120)
    assert row.works, row.found
    assert "computes on cpu" in row.found


def test_compilers(monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert "none found" in doctor.compilers()[0].found


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["doctor", "jax"], 1, "'jax'"),
        (["docotr"], 2, "docotr"),
        ([], 0, "usage"),
        (["-h"], 0, "doctor"),
    ],
)
def test_other_words(arguments, status, said, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["d2lhybrid"])
    assert __main__.main(arguments) == status
    captured = capsys.readouterr()
    assert said in captured.out + captured.err
