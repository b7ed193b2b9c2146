"""``%%benchmark``: time a notebook's cell. ``%load_ext d2lhybrid`` switches it on."""

from typing import Any

from d2lhybrid.i18n import gettext as _
from d2lhybrid.measurement.timing import Benchmark, Timer

DEFAULT = Benchmark().description


def load_ipython_extension(shell: Any) -> None:
    """Register ``%%benchmark``; IPython calls this."""

    def benchmark(line: str, cell: str) -> None:
        """``%%benchmark Without hybridization`` times the cell and prints one line."""
        run(shell, line.strip(), cell)

    shell.register_magic_function(benchmark, "cell", "benchmark")


def run(shell: Any, description: str, cell: str) -> None:
    """Run the cell in the notebook's namespace and print its line, as ``Benchmark`` does.

    ``%%benchmark Without hybridization`` prints ``Without hybridization: 0.1095 sec``, unless the
    cell raises. The cell is compiled before the clock starts. ``--help`` runs nothing.
    """
    if description in ("-h", "--help"):
        print(usage())
        return
    source = shell.transform_cell(cell)
    code = compile(source, shell.compile.cache(source), "exec")  # the cache serves tracebacks
    timer = Timer()
    exec(code, shell.user_ns)
    print(f"{description or DEFAULT}: {timer.stop():.4f} sec")


def usage() -> str:
    """What ``%%benchmark --help`` prints."""
    text = _(
        "{usage}: runs the cell, waits for the devices and prints one line, such as\n"
        "{line}.\n"
        "Without a description the line begins with {default}. Nothing is printed where the cell "
        "raises an error."
    )
    return text.format(
        usage="%%benchmark [DESCRIPTION]",
        line="    Without hybridization: 0.1095 sec",
        default=repr(DEFAULT),
    )
