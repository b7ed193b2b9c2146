"""What is PyTorch's own among the formats: weights, scripts, ONNX Runtime, native packages."""

import copy
import os
import platform
import sys
import threading

import pytest
import torch
from artifact_models import example, torch_model

from d2lhybrid import inspect, load, run_native, save, verify
from d2lhybrid.artifacts.examples import recall
from d2lhybrid.artifacts.program import unlike
from d2lhybrid.artifacts.store import read
from d2lhybrid.errors import (
    ArtifactLoadError,
    CompilerMissingError,
    InputMismatchError,
    SaveError,
    UnsupportedArtifactError,
)
from d2lhybrid.frameworks import processor
from d2lhybrid.frameworks.torch import programs
from d2lhybrid.frameworks.torch.formats import FORMATS
from d2lhybrid.frameworks.torch.tensors import TENSORS
from d2lhybrid.tensor import Raw

to_raw = TENSORS.to_raw

WHOLE = [name for name, entry in FORMATS.items() if not entry.weights_only]
# That of torch.export is compiled for it first, see below.
NATIVE = [n for n, entry in FORMATS.items() if entry.native and n != "torch.export"]


def test_compiled_model_is_saved_as_what_it_compiles(tmp_path):
    model = torch_model("mlp")
    x = torch.tensor(example("mlp", 1))
    save(torch.compile(model, backend="eager"), tmp_path / "a", x)
    assert not unlike([to_raw(model(x))], [to_raw(load(tmp_path / "a")(x))])


def test_script_module_is_kept_as_script(tmp_path):
    with pytest.warns((DeprecationWarning, FutureWarning), match="jit"):  # from 2.15 on the latter
        scripted = torch.jit.script(torch_model("mlp"))
    assert save(scripted, tmp_path / "a", torch.tensor(example("mlp", 1))).format == "torchscript"


def test_training_mode_is_given_back(tmp_path):
    model = torch_model("cnn").train()
    model[1].eval()
    save(model, tmp_path / "a", torch.tensor(example("cnn", 2)))
    assert model.training
    assert model[3].training
    assert not model[1].training


def test_weights_alone(tmp_path):
    model = torch_model("mlp")
    x = torch.tensor(example("mlp", 1))
    save(model, tmp_path / "w", x, format="safetensors")
    weights = load(tmp_path / "w")
    assert torch.equal(weights["0.weight"], model[0].weight)
    other = copy.deepcopy(model)
    torch.nn.init.zeros_(other[0].weight)
    assert torch.equal(load(tmp_path / "w", into=other)(x), model(x))
    with pytest.raises(ArtifactLoadError, match="differs"):
        load(tmp_path / "w", into=torch_model("cnn"))


def test_weights_of_a_model_that_computes_something_else(tmp_path):
    model = torch_model("mlp")
    save(model, tmp_path / "w", torch.tensor(example("mlp", 1)), format="safetensors")
    other = torch_model("mlp")
    other[1] = torch.nn.Tanh()
    with pytest.raises(ArtifactLoadError, match="compute"):
        load(tmp_path / "w", into=other)


class TwoOutputs(torch.nn.Module):
    def forward(self, a, b):
        return a + b, (a * b, a.sum())


@pytest.mark.parametrize("name", WHOLE)
def test_several_inputs_and_nested_outputs(tmp_path, name):
    a, b = torch.ones(3, 2), torch.full((3, 2), 2.0)
    made = save(TwoOutputs(), tmp_path / "two", a, b, format=name)
    assert len(made.inputs) == 2
    assert [o.shape for o in made.outputs] == [(None, None), (None, None), ()]
    if name in NATIVE:
        total, (product, whole) = run_native(tmp_path / "two", a.numpy(), b.numpy())
        assert total.tolist() == (a + b).tolist()
        assert product.tolist() == (a * b).tolist()
        assert whole == 6


class FixedBatch(torch.nn.Module):
    def forward(self, x):
        return x.reshape(2, 6)


def test_fixed_batch_is_said_and_checked(tmp_path):
    made = save(FixedBatch(), tmp_path / "fixed", torch.ones(3, 4), format="torch.export")
    assert made.inputs[0].shape == (3, 4)
    with pytest.raises(InputMismatchError, match=r"float32 \(3, 4\)"):
        load(tmp_path / "fixed")(torch.ones(6, 4))


class Random(torch.nn.Module):
    def forward(self, x):
        return x + torch.rand_like(x)


class HostCall(torch.nn.Module):
    def forward(self, x):
        return x * float(x.numpy().sum())


@pytest.mark.parametrize(
    ("model", "text"),
    [(Random(), "random"), (HostCall(), r"does not take.*may hold this model: torchscript\.")],
)
def test_save_refuses_what_it_cannot_prove(tmp_path, model, text):
    with pytest.raises(SaveError, match=text):
        save(model, tmp_path / "a", torch.ones(1, 3))
    assert not (tmp_path / "a").exists()
    assert not list(tmp_path.iterdir())


def test_code_for_another_processor_is_not_run(saved, tmp_path, monkeypatch):
    """The package is in order, but a processor like the one it was made on is not here."""
    path = saved("torch", "mlp", "aotinductor")
    recorded = read(path).manifest.options["processor"]
    assert recorded["machine"] == platform.machine().lower()
    if sys.platform == "linux":
        assert recorded["instructions"]
    description = tmp_path / "cpuinfo"
    monkeypatch.setattr(processor, "_CPUINFO", description)
    description.write_text("flags\t\t: fpu sse sse2 rdtscp\n")
    monkeypatch.setattr(platform, "machine", lambda: recorded["machine"])
    for open_it in (load, verify, run_native):
        with pytest.raises(UnsupportedArtifactError, match="compiled for a processor with"):
            open_it(path)
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    for open_it in (load, verify, run_native):
        with pytest.raises(UnsupportedArtifactError, match="this is riscv64"):
            open_it(path)
    assert inspect(path).problems == ()


def test_compiling_ahead_shares_no_folder_with_another_process(tmp_path, monkeypatch):
    """AOTInductor's own is named after the program, and it removes from it what it has linked."""
    folders = []

    def compile_it(program, package_path):
        folders.append(torch._inductor.config.aot_inductor.output_path)
        assert not os.listdir(folders[-1])

    monkeypatch.setattr(torch._inductor, "aoti_compile_and_package", compile_it)
    for _ in range(2):
        programs.compile_ahead("the same program", tmp_path / "model.pt2")
    assert folders[0] != folders[1]
    assert not any(map(os.path.exists, folders))


def test_no_compiler_for_aotinductor(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(CompilerMissingError, match=r"apt install g\+\+"):
        save(torch_model("mlp"), tmp_path / "a", torch.ones(1, 512), format="aotinductor")
    assert not list(tmp_path.iterdir())


def test_onnx_in_onnx_runtime(saved):
    x = example("mlp", 7)
    alone = load(saved("torch", "mlp", "onnx"), framework="onnxruntime")
    with torch.no_grad():
        eager = torch_model("mlp")(torch.tensor(x))
    assert not unlike([to_raw(eager)], [Raw.of(alone(x))])
    with pytest.raises(InputMismatchError):
        alone(x[:, :3])
    with pytest.raises(InputMismatchError, match=r"numpy, received a torch\.Tensor"):
        alone(torch.tensor(x))


class Named(torch.nn.Module):
    def forward(self, x) -> dict[str, torch.Tensor]:
        return {"logits": x * 2, "features": x + 10}


@pytest.mark.parametrize("name", WHOLE)
def test_outputs_by_name_keep_the_order_of_the_model(tmp_path, name):
    x = torch.ones(2, 3)
    save(Named(), tmp_path / "a", x, format=name)
    recorded = recall(tmp_path / "a", read(tmp_path / "a").manifest.example_outputs)
    assert [raw.array[0, 0] for raw in recorded] == [2, 11]
    assert verify(tmp_path / "a").ok
    if name in ("onnx", "aotinductor"):
        found = run_native(tmp_path / "a", x.numpy())
        assert {name: output[0, 0] for name, output in found.items()} == {
            "logits": 2,
            "features": 11,
        }


def test_two_threads_do_not_unset_each_others_switch(monkeypatch):
    switch, seen = "TORCH_FORCE_WEIGHTS_ONLY_LOAD", []
    monkeypatch.delenv(switch, raising=False)

    def work():
        with programs.weights_only():
            seen.append(os.environ[switch])

    other = threading.Thread(target=work)
    with programs.weights_only():
        other.start()
        other.join(0.2)
        assert not seen  # it waits for this one
    other.join()
    assert seen == ["1"]
    assert switch not in os.environ


class Complex(torch.nn.Module):
    def forward(self, x):
        return torch.complex(x, x)


class Opening(torch.nn.Module):
    def forward(self, x):
        with open("/no/such/vocabulary"):
            return x


@pytest.mark.parametrize(
    ("model", "dtype", "text"),
    [
        (Complex(), torch.float32, "received complex64"),
        (torch.nn.Identity(), torch.float8_e5m2, "did not|received float8"),
        (Opening(), torch.float32, "did not run this model.*no/such/vocabulary"),
    ],
)
def test_save_refuses_what_no_manifest_holds(tmp_path, model, dtype, text):
    with pytest.raises(SaveError, match=text):
        save(model, tmp_path / "a", torch.ones(1, 3).to(dtype))
    assert not list(tmp_path.iterdir())


def test_a_model_without_source(tmp_path):
    """TorchScript's OSError for it is none of the disk's."""
    space = {"torch": torch}
    exec("class Model(torch.nn.Module):\n    def forward(self, x):\n        return x * 2", space)
    words = "did not write this model as 'torchscript'.*may hold this model: torch.export"
    with pytest.raises(SaveError, match=words):
        save(space["Model"](), tmp_path / "a", torch.ones(1, 3), format="torchscript")


class Moving(torch.nn.Module):
    def __init__(self, where):
        super().__init__()
        self.where, self.scale = where, torch.nn.Parameter(torch.ones(1))

    def forward(self, x):
        os.chdir(self.where)
        return x * self.scale


def test_a_model_that_changes_the_current_folder(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    save(Moving(tmp_path / "elsewhere"), "a", torch.ones(1, 3), format="safetensors")
    assert inspect(tmp_path / "a").problems == ()


def test_every_weight_is_compared(tmp_path):
    """What the file has other than the model is found: value, shape or dtype."""
    from safetensors.torch import save_file

    model, format = torch.nn.Linear(3, 2), FORMATS["safetensors"]
    good = {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}
    for wrong in (good["weight"] + 1, good["weight"].T.contiguous(), good["weight"].double()):
        save_file({**good, "weight": wrong}, tmp_path / format.file)
        assert format.differing(model, tmp_path) == "'weight' differs"
    model.weight.data.fill_(float("nan"))
    save_file({**good, "weight": model.weight.detach().clone()}, tmp_path / format.file)
    assert format.differing(model, tmp_path) == ""
