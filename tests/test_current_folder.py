"""What lies in the current folder is not imported: files there may have the names of modules.

A file writes its name into ``imported`` when it runs, and does nothing else.
"""

import sys
from importlib.machinery import PathFinder
from importlib.metadata import packages_distributions

import pytest
from processes import python

VERBS = """
import sys

if __name__ == "__main__":
    import numpy as np
    import torch
    import d2lhybrid as d

    net, x, options = torch.nn.Linear(3, 2).eval(), torch.ones(2, 3), {"progress": False}
    for format in ("torch.export", "onnx"):
        d.save(net, "a", x, format=format)
        assert d.verify("a").ok
        assert d.load("a")(x).shape == (2, 2)
        assert not d.inspect("a").problems
        assert d.trust("a").trusted
    assert d.run_native("a", np.ones((2, 3), "float32")).shape == (2, 2)
    ways = d.variants(net, x).only("eager", "torch.compile")
    assert set(d.compare(ways, x, time_limit=0.1, **options)) == {"eager", "torch.compile"}
    d.measure(net, x, time_limit=0.1)
    d.explain(net, x)
    repr(d.graph(net, x))
    steps = d.training(net, lambda y, t: (y - t).square().mean(),
                       torch.optim.SGD(net.parameters(), 0.1), (x, torch.ones(2, 2)))
    d.compare(steps.only("eager"), time_limit=0.1, **options)
    d.sweep(lambda n: (net, torch.ones(n, 3)), [1, 2], only=("eager",), time_limit=0.1, **options)
    assert d.doctor("torch").ok
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


@pytest.fixture
def everything():
    """The names of Python's modules and of all that is installed, where these are here.

    Without namespace packages, such as NVIDIA's ``cuda``: Python prefers any module of that name to
    them, wherever on the path it is.
    """
    names = {*sys.stdlib_module_names, *packages_distributions()} - {"d2lhybrid", "__main__"}
    specs = {name: PathFinder.find_spec(name) for name in names if name.isidentifier()}
    return sorted(name for name, spec in specs.items() if spec and spec.origin)


def test_every_verb(tmp_path, everything):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "script.py").write_text(VERBS)
    folder = fill(tmp_path / "folder", everything)
    python("-W", "ignore", str(tmp_path / "elsewhere" / "script.py"), cwd=folder)
    assert imported(folder) == ""


def test_a_session_that_imports_from_the_current_folder(tmp_path, everything):
    """As Python and IPython do where there is no script; the module of the model is still found."""
    folder = fill(tmp_path / "folder", everything)
    (folder / "operators.py").write_text(
        "import torch\n"
        "@torch.library.custom_op('current_folder::double', mutates_args=())\n"
        "def double(x: torch.Tensor) -> torch.Tensor:\n    return x * 2\n"
        "double.register_fake(torch.empty_like)\n"
        "class Double(torch.nn.Module):\n    def forward(self, x):\n        return double(x)\n"
    )
    code = (
        "import sys, torch\n"
        "from d2lhybrid import load, save\n"
        "from d2lhybrid.artifacts import save as saving\n"
        "sys.path.append('')\n"
        "from operators import Double\n"
        "sys.path.pop()\n"
        "verify, x = saving.verify_in_subprocess, torch.ones(2, 3)\n"
        "def verify_in_a_session(*given):\n"  # this process has its own imports behind it
        "    sys.path.insert(0, '')\n"
        "    try:\n        return verify(*given)\n"
        "    finally:\n        sys.path.remove('')\n"
        "saving.verify_in_subprocess = verify_in_a_session\n"
        "save(Double(), 'a', x)\n"
        "assert load('a')(x).tolist() == [[2.0] * 3] * 2\n"
    )
    (tmp_path / "script.py").write_text(code)
    python("-W", "ignore", str(tmp_path / "script.py"), cwd=folder)
    assert imported(folder) == ""


def test_the_command_line(tmp_path, everything):
    """``python -m`` itself imports some modules from there, before it comes to the package."""
    (tmp_path / "nothing.py").write_text("import sys, typing\nprint(*sys.modules)\n")
    early = python("-m", "nothing", cwd=tmp_path).stdout.split()
    names = set(everything) - set(early)
    assert {"json", "random", "argparse", "numpy", "torch", "platformdirs"} <= names
    (tmp_path / "functions.py").write_text("def f():\n    return 1\n")
    folder = fill(tmp_path / "folder", names)
    for arguments, status in (
        (("verify", "nothing"), 1),
        (("doctor", "torch"), 0),
        (("compare", str(tmp_path / "functions.py"), "f", "--time-limit", "0.1"), 0),
    ):
        python("-m", "d2lhybrid", *arguments, status=status, cwd=folder)
    assert imported(folder) == ""
