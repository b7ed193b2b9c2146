"""What ``save`` proves, finds out and refuses, with PyTorch; tests/models has the structures."""

import json
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch import nn

from d2lhybrid import inspect, load, run_native, save
from d2lhybrid.artifacts.program import unlike
from d2lhybrid.artifacts.store import read
from d2lhybrid.calls import call
from d2lhybrid.errors import ArgumentError, InputMismatchError, MissingPackageError, SaveError
from d2lhybrid.tensor import Raw


class Language(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(10, 4)
        self.out = nn.Linear(4, 2)

    def forward(self, ids, mask):
        return self.out(self.table(ids) * mask[..., None])


def words(batch, length):
    return torch.zeros(batch, length, dtype=torch.int64), torch.ones(batch, length)


def test_axes_beyond_the_first_are_found(tmp_path):
    made = save(Language(), tmp_path / "a", *words(1, 5))
    assert [spec.shape for spec in made.inputs] == [(None, None)] * 2
    assert made.outputs[0].shape == (None, None, 2)
    assert load(tmp_path / "a")(*words(3, 7)).shape == (3, 7, 2)


def test_axes_that_the_user_names(tmp_path):
    ids, mask = words(2, 5)
    batch = {"ids": {0: "batch"}, "mask": {0: "batch"}}
    made = save(Language(), tmp_path / "a", ids, mask=mask, dynamic=batch)
    assert [spec.shape for spec in made.inputs] == [(None, 5)] * 2
    with pytest.raises(ArgumentError, match=r"names of the inputs \(ids, mask\).*'id'"):
        save(Language(), tmp_path / "b", ids, mask, dynamic={"id": {0: "batch"}})
    with pytest.raises(ArgumentError, match="one of the 2 axes of ids"):
        save(Language(), tmp_path / "b", ids, mask, dynamic={"ids": {2: "batch"}})
    with pytest.raises(SaveError, match="Formats that may hold this model: torchscript"):
        save(nn.Linear(3, 2), tmp_path / "b", torch.ones(2, 3), dynamic={"input": {1: "width"}})
    assert not (tmp_path / "b").exists()


class Specialized(nn.Module):
    """The exporter takes one branch for all sizes, and the size for a constant."""

    def forward(self, x):
        return x * 2 if x.shape[0] < 4 else x * 3


def test_a_size_that_the_exporter_took_for_a_constant(tmp_path):
    for batch in (1, 2, 3):
        model, x = Specialized(), torch.ones(batch, 4)
        save(model, tmp_path / f"{batch}", x)
        assert torch.equal(load(tmp_path / f"{batch}")(x), model(x))


def test_a_bound_method_or_a_lambda_keeps_its_weights(tmp_path):
    net = nn.Linear(3, 2)
    for i, model in enumerate((net.forward, lambda x: net(x))):
        save(model, tmp_path / f"{i}", torch.ones(1, 3), format="safetensors")
        assert set(load(tmp_path / f"{i}")) == {"weight", "bias"}
    other = nn.Linear(3, 2)
    with pytest.raises(SaveError, match="computes with 2"):
        save(lambda x: net(x) + other(x), tmp_path / "two", torch.ones(1, 3), format="safetensors")
    for model in (nn.ReLU(), torch.relu):
        with pytest.raises(SaveError, match=r"no weights|computes with 0"):
            save(model, tmp_path / "none", torch.ones(1, 3), format="safetensors")


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, x):
        self.calls += 1
        return x + self.calls


@pytest.mark.parametrize(
    "as_model",
    [
        lambda one: one,
        lambda one: one.forward,
        lambda one: lambda x: one(x),
        lambda one: torch.compile(one, backend="eager"),
        lambda one: torch.compile(one.forward, backend="eager"),
        lambda one: torch.compile(lambda x: one(x), backend="eager"),
    ],
    ids=["module", "method", "lambda", "compiled", "compiled method", "compiled lambda"],
)
def test_a_save_that_fails_leaves_buffers_as_they_were(as_model, tmp_path):
    one = Counting()
    with pytest.raises(SaveError):
        save(as_model(one), tmp_path / "a", torch.ones(1, 3), format="torchscript")
    assert one.calls.item() == 0


def test_tiny_outputs_are_compared():
    tiny = np.full(3, 1e-12, "float32")
    assert unlike([Raw.of(tiny)], [Raw.of(-2 * tiny)])


OPERATOR = """
import torch

@torch.library.custom_op("d2lhybrid_tests::thrice", mutates_args=())
def thrice(x: torch.Tensor) -> torch.Tensor:
    return x * 3

@thrice.register_fake
def _(x):
    return torch.empty_like(x)

class Model(torch.nn.Module):
    def forward(self, x):
        return thrice(x)
"""


@pytest.mark.usefixtures("fresh_process")
def test_a_module_that_loading_needs_is_imported(tmp_path, monkeypatch, user):
    (tmp_path / "with_operator.py").write_text(OPERATOR)
    monkeypatch.syspath_prepend(tmp_path)
    import with_operator

    save(with_operator.Model(), tmp_path / "a", torch.ones(1, 3))
    assert read(tmp_path / "a").manifest.options["imports"] == ["with_operator"]
    assert load(tmp_path / "a")(torch.ones(1, 3)).tolist() == [[3.0] * 3]
    (tmp_path / "with_operator.py").unlink()
    monkeypatch.delitem(sys.modules, "with_operator")
    with pytest.raises(MissingPackageError, match="needs the module with_operator"):
        load(tmp_path / "a")


@pytest.mark.usefixtures("fresh_process")
def test_the_example_of_the_readme(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    net, x = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2)), torch.ones(1, 4)
    save(net, "my_model", x)
    model = load("my_model")
    assert torch.allclose(model(x), net(x))
    np.testing.assert_allclose(run_native("my_model", x.numpy()), net(x).detach(), rtol=1e-4)


def test_arguments_that_do_not_fit(tmp_path):
    def scaled(parts, factor):
        return parts["a"] * factor

    example = {"a": torch.ones(2, 3), "b": None}
    save(scaled, tmp_path / "a", example, factor=2.0)
    model = load(tmp_path / "a")
    assert model({"b": None, "a": torch.ones(4, 3)}, factor=2.0).shape == (4, 3)
    for wrong, words in (
        (call(None, {"a": torch.ones(2, 3)}, factor=2.0), "{'a': ·, 'b': None}"),
        (call(None, example, factor=3.0), r"Expected 2\.0 .*Received: 3\.0"),
        (call(None, example), "factor"),
        (call(None, {"a": torch.ones(2), "b": None}, factor=2.0), "parts_a: float32"),
    ):
        with pytest.raises(InputMismatchError, match=words):
            model(*wrong.args, **wrong.kwargs)


def test_arguments_of_the_name_of_an_option(tmp_path):
    def model(x, format):
        return x * format

    save(call(model, torch.ones(2), format=torch.tensor(3.0)), tmp_path / "a")
    assert [spec.name for spec in inspect(tmp_path / "a").inputs] == ["x", "format"]


def test_an_object_that_holds_nothing_of_ours(tmp_path):
    with pytest.raises(SaveError, match="a set as"):
        save(lambda x, more: x, tmp_path / "a", torch.ones(2), {1, 2})


def test_a_file_without_our_help(tmp_path):
    """A model of tensors by position is written as the framework itself writes it."""
    save(nn.Linear(3, 2), tmp_path / "a", torch.ones(1, 3))
    code = (
        "import sys, torch; program = torch.export.load(sys.argv[1]);"
        "print(list(program.module()(torch.ones(5, 3)).shape), list(program.state_dict))"
    )
    command = [sys.executable, "-W", "ignore", "-c", code, str(tmp_path / "a" / "model.pt2")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert json.loads(done.stdout.split("]")[0] + "]") == [5, 2], done.stderr
    assert "'weight', 'bias'" in done.stdout
