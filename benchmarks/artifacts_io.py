"""Saving and loading a large model: this project's calls against the framework's own.

    python benchmarks/artifacts_io.py --megabytes 400 --repeat 3

Each figure comes from a process of its own, which builds the model (or finds its artifact), then
does one thing. Wall and processor time are that thing's alone, memory is the peak of the whole
process, and each is the best of the repetitions. ``save`` does more than the framework's call: it
hashes, lets another process load the file and run it, and waits until the disk has it all; the
start of that process is a part of its time. So a second row sets it
against the framework's save and load together, the least that a proof can cost.
``load`` hashes every byte first, so it too has a second row: what a user of the framework writes to
hash the files and then to load them.
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

WIDTH = 4096
FORMATS = ("torch.export", "savedmodel", "mxnet")


def build(name, megabytes):
    """A stack of square layers of that size, and an input for it."""
    layers = max(1, round(megabytes * 2**20 / (4 * WIDTH * WIDTH)))
    if name == "savedmodel":
        import tensorflow as tf

        stack = [tf.keras.layers.Input((WIDTH,))]
        stack += [tf.keras.layers.Dense(WIDTH, use_bias=False) for _ in range(layers)]
        return tf.keras.Sequential(stack), tf.ones((1, WIDTH))
    if name == "mxnet":
        from d2lhybrid import import_mxnet

        mx = import_mxnet()
        model = mx.gluon.nn.HybridSequential()
        for _ in range(layers):
            model.add(mx.gluon.nn.Dense(WIDTH, use_bias=False, in_units=WIDTH))
        model.initialize()
        model.hybridize()
        x = mx.nd.ones((1, WIDTH))
        model(x).wait_to_read()
        return model, x
    import torch

    stack = [torch.nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(layers)]
    return torch.nn.Sequential(*stack).eval(), torch.ones(1, WIDTH)


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


def measure(name, what, folder, megabytes):
    """Do one thing in this process; print its seconds and the peak memory in MiB."""
    import d2lhybrid

    warnings.simplefilter("ignore")
    # Also before a load, so that all that is needed is imported and awake before the clock starts.
    model, x = build(name, megabytes if "save" in what else 1)
    save, load = d2lhybrid.save, d2lhybrid.load
    kept = None
    start, worked = time.perf_counter(), time.process_time()
    if what == "save":
        save(model, folder / "ours", x, format=name)
    elif what == "load":
        kept = load(folder / "ours")
    elif what in ("own load", "own hash and load"):
        for path in (folder / "theirs").rglob("*") if "hash" in what else ():
            if path.is_file():
                hash_file(path)
        kept = own_load(name, folder / "theirs")
    else:
        (folder / "theirs").mkdir()
        own_save(name, model, x, folder / "theirs")
        if what == "own save and load":
            kept = own_load(name, folder / "theirs")
    if name == "mxnet":
        d2lhybrid.import_mxnet().nd.waitall()
    seconds, worked = time.perf_counter() - start, time.process_time() - worked
    del kept
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": seconds, "worked": worked, "peak": peak}))


def hash_file(path):
    with open(path, "rb", buffering=0) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def best(name, what, folder, options):
    """The least of each figure, of some processes that do the same."""
    found = []
    for _ in range(options.repeat):
        if "save" in what:
            shutil.rmtree(folder / "theirs", ignore_errors=True)
            shutil.rmtree(folder / "ours", ignore_errors=True)
        command = [sys.executable, __file__, "--worker", name, what, str(folder)]
        done = subprocess.run(
            [*command, str(options.megabytes)], check=True, stdout=subprocess.PIPE, text=True
        )
        found.append(json.loads(done.stdout.splitlines()[-1]))
    return {key: min(f[key] for f in found) for key in ("seconds", "worked", "peak")}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=float, default=400)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--format", action="append", choices=FORMATS)
    parser.add_argument("--folder", help="where to write; the disk matters")
    options = parser.parse_args()
    print("| format | what | framework | d2lhybrid | time | processor | peak |")
    print("|---|---|---|---|---:|---:|---:|")
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        os.environ.update(D2LHYBRID_DATA=str(folder / "user"), TF_CPP_MIN_LOG_LEVEL="3")
        for format in options.format or FORMATS:
            (folder / "ours").mkdir(exist_ok=True)
            proof = best(format, "own save and load", folder, options)
            saved, loaded, hashed = (
                best(format, f"own {w}", folder, options) for w in ("save", "load", "hash and load")
            )
            (folder / "ours").mkdir(exist_ok=True)
            our_save, our_load = (best(format, w, folder, options) for w in ("save", "load"))
            for what, a, b in (
                ("save", saved, our_save),
                ("save, against save and load", proof, our_save),
                ("load", loaded, our_load),
                ("load, against hash and load", hashed, our_load),
            ):
                ratios = [b[key] / a[key] for key in ("seconds", "worked", "peak")]
                print(
                    f"| {format} | {what} | {a['seconds']:.2f} s, {a['peak']:.0f} MiB "
                    f"| {b['seconds']:.2f} s, {b['peak']:.0f} MiB "
                    f"| {ratios[0]:.2f} | {ratios[1]:.2f} | {ratios[2]:.2f} |",
                    flush=True,
                )
            shutil.rmtree(folder / "ours")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        measure(sys.argv[2], sys.argv[3], Path(sys.argv[4]), float(sys.argv[5]))
    else:
        main()
