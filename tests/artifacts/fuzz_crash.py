"""Kill a process at random moments while it saves over an artifact: old or new, never neither.

    python tests/artifacts/fuzz_crash.py --count 200 --seed 0

The children are forked, so that a kill costs milliseconds; they save one of two small torch models
over and over until the parent kills them. The proof, which starts a process and writes nothing, is
left out, so that nearly all of the time goes by in the writing and the exchange.
"""

import argparse
import os
import random
import signal
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

import torch

from d2lhybrid import load, save
from d2lhybrid.artifacts import save as saving

X = torch.ones(1, 64)
MODELS = [torch.nn.Linear(64, 2000, bias=False) for _fill in range(2)]
for number, made in enumerate(MODELS):
    torch.nn.init.constant_(made.weight, float(number))


def _saving_child(model, path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # threads and fork: the child may die
        child = os.fork()
    if not child:
        signal.alarm(60)
        try:
            save(model, path, X)
        finally:
            os._exit(0)
    return child


def campaign(folder, *, count, seed):
    """What is at the path after each of `count` kills that came in time."""
    torch.set_num_threads(1)
    saving.verify_in_subprocess = lambda folder: ""
    rng, path, found, current = random.Random(seed), Path(folder) / "artifact", Counter(), 0
    save(MODELS[0], path, X)
    start = time.perf_counter()
    os.waitpid(_saving_child(MODELS[0], path), 0)
    usual = time.perf_counter() - start
    while found["killed in time"] < count:
        child = _saving_child(MODELS[1 - current], path)
        # Half of them in the last tenth, where the renames are.
        time.sleep(rng.choice([rng.uniform(0, usual), rng.uniform(0.9 * usual, 1.1 * usual)]))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        found["killed in time"] += os.WIFSIGNALED(status)
        try:
            output = load(path)(X)[0, 0].item() / 64
            found["old" if output == current else "new"] += 1
            current = [0.0, 1.0].index(output)
        except Exception as error:
            found.update(["neither", f"{type(error).__name__}: {error}"])
            save(MODELS[current], path, X)
    save(MODELS[current], path, X)
    left = [p.name for p in Path(folder).iterdir() if p != path]
    found["hidden folders left"] = len(left)
    found["strange"] = sum(not name.startswith(".artifact.saving-") for name in left)
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["D2LHYBRID_DATA"] = f"{folder}-user"
        found = campaign(folder, count=options.count, seed=options.seed)
    print(dict(found))
    if found["neither"] or found["strange"]:
        raise SystemExit(1)
