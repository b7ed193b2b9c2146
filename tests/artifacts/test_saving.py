"""What ``save`` finds out and refuses before its proof, with PyTorch.

tests/models has the structures, and test_formats.py the proof.
"""

import subprocess
from collections import namedtuple
from dataclasses import dataclass, make_dataclass
from enum import Enum
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from artifact_files import make
from artifact_models import differ, inputs, torch_model
from processes import python
from torch import nn

from d2lhybrid import load, run_native, save, verify
from d2lhybrid.artifacts import proof, save as saving
from d2lhybrid.backends.torch import formats
from d2lhybrid.core import errors
from d2lhybrid.core.arguments import call
from d2lhybrid.errors import ArgumentError, InputMismatchError, SaveError

pytestmark = pytest.mark.usefixtures("unproved")
VERIFY_IN_SUBPROCESS = saving.verify_in_subprocess
TABLE = torch.arange(20.0).reshape(10, 2)


def language(ids, mask):
    return TABLE[ids] * mask[..., None]


def words(batch, length):
    return torch.zeros(batch, length, dtype=torch.int64), torch.ones(batch, length)


def test_a_number_of_numpy_that_is_also_pythons_is_a_constant(tmp_path):
    save(lambda x, scale: x * scale, tmp_path / "a", torch.ones(2), np.float64(0.5))
    assert load(tmp_path / "a")(torch.ones(2), 0.5).tolist() == [0.5, 0.5]


def test_axes(tmp_path):
    made = save(language, tmp_path / "a", *words(1, 5)).manifest
    assert [spec.shape for spec in made.inputs] == [(None, 5)] * 2
    assert made.outputs[0].shape == (None, 5, 2)
    ids, mask = words(1, 5)
    both = {name: {0: "batch", 1: "length"} for name in ("ids", "mask")}
    made = save(call(language, ids, mask=mask), tmp_path / "a", dynamic=both).manifest
    assert [spec.shape for spec in made.inputs] == [(None, None)] * 2
    assert load(tmp_path / "a")(words(3, 7)[0], mask=words(3, 7)[1]).shape == (3, 7, 2)
    made = save(language, tmp_path / "a", ids, mask, dynamic={}).manifest
    assert made.inputs[0].shape == (1, 5)
    for wrong in ({"id": {0: "batch"}}, {"ids": {2: "batch"}}, {"ids": 0}):
        with pytest.raises(ArgumentError, match=rf"\(ids, mask\).*{wrong}"):
            save(language, tmp_path / "b", ids, mask, dynamic=wrong)
    with pytest.raises(SaveError, match="vary"):
        save(nn.Linear(3, 2), tmp_path / "b", torch.ones(2, 3), dynamic={"input": {1: "width"}})
    assert not (tmp_path / "b").exists()


class Branching(nn.Module):
    """The exporter takes one branch for all sizes, and so no size of the other."""

    def forward(self, x):
        return x * 2 if x.shape[0] < 4 else x * 3


@pytest.mark.parametrize(
    "model", [lambda x: x.reshape(2, 6), Branching()], ids=["reshaping", "branching"]
)
def test_a_batch_that_cannot_vary_is_fixed_and_said(tmp_path, model):
    made = save(model, tmp_path / "a", torch.ones(3, 4))
    assert made.manifest.inputs[0].shape == (3, 4)
    assert made.manifest.fixed in str(made)
    assert torch.equal(load(tmp_path / "a")(torch.ones(3, 4)), model(torch.ones(3, 4)))
    with pytest.raises(InputMismatchError, match=r"float32 \(3, 4\)"):
        load(tmp_path / "a")(torch.ones(6, 4))


def test_sizes_on_which_it_depends_what_a_model_computes_are_fixed(tmp_path):
    """Half of the sizes; of a program that is in a file, nobody would check them at a call."""
    made = save(lambda x: x * (2 if x.shape[0] % 2 else 3), tmp_path / "a", torch.ones(4, 4))
    assert made.manifest.inputs[0].shape == (4, 4)
    assert "depends on the sizes" in made.manifest.fixed


def test_axes_that_vary_together_are_equally_long(tmp_path):
    """A program looks at one of them, and AOTInductor would read behind the end of the other."""
    save(lambda x, y: x + y, tmp_path / "a", torch.ones(3, 4), torch.ones(3, 4))
    model = load(tmp_path / "a")
    assert model(torch.ones(5, 4), torch.ones(5, 4)).tolist() == [[2.0] * 4] * 5
    longer, shorter = torch.ones(3, 4), torch.ones(1, 4)
    with pytest.raises(InputMismatchError, match=r"y to be 3 long in axis 0, as x is.*: 1\."):
        model(longer, shorter)
    with pytest.raises(InputMismatchError, match="y to be 3 long"):
        run_native(tmp_path / "a", longer.numpy(), shorter.numpy())


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, x):
        self.calls += 1
        return x + self.calls


@pytest.mark.parametrize(
    "as_model",
    [lambda one: one, lambda one: one.forward, lambda one: torch.compile(one, backend="eager")],
    ids=["module", "method", "compiled"],
)
def test_saving_leaves_a_model_as_it_was(as_model, tmp_path):
    one = Counting().train()
    with pytest.raises(SaveError, match="state"):
        save(as_model(one), tmp_path / "a", torch.ones(1, 3))
    assert one.calls.item() == 0
    assert one.training
    assert not list(tmp_path.iterdir())


def test_progress_shows_the_stages(tmp_path, capsys):
    save(nn.Linear(3, 2), tmp_path / "a", torch.ones(1, 3), progress=True)
    shown = capsys.readouterr().err
    assert "exporting as torch.export" in shown
    assert "checking in a fresh process" in shown


Kind = Enum("Kind", "A")
Named = namedtuple("Named", "x scale")


@dataclass
class Fields:
    x: Any
    scale: float


def test_a_model_is_given_the_classes_of_its_arguments(tmp_path):
    """Of the loaded model nothing asks for them, so a class may be one that is nowhere else."""
    x = torch.ones(4, 3)
    local = make_dataclass("Local", [("x", Any), ("scale", float)], frozen=True)
    for kind in (Named, Fields, local):
        save(lambda given: given.x * given.scale, tmp_path / "a", kind(x[:2], 2.0))
        assert torch.equal(load(tmp_path / "a")(kind(x, 2.0)), x * 2)
    assert torch.equal(load(tmp_path / "a")({"x": x, "scale": 2.0}), x * 2)


def test_outputs_come_back_in_tuples_and_dictionaries(tmp_path):
    save(lambda x: (Named(x, 2.0), Fields(x * 3, 4.0)), tmp_path / "a", torch.ones(2))
    (x, scale), fields = load(tmp_path / "a")(torch.ones(2))
    assert (x.tolist(), scale) == ([1.0, 1.0], 2.0)
    assert (fields["x"].tolist(), fields["scale"]) == ([3.0, 3.0], 4.0)


def test_an_input_and_an_output_of_one_name(tmp_path):
    save(lambda sample: {"sample": sample * 2}, tmp_path / "a", torch.ones(1, 3), format="onnx")
    assert load(tmp_path / "a")(torch.ones(1, 3))["sample"].tolist() == [[2.0] * 3]


@pytest.mark.filterwarnings("ignore:.*nested tensors")
def test_rows_that_a_fast_path_leaves_zero_are_not_saved_as_others(tmp_path):
    layer = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
    net, x = nn.TransformerEncoder(layer, 1).eval(), torch.ones(2, 5, 4)
    with pytest.raises(SaveError, match="set_fastpath_enabled"):
        save(call(net, x, src_key_padding_mask=x[..., 0] > 2), tmp_path / "a")


ENDS = {  # of the process that verifies
    "it differs": proof.DIFFERENT,
    "it takes too long": subprocess.TimeoutExpired("python", 600),
    "it does not load": 1,
}


@pytest.mark.parametrize("case", ENDS)
def test_without_a_proof_nothing_is_saved(tmp_path, monkeypatch, case):
    monkeypatch.setattr(saving, "verify_in_subprocess", VERIFY_IN_SUBPROCESS)
    status = ENDS[case]
    failing = isinstance(status, Exception)
    ran = Mock(side_effect=status if failing else None, return_value=Mock(returncode=status))
    monkeypatch.setattr(proof, "run", ran)
    with pytest.raises(SaveError):
        save(nn.Linear(3, 2), tmp_path / "a", torch.ones(1, 3))
    assert not list(tmp_path.iterdir())


def test_a_process_that_a_signal_ends_is_said_by_its_name(tmp_path, monkeypatch):
    monkeypatch.setattr(saving, "verify_in_subprocess", VERIFY_IN_SUBPROCESS)
    monkeypatch.setattr(proof, "VERIFY", "import os; os.kill(os.getpid(), 11)")
    with pytest.raises(SaveError, match=r"ended with status -11 \(SIGSEGV\): it printed nothing"):
        save(nn.Linear(3, 2), tmp_path / "a", torch.ones(1, 3))


def test_the_proof_says_what_is_wrong_with_the_bytes(tmp_path):
    path = make(tmp_path / "a")
    (path / "model.onnx").write_bytes(b"WEIGHTS")
    assert "'model.onnx' has changed since it was saved" in VERIFY_IN_SUBPROCESS(path)


def test_a_model_that_raises_or_computes_something_else_is_not_verified(tmp_path, monkeypatch):
    save(nn.Linear(3, 2), tmp_path / "a", torch.ones(1, 3))
    for fault in (Mock(return_value=(torch.zeros(1, 2),)), Mock(side_effect=RuntimeError("{}"))):
        monkeypatch.setattr(formats.Exported, "read", lambda *_given, fault=fault: fault)
        found = verify(tmp_path / "a")
        assert (found.answer, found.ok) == ("failed", False)
        assert found.reason in str(found)


REFUSED = {
    "python": (lambda x: x * float(x.numpy().sum()), "doesn't accept"),
    "complex": (
        lambda x: torch.complex(x, x),
        r"of bool, .*Received: output_0, which is complex64",
    ),
    "double complex": (lambda x: x.to(torch.complex128), "output_0, which is complex128"),
    "set": (lambda x: {x}, "a set as"),
    "tuple as key": (lambda x: {(1, 2): x}, "a tuple as"),
    "enumeration as key": (lambda x: {Kind.A: x}, "a Kind as"),
    "size from data": (lambda x: x if int(x.sum()) < 2 else x[: int(x[0, 0])], "doesn't accept"),
    "infinite": (lambda x: (x, float("inf")), "Expected a finite number as"),
    "no tensor": (lambda x: 3, "but it returns none"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_no_artifact_holds_is_refused(tmp_path, case, capsys):
    model, words = REFUSED[case]
    with pytest.raises(SaveError, match=words):
        save(model, tmp_path / "a", torch.ones(1, 3))
    assert not list(tmp_path.iterdir())
    assert capsys.readouterr() == ("", "")  # PyTorch prints the program up to where it fails


def test_bad_arguments(tmp_path):
    with pytest.raises(SaveError, match="example inputs"):
        save(nn.Linear(3, 2), tmp_path / "a")
    with pytest.raises(errors.UnsupportedArtifactError, match="'torchscript'"):
        save(nn.Linear(3, 2), tmp_path / "a", torch.ones(1, 3), format="torchscript")
    with pytest.raises(SaveError, match="input_0, which is complex64"):
        save(torch.abs, tmp_path / "a", torch.ones(1, 3, dtype=torch.complex64))
    with pytest.raises(SaveError, match="a set as"):
        save(lambda x, more: x, tmp_path / "a", torch.ones(2), {1, 2})


def test_more_bytes_than_an_artifact_may_have(tmp_path, monkeypatch):
    monkeypatch.setattr(saving, "MAX_TOTAL_BYTES", 1000)
    with pytest.raises(SaveError, match=r"1,000 bytes at most\. Received: \d,\d+\. Save a smaller"):
        save(nn.Linear(3, 2), tmp_path / "a", torch.ones(1, 3))
    assert not list(tmp_path.iterdir())


def test_what_a_first_try_has_written_is_not_saved(tmp_path, monkeypatch):
    write = formats.Exported.write

    def first_in_vain(chosen, example, folder):
        if example.larger_inputs:
            (folder / "half").write_bytes(b"written")
            raise SaveError("a dimension\nis fixed")
        return write(chosen, example, folder)

    monkeypatch.setattr(formats.Exported, "write", first_in_vain)
    made = save(nn.Linear(3, 2), tmp_path / "a", torch.ones(2, 3))
    assert "half" not in {file.path for file in made.manifest.files}
    assert "a dimension is fixed" in made.manifest.fixed


def test_a_misspelt_option_is_an_error_that_names_the_option(tmp_path):
    for misspelt, option in (("formt", "format"), ("dynamics", "dynamic")):
        with pytest.raises(ArgumentError, match=f"Write {option} instead of"):
            save(nn.Linear(3, 2), tmp_path / "a", torch.ones(1, 3), **{misspelt: None})


def test_inputs_in_containers_have_names_for_dynamic(tmp_path):
    def pooled(batch, pair, *rest):
        return batch["ids"] + pair[0] + pair[1] + rest[0]

    x = torch.ones(2, 3)
    dynamic = {name: {1: "width"} for name in ("batch_ids", "pair_0", "pair_1", "input_2")}
    saved = save(pooled, tmp_path / "a", {"ids": x}, (x, x), x, dynamic=dynamic).manifest
    assert [spec.name for spec in saved.inputs] == list(dynamic)
    assert saved.outputs[0].shape == (2, None)


def test_arguments_that_do_not_fit(tmp_path):
    def scaled(parts, factor):
        return parts["a"] * factor

    example = {"a": torch.ones(2, 3), "b": None}
    save(call(scaled, example, factor=2.0), tmp_path / "a")
    model = load(tmp_path / "a")
    assert model({"b": None, "a": torch.ones(4, 3)}, factor=2.0).shape == (4, 3)
    for wrong, words in (
        (call(None, {"a": torch.ones(2, 3)}, factor=2.0), "{'a': ·, 'b': None}"),
        (call(None, example, factor=3.0), r"Expected 2\.0 .*Received: 3\.0"),
        (call(None, example, factor=torch.ones(3)), r"Expected 2\.0"),
        (call(None, example), "factor"),
        (call(None, {"a": torch.ones(2), "b": None}, factor=2.0), "parts_a: float32"),
    ):
        with pytest.raises(InputMismatchError, match=words):
            model(*wrong.args, **wrong.kwargs)


def test_a_file_without_our_help(tmp_path):
    """A model of tensors by position is written as the framework itself writes it."""
    save(torch_model(), tmp_path / "a", *inputs("torch", 1))
    code = (
        "import sys, torch; program = torch.export.load(sys.argv[1]).module();"
        "assert program(torch.ones(5, 512)).shape == (5, 2); program.state_dict()['1.weight'];"
        "assert 'd2lhybrid' not in sys.modules"
    )
    python("-W", "ignore", "-c", code, str(tmp_path / "a" / "model.pt2"))


def test_a_compiled_model_is_saved_as_what_it_compiles(tmp_path):
    model, x = torch_model(), inputs("torch", 2)
    save(torch.compile(model, backend="eager"), tmp_path / "a", *x)
    assert not differ("torch", model, x, load(tmp_path / "a")(*x))


def test_where_the_batch_decides_how_many_axes_an_output_has_none_varies(tmp_path):
    saved = save(lambda x: (2 * x).squeeze(0), tmp_path / "a", torch.ones(1, 3)).manifest
    assert saved.fixed
    assert None not in saved.inputs[0].shape
    assert load(tmp_path / "a")(torch.ones(1, 3)).shape == (3,)
