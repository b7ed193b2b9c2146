"""import_mxnet, in processes of its own, since an import cannot be undone."""

import pytest
from processes import python


def test_the_whole_way_on_the_pinned_numpy():
    assert "NumPy is as it was" in python("tests/compat_numpy.py").stdout


def test_after_a_plain_import_that_failed_many_threads_get_one_mxnet_and_no_warning():
    done = python(
        "-c",
        "import warnings; warnings.simplefilter('ignore')\n"
        "try:\n    import mxnet\nexcept Exception as error: print(type(error).__name__)\n"
        "warnings.simplefilter('error')\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        "from d2lhybrid import import_mxnet\n"
        "with ThreadPoolExecutor(8) as pool:\n"
        "    found = list(pool.map(lambda _: id(import_mxnet()), range(8)))\n"
        "from mxnet import np, npx; npx.set_np(); print(len(set(found)), (np.ones(3) * 2).sum())\n"
        "warnings.simplefilter('ignore'); import d2l.mxnet",
    )
    assert (done.stdout.split(), done.stderr) == (["AttributeError", "1", "6.0"], "")


WITHOUT = """
import importlib.abc, platform, sys
class Block(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == {missing!r}:
            raise ModuleNotFoundError(f'No module named {{name}}', name=name)
sys.meta_path.insert(0, Block())
sys.modules.pop('distutils', None)
platform.system, platform.machine = lambda: {system!r}, lambda: {machine!r}
from d2lhybrid import import_mxnet
import_mxnet()
"""


@pytest.mark.parametrize(
    ("missing", "system", "machine", "said"),
    [
        ("mxnet", "Linux", "x86_64", "pip install --no-deps mxnet"),
        ("mxnet", "Darwin", "arm64", "no wheels"),
        ("distutils", "Linux", "x86_64", "[mxnet]"),
    ],
)
def test_what_is_missing_and_what_to_install(missing, system, machine, said):
    code = WITHOUT.format(missing=missing, system=system, machine=machine)
    last = python("-c", code, status=1).stderr.strip().splitlines()[-1]
    assert last.partition(":")[0].endswith(".errors.MissingPackageError")
    assert said in last
