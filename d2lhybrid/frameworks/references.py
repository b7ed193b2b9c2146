"""What the arithmetic of a model costs without a framework: the same network in NumPy and in C.

Both are for chains of dense layers, as ``Framework.layers`` finds them.
"""

import math
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from d2lhybrid.compiler import find_compiler
from d2lhybrid.errors import CannotBuildError, CompilerMissingError
from d2lhybrid.frameworks.folder import Folder
from d2lhybrid.frameworks.program import Program
from d2lhybrid.frameworks.protocol import Function, Layer, Lazy, Variant
from d2lhybrid.i18n import gettext as _
from d2lhybrid.i18n import noop as N_
from d2lhybrid.same import raw_of

SOURCE = Path(__file__).parent.parent / "native" / "mlp.c"
_FUNCTIONS = {
    "relu": "np.maximum({h}, 0, out={h})",
    "tanh": "np.tanh({h}, out={h})",
    "sigmoid": "np.divide(1, 1 + np.exp(-{h}), out={h})",
}


def references(layers: list[Layer] | None, args: tuple[Any, ...]) -> dict[str, Variant]:
    """The rows "C" and "NumPy", or why there are none."""
    given = raw_of(args[0]) if len(args) == 1 else None
    if layers is None or given is None or given.dtype != "float32" or not given.array.ndim:
        reason = N_("it is written for a chain of dense layers, in float32 and with one input")
        return {"C": Variant(reason), "NumPy": Variant(reason)}
    x = np.ascontiguousarray(given.array)
    return {
        "C": _if_compiler(layers, x),
        "NumPy": Variant(Lazy(lambda: _numpy(layers, x, args[0])), _numpy_code(layers)),
    }


def _numpy(layers: Sequence[Layer], x: np.ndarray, latest: Any) -> Function:
    """The network on arrays that are given once: nothing is allocated in a call."""
    rows = x.shape[:-1]
    buffers = [np.empty((*rows, len(layer.bias)), np.float32) for layer in layers]
    source = "\n    ".join(_lines(layers))
    names: dict[str, Any] = {"np": np}
    for number, (layer, buffer) in enumerate(zip(layers, buffers, strict=True)):
        names |= {f"w{number}": layer.weight, f"b{number}": layer.bias, f"h{number}": buffer}
    exec(f"def run(x):\n    {source}\n    return h{len(layers) - 1}", names)
    run = names["run"]

    def call(tensor: Any) -> np.ndarray:
        nonlocal latest
        if tensor is not latest:
            raw = raw_of(tensor)
            assert raw is not None
            x[...], latest = raw.array, tensor
        found: np.ndarray = run(x)
        return found

    return call


def _lines(layers: Sequence[Layer]) -> list[str]:
    lines = []
    for number, layer in enumerate(layers):
        given = f"h{number - 1}" if number else "x"
        lines += [
            f"np.matmul({given}, w{number}, out=h{number})",
            f"np.add(h{number}, b{number}, out=h{number})",
        ]
        if layer.activation:
            lines.append(_FUNCTIONS[layer.activation].format(h=f"h{number}"))
    return lines


def _numpy_code(layers: Sequence[Layer]) -> str:
    """By hand; the weights w0, b0, ... and the arrays h0, ... for what comes out stand ready."""
    return "\n".join([*_lines(layers), f"y = h{len(layers) - 1}"])


def _if_compiler(layers: Sequence[Layer], x: np.ndarray) -> Variant:
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
    arrays: dict[str, np.ndarray] = {}
    for number, layer in enumerate(layers):
        arrays |= {f"w{number}": layer.weight, f"b{number}": layer.bias}
    for name, array in arrays.items():
        (folder / f"{name}.bin").write_bytes(np.ascontiguousarray(array).tobytes())
    sizes = [len(layer.bias) for layer in layers]
    declared = [f'ARRAY({name}, "{folder / name}.bin")' for name in arrays]
    declared += [f"BUFFER(h{number}, {size});" for number, size in enumerate(sizes[:-1])]
    rows = math.prod(x.shape[:-1])
    declared.append(f"enum {{ ROWS = {rows}, INPUTS = {x.shape[-1]}, OUTPUTS = {sizes[-1]} }};")
    source = SOURCE.read_text(encoding="utf-8")
    source = source.replace("/* the arrays */", "\n".join(declared))
    source = source.replace("/* the layers */", c_code(layers))
    (folder / "mlp.c").write_text(source, encoding="utf-8")
    command = [*compiler, "-O3", "-march=native", str(folder / "mlp.c"), "-o", str(folder / "mlp")]
    done = subprocess.run([*command, "-lm"], capture_output=True, text=True)
    if done.returncode:
        raise CannotBuildError(
            _("Expected the C program to compile. Received from the compiler: {said}").format(
                said=(done.stderr.strip().splitlines() or [""])[0]
            )
        )
