"""What lies in the current folder is not imported: files there may have the names of modules.

A file writes its name into ``imported`` when it runs, and does nothing else.
"""

import pytest
from processes import python

# In MXNet, which starts quickest: the processes in which a model is proved, and examined, are ours.
VERBS = """
if __name__ == "__main__":
    import numpy as np
    import d2lhybrid as d

    mx, options = d.import_mxnet(), {"progress": False, "time_limit": 0.1}
    net, x = mx.gluon.nn.Dense(2), mx.nd.ones((2, 3))
    net.initialize()
    d.save(net, "a", x)
    assert d.verify("a").ok
    assert d.load("a")(x).shape == (2, 2)
    assert not d.inspect("a").problems
    assert d.trust("a").trusted
    assert d.run_native("a", np.ones((2, 3), "float32")).shape == (2, 2)
    ways = d.variants(net, x).only("eager", "hybridized")
    assert set(d.compare(ways, **options)) == {"eager", "hybridized"}
    d.measure(net, x, time_limit=0.1)
    d.explain(net, x)
    repr(d.graph(net, x))
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd")
    steps = d.training(net, mx.gluon.loss.L2Loss(), trainer, (x, mx.nd.ones((2, 2))))
    d.compare(steps.only("eager"), **options)
    d.sweep(lambda n: (net, mx.nd.ones((n, 3))), [1, 2], only=("eager",), **options)
    assert d.doctor("mxnet").ok
"""
# Inductor runs Python for each set of instructions that the processor may know.
COMPILED = """
if __name__ == "__main__":
    import torch
    import d2lhybrid as d
    from torch._inductor import config, cpu_vec_isa

    # One set is enough, and no headers come first: to compile these for it takes longest.
    cpu_vec_isa.supported_vec_isa_list[:] = [cpu_vec_isa.VecAVX2()]
    config.cpp_cache_precompile_headers = False
    ways = d.variants(torch.nn.Linear(3, 2).eval(), torch.ones(2, 3)).only("torch.compile")
    found = d.compare(ways, progress=False, time_limit=0.1)
    assert set(found) == {"torch.compile"}
"""


def fill(folder, names):
    """A file for each of these names, in a new folder."""
    folder.mkdir()
    for name in names:
        code = f"open({str(folder / 'imported')!r}, 'a').write({name + ' '!r})\n"
        (folder / f"{name}.py").write_text(code)
    return folder


def imported(folder):
    return (folder / "imported").read_text() if (folder / "imported").exists() else ""


# Of modules that libraries try to import, and do without. Pickle tries the first, for Jython.
OPTIONAL = ("org", "dill", "gmpy2", "triton", "pydot", "sitecustomize")
# In a process of its own: setuptools, once imported, adds a folder to the path.
INSTALLED = """
import sys
from importlib.machinery import PathFinder
from importlib.metadata import packages_distributions

names = {*sys.stdlib_module_names, *packages_distributions()} - {"d2lhybrid", "__main__"}
specs = {name: PathFinder.find_spec(name) for name in names if name.isidentifier()}
print(*sorted(name for name, spec in specs.items() if spec and spec.origin))
"""


@pytest.fixture
def everything():
    """The names of Python's modules and of all that is installed, where these are here.

    Without namespace packages, such as NVIDIA's ``cuda``: Python prefers any module of that name to
    them, wherever on the path it is.
    """
    return python("-c", INSTALLED).stdout.split()


@pytest.mark.parametrize("code", [VERBS, COMPILED], ids=["every verb", "a compiler"])
def test_a_script_that_lies_elsewhere(tmp_path, everything, code):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "script.py").write_text(code)
    folder = fill(tmp_path / "folder", everything)
    script = str(tmp_path / "elsewhere" / "script.py")
    python("-W", "ignore", script, cwd=folder, TORCHINDUCTOR_VEC_ISA_OK=None)
    assert imported(folder) == ""


def test_the_command_line(tmp_path, everything):
    """``python -m`` itself imports some modules from there, before it comes to the package."""
    (tmp_path / "nothing.py").write_text("import sys\nprint(*sys.modules)\n")
    early = python("-m", "nothing", cwd=tmp_path).stdout.split()
    names = {*everything, *OPTIONAL} - set(early)
    assert {"typing", "re", "json", "random", "argparse", "numpy", "mxnet", "org"} <= names
    (tmp_path / "functions.py").write_text("def f():\n    return 1\n")
    folder = fill(tmp_path / "folder", names)
    for arguments, status in (
        (("verify", "nothing"), 1),
        (("doctor", "mxnet"), 0),
        (("compare", str(tmp_path / "functions.py"), "f", "--time-limit", "0.1"), 0),
    ):
        python("-m", "d2lhybrid", *arguments, status=status, cwd=folder)
    assert imported(folder) == ""
