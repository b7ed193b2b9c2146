"""Keep what native libraries write to the process's standard error out of a notebook."""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quiet() -> Iterator[None]:
    """Hold back what native code logs inside the block; show it if the block raises.

    TensorFlow's C++ code, for one, logs while it is imported, before any setting of its own can
    stop it. Python's own ``sys.stderr`` is not touched, so Python's warnings still show.

    >>> with quiet():
    ...     _ = os.write(2, b"a line from a native library\\n")
    """
    sys.stderr.flush()
    original = os.dup(2)
    with tempfile.TemporaryFile() as held:
        os.dup2(held.fileno(), 2)
        try:
            yield
        except BaseException:
            os.dup2(original, 2)
            held.seek(0)
            os.write(2, held.read())
            raise
        finally:
            os.dup2(original, 2)
            os.close(original)
