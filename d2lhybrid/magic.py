"""``%%benchmark``: time a notebook's cell. ``%load_ext d2lhybrid`` switches it on."""

from functools import partial
from typing import Any

from d2lhybrid.measure.timing import Benchmark


def load_ipython_extension(shell: Any) -> None:
    """Register ``%%benchmark``; IPython calls this."""
    shell.register_magic_function(partial(benchmark, shell), "cell", "benchmark")


def benchmark(shell: Any, line: str, cell: str) -> None:
    """Run the cell in the notebook's namespace under ``Benchmark(line)``.

    ``%%benchmark Without hybridization`` prints ``Without hybridization: 0.1095 sec``. The cell
    is compiled before the clock starts.
    """
    source = shell.transform_cell(cell)
    code = compile(source, shell.compile.cache(source), "exec")  # the cache serves tracebacks
    with Benchmark(line.strip() or "Done"):
        exec(code, shell.user_ns)
