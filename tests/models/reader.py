"""What a reader does in another process: load artifacts, call them, and say what came.

    python reader.py FOLDER...

Prints one line of JSON for each folder: the differences from the recorded outputs, and the
structure of the output; or the error.
"""

import json
import sys
from importlib.util import find_spec
from pathlib import Path

from d2lhybrid import load, verify
from d2lhybrid.artifacts.store import read
from d2lhybrid.frameworks import get
from d2lhybrid.frameworks.trees import taken_apart
from d2lhybrid.same import difference


def told(folder):
    """What a call of the model gives."""
    stored = read(folder)
    manifest = stored.manifest
    model = load(folder)  # imports the framework
    tensors = get(manifest.framework).tensors
    recorded = stored.recall(0, "input")
    args, kwargs = manifest.takes.filled([tensors.from_raw(r, manifest.options) for r in recorded])
    output = tensors.infer(model, args, kwargs)
    tree, found = taken_apart(output, tensors, "output")
    received = [tensors.to_raw(tensor) for _path, tensor in found]
    wanted = stored.recall(0, "output")
    differs = difference(dict(enumerate(received)), dict(enumerate(wanted)))
    # An object such as a cache comes back as a dictionary.
    same = str(tree) == str(manifest.returns)
    return {"difference": differs, "tree": tree.cls if same else str(tree)}


if __name__ == "__main__":
    if find_spec("torchvision"):  # or the output classes of transformers may not be imported
        from zoo import import_torchvision

        import_torchvision()
    for folder in sys.argv[1:]:
        try:
            said = told(Path(folder)) | {"ok": verify(folder).ok}
        except Exception as error:
            said = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(said), flush=True)
