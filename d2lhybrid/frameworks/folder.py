"""A folder for what is compiled, as long as somebody holds it."""

import shutil
import tempfile
import weakref
from pathlib import Path


class Folder:
    """A new folder at `path`, deleted when this object is; TemporaryDirectory would warn of it."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="d2lhybrid-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)
