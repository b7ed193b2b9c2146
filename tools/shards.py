"""Split notebooks over several runners: each into exactly one shard, the shards about equally long.

``make test-notebooks SHARD=2/5`` runs the second of five shards. ``make shards SHARDS=5`` prints
the list of five for the matrix of a forge's workflow, which then needs that one number only. It
does so before anything is installed, so this file uses the standard library only.
"""

import argparse
import json
from collections.abc import Mapping
from pathlib import Path


def weight(notebook: Path) -> int:
    """How long a notebook is, in code cells. It decides who shares a shard, and nothing else."""
    cells = json.loads(notebook.read_bytes())["cells"]
    return sum(cell["cell_type"] == "code" for cell in cells)


def split(weights: Mapping[Path, int], count: int) -> list[list[Path]]:
    """Deal the heaviest first, each to the shard that is lightest so far.

    The translations of a notebook weigh the same, so they come one after the other and land in
    different shards. The same notebooks make the same shards everywhere.

    >>> split({Path("a"): 3, Path("b"): 2, Path("c"): 2}, 2)
    [[PosixPath('a')], [PosixPath('b'), PosixPath('c')]]
    """
    shards: list[list[Path]] = [[] for _ in range(count)]
    loads = [0] * count
    for path in sorted(weights, key=lambda path: (-weights[path], path)):
        lightest = loads.index(min(loads))
        shards[lightest].append(path)
        loads[lightest] += weights[path]
    return [sorted(shard) for shard in shards]


def numbers(text: str) -> tuple[int, int]:
    """Which shard of how many: ``2/5`` is (2, 5), and nothing is (1, 1).

    Raises argparse.ArgumentTypeError, which argparse shows with the name of the option.
    """
    which, _, count = (text or "1/1").partition("/")
    if which.isdecimal() and count.isdecimal() and 1 <= int(which) <= int(count):
        return int(which), int(count)
    raise argparse.ArgumentTypeError(
        f"expected a shard and their number, such as 2/5, received {text!r}"
    )


def main() -> None:
    """Print the shards as an output of a step of a GitHub workflow: ``shards=["1/2", "2/2"]``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int, help="how many shards")
    count = parser.parse_args().count
    if count < 1:
        parser.error(f"expected one shard or more, received {count}")
    print("shards=" + json.dumps([f"{which}/{count}" for which in range(1, count + 1)]))


if __name__ == "__main__":
    main()
