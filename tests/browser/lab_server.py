"""JupyterLab as a reader has it: ``make lab`` in a fresh copy of the collection."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

ROOT = Path(__file__).resolve().parent.parent.parent
# What `make lab` reads. The frameworks' package comes from the environment, or from PYTHONPATH.
_PARTS = ("Makefile", "notebooks", "requirements", "tools")
_LANGUAGE = ("D2LHYBRID_LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG", "LANGUAGE")
_PATIENCE = 120  # seconds for the first start on a busy machine


@dataclass(frozen=True)
class LabServer:
    """A running JupyterLab: its folder, the address that it printed, and its process."""

    folder: Path
    address: str
    process: subprocess.Popen[bytes]

    @property
    def site(self):
        """Scheme and host, without a path."""
        parts = urlsplit(self.address)
        return f"{parts.scheme}://{parts.netloc}"

    def stop_kernels(self):
        """End the kernels, so that the next notebook has the machine for itself."""
        for kernel in json.loads(self._call("GET", "/api/kernels")):
            self._call("DELETE", f"/api/kernels/{kernel['id']}")

    def _call(self, method, path):
        token = parse_qs(urlsplit(self.address).query)["token"][0]
        headers = {"Authorization": f"token {token}"}
        request = urllib.request.Request(self.site + path, method=method, headers=headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return bytes(answer.read())


def copy_collection(folder):
    """Copy what `make lab` needs, so that no test can touch the committed notebooks."""
    folder.mkdir()
    ignored = shutil.ignore_patterns(".ipynb_checkpoints", "__pycache__")
    for name in _PARTS:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=ignored)
        else:
            shutil.copy(source, folder / name)


def start(folder, home, locale):
    """Start `make lab` in the folder, for a reader whose system speaks the locale's language."""
    log = home / "lab.log"
    home.mkdir()
    command = ["make", "lab", f"PY={sys.executable}", "ARGS=--no-browser"]
    options = {"cwd": folder, "env": _environment(home) | locale, "start_new_session": True}
    with log.open("wb") as stream:
        process = subprocess.Popen(command, stdout=stream, stderr=subprocess.STDOUT, **options)
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end and process.poll() is None:
        text = log.read_text(encoding="utf-8", errors="replace")
        if found := re.search(r"http://127\.0\.0\.1:\d+/lab\S*token=[0-9a-f]{8,}", text):
            return LabServer(folder, found[0], process)
        time.sleep(0.2)
    stop(process)
    raise RuntimeError(f"Expected an address from {command}. Received:\n{log.read_text()}")


def stop(process):
    """End the server, its make and, through it, its kernels."""
    if process.poll() is not None:
        return
    os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(timeout=30)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _environment(home):
    """The reader's environment, with folders of Jupyter's that are empty at first."""
    dropped = (*_LANGUAGE, "JUPYTER", "PYTEST", "MAKE", "MFLAGS")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    folders = {
        **{f"JUPYTER_{kind}_DIR": home / kind.lower() for kind in ("CONFIG", "DATA", "RUNTIME")},
        **{f"JUPYTERLAB_{kind}_DIR": home / kind.lower() for kind in ("SETTINGS", "WORKSPACES")},
        **{"IPYTHONDIR": home / "ipython", "D2LHYBRID_DATA": home / "d2lhybrid"},
    }
    return kept | {"PYTHONPATH": os.pathsep.join(paths)} | {k: str(v) for k, v in folders.items()}
