"""A chain of dense layers, as ``layers.chain`` finds it, without the layers: as one function.

Each framework fills the template of ``functions``; ``references`` has the same network in
NumPy and in C, which is what the arithmetic costs without a framework. Both have a clock of their
own, ``seconds_of(calls)``: the seconds of so many calls with the latest arguments. What
it takes to bring a tensor of a framework there does not count.
"""

import math
import subprocess
import weakref
from collections.abc import Callable, Mapping, Sequence
from itertools import repeat
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from d2lhybrid.backends.layers import Layer
from d2lhybrid.backends.outputs import to_host
from d2lhybrid.backends.variant import DeferredBuild, Folder, SelfTimed, Variant
from d2lhybrid.core.errors import CannotBuildError, brief
from d2lhybrid.core.i18n import gettext as _, noop as N_
from d2lhybrid.core.subprocesses import run
from d2lhybrid.core.toolchain import find_compiler, no_compiler

SOURCE = Path(__file__).parent.parent / "native" / "mlp.c"
MOST_COMPILER_SECONDS = 600.0  # that the compiler may take
_LINEAR = "np.add(np.matmul({h}, w{i}, out=h{i}), b{i}, out=h{i})"
_ACTIVATIONS = {
    "relu": "np.maximum({h}, 0, out=h{i})",
    "tanh": "np.tanh({h}, out=h{i})",
    "sigmoid": "np.divide(1, 1 + np.exp(-{h}), out=h{i})",
}


def functions(
    layers: Sequence[Layer] | None,
    linear: str,
    activations: Mapping[str, str],
    tensor: Callable[[np.ndarray], Any],
    modules: Mapping[str, Any],
) -> Variant:
    """The function of x, without modules and loops, and its expression for a reader.

    Args:
        layers: the chain, or None where there is none: then there is no function either.
        linear: a layer in code, such as ``"F.linear({h}, w{i}, b{i})"``.
        activations: in code by name, such as ``{"relu": "torch.relu({h})"}``.
        tensor: from a weight or a bias to the framework's array.
        modules: what the code names besides, by the name in the code.
    """
    if layers is None:
        return Variant(N_("it only supports a chain of dense layers"))
    names, body = dict(modules), "x"
    for i, layer in enumerate(layers):
        names[f"w{i}"], names[f"b{i}"] = tensor(layer.weight), tensor(layer.bias)
        body = linear.format(h=body, i=i)
        if layer.activation:
            body = activations[layer.activation].format(h=body, i=i)
    exec(f"def plain(x):\n    return {body}\n", names)
    return Variant(names["plain"], f"y = {body}")


def references(layers: list[Layer] | None, args: tuple[Any, ...]) -> dict[str, Variant]:
    """The rows "C" and "NumPy", or why there are none."""
    given = to_host(args[0]) if len(args) == 1 else None
    if layers is None or given is None or not _fits(layers, given.array):
        reason = N_("it only supports a chain of dense layers, in float32 and with one input")
        return dict.fromkeys(("C", "NumPy"), Variant(reason, role="reference"))
    x = np.ascontiguousarray(given.array)
    numpy = InNumPy(layers, x)
    lazy = DeferredBuild(lambda: _compiled(layers, x), lambda made: InC(made, layers, x))
    in_c = Variant(no_compiler("C") or lazy, c_code(layers), role="reference")
    return {"C": in_c, "NumPy": Variant(numpy, numpy.code, role="reference")}


def _fits(layers: Sequence[Layer], x: np.ndarray) -> bool:
    """Is it in float32, and does each layer read as many numbers as it is given?

    A layer that flattens its input, as MXNet's may, reads more than the last axis has.
    """
    widths = [*x.shape[-1:], *(len(layer.bias) for layer in layers[:-1])]
    return x.dtype == np.float32 and widths == [len(layer.weight) for layer in layers]


class InNumPy(SelfTimed):
    """The network on arrays that are there already: nothing is allocated in a call.

    By hand, the weights w0, b0, ... and the arrays h0, ... for what comes out stand ready.
    """

    def __init__(self, layers: Sequence[Layer], x: np.ndarray) -> None:
        self._x = x.copy()
        names: dict[str, Any] = {"np": np}
        for i, layer in enumerate(layers):
            names[f"h{i}"] = np.empty((*x.shape[:-1], len(layer.bias)), np.float32)
        made = functions(layers, _LINEAR, _ACTIVATIONS, np.asarray, names)
        self._run: Any = made.run
        self.code = made.code

    def __call__(self, tensor: Any) -> np.ndarray:
        self._x[...] = _array_like(tensor, self._x)
        found: np.ndarray = self._run(self._x)
        return found

    def seconds_of(self, calls: int) -> float:
        run, x = self._run, self._x
        start = perf_counter()
        for _turn in repeat(None, calls):
            run(x)
        return perf_counter() - start


class InC(SelfTimed):
    """The program in C as a process that stays, from a tensor to a NumPy array.

    It reads a whole number of 64 bits, how many calls. For no call at all the input follows, and it
    answers with the output; else with the seconds that the calls took, a float of 64 bits.
    """

    def __init__(self, folder: Folder, layers: Sequence[Layer], x: np.ndarray) -> None:
        self._folder = folder  # which is there as long as this
        self._x, self._shape = x, (*x.shape[:-1], len(layers[-1].bias))
        # Ctrl-C in a terminal goes to all of its group, to which this process does not belong.
        self._process: Any = subprocess.Popen(
            [str(folder.path / "mlp")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        self._end = weakref.finalize(self, _end, self._process)

    def __call__(self, tensor: Any) -> np.ndarray:
        given = _array_like(tensor, self._x).tobytes()
        return self._asked(0, given, np.float32, self._shape)

    def seconds_of(self, calls: int) -> float:
        return float(self._asked(calls, b"", np.float64, ()))

    def _asked(self, calls: int, data: bytes, dtype: type, shape: tuple[int, ...]) -> np.ndarray:
        try:
            self._process.stdin.write(np.int64(calls).tobytes() + data)
            self._process.stdin.flush()
            size = np.dtype(dtype).itemsize * math.prod(shape)
            return np.frombuffer(self._process.stdout.read(size), dtype).reshape(shape)
        except BaseException:  # its answer would be taken for that of the next request
            self._end()
            raise


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.communicate()


def _array_like(tensor: Any, expected: np.ndarray) -> np.ndarray:
    """The numbers of a tensor that has this dtype and shape; else CannotBuildError."""
    raw = to_host(tensor)
    if raw is not None and (raw.array.shape, raw.array.dtype) == (expected.shape, expected.dtype):
        return raw.array
    text = _(
        "Expected an array of shape {shape} and dtype {dtype}, for which the program was built. "
        "Received: a different one. Build the program again for these arguments."
    )
    raise CannotBuildError(text.format(shape=expected.shape, dtype=expected.dtype))


def c_code(layers: Sequence[Layer]) -> str:
    """The body of the C program: a call for each layer, from x to y."""
    lines, given = [], "x"
    for i, layer in enumerate(layers):
        result = "y" if i == len(layers) - 1 else f"h{i}"
        inputs, outputs = layer.weight.shape
        lines.append(f"dense(w{i}, b{i}, {given}, {result}, {inputs}, {outputs});")
        if layer.activation:
            lines.append(f"{layer.activation}({result}, {outputs});")
        given = result
    return "\n".join(lines)


def _compiled(layers: Sequence[Layer], x: np.ndarray) -> Folder:
    """A folder with the program: source and weights are compiled into one file."""
    folder = Folder()
    outputs = len(layers[-1].bias)
    sizes = f"ROWS = {math.prod(x.shape[:-1])}, INPUTS = {x.shape[-1]}, OUTPUTS = {outputs}"
    declared = [f"enum {{ {sizes} }};"]
    for i, layer in enumerate(layers):
        for name, array in ((f"w{i}", layer.weight), (f"b{i}", layer.bias)):
            path = folder.path / f"{name}.bin"
            path.write_bytes(array.tobytes())
            declared.append(f'ARRAY({name}, "{path}")')
        declared.append(f"BUFFER(h{i}, {len(layer.bias)});")
    source = SOURCE.read_text(encoding="utf-8").replace("/* the arrays */", "\n".join(declared))
    source = source.replace("/* the layers */", c_code(layers))
    program = folder.path / "mlp"
    program.with_suffix(".c").write_text(source, encoding="utf-8")
    options = ["-O3", "-march=native", "-o", str(program), f"{program}.c", "-lm"]
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    text = _("Expected the C program to compile. Received from the compiler: {said}")
    try:
        done = run([*find_compiler("C"), *options], MOST_COMPILER_SECONDS, **pipes)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotBuildError(text.format(said=brief(error))) from error
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()
        raise CannotBuildError(text.format(said=said.partition("\n")[0]))
    return folder
