"""JupyterLab as a reader has it: ``make lab`` in a fresh copy of the collection."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from urllib.request import Request, urlopen

from collection import ROOT

# What `make lab` reads. The frameworks' package comes from the environment, or from PYTHONPATH.
_PARTS = ("Makefile", "notebooks", "requirements", "tools")
_LANGUAGE = ("D2LHYBRID_LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG", "LANGUAGE")
_PATIENCE = 120  # seconds for the first start on a busy machine


class LabServer:
    """A running JupyterLab for a reader whose system speaks the locale's language.

    It runs in a copy of what `make lab` needs, so that no test can touch the committed notebooks.
    """

    def __init__(self, folder, locale):
        self.folder, home = folder / "checkout", folder / "home"
        home.mkdir()
        ignored = shutil.ignore_patterns(".ipynb_checkpoints", "__pycache__")
        for source in map(ROOT.joinpath, _PARTS):
            if source.is_dir():
                shutil.copytree(source, self.folder / source.name, ignore=ignored)
        shutil.copy(ROOT / "Makefile", self.folder)
        command = ["make", "lab", f"PY={sys.executable}", "ARGS=--no-browser"]
        options = {"cwd": self.folder, "env": _environment(home) | locale}
        with (home / "lab.log").open("wb") as log:
            self.process = subprocess.Popen(
                command, stdout=log, stderr=subprocess.STDOUT, start_new_session=True, **options
            )
        end = time.monotonic() + _PATIENCE
        while time.monotonic() < end and self.process.poll() is None:
            text = (home / "lab.log").read_text(encoding="utf-8", errors="replace")
            if found := re.search(r"(http://127\.0\.0\.1:\d+)/lab\S*token=([0-9a-f]{8,})", text):
                self.address, self._site, self._token = found.group(0, 1, 2)
                return
            time.sleep(0.2)
        self.stop()
        raise RuntimeError(f"Expected an address from {command}. Received:\n{text}")

    def stop_kernels(self):
        """End the kernels, so that the next notebook has the machine for itself."""
        for kernel in json.loads(self._call("GET", "/api/kernels")):
            self._call("DELETE", f"/api/kernels/{kernel['id']}")

    def stop(self):
        """End the server, its make and, through it, its kernels."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
            try:
                self.process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()

    def _call(self, method, path):
        headers = {"Authorization": f"token {self._token}"}
        with urlopen(Request(self._site + path, method=method, headers=headers), timeout=60) as got:
            return got.read()


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
