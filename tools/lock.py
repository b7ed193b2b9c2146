"""Write ``requirements/lock.txt``: one pinned version of every package, for all platforms.

``make lock`` runs this file inside ``.venv``; uv does the solving. The CUDA libraries of the
standard PyTorch build are left to PyTorch's own exact pins: naming them here would bring
gigabytes to a machine whose PyTorch is the small CPU build. MXNet and d2l, which pin what nothing
else accepts, stand in ``requirements/no-deps.txt``.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements" / "lock.txt"
EXTRAS = (
    *("torch", "jax", "onnx", "safetensors", "notebooks"),
    *("test", "site", "browser", "bench"),
)
LEFT_TO_TORCH = re.compile(r"(nvidia|cuda)-|triton==")
HEADER = """\
# Made by `make lock` from pyproject.toml and requirements/notebooks.in; not edited by hand.
# PyTorch brings the CUDA libraries of its build itself, with exact versions.
"""


def main() -> None:
    """Solve for every supported Python and platform and write the result in one step."""
    command = [sys.executable, "-m", "uv", "--quiet", "pip", "compile"]
    command += [
        "pyproject.toml",
        "requirements/notebooks.in",
        "--universal",
        "--no-python-downloads",
    ]
    command += ["--python-version", "3.11"]
    command += ["--no-annotate", "--no-header", "--no-emit-index-url"]
    for extra in EXTRAS:
        command += ["--extra", extra]
    solved = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    if solved.returncode:
        sys.exit("No versions fit together; the lines above say why. lock.txt is unchanged.")
    kept = [line for line in solved.stdout.splitlines() if not LEFT_TO_TORCH.match(line)]
    LOCK.write_text(HEADER + "\n".join(line for line in kept if not line.startswith("--")) + "\n")


if __name__ == "__main__":
    main()
