"""Every structure that models take and return: measured, saved in each format, loaded, run.

What ``save`` proves in a process for each model, another process does here for all at once.
"""

from importlib import import_module

import pytest
from checks import check_compare, check_explain, check_load, check_native

from d2lhybrid import backends, run_native, save
from d2lhybrid.artifacts import save as saving
from d2lhybrid.artifacts.store import read
from d2lhybrid.errors import UnsupportedArtifactError

LEFT_OUT = {"aotinductor"}  # a minute for each model; it begins as torch.export does
COMPILED = {"torch.export"}  # for the native program, likewise
# Without Inductor's minutes: what is handed to a model and taken from it is the same.
OPTIONS = {"torch": {"compiler_options": {"backend": "eager"}}}


@pytest.fixture(scope="module", params=backends.known(), ids=lambda one: one.name)
def framework(request):
    return request.param


@pytest.fixture(scope="module")
def models(framework):
    return import_module(f"{framework.name}_models").models()


@pytest.fixture(scope="module")
def saved(framework, models, tmp_path_factory):
    """The user's data folder, and that of each model in each format."""
    root, made = tmp_path_factory.mktemp(framework.name), {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("D2LHYBRID_DATA", str(root / "user"))
        patch.setattr(saving, "verify_in_subprocess", lambda folder: "")
        for name, model in models.items():
            for format in framework.formats.keys() - LEFT_OUT:
                made[format, name] = root / f"{format} {name}"
                save(model, made[format, name], format=format)
    return root / "user", made


def test_every_structure_is_compared_and_explained(framework, models):
    assert len(models) > 4
    for model in models.values():
        check_compare(model, framework.name, 0.05, **OPTIONS.get(framework.name, {}))
        check_explain(model)


def test_another_process_loads_and_runs_them(saved):
    check_load([*saved[1].values()], saved[0])


def test_native_programs_run_them(framework, saved, monkeypatch):
    user, made = saved
    monkeypatch.setenv("D2LHYBRID_DATA", str(user))
    if not any(one.native for one in framework.formats.values()):
        pytest.skip(f"no format of {framework.display} runs without Python")
    for (format, _name), folder in made.items():
        manifest = read(folder).manifest
        if any(spec.dtype == "string" for spec in (*manifest.inputs, *manifest.outputs)):
            with pytest.raises(UnsupportedArtifactError, match="string"):
                run_native(folder)
        elif format not in COMPILED:
            check_native(folder)
