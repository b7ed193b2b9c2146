"""Models of PyTorch as programs that can be written to a file."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from d2lhybrid.frameworks.torch.eager import eager as eager
from d2lhybrid.quieting import silent


def compile_ahead(program: Any, path: Path) -> None:
    """Let AOTInductor compile an exported program into a package.

    In a folder of its own: left alone, it takes one that is named after the program, and what is
    not needed any more is removed there. Two processes that compile the same program at a time
    could remove each other's.
    """
    with TemporaryDirectory(prefix="d2lhybrid-") as own, silent(), torch.no_grad():
        config = {"aot_inductor.output_path": own}
        with torch._inductor.config.patch(config):
            torch._inductor.aoti_compile_and_package(program, package_path=str(path))
