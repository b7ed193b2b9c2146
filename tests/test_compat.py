"""import_mxnet, in processes of its own, since an import cannot be undone."""

import subprocess
import sys
from pathlib import Path

import pytest

from d2lhybrid.frameworks.mxnet import compat

ROOT = Path(__file__).parents[1]


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, timeout=120
    )


def succeeds(code: str) -> str:
    done = run(code)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_whole_way_on_the_pinned_numpy():
    script = ROOT / "tests" / "compat_numpy.py"
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, cwd=ROOT, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert "NumPy is as it was" in done.stdout


def test_one_line_and_no_warning():
    done = run(
        "import warnings; warnings.simplefilter('error')\n"
        "from d2lhybrid import import_mxnet; mx = import_mxnet()\n"
        "from mxnet import np, npx; npx.set_np(); print((np.ones(3) * 2).sum())"
    )
    assert done.stdout.strip() == "6.0", done.stderr
    assert done.stderr == ""


def test_after_a_plain_import_that_failed():
    output = succeeds(
        "import warnings; warnings.simplefilter('ignore')\n"
        "try:\n    import mxnet\nexcept Exception as error: print(type(error).__name__)\n"
        "from d2lhybrid import import_mxnet; mx = import_mxnet()\n"
        "print(mx.np.ones((2,)).sum())"
    )
    assert output.split() == ["AttributeError", "2.0"]


def test_many_threads_at_once_get_one_mxnet():
    output = succeeds(
        "from concurrent.futures import ThreadPoolExecutor\n"
        "from d2lhybrid import import_mxnet\n"
        "with ThreadPoolExecutor(8) as pool:\n"
        "    found = list(pool.map(lambda _: id(import_mxnet()), range(8)))\n"
        "print(len(set(found)))"
    )
    assert output.strip() == "1"


def test_other_libraries_see_no_old_name():
    output = succeeds(
        "from d2lhybrid import import_mxnet; import_mxnet()\n"
        "import numpy, d2l.mxnet, mxnet.base\n"
        "print([hasattr(numpy, n) for n in ('int', 'object', 'NINF')], mxnet.base._np is numpy)"
    )
    assert output.strip() == "[False, False, False] False"


def test_cuda_11_libraries_are_tried_again_until_nothing_more_loads(tmp_path, monkeypatch):
    needs = {"cudnn": {"cublas"}, "cublas": {"cudart"}, "cudart": set(), "odd": {"missing"}}
    for name in needs:
        (tmp_path / name / "lib").mkdir(parents=True)
        (tmp_path / name / "lib" / f"lib{name}.so.11").touch()
    loaded = set()

    def load(path):
        name = path.parts[-3]
        if not needs[name] <= loaded:
            raise OSError
        loaded.add(name)

    class Distribution:
        def locate_file(self, name):
            return tmp_path

    monkeypatch.setattr(compat.metadata, "distribution", lambda name: Distribution())
    monkeypatch.setattr(compat.ctypes, "CDLL", lambda path, mode: load(Path(path)))
    compat._load_cuda_11()
    assert loaded == {"cudart", "cublas", "cudnn"}


BLOCK = (
    "import sys, platform, importlib.abc\n"
    "class Block(importlib.abc.MetaPathFinder):\n"
    "    def find_spec(self, name, path, target=None):\n"
    "        if name == {name!r}:\n"
    "            raise ModuleNotFoundError(f'No module named {{name}}', name=name)\n"
    "sys.meta_path.insert(0, Block())\n"
)


@pytest.mark.parametrize(
    ("missing", "system", "machine", "said"),
    [
        ("mxnet", "Linux", "x86_64", "pip install --no-deps mxnet"),
        ("mxnet", "Windows", "AMD64", "no wheels"),
        ("mxnet", "Darwin", "arm64", "no wheels"),
        ("distutils", "Linux", "x86_64", "[mxnet]"),
    ],
)
def test_what_is_missing_and_what_to_install(missing, system, machine, said):
    done = run(
        BLOCK.format(name=missing) + f"sys.modules.pop('distutils', None)\n"
        f"platform.system = lambda: {system!r}\nplatform.machine = lambda: {machine!r}\n"
        "from d2lhybrid.frameworks.mxnet.compat import import_mxnet\nimport_mxnet()"
    )
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("d2lhybrid.errors.MissingPackageError")
    assert said in last
