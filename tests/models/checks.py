"""What is asked of a model: each function of ours, with what is to come of it.

A check returns what there is to say of a success, raises ``Wrong`` where the function did something
else than it promised, and lets everything else through.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from d2lhybrid import compare, explain, run_native, save, variants, verify
from d2lhybrid.artifacts.store import read
from d2lhybrid.calls import Call
from d2lhybrid.same import difference
from d2lhybrid.teaching import Comparison
from d2lhybrid.tensor import Raw, leaves

HERE = Path(__file__).parent
# Few and quick to build; of a framework that is not named here, all.
FEW = {
    "torch": ("eager", "inference_mode", "torchscript", "torch.compile"),
    "tensorflow": ("eager", "tf.function", "tf.function XLA"),
    "mxnet": ("eager", "hybridized", "static_shape"),
}
# What runs natively without a compiler's minutes, where that is not what is saved by default.
NATIVE = {"torch": "onnx"}


class Wrong(AssertionError):
    """A function did what it did not promise."""


def compared(model: Call, framework: str, seconds: float, **options: str) -> Comparison:
    """A few ways to run it, each measured or with the reason why it cannot be."""
    ways = variants(model, **options)
    chosen = [name for name in FEW.get(framework, ()) if name in (*ways, *ways.unavailable)]
    ways = ways.only(*chosen) if chosen else ways
    found = compare(Call(ways, model.args, model.kwargs), time_limit=seconds, progress=False)
    silent = [name for name in ways if name not in found and not found.unavailable.get(name)]
    if silent or "eager" not in found:
        raise Wrong(f"no word about {silent or 'eager'}")
    return found


def check_compare(model: Call, framework: str) -> str:
    """Each way is measured, or says why it cannot be."""
    found = compared(model, framework, 2.0)
    left_out = [f"{name}: {reason}" for name, reason in found.unavailable.items()]
    return " ".join([*left_out, *(m.note for m in found.values() if m.note)])


def check_explain(model: Call) -> str:
    """It says what was compiled, or why nothing was."""
    found = explain(model)
    if not (found.graphs or found.fallbacks or found.unsupported or found.notes):
        raise Wrong("nothing was compiled, and there is no word about why")
    reasons = [str(one) for one in (*found.notes, *found.unsupported, *found.fallbacks)]
    return reasons[0] if reasons and not found.graphs else ""


def check_save(model: Call, folder: Path, format: str | None = None) -> str:
    """It writes the folder."""
    save(model, folder, format=format)
    return ""


def read_elsewhere(folders: list[Path], data: Path) -> list[dict[str, object]]:
    """What another process says that loads them, and has nothing but them."""
    environment = {
        **os.environ,
        "D2LHYBRID_DATA": str(data),
        "PYTHONPATH": os.pathsep.join([str(HERE.parents[1]), str(HERE)]),
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }
    command = [sys.executable, "-W", "ignore", str(HERE / "reader.py"), *map(str, folders)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    lines = done.stdout.splitlines()
    if len(lines) != len(folders):
        raise Wrong(f"the reader ended with status {done.returncode}: {done.stderr[-2000:]}")
    return list(map(json.loads, lines))


def check_load(folder: Path, data: Path) -> str:
    """Another process loads it, and gets the same output in the same structure."""
    (said,) = read_elsewhere([folder], data)
    if said.get("difference") != "" or not said["ok"]:
        raise Wrong(str(said))
    if said["tree"] != read(folder).manifest.returns.cls:
        raise Wrong(f"another structure: {said['tree']}")
    return ""


def check_verify(folder: Path) -> str:
    """It finds the artifact intact and its outputs the same."""
    found = verify(folder)
    if not found.ok:
        raise Wrong(str(found))
    return ""


def check_native(folder: Path) -> str:
    """The program without Python computes the recorded outputs."""
    stored = read(folder)
    recorded = [raw.values() for raw in stored.recall(0, "input")]
    args, kwargs = stored.manifest.takes.filled(recorded)
    output = run_native(folder, *args, **kwargs)
    received = [Raw.of(leaf) for _path, leaf in leaves(output) if hasattr(leaf, "__array__")]
    expected = [Raw.of(raw.values()) for raw in stored.recall(0, "output")]
    if found := difference(dict(enumerate(received)), dict(enumerate(expected))):
        raise Wrong(found)
    return ""
