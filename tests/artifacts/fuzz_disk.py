"""Save on a disk that is full: a clear refusal, the old artifact whole, and nothing left behind.

    python tests/artifacts/fuzz_disk.py

Mounts a small disk, which needs user namespaces (Linux).
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import d2lhybrid

FULL_DISK = """
import sys, os, torch
from d2lhybrid import save, load
model = torch.nn.Linear(100, 100)
x = torch.ones(1, 100)
save(model, "a", x, format=sys.argv[1])
old = load("a")(x)
filler = os.open("filler", os.O_WRONLY | os.O_CREAT)
try:
    while os.write(filler, bytes(4096)):
        pass
except OSError:
    os.ftruncate(filler, os.fstat(filler).st_size - 5 * 4096)
try:
    save(torch.nn.Linear(100, 100), "a", x, format=sys.argv[1])
except OSError as error:
    print("refused:", error)
assert torch.equal(load("a")(x), old)
os.close(filler)
os.remove("filler")
assert sorted(os.listdir()) == ["a"], os.listdir()
save(model, "a", x, format=sys.argv[1])
print("done")
"""
MOUNT = 'mount -t tmpfs -o size=400k none "$1" && cd "$1" && exec "$2" "$3" "$4"'


def campaign(format):
    """What the script above says, on a small disk of its own."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "disk").mkdir()
        script = Path(folder) / "full.py"
        script.write_text(FULL_DISK)
        command = ["unshare", "-Urm", "sh", "-c", MOUNT, "sh", f"{folder}/disk", sys.executable]
        environment = {**os.environ, "PYTHONPATH": str(Path(d2lhybrid.__file__).parents[1])}
        environment["D2LHYBRID_DATA"] = f"{folder}/user"
        done = subprocess.run(
            [*command, str(script), format], env=environment, capture_output=True, text=True
        )
    return done.stdout + done.stderr


if __name__ == "__main__":
    for format in ("torch.export", "onnx"):
        said = campaign(format)
        print(f"{format}: {said.strip()}", flush=True)
        if "refused: " not in said or not said.strip().endswith("done"):
            raise SystemExit(1)
