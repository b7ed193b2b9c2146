"""What the arithmetic of a model costs without a framework: the same network in NumPy and in C.

Both are for chains of dense layers, as ``protocol.chain`` finds them.
"""

import math
import subprocess
from collections.abc import Sequence
from itertools import repeat
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from d2lhybrid.compiler import find_compiler
from d2lhybrid.errors import CannotBuildError, CompilerMissingError
from d2lhybrid.frameworks.dense import dense_function
from d2lhybrid.frameworks.folder import Folder
from d2lhybrid.frameworks.program import Program, array_like
from d2lhybrid.frameworks.protocol import Function, Layer, Lazy, Timed, Variant
from d2lhybrid.i18n import gettext as _
from d2lhybrid.i18n import noop as N_
from d2lhybrid.same import raw_of

SOURCE = Path(__file__).parent.parent / "native" / "mlp.c"
_LINEAR = "np.add(np.matmul({h}, w{i}, out=h{i}), b{i}, out=h{i})"
_ACTIVATIONS = {
    "relu": "np.maximum({h}, 0, out=h{i})",
    "tanh": "np.tanh({h}, out=h{i})",
    "sigmoid": "np.divide(1, 1 + np.exp(-{h}), out=h{i})",
}


def references(layers: list[Layer] | None, args: tuple[Any, ...]) -> dict[str, Variant]:
    """The rows "C" and "NumPy", or why there are none."""
    given = raw_of(args[0]) if len(args) == 1 else None
    if layers is None or given is None or given.dtype != "float32" or not given.array.ndim:
        reason = N_("it is written for a chain of dense layers, in float32 and with one input")
        return {"C": Variant(reason), "NumPy": Variant(reason)}
    x = np.ascontiguousarray(given.array)
    numpy = InNumPy(layers, x)
    return {"C": _in_c(layers, x), "NumPy": Variant(numpy, numpy.code)}


class InNumPy(Timed):
    """The network on arrays that are there already: nothing is allocated in a call.

    Its own clock leaves out what it takes to bring a tensor of a framework to NumPy. By hand, the
    weights w0, b0, ... and the arrays h0, ... for what comes out stand ready.
    """

    def __init__(self, layers: Sequence[Layer], x: np.ndarray) -> None:
        rows, self._x = x.shape[:-1], x
        out = {
            f"h{i}": np.empty((*rows, len(one.bias)), np.float32) for i, one in enumerate(layers)
        }
        self._run, body = dense_function(
            layers, _LINEAR, _ACTIVATIONS, lambda one: (one.weight, one.bias), {"np": np, **out}
        )
        self.code = f"y = {body}"

    def __call__(self, tensor: Any) -> np.ndarray:
        self._x[...] = array_like(tensor, self._x)
        found: np.ndarray = self._run(self._x)
        return found

    def timed(self, calls: int, wait_each: bool) -> float:
        run, x = self._run, self._x
        start = perf_counter()
        for _turn in repeat(None, calls):
            run(x)
        return perf_counter() - start


def _in_c(layers: Sequence[Layer], x: np.ndarray) -> Variant:
    code = c_code(layers)
    try:
        compiler = find_compiler("C")
    except CompilerMissingError as error:
        return Variant(str(error), code)

    def build() -> Folder:
        folder = Folder()
        _compile(compiler, layers, x, folder.path)
        return folder

    def load(folder: Folder) -> Function:
        output = np.empty((*x.shape[:-1], len(layers[-1].bias)), np.float32)
        program = Program([str(folder.path / "mlp")], [x], [output])
        program.folder = folder  # which is there as long as the program
        return program

    return Variant(Lazy(build, load), code)


def c_code(layers: Sequence[Layer]) -> str:
    """The body of the C program: a call for each layer, from x to y."""
    lines = []
    for number, layer in enumerate(layers):
        given = f"h{number - 1}" if number else "x"
        result = "y" if number == len(layers) - 1 else f"h{number}"
        inputs, outputs = layer.weight.shape
        lines.append(f"dense(w{number}, b{number}, {given}, {result}, {inputs}, {outputs});")
        if layer.activation:
            lines.append(f"{layer.activation}({result}, {outputs});")
    return "\n".join(lines)


def _compile(compiler: list[str], layers: Sequence[Layer], x: np.ndarray, folder: Path) -> None:
    """Write source and weights, and compile them into one file."""
    declared = []
    for i, layer in enumerate(layers):
        for name, array in ((f"w{i}", layer.weight), (f"b{i}", layer.bias)):
            (folder / f"{name}.bin").write_bytes(np.ascontiguousarray(array).tobytes())
            declared.append(f'ARRAY({name}, "{folder / name}.bin")')
        declared.append(f"BUFFER(h{i}, {len(layer.bias)});")
    rows, outputs = math.prod(x.shape[:-1]), len(layers[-1].bias)
    declared.append(f"enum {{ ROWS = {rows}, INPUTS = {x.shape[-1]}, OUTPUTS = {outputs} }};")
    source = SOURCE.read_text(encoding="utf-8")
    source = source.replace("/* the arrays */", "\n".join(declared))
    source = source.replace("/* the layers */", c_code(layers))
    (folder / "mlp.c").write_text(source, encoding="utf-8")
    command = [*compiler, "-O3", "-march=native", str(folder / "mlp.c"), "-o", str(folder / "mlp")]
    done = subprocess.run([*command, "-lm"], capture_output=True, text=True)
    if done.returncode:
        text = _("Expected the C program to compile. Received from the compiler: {said}")
        said = (done.stderr.strip().splitlines() or [""])[0]
        raise CannotBuildError(text.format(said=said))
