"""Saving and loading a large model: this project's calls against the framework's own.

    python benchmarks/artifacts_io.py --megabytes 400 --repeat 3

Each figure comes from a process of its own, which builds the model (or finds its artifact), then
does one thing. Wall time is that thing's alone, memory is the peak of the whole process, and each
is the best of the repetitions. ``save`` does more than the framework's call: it hashes, and lets
another process load the file and run it. So it is set against the framework's save and load
together, the least that a proof can cost, and ``load`` against hashing the files and loading them.
"""

import argparse
import hashlib
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

from callables import WIDTH, square_layers

FORMATS = {"torch.export": "torch", "savedmodel": "tensorflow", "mxnet": "mxnet"}


def own_save(name, model, x, folder):
    """What a user of the framework writes."""
    if name == "mxnet":
        model.export(str(folder / "model"))
    elif name == "savedmodel":
        import tensorflow as tf

        function = tf.function(lambda x: model(x, training=False))
        traced = function.get_concrete_function(tf.TensorSpec((None, WIDTH), name="x"))
        tf.saved_model.save(model, str(folder / "saved_model"), signatures=traced)
    else:
        import torch

        torch.export.save(torch.export.export(model, (x,)), folder / "model.pt2")


def own_load(name, folder):
    """What a user of the framework writes to have it back."""
    if name == "mxnet":
        from d2lhybrid import import_mxnet

        files = [str(folder / f"model{end}") for end in ("-symbol.json", "-0000.params")]
        return import_mxnet().gluon.SymbolBlock.imports(files[0], ["data"], files[1])
    if name == "savedmodel":
        import tensorflow as tf

        return tf.saved_model.load(str(folder / "saved_model"))
    import torch

    return torch.export.load(folder / "model.pt2").module()


def hash_files(folder):
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb", buffering=0) as file:
                hashlib.file_digest(file, "sha256")


def measure(name, what, folder, megabytes):
    """Do one thing in this process; print its seconds and the peak memory in MiB."""
    import d2lhybrid

    warnings.simplefilter("ignore")
    # Also before a load, so that all that is needed is imported and awake before the clock starts.
    model, x = square_layers(FORMATS[name], megabytes if "save" in what else 1)
    ours, theirs = folder / "ours", folder / "theirs"
    kept, start = None, time.perf_counter()
    if what == "our save":
        d2lhybrid.save(model, ours, x, format=name)
    elif what == "our load":
        kept = d2lhybrid.load(ours)
    elif what == "own save and load":
        theirs.mkdir()
        own_save(name, model, x, theirs)
        kept = own_load(name, theirs)
    else:
        hash_files(theirs)
        kept = own_load(name, theirs)
    if name == "mxnet":
        d2lhybrid.import_mxnet().nd.waitall()
    seconds = time.perf_counter() - start
    del kept
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps([seconds, peak]))


def best(name, what, folder, options):
    """The least seconds and MiB, of some processes that do the same."""
    found = []
    for _ in range(options.repeat):
        if "save" in what:
            shutil.rmtree(folder / ("ours" if "our" in what else "theirs"), ignore_errors=True)
        command = [sys.executable, __file__, "--worker", name, what, str(folder)]
        said = subprocess.check_output([*command, str(options.megabytes)], text=True)
        found.append(json.loads(said.splitlines()[-1]))
    return [min(column) for column in zip(*found, strict=True)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=float, default=400)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--format", action="append", choices=FORMATS)
    parser.add_argument("--folder", help="where to write; the disk matters")
    options = parser.parse_args()
    print("| format | what | framework | d2lhybrid | time | peak |\n|---|---|---|---|---:|---:|")
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        os.environ.update(D2LHYBRID_DATA=str(folder / "user"), TF_CPP_MIN_LOG_LEVEL="3")
        for format in options.format or FORMATS:
            for theirs, ours in (("own save and load", "our save"),
                                 ("own hash and load", "our load")):  # fmt: skip
                a, b = (best(format, what, folder, options) for what in (theirs, ours))
                print(f"| {format} | {ours}, against {theirs} | {a[0]:.2f} s, {a[1]:.0f} MiB "
                      f"| {b[0]:.2f} s, {b[1]:.0f} MiB | {b[0] / a[0]:.2f} | {b[1] / a[1]:.2f} |",
                      flush=True)  # fmt: skip


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        measure(sys.argv[2], sys.argv[3], Path(sys.argv[4]), float(sys.argv[5]))
    else:
        main()
