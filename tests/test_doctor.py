"""The doctor's table and exit status, and that nothing a framework does can stop it."""

from importlib.metadata import PackageNotFoundError, version

import pytest

from d2lhybrid import cli, doctor, i18n, installing
from d2lhybrid.doctor import Row


@pytest.fixture
def healthy(monkeypatch):
    monkeypatch.setattr(doctor, "examine", lambda name, timeout: Row(name, "1.0"))


def test_a_healthy_machine(healthy, capsys):
    assert cli.main(["doctor", "torch", "mxnet"]) == 0
    out = capsys.readouterr().out
    for word in ("Python", "NumPy", "torch", "mxnet", "Everything asked for works."):
        assert word in out


def test_a_broken_framework_counts_when_it_is_installed(monkeypatch, capsys):
    monkeypatch.setattr(doctor, "examine", lambda name, timeout: Row(name, "bad", name != "mxnet"))
    monkeypatch.setattr(doctor, "_installed", lambda name: True)
    assert cli.main(["doctor"]) == 1
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("  Python      3.")
    assert said[1].split() == ["NumPy", version("numpy")]
    assert "! mxnet       bad" in said
    assert said[-1] == "Not working: mxnet."
    assert cli.main(["doctor", "torch"]) == 1
    monkeypatch.setattr(doctor, "_installed", lambda name: name == "torch")
    assert cli.main(["doctor", "torch"]) == 0


def test_without_any_framework_nothing_works(healthy, monkeypatch, capsys):
    monkeypatch.setattr(doctor, "_installed", lambda name: False)
    assert cli.main(["doctor"]) == 1
    said = capsys.readouterr().out
    assert installing.install_command("torch") in said
    assert "No framework is installed." in said
    assert "Everything asked for works." not in said


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
    row = doctor.examine("torch", 3 if "sleep" in body else 120)
    assert not row.works
    assert said in row.found


def test_a_missing_framework_in_the_readers_language(tmp_path, monkeypatch):
    body = "raise ModuleNotFoundError('no torch', name='torch')"
    (tmp_path / "torch.py").write_text(body)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    i18n.set_language("zh")
    try:
        assert doctor.examine("torch", 60).found == f"未安装：{installing.install_command('torch')}"
    finally:
        i18n.set_language(None)


def test_the_real_thing():
    row = doctor.examine("torch", 120)
    assert row.works, row.found
    assert "computes on cpu" in row.found


def test_what_counts_as_installed(tmp_path, monkeypatch):
    (tmp_path / "only_a_folder").mkdir()
    monkeypatch.syspath_prepend(str(tmp_path))
    names = ("pytest", "only_a_folder", "nowhere_at_all")
    assert [doctor._installed(name) for name in names] == [True, False, False]


def test_without_a_compiler(monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CC", raising=False)
    row = doctor.compiler("C")
    assert row.works  # who needs none lacks nothing
    assert "found none. Install one: apt install gcc" in row.found


@pytest.mark.parametrize(
    ("script", "said", "works"),
    [
        ("#!/bin/sh\necho cc 1.0\necho more", "cc 1.0", True),
        ("#!/bin/sh\nprintf '\\377 cc'", "\ufffd cc", True),
        ("#!/bin/sh\nexec /bin/sleep 60", "no answer within 1 s", False),
        ("#!/nowhere/at/all", "could not be started: ", False),
    ],
)
def test_a_compiler_that_misbehaves_is_a_row(tmp_path, monkeypatch, script, said, works):
    (tmp_path / "cc").write_text(script)
    (tmp_path / "cc").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(doctor, "ANSWER_SECONDS", 1.0)
    row = doctor.compiler("C")
    assert (row.name, row.works) == ("C", works)
    assert said in row.found


def hint(monkeypatch, root, direct_url):
    """The command where the package lies in a folder and pip noted this about its origin."""

    class Noted:
        def read_text(self, name):
            assert name == "direct_url.json"
            return direct_url

    def distribution(name):
        if name != "d2lhybrid" or direct_url == "not installed":
            raise PackageNotFoundError(name)
        return Noted()

    monkeypatch.setattr(installing, "_ROOT", root)
    monkeypatch.setattr(installing, "distribution", distribution)
    return installing.install_command("torch")


def test_hints_install_from_where_the_package_came(monkeypatch, tmp_path):
    noted = '{"url": "file:///home/me/d2lhybrid-0.1.0-py3-none-any.whl", "archive_info": {}}'
    wheel = '"d2lhybrid[torch] @ file:///home/me/d2lhybrid-0.1.0-py3-none-any.whl"'
    assert hint(monkeypatch, tmp_path, noted) == f"pip install {wheel}"
    noted = '{"url": "https://forge/x.git", "vcs_info": {"vcs": "git", "commit_id": "12ab"}}'
    repository = '"d2lhybrid[torch] @ git+https://forge/x.git@12ab"'
    assert hint(monkeypatch, tmp_path, noted) == f"pip install {repository}"
    for noted in (None, "not installed"):
        assert hint(monkeypatch, tmp_path, noted) == 'pip install "d2lhybrid[torch]"'
    (tmp_path / "pyproject.toml").touch()
    assert hint(monkeypatch, tmp_path, None) == f'pip install --editable "{tmp_path}[torch]"'
