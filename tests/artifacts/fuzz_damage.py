"""Damage saved models at random, and load them: through ``load``, or with the framework's loader.

    python tests/artifacts/fuzz_damage.py --count 600 --seed 0

Mutations are bit flips, truncations, insertions and swaps of two blocks, in any of the
framework's files and, through ``load``, by turns in the manifest and the example. Each worker does
many mutations and says what became of each; when one kills it, the next one goes on behind it.
"""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from artifact_models import MODELS, inputs

import d2lhybrid
from d2lhybrid import backends, load, save
from d2lhybrid.artifacts.examples import load_examples
from d2lhybrid.artifacts.store import read
from d2lhybrid.core.pytree import leaves
from d2lhybrid.errors import D2LHybridError

FORMATS = {name: one.name for one in backends.known() for name in one.formats}
OUTCOMES = ("refused", "unchanged", "silent", "foreign", "crash", "hang")
PATIENCE = 60  # seconds for one mutation


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


def worker(artifact, through, start, count, seed):
    """Do mutations start..count and print one line for each, and one before the first."""
    stored = read(artifact)
    theirs = [e.path for e in stored.manifest.files if not e.path.startswith("example/")]
    ours = ["d2lhybrid.json", *(e.path for e in stored.manifest.files if e.path not in theirs)]
    framework, options = backends.get(stored.manifest.framework), stored.manifest.options
    recorded = load_examples(stored.root, 0, "input", stored.manifest.inputs)

    def get(path):
        program = load(path).model if through == "load" else stored.format.read(path, options)
        tensors = framework.device
        given = tuple(tensors.from_host(raw, options) for raw in recorded)
        found = leaves(framework.models.infer(program, given, {}))
        return [tensors.to_host(leaf).array.tobytes() for _path, leaf in found]

    expected = get(artifact)
    print("\noutcome ready", flush=True)
    for i in range(start, count):
        signal.alarm(PATIENCE)  # which ends the process, wherever it hangs
        rng = random.Random(f"{seed} {i}")
        with tempfile.TemporaryDirectory() as scratch:
            path = Path(shutil.copytree(artifact, Path(scratch) / "damaged"))
            file = path / rng.choice(ours if through == "load" and i % 2 else theirs)
            before = after = file.read_bytes()
            while after == before:
                after = mutate(before, rng)
            file.write_bytes(after)
            try:
                outcome = "unchanged" if get(path) == expected else "silent"
            except D2LHybridError:
                outcome = "refused"
            except Exception:
                outcome = "refused" if through != "load" else "foreign"
        print(f"\noutcome {outcome}", flush=True)


def campaign(artifact, *, through, count, seed):
    """Counter of what became of `count` mutations."""
    root = str(Path(d2lhybrid.__file__).parents[1])
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": root}
    command = [sys.executable, "-W", "ignore", __file__, "--worker", artifact, through]
    found, done = Counter(), 0
    while done < count:
        with tempfile.TemporaryDirectory() as scratch:
            ended = subprocess.run(
                [*command, str(done), str(count), str(seed)], env=environment | {"TMPDIR": scratch},
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            )  # fmt: skip
        lines = ended.stdout.splitlines()
        outcomes = [line.split()[1] for line in lines if line.startswith("outcome ")]
        if outcomes[:1] != ["ready"]:
            raise RuntimeError(f"the worker did no work: {command}")
        found.update(outcomes[1:])
        done += len(outcomes) - 1
        if done < count:  # what ended the worker
            found["hang" if ended.returncode == -signal.SIGALRM else "crash"] += 1
            done += 1
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=600)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--format", action="append", choices=FORMATS)
    parser.add_argument("--through", action="append", choices=["load", "framework"])
    options = vars(parser.parse_args())
    names, ways = (options.pop(name) for name in ("format", "through"))
    print("| format | through |", " | ".join(OUTCOMES), "|\n|---|---|" + "---|" * len(OUTCOMES))
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        os.environ["D2LHYBRID_DATA"] = f"{folder}/user"
        for name in names or FORMATS:
            framework = "mxnet numpy" if name == "mxnet" else FORMATS[name]
            save(MODELS[framework](), f"{folder}/{name}", *inputs(framework, 1), format=name)
            for through in ways or ["load", "framework"]:
                found = campaign(f"{folder}/{name}", through=through, **options)
                row = " | ".join(str(found[o]) for o in OUTCOMES)
                print(f"| {name} | {through} | {row} |", flush=True)
                fine = found["refused"] + found["unchanged"] == options["count"]
                failed |= through == "load" and not fine
    return int(failed)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        worker(Path(sys.argv[2]), sys.argv[3], *map(int, sys.argv[4:6]), sys.argv[6])
    else:
        raise SystemExit(main())
