"""import_mxnet, in processes of its own, since an import cannot be undone."""

import subprocess
import sys
from pathlib import Path

import pytest

from d2lhybrid.frameworks.mxnet import compat

ROOT = Path(__file__).parents[1]


def run(*command: object) -> subprocess.CompletedProcess[str]:
    command = (sys.executable, *command)
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=120)


def test_the_whole_way_on_the_pinned_numpy():
    done = run(ROOT / "tests" / "compat_numpy.py")
    assert done.returncode == 0, done.stderr
    assert "NumPy is as it was" in done.stdout


def test_many_threads_get_one_mxnet_and_no_warning():
    done = run(
        "-c",
        "import warnings; warnings.simplefilter('error')\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        "from d2lhybrid import import_mxnet\n"
        "with ThreadPoolExecutor(8) as pool:\n"
        "    found = list(pool.map(lambda _: id(import_mxnet()), range(8)))\n"
        "from mxnet import np, npx; npx.set_np(); print(len(set(found)), (np.ones(3) * 2).sum())",
    )
    assert (done.stdout.strip(), done.stderr) == ("1 6.0", "")


def test_after_a_plain_import_that_failed():
    done = run(
        "-c",
        "import warnings; warnings.simplefilter('ignore')\n"
        "try:\n    import mxnet\nexcept Exception as error: print(type(error).__name__)\n"
        "from d2lhybrid import import_mxnet; mx = import_mxnet()\n"
        "import d2l.mxnet; print(mx.np.ones((2,)).sum())",
    )
    assert done.stdout.split() == ["AttributeError", "2.0"], done.stderr


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
        ("mxnet", "Darwin", "arm64", "no wheels"),
        ("distutils", "Linux", "x86_64", "[mxnet]"),
    ],
)
def test_what_is_missing_and_what_to_install(missing, system, machine, said):
    done = run(
        "-c",
        BLOCK.format(name=missing) + f"sys.modules.pop('distutils', None)\n"
        f"platform.system = lambda: {system!r}\nplatform.machine = lambda: {machine!r}\n"
        "from d2lhybrid.frameworks.mxnet.compat import import_mxnet\nimport_mxnet()",
    )
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("d2lhybrid.errors.MissingPackageError")
    assert said in last
