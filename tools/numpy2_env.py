"""Try MXNet beside NumPy 2, which its own requirements rule out, in ``.venv-numpy2``.

``make test-numpy2`` runs this file. It creates the environment unless a stamp says that nothing
changed, and runs tests/compat_numpy2.py in it.
"""

import hashlib
import platform
import shutil
import subprocess
import sys
from pathlib import Path

from setup_env import mxnet_problem

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv-numpy2"
STAMP = VENV / "setup-stamp.txt"

# Without their dependencies, because MXNet's say numpy<2. The rest is what MXNet imports, and
# what d2lhybrid needs.
PACKAGES = (
    *("mxnet==1.9.1", "numpy==2.2.6", "setuptools==80.9.0", "graphviz==0.8.4", "requests==2.32.5"),
    *("urllib3==2.5.0", "idna==3.10", "certifi==2025.10.5", "charset-normalizer==3.4.4"),
    *("platformdirs==4.5.0", "tqdm==4.67.1"),
)


def create() -> None:
    """Create the environment if it is missing or out of date."""
    stamp = hashlib.sha256(f"{sys.version} {PACKAGES}".encode()).hexdigest()
    if STAMP.exists() and STAMP.read_text() == stamp:
        return
    shutil.rmtree(VENV, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
    install = [str(VENV / "bin/python"), "-m", "pip", "install", "--quiet", "--no-deps"]
    if status := subprocess.run([*install, *PACKAGES]).returncode:
        sys.exit(f"Set-up of {VENV.name} stopped: pip ended with status {status}, see above.")
    STAMP.write_text(stamp)


def main() -> None:
    """Run the check, or say why there is nothing to check on this machine."""
    version = sys.version_info[:2]
    # Here Python 3.13 is no obstacle: only the release of NumPy that MXNet asks for is.
    if problem := mxnet_problem(min(version, (3, 12)), platform.system(), platform.machine()):
        print(problem)
        return
    create()
    check = [VENV / "bin/python", ROOT / "tests" / "compat_numpy2.py"]
    sys.exit(subprocess.run(check, cwd=ROOT).returncode)


if __name__ == "__main__":
    main()
