"""``python -m d2lhybrid inspect|verify|trust|run PATH``."""

import numpy as np
import pytest
import torch

from d2lhybrid import save
from d2lhybrid.__main__ import main as shell


def main(command, arguments):
    return shell([command, *arguments])


@pytest.fixture
def saved(tmp_path):
    save(torch.nn.Linear(3, 2), tmp_path / "a", torch.ones(1, 3), format="torchscript")
    return tmp_path / "a"


def test_commands(saved, tmp_path, capsys, user):
    path = str(saved)
    assert main("inspect", [path]) == 0
    shown = capsys.readouterr().out
    for text in ("torchscript (torch)", "float32 (any, 3)", "model.pt", "by you", "__setstate__"):
        assert text in shown
    assert main("verify", [path]) == 0
    assert "outputs: same" in capsys.readouterr().out
    user("someone else")
    assert main("run", [path]) == 1
    assert "can carry code" in capsys.readouterr().err
    assert main("verify", [path]) == 0
    assert "not compared" in capsys.readouterr().out
    assert main("trust", [path]) == 0
    capsys.readouterr()
    assert main("run", [path]) == 0
    on_example = capsys.readouterr().out
    np.save(tmp_path / "x.npy", np.ones((1, 3), "float32"))
    out = str(tmp_path / "y")
    assert main("run", [path, str(tmp_path / "x.npy"), "--out", out]) == 0
    assert capsys.readouterr().out == on_example
    assert np.load(f"{out}-0.npy").shape == (1, 2)


def test_errors(saved, tmp_path, capsys):
    assert main("inspect", [str(tmp_path / "missing")]) == 1
    assert "nothing is there" in capsys.readouterr().err
    np.save(tmp_path / "x.npy", np.array([{}]), allow_pickle=True)
    (tmp_path / "zip.npy").write_bytes(b"PK\3\4 no archive")
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000000,), }\n"
    length = len(header).to_bytes(2, "little")
    (tmp_path / "big.npy").write_bytes(b"\x93NUMPY\1\0" + length + header)
    for name in ("x.npy", "missing.npy", "zip.npy", "big.npy"):
        assert main("run", [str(saved), str(tmp_path / name)]) == 1
        assert ".npy file of plain numbers" in capsys.readouterr().err
    with open(saved / "model.pt", "ab") as file:
        file.write(b"x")
    for command in ("inspect", "verify", "trust", "run"):
        assert main(command, [str(saved)]) == 1


def test_outputs_into_a_missing_folder(saved, tmp_path, capsys):
    assert main("run", [str(saved), "--out", str(tmp_path / "missing" / "y")]) == 1
    assert "Could not write into" in capsys.readouterr().err
