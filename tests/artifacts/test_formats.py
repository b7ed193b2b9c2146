"""One contract for every format: eager = reloaded = native, each proved by a process of its own.

And what the proof finds out.
"""

import os

import pytest
import torch
from artifact_models import MODELS, differ, example, inputs
from fuzz_damage import campaign
from fuzz_views import outcomes

from d2lhybrid import backends, inspect, load, run_native, save, verify
from d2lhybrid.artifacts import proof
from d2lhybrid.artifacts.store import read
from d2lhybrid.backends.torch import formats
from d2lhybrid.core import errors
from d2lhybrid.core.host_array import HostArray
from d2lhybrid.errors import InputMismatchError, SaveError

FORMATS = [(one.name, name) for one in backends.known() for name in one.formats]


@pytest.mark.parametrize(("framework", "name"), [*FORMATS, ("mxnet numpy", "mxnet")])
def test_eager_reloaded_native(saved, framework, name):
    path, net = saved(framework, name), MODELS[framework]()
    reloaded = load(path)
    # That of torch.export is compiled for the program first, which takes long.
    alone = backends.get(framework.split()[0]).formats[name].native and name != "torch.export"
    for batch in (1, 7):
        x = inputs(framework, batch)
        assert not differ(framework, net, x, reloaded(*x))
        if alone:
            array = x[0].numpy() if hasattr(x[0], "numpy") else x[0].asnumpy()
            assert not differ(framework, net, x, HostArray.of(run_native(path, array)))
    assert (verify(path).ok, verify(path).answer) == (True, "proved")


@pytest.mark.usefixtures("unproved")
def test_bfloat16(tmp_path):  # tests/models has that of the others
    net, x = torch.nn.Linear(3, 2).bfloat16(), torch.ones(1, 3, dtype=torch.bfloat16)
    save(net, tmp_path / "half", x)
    assert not differ("torch", net, (x,), load(tmp_path / "half")(x))
    assert verify(tmp_path / "half").ok


@pytest.mark.parametrize(("framework", "name"), FORMATS)
def test_a_view_is_no_other_tensor(saved, framework, name):
    """The short part of the campaign, which also runs natively, and each way to run a model."""
    run, net = load(saved(framework, name)), MODELS[framework]()
    found = dict(outcomes(framework, net, run, example(2)))
    assert {*found.values()} <= {"right", "refused"}
    assert {found[view] for view in ("plain", "slice", "transpose", "expand")} == {"right"}


@pytest.mark.parametrize(("framework", "name"), FORMATS)
def test_wrong_inputs(saved, framework, name):
    good = inputs(framework, 1)
    reloaded = load(saved(framework, name))
    for given in ((), (*good, *good), ("text",), (None,), (good[0][:, 1:],), (good[0][0],)):
        with pytest.raises(InputMismatchError, match="Expected"):
            reloaded(*given)
    if not backends.get(framework).formats[name].takes_arrays:
        array = good[0].numpy() if framework == "torch" else good[0].asnumpy()
        with pytest.raises(InputMismatchError, match=r"numpy\.ndarray"):
            reloaded(array)


@pytest.mark.parametrize("framework", backends.known(), ids=lambda one: one.name)
def test_damaged_artifacts_are_refused(saved, framework):
    """The short, seeded part of the campaign; before a format reads, all are looked at alike."""
    path = saved(framework.name, next(iter(framework.formats)))
    assert campaign(path, through="load", count=60, seed=1) == {"refused": 60}


def test_code_for_another_processor_is_not_run(saved, tmp_path, monkeypatch):
    """The package is in order, but a processor like the one it was made on is not here."""
    path = saved("torch", "aotinductor")
    machine = read(path).manifest.options["processor"][0]
    monkeypatch.setattr(formats, "CPUINFO", description := tmp_path / "cpuinfo")
    description.write_text("flags\t\t: fpu sse sse2 rdtscp\n")
    for here, words in ((machine, "compiled for a CPU with"), ("riscv64", machine)):
        monkeypatch.setattr(formats.platform, "machine", lambda here=here: here)
        for open_it in (load, verify, run_native):
            with pytest.raises(errors.UnsupportedArtifactError, match=words):
                open_it(path)
    assert inspect(path).problems == ()
    description.unlink()
    monkeypatch.setattr(formats.platform, "machine", lambda: machine)
    load(path)  # by the kind alone


def test_a_package_that_would_end_this_process_is_not_loaded(saved, monkeypatch):
    path = saved("torch", "aotinductor")
    monkeypatch.setattr(torch, "__version__", "2.11.0+cu130")
    load(path)  # without a GPU, it is none
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    for open_it in (load, verify):
        with pytest.raises(errors.UnsupportedArtifactError, match=r"PyTorch 2\.11\.0\+cu130 crash"):
            open_it(path)


def test_the_proof_leaves_nothing_unpacked(saved, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert proof.verify_in_subprocess(saved("torch", "aotinductor")) == ""
    assert not [*tmp_path.glob("aotinductor*")]


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


def test_what_a_file_needs_beside_itself_is_missed(tmp_path):
    made = {"__name__": "a module that is nowhere"}
    exec(OPERATOR, made)
    with pytest.raises(SaveError, match="only the artifact cannot load"):
        save(made["Model"](), tmp_path / "a", torch.ones(1, 3))
    assert not list(tmp_path.iterdir())


def test_a_proof_that_dies(tmp_path, monkeypatch):
    code = "import os, sys\nif 'import load' in ' '.join(sys.orig_argv): os._exit(3)\n"
    (tmp_path / "sitecustomize.py").write_text(code)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(SaveError, match="status 3"):
        save(torch.nn.Linear(3, 2), tmp_path / "a", torch.ones(1, 3))
