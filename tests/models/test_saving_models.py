"""Every structure, saved in each format, loaded by another process, and run natively.

What ``save`` proves in a process for each model, another process does here for all at once.
"""

from importlib import import_module

import pytest
from checks import check_native, read_elsewhere

from d2lhybrid import frameworks, run_native, save
from d2lhybrid.artifacts import saving
from d2lhybrid.artifacts.store import read
from d2lhybrid.errors import UnsupportedArtifactError

LEFT_OUT = {"aotinductor"}  # a minute for each model; it begins as torch.export does
COMPILED = {"torch.export"}  # for the native program, likewise


@pytest.fixture(scope="module", params=frameworks.known(), ids=lambda one: one.name)
def framework(request):
    return request.param


@pytest.fixture(scope="module")
def saved(framework, tmp_path_factory):
    """The user's data folder, and that of each model in each format."""
    root = tmp_path_factory.mktemp(framework.name)
    made = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("D2LHYBRID_DATA", str(root / "user"))
        patch.setattr(saving, "prove", lambda folder, format: None)
        for name, model in import_module(f"{framework.name}_models").models().items():
            for format in framework.formats.keys() - LEFT_OUT:
                made[format, name] = root / f"{format} {name}"
                save(model, made[format, name], format=format)
    return root / "user", made


def test_another_process_loads_and_runs_them(saved):
    user, made = saved
    for (key, folder), said in zip(
        made.items(), read_elsewhere(list(made.values()), user), strict=True
    ):
        assert said.get("difference") == "", f"{key}: {said}"
        assert said["ok"], key
        assert said["tree"] == read(folder).manifest.returns.cls, key


def test_native_programs_run_them(framework, saved, monkeypatch):
    user, made = saved
    monkeypatch.setenv("D2LHYBRID_DATA", str(user))
    if not any(one.native for one in framework.formats.values()):
        pytest.skip(f"no format of {framework.display} runs without Python")
    for (format, name), folder in made.items():
        manifest = read(folder).manifest
        if any(spec.dtype == "string" for spec in (*manifest.inputs, *manifest.outputs)):
            with pytest.raises(UnsupportedArtifactError, match="string"):
                run_native(folder)
        elif format not in COMPILED:
            assert check_native(folder) == "", name
