"""Damage saved models at random, and load them: through ``load``, or with the framework's loader.

    python tests/artifacts/fuzz_damage.py --count 600 --seed 0

Mutations are bit flips, truncations, insertions and swaps of two blocks, in any of the
framework's files (or, with ``--target ours``, in the manifest and the example).
Each worker process does many mutations and says what became of each; when one kills it, the next
worker goes on behind it.
"""

import argparse
import os
import queue
import random
import shutil
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path

from artifact_models import inputs, model

import d2lhybrid
from d2lhybrid import frameworks, load, save
from d2lhybrid.artifacts.store import read
from d2lhybrid.errors import D2LHybridError
from d2lhybrid.tensor import leaves

FORMATS = {name: one.name for one in frameworks.known() for name in one.formats}
OUTCOMES = ("refused", "unchanged", "silent", "foreign", "crash", "hang")
PATIENCE = 60.0  # seconds for one mutation


def make(name, path):
    """Save a model in a format."""
    framework = "mxnet numpy" if name == "mxnet" else FORMATS[name]
    save(model(framework), path, *inputs(framework, 1), format=name)


def mutate(data, rng):
    """One damaged copy of `data`."""
    kind = rng.choice(["flip", "truncate", "insert", "swap"])
    data = bytearray(data)
    if kind == "flip" and data:
        for _ in range(rng.choice([1, 1, 8])):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    elif kind == "truncate":
        del data[rng.randrange(len(data) + 1) :]
    elif kind == "insert":
        at = rng.randrange(len(data) + 1)
        data[at:at] = rng.randbytes(rng.choice([1, 4, 100]))
    else:
        size = rng.choice([1, 4, 64])
        a, b = (rng.randrange(max(1, len(data) - size)) for _ in range(2))
        data[a : a + size], data[b : b + size] = data[b : b + size], data[a : a + size]
    return bytes(data)


def worker(artifact, scratch, through, target, start, count, seed):
    """Do mutations start..count and print one line for each."""
    stored = read(artifact)
    theirs = [e.path for e in stored.manifest.files if not e.path.startswith("example/")]
    ours = ["d2lhybrid.json", *(e.path for e in stored.manifest.files if e.path not in theirs)]
    tensors, options = frameworks.get(stored.manifest.framework).tensors, stored.manifest.options
    recorded = stored.recall(0, "input")

    def get(path):
        program = load(path).model if through == "load" else stored.format.read(path, options)
        given = tuple(tensors.from_raw(raw, options) for raw in recorded)
        found = leaves(tensors.infer(program, given, {}))
        return [tensors.to_raw(leaf).array.tobytes() for _path, leaf in found]

    expected = get(artifact)
    print("ready", flush=True)
    for i in range(start, count):
        rng = random.Random(f"{seed} {i}")
        path = Path(scratch) / f"{i}"
        shutil.copytree(artifact, path)
        name = rng.choice(theirs if target == "theirs" else ours)
        before = (path / name).read_bytes()
        after = mutate(before, rng)
        while after == before:
            after = mutate(before, rng)
        (path / name).write_bytes(after)
        print(f"{i} began", flush=True)
        try:
            outcome = "unchanged" if get(path) == expected else "silent"
        except D2LHybridError:
            outcome = "refused"
        except Exception as error:
            outcome = "refused" if through != "load" else f"foreign {type(error).__name__}"
        print(f"{i} {outcome}", flush=True)
        shutil.rmtree(path)


def campaign(artifact, *, through, target, count, seed):
    """Counter of what became of `count` mutations."""
    found, done = Counter(), 0
    while done < count:
        with tempfile.TemporaryDirectory() as scratch:
            arguments = [str(artifact), scratch, through, target, str(done), str(count), str(seed)]
            before = done
            for number, outcome in _watched(arguments):
                done = number + 1
                found[outcome.partition(" ")[0]] += 1
                if outcome.startswith("foreign"):
                    found[outcome] += 1
            if done == before:
                raise RuntimeError(f"the worker did no work: {arguments}")
    return found


def _watched(arguments):
    """Number and outcome of each mutation that one worker did, its own end among them."""
    command = [sys.executable, "-W", "ignore", __file__, "--worker", *arguments]
    root = str(Path(d2lhybrid.__file__).parents[1])
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": root}
    lines, began, patience = queue.Queue(), None, 10 * PATIENCE  # importing a framework takes time
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    ) as process:
        threading.Thread(target=_read, args=(process.stdout, lines), daemon=True).start()
        while True:
            try:
                line = lines.get(timeout=patience)
            except queue.Empty:
                process.kill()
                if began is None:
                    raise RuntimeError(f"the worker did no work: {arguments}") from None
                yield began, "hang"
                return
            if line is None:
                break
            patience = PATIENCE
            number, _, outcome = line.strip().partition(" ")
            if outcome == "began":
                began = int(number)
            elif number.isdigit():
                began = None
                yield int(number), outcome
    if began is not None:
        yield began, "crash"


def _read(stream, lines):
    for line in stream:
        lines.put(line)
    lines.put(None)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=600)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--format", action="append", choices=FORMATS)
    parser.add_argument("--through", action="append", choices=["load", "framework"])
    parser.add_argument("--target", default="theirs", choices=["theirs", "ours"])
    options = parser.parse_args()
    print("| format | through |", " | ".join(OUTCOMES), "|\n|---|---|" + "---|" * len(OUTCOMES))
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        os.environ["D2LHYBRID_DATA"] = f"{folder}/user"
        for name in options.format or FORMATS:
            make(name, Path(folder) / name)
            for through in options.through or ["load", "framework"]:
                found = campaign(
                    Path(folder) / name, through=through, target=options.target,
                    count=options.count, seed=options.seed,
                )  # fmt: skip
                row = " | ".join(str(found[o]) for o in OUTCOMES)
                print(f"| {name} | {through} | {row} |", flush=True)
                failed |= (
                    through == "load" and found["refused"] + found["unchanged"] < options.count
                )
    return int(failed)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        arguments = sys.argv[2:]
        worker(Path(arguments[0]), *arguments[1:4], *map(int, arguments[4:6]), arguments[6])
    else:
        raise SystemExit(main())
