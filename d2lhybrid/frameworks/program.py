"""A process that stays and runs a model: it answers with outputs, or with what its clock says.

What it reads from its input: two whole numbers of 64 bits, how many calls, and whether to wait for
each; then, for no call at all, the arguments, to which it answers with the outputs. To any other
number of calls it answers with the seconds that they took, a float of 64 bits.
"""

import struct
import subprocess
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from d2lhybrid.errors import CannotBuildError
from d2lhybrid.frameworks.protocol import Timed
from d2lhybrid.i18n import gettext as _
from d2lhybrid.same import raw_of

REQUEST = struct.Struct("<qq")
SECONDS = struct.Struct("<d")


class Program(Timed):
    """Such a process, as a callable from tensors to NumPy arrays."""

    def __init__(
        self,
        command: Sequence[str],
        inputs: Sequence[np.ndarray],
        outputs: Sequence[np.ndarray],
        env: Mapping[str, str] | None = None,
    ) -> None:
        """Start `command`; `inputs` and `outputs` are examples, for their dtypes and shapes."""
        self._inputs, self._outputs = list(inputs), list(outputs)
        self.folder: Any = None  # what has to stay as long as this
        self._process: Any = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(env) if env else None,
        )
        weakref.finalize(self, _end, self._process)

    def __call__(self, *args: Any) -> Any:
        arrays = map(array_like, args, self._inputs)
        self._send(REQUEST.pack(0, 0) + b"".join(array.tobytes() for array in arrays))
        found = tuple(
            np.frombuffer(self._receive(o.nbytes), o.dtype).reshape(o.shape) for o in self._outputs
        )
        return found[0] if len(found) == 1 else found

    def timed(self, calls: int, wait_each: bool) -> float:
        self._send(REQUEST.pack(calls, wait_each))
        seconds: float = SECONDS.unpack(self._receive(SECONDS.size))[0]
        return seconds

    def _send(self, data: bytes) -> None:
        try:
            self._process.stdin.write(data)
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._ended() from None

    def _receive(self, size: int) -> bytes:
        data = self._process.stdout.read(size)
        if len(data) < size:
            raise self._ended()
        return data

    def _ended(self) -> CannotBuildError:
        lines = self._process.stderr.read().decode(errors="replace").strip().splitlines()
        last = ([line for line in lines if "Error" in line] or lines or [""])[-1]
        text = _(
            "Expected a program that stays and answers. Received: it ended with status {status}, "
            "and its last words were: {said}"
        )
        return CannotBuildError(text.format(status=self._process.wait(), said=last))


def array_like(value: Any, expected: np.ndarray) -> np.ndarray:
    """The numbers of a tensor that has the dtype and shape of the array `expected`.

    Raises:
        CannotBuildError: it has not.
    """
    raw = raw_of(value)
    found = (raw.array.shape, raw.array.dtype) if raw else None
    if raw is None or found != (expected.shape, expected.dtype):
        text = _(
            "Expected an array of shape {shape} and dtype {dtype}, for which the "
            "program was built. Received: another. Build it anew for these arguments."
        )
        raise CannotBuildError(text.format(shape=expected.shape, dtype=expected.dtype))
    return raw.array


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.communicate()
