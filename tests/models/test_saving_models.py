"""Every structure, saved in each format, loaded by another process, and run natively."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from d2lhybrid import frameworks, load, run_native, save
from d2lhybrid.artifacts.examples import recall
from d2lhybrid.artifacts.store import read
from d2lhybrid.errors import SaveError, UnsupportedArtifactError
from d2lhybrid.structure import leaves

HERE = Path(__file__).parent
FORMATS = {
    "torch": ("torch.export", "torchscript", "onnx"),
    "tensorflow": ("savedmodel", "keras"),
    "jax": ("jax.export",),
    "mxnet": ("mxnet",),
}
# What a format cannot hold, with the words of the refusal.
REFUSED = {
    **{("torchscript", name): "did not write" for name in (
        "None and number", "keyword", "dataclass out", "output class",
        "cache out", "lambda", "method")},
    **{("keras", name): "Expected a Keras model" for name in (
        "plain", "keyword", "None and number", "strings", "strings in a function", "strings out",
        "tiny")},
    ("keras", "lstm with state"): "cannot load",
}  # fmt: skip


@pytest.fixture(scope="module", params=frameworks.known(), ids=lambda one: one.name)
def framework(request):
    return request.param


@pytest.fixture(scope="module")
def saved(framework, tmp_path_factory, provers):
    """The folder of each model in each format, or the refusal."""
    from proving import proving_with

    root = tmp_path_factory.mktemp(framework.name)
    module = __import__(f"{framework.name}_models")
    made = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("D2LHYBRID_DATA", str(root / "user"))
        proving_with(provers, patch)
        for name, model in module.models().items():
            for format in FORMATS[framework.name]:
                try:
                    made[format, name] = root / f"{format} {name}"
                    save(model, made[format, name], format=format)
                except SaveError as error:
                    made[format, name] = str(error)
    return root, made


def test_saves_or_says_why_not(saved):
    _root, made = saved
    wrong = {
        key: found
        for key, found in made.items()
        if (key in REFUSED) == isinstance(found, Path) or REFUSED.get(key, "") not in str(found)
    }
    assert not wrong


def test_another_process_loads_and_runs_them(saved):
    root, made = saved
    folders = {key: found for key, found in made.items() if isinstance(found, Path)}
    environment = {
        **os.environ,
        "D2LHYBRID_DATA": str(root / "user"),
        "PYTHONPATH": os.pathsep.join([str(HERE.parents[1]), str(HERE)]),
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }
    command = [sys.executable, "-W", "ignore", str(HERE / "reader.py"), *map(str, folders.values())]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    lines = done.stdout.splitlines()
    assert len(lines) == len(folders), done.stderr[-2000:]
    for (key, folder), line in zip(folders.items(), lines, strict=True):
        said = json.loads(line)
        assert said.get("difference") == "", f"{key}: {said}"
        assert said["ok"], key
        assert said["form"] == read(folder).manifest.returns.form, key


def test_native_programs_run_them(framework, saved, monkeypatch):
    root, made = saved
    if not any(one.native for one in framework.formats.values()):
        pytest.skip(f"no format of {framework.display} runs without Python")
    monkeypatch.setenv("D2LHYBRID_DATA", str(root / "user"))
    ran = 0
    for key, folder in made.items():
        if not isinstance(folder, Path) or key[0] in ("torch.export", "keras", "jax.export"):
            continue
        manifest = read(folder).manifest
        recorded = [raw.values() for raw in recall(folder, manifest.example_inputs)]
        args, kwargs = manifest.takes.filled(recorded)
        if any(spec.dtype == "string" for spec in (*manifest.inputs, *manifest.outputs)):
            with pytest.raises(UnsupportedArtifactError, match="string"):
                run_native(folder, *args, **kwargs)
            continue
        found = [
            leaf for _p, leaf in leaves(run_native(folder, *args, **kwargs)) if leaf is not None
        ]
        wanted = [raw.values() for raw in recall(folder, manifest.example_outputs)]
        assert len(found) == len(wanted), key
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-4, err_msg=str(key))
        ran += 1
    assert ran


def test_calls_by_name_and_by_position(saved, monkeypatch):
    """A keyword's order does not matter; another structure is refused with what was expected."""
    root, made = saved
    monkeypatch.setenv("D2LHYBRID_DATA", str(root / "user"))
    for (_format, name), folder in made.items():
        if name == "keyword" and isinstance(folder, Path):
            manifest = read(folder).manifest
            model = load(folder)
            with pytest.raises(TypeError, match="Expected"):
                model()
            with pytest.raises(TypeError, match="Expected"):
                model(**{spec.name: 1 for spec in manifest.inputs})
