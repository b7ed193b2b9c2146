"""Try MXNet beside NumPy 2, which its own requirements rule out, in ``.venv-numpy2``.

``make test-numpy2`` runs this file, which runs tests/compat_numpy2.py there.
"""

import platform
import subprocess
import sys

from environments import ROOT, environment
from setup_env import mxnet_problem

# Without their dependencies, because MXNet's say numpy<2. The rest is what MXNet imports, and
# what d2lhybrid needs.
PACKAGES = (
    *("mxnet==1.9.1", "numpy==2.2.6", "setuptools==80.9.0", "graphviz==0.8.4", "requests==2.32.5"),
    *("urllib3==2.5.0", "idna==3.10", "certifi==2025.10.5", "charset-normalizer==3.4.4"),
    *("platformdirs==4.5.0", "tqdm==4.67.1"),
)


def main() -> None:
    """Run the check, or say why there is nothing to check on this machine."""
    version = sys.version_info[:2]
    # Here Python 3.13 is no obstacle: only the release of NumPy that MXNet asks for is.
    if problem := mxnet_problem(min(version, (3, 12)), platform.system(), platform.machine()):
        print(problem)
        return
    python = environment(".venv-numpy2", ["--no-deps", *PACKAGES])
    sys.exit(subprocess.run([python, "tests/compat_numpy2.py"], cwd=ROOT).returncode)


if __name__ == "__main__":
    main()
