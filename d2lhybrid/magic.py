"""``%%benchmark``: time a notebook's cell. ``%load_ext d2lhybrid`` switches it on."""

from typing import Any

from d2lhybrid.measurement.timing import Benchmark, Timer

MAGIC = "%%benchmark"


def load_ipython_extension(shell: Any) -> None:
    """Switch on ``%%benchmark``; IPython calls this.

    A cell under ``%%benchmark Without hybridization`` runs as it would without that line, and then
    prints one such as ``Without hybridization: 0.1095 sec``, as ``Benchmark`` does, unless the cell
    raises. The line alone is taken from the cell and IPython runs the rest, so that ``await`` and
    the value of the last expression are what they are in any other cell.
    """
    running: list[Timer] = []

    def without_magic(lines: list[str]) -> list[str]:
        return lines[1:] if lines and _description(lines[0]) is not None else lines

    def before(cell: Any) -> None:
        if _description(cell.raw_cell) is not None:
            running.append(Timer())

    def after(result: Any) -> None:
        description = _description(result.info.raw_cell)
        if description is not None:
            seconds = running.pop().stop()
            if result.success:
                print(f"{description}: {seconds:.4f} sec")

    shell.input_transformers_cleanup.append(without_magic)
    shell.events.register("pre_run_cell", before)
    shell.events.register("post_run_cell", after)


def _description(cell: str) -> str | None:
    """What stands behind the magic in the first line, or the default; None without the magic."""
    magic, _space, said = cell.strip().partition("\n")[0].partition(" ")
    return (said.strip() or Benchmark().description) if magic == MAGIC else None
