"""What is asked of a model: each function of ours, with what is to come of it.

A check returns what there is to say of a success, raises ``Wrong`` where the function did something
else than it promised, and lets everything else through. Run with folders, this file is a reader in
another process, who loads the artifacts there and prints a line of JSON for each: what differs from
the recorded outputs or their structure, or the error.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from d2lhybrid import compare, explain, load, run_native, variants, verify
from d2lhybrid.artifacts.examples import load_examples
from d2lhybrid.artifacts.store import read
from d2lhybrid.backends import get
from d2lhybrid.core.arguments import call
from d2lhybrid.core.compare_outputs import mismatch
from d2lhybrid.core.host_array import HostArray
from d2lhybrid.core.pytree import leaves
from d2lhybrid.core.treespec import tree_flatten

# Few and quick to build; of a framework that is not named here, all.
FEW = {
    "torch": ("eager", "torchscript", "torch.compile"),
    "tensorflow": ("eager", "tf.function", "tf.function XLA"),
    "mxnet": ("eager", "hybridized", "static_shape"),
}


class Wrong(AssertionError):
    """A function did what it did not promise."""


def compared(model, framework, seconds, **options):
    """A few ways to run it, measured; each that is not has to say why it cannot be."""
    ways = variants(model, **options)
    chosen = [name for name in FEW.get(framework, ()) if name in (*ways, *ways.unavailable)]
    ways = ways.only(*chosen) if chosen else ways
    found = compare(ways, time_limit=seconds, progress=False)
    silent = [name for name in ways if name not in found and not found.unavailable.get(name)]
    if silent or "eager" not in found:
        raise Wrong(f"no word about {silent or 'eager'}")
    return found


def notes(found):
    """What a comparison says of single ways: why they cannot be measured, or what is odd."""
    left_out = [f"{name}: {reason}" for name, reason in found.unavailable.items()]
    return " ".join([*left_out, *(m.note for m in found.values() if m.note)])


def check_compare(model, framework, seconds=2.0, **options):
    """Each of a few ways to run it is measured, or says why it cannot be."""
    return notes(compared(model, framework, seconds, **options))


def check_explain(model):
    """It says what was compiled, or why nothing was."""
    found = explain(model)
    if not (found.graph_count or found.fallbacks or found.unsupported or found.notes):
        raise Wrong("nothing was compiled, and there is no word about why")
    reasons = [str(one) for one in (*found.notes, *found.unsupported, *found.fallbacks)]
    return reasons[0] if reasons and not found.graph_count else ""


def check_load(folders, data):
    """Another process that has nothing but them gets the same outputs in the same structures."""
    here = Path(__file__)
    libraries = os.environ.get("PYTHONPATH", "")
    path = os.pathsep.join([str(here.parents[2]), str(here.parent), libraries])
    changes = {"D2LHYBRID_DATA": str(data), "PYTHONPATH": path, "TF_CPP_MIN_LOG_LEVEL": "3"}
    command = [sys.executable, "-W", "ignore", str(here), *map(str, folders)]
    done = subprocess.run(command, env=os.environ | changes, capture_output=True, text=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]  # libraries print
    if len(lines) != len(folders):
        raise Wrong(f"the reader ended with status {done.returncode}: {done.stderr[-2000:]}")
    for folder, said in zip(folders, map(json.loads, lines), strict=True):
        if said != {"difference": "", "ok": True}:
            raise Wrong(f"{folder.name}: {said}")
    return ""


def check_native(folder):
    """The program without Python computes the recorded outputs."""
    stored = read(folder)
    recorded = [raw.array for raw in load_examples(stored.root, 0, "input", stored.manifest.inputs)]
    args, kwargs = stored.manifest.in_spec.unflatten(recorded)
    output = run_native(call(folder, *args, **kwargs))
    received = [HostArray.of(leaf) for _path, leaf in leaves(output) if hasattr(leaf, "__array__")]
    expected = [
        HostArray.of(raw.values())
        for raw in load_examples(stored.root, 0, "output", stored.manifest.outputs)
    ]
    if found := mismatch(dict(enumerate(received)), dict(enumerate(expected))):
        raise Wrong(found)
    return ""


def read_here(folder):
    """What a call of the model in a folder gives."""
    stored = read(folder)
    manifest = stored.manifest
    model = load(folder)  # imports the framework
    framework = get(manifest.framework)
    tensors = framework.device
    recorded = load_examples(stored.root, 0, "input", stored.manifest.inputs)
    args, kwargs = manifest.in_spec.unflatten(
        [tensors.from_host(r, manifest.options) for r in recorded]
    )
    output = framework.models.infer(model, args, kwargs)
    tree, found = tree_flatten(output, tensors.is_tensor, "output")
    received = [tensors.to_host(tensor) for _path, tensor in found]
    wanted = load_examples(stored.root, 0, "output", stored.manifest.outputs)
    differs = mismatch(dict(enumerate(received)), dict(enumerate(wanted)))
    if tree != manifest.out_spec:
        differs = f"{differs} {tree}"
    return {"difference": differs, "ok": verify(folder).ok}


if __name__ == "__main__":
    for folder in sys.argv[1:]:
        try:
            said = read_here(Path(folder))
        except Exception as error:
            said = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(said), flush=True)
