"""The process that runs an exported block on one thread; ``program`` says what it is asked."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from d2lhybrid.frameworks.mxnet.compat import import_mxnet
from d2lhybrid.frameworks.program import REQUEST, SECONDS
from d2lhybrid.structure import leaves


def main(folder: Path) -> None:
    """Load the block in `folder` and answer until nobody asks any more."""
    answers = sys.stdout.buffer
    sys.stdout = sys.stderr  # what MXNet prints is no answer
    mx = import_mxnet()
    options = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    if options["numpy"]:
        mx.npx.set_np()
    block = mx.gluon.SymbolBlock.imports(
        str(folder / "model-symbol.json"), options["names"], str(folder / "model-0000.params")
    )
    make = mx.np.array if options["numpy"] else mx.nd.array
    args: list[Any] = []
    while request := sys.stdin.buffer.read(REQUEST.size):
        calls, wait_each = REQUEST.unpack(request)
        if calls:
            answers.write(SECONDS.pack(_seconds(block, args, calls, bool(wait_each))))
        else:
            first = not args
            args = [make(array, dtype=array.dtype) for array in _arrays(options["inputs"])]
            if first:
                flags = {"static_alloc": True, "static_shape": True}
                block.optimize_for(*args, backend="MKLDNN", **flags)
            for _path, output in leaves(block(*args)):
                answers.write(output.asnumpy().tobytes())
        answers.flush()


def _arrays(specs: list[Any]) -> Iterator[np.ndarray]:
    for dtype, shape in specs:
        size = np.empty(shape, dtype).nbytes
        yield np.frombuffer(sys.stdin.buffer.read(size), dtype).reshape(shape)


def _seconds(block: Any, args: list[Any], calls: int, wait_each: bool) -> float:
    """The naive engine returns when the work is done; waiting all the same is what users do."""
    from mxnet import nd

    start = perf_counter()
    for _turn in range(calls):
        block(*args)
        if wait_each:
            nd.waitall()
    nd.waitall()
    return perf_counter() - start


if __name__ == "__main__":
    main(Path(sys.argv[1]))
