"""Try MXNet on another NumPy than that of ``.venv``, in ``.venv-numpy``.

``make test-numpy`` runs this file, which runs tests/compat_numpy.py there: on the last NumPy 1,
which MXNet's own requirements ask for, or on the release that NUMPY names.
"""

import argparse
import platform
import subprocess
import sys

from environments import ROOT, environment
from setup_env import mxnet_problem

NUMPY_1 = "1.26.4"
# Without their dependencies, because MXNet's rule out NumPy 2. The rest is what MXNet imports, and
# what d2lhybrid needs.
PACKAGES = (
    *("mxnet==1.9.1", "setuptools==80.9.0", "graphviz==0.8.4", "requests==2.32.5"),
    *("urllib3==2.5.0", "idna==3.10", "certifi==2025.10.5", "charset-normalizer==3.4.4"),
    *("platformdirs==4.5.0", "tqdm==4.67.1"),
)


def main() -> None:
    """Run the check, or say why there is nothing to check here."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("numpy", nargs="?", help=f"the release of NumPy; without, {NUMPY_1}")
    numpy = parser.parse_args().numpy or NUMPY_1
    if problem := mxnet_problem(platform.system(), platform.machine()):
        print(problem)
        return
    if numpy.startswith("1.") and sys.version_info >= (3, 13):
        print("NumPy 1 has no release for this Python, so MXNet is tried on NumPy 2 alone.")
        return
    python = environment(".venv-numpy", ["--no-deps", f"numpy=={numpy}", *PACKAGES])
    sys.exit(subprocess.run([python, "tests/compat_numpy.py"], cwd=ROOT).returncode)


if __name__ == "__main__":
    main()
