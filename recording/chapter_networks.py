"""The networks of the chapter `faster`, and the ordinary ways to run them in PyTorch and JAX.

The notebook defines them in one folded cell, after another one with imports and settings. Both are
read from the committed notebook and executed here, so what is measured is what a reader measures.
This needs neither Jupyter nor IPython.
"""

import copy
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from d2lhybrid import training, variants
from recording.notebook_code import NOTEBOOKS, CodeCell, code_cells

NETWORKS = {"resnet", "encoder"}  # what the cell defines


@dataclass(frozen=True)
class Case:
    """What is measured: a network, how many examples at once, and the task."""

    network: str
    batch: int
    task: str = "inference"


def defines_networks(cell: CodeCell) -> bool:
    """Is this cell folded, and does it define a function for each of the networks?"""
    defined = {*re.findall(r"^def (\w+)\(", cell.source, re.MULTILINE)}
    return "hide-input" in cell.tags and defined >= NETWORKS


def chapter_networks(path: Path) -> ModuleType:
    """A module with what the notebook's folded cells define, down to the one with the networks.

    Raises:
        LookupError: the notebook isn't there, or it doesn't have one such cell.
    """
    if not path.exists():
        raise LookupError(f"Expected the notebook {path}. `make notebooks` builds it.")
    cells = code_cells(path)
    places = [place for place, cell in enumerate(cells) if defines_networks(cell)]
    if len(places) != 1:
        wanted = " and ".join(f"{name}()" for name in sorted(NETWORKS))
        raise LookupError(
            f"Expected one folded cell in {path} that defines {wanted}. Received: {len(places)}."
        )
    module = ModuleType("chapter_networks_cell")
    sys.modules[module.__name__] = module  # TorchDynamo imports the module of what it inlines
    vars(module)["training"] = training  # a later cell imports it
    for cell in cells[: places[0] + 1]:
        if "hide-input" in cell.tags:
            exec(cell.compiled(), vars(module))
    return module


class PyTorch:
    """The networks in PyTorch, and the ordinary ways to run them."""

    def __init__(self) -> None:
        import torch

        self.torch = torch
        self.has_gpu = torch.cuda.is_available()
        self.chapter = chapter_networks(NOTEBOOKS / "pytorch/faster.ipynb")
        self.device = self.chapter.device
        # The notebook compiles everything anew; a second process here need not.
        torch._inductor.config.force_disable_caches = False

    def network(self, name: str) -> Any:
        """A new network, in evaluation mode."""
        nn = self.torch.nn
        if name in NETWORKS:
            return getattr(self.chapter, name)()
        return nn.Sequential(
            nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 2)
        ).eval()

    def inputs(self, case: Case) -> Any:
        if case.network == "encoder":
            return self.chapter.tokens(case.batch)
        if case.network == "resnet":
            return self.chapter.images(case.batch)
        return self.torch.randn(case.batch, 512, device=self.device)

    def ways(self, case: Case) -> tuple[Any, tuple[Any, ...]]:
        """The callables by name, and the arguments of each call."""
        self.torch.compiler.reset()  # before 2.13 programs are shared between networks of one class
        net = self.network(case.network).to(self.device)
        x, has_layout = self.inputs(case), case.network == "resnet"
        if case.task == "training":
            y = self.chapter.labels(case.batch)
            found = dict(self.chapter.train(net, x, y).only("eager", "torch.compile"))
            if has_layout:
                found["eager, channels last"] = self.chapter.train(*last(net, x), y)["eager"]
            return found, ()
        names = ["eager", "torch.compile"]
        if self.has_gpu:
            names.append("torch.compile reduce-overhead")
        found = dict(variants(net, x).only(*names))
        if has_layout:
            found |= self.channels_last(net, x)
        if self.has_gpu:
            found["CUDA graph of eager"] = self.recorded(net, x)
        return found, (x,)

    def channels_last(self, net: Any, x: Any) -> dict[str, Any]:
        """The same network on images whose channels lie together, eager and compiled."""
        other, images = last(net, x)
        # Strides that differ from an earlier call of the same code would be made symbolic.
        fast = self.torch.compile(other, dynamic=False)

        def run(model: Any) -> Any:
            def call(_x: Any) -> Any:
                with self.torch.no_grad():
                    return model(images)

            return call

        return {"eager, channels last": run(other), "torch.compile, channels last": run(fast)}

    def recorded(self, net: Any, x: Any) -> Any:
        """A CUDA graph of what the eager network launches; a call copies its input and replays it.

        The graph reads parameters and buffers by their address, so `replay` keeps `net` alive.
        """
        torch = self.torch
        place = x.clone()
        with torch.no_grad():
            for _ in range(3):
                net(place)
            torch.cuda.synchronize()
            recording = torch.cuda.CUDAGraph()
            with torch.cuda.graph(recording):
                answer = net(place)

        def replay(x: Any) -> Any:
            place.copy_(x)
            recording.replay()
            return answer

        replay.net = net  # type: ignore[attr-defined]
        return replay

    def settings(self) -> dict[str, Any]:
        torch = self.torch
        return {
            "torch.backends.cudnn.allow_tf32": torch.backends.cudnn.allow_tf32,
            "torch.backends.cuda.matmul.allow_tf32": torch.backends.cuda.matmul.allow_tf32,
        }


def last(net: Any, x: Any) -> tuple[Any, Any]:
    """A copy of a PyTorch network and its images, both with the channels last in memory."""
    import torch

    layout = torch.channels_last
    return copy.deepcopy(net).to(memory_format=layout), x.to(memory_format=layout)


class Jax:
    """The networks in JAX, with Flax NNX, and the ordinary ways to run them."""

    def __init__(self) -> None:
        import jax

        self.jax = jax
        self.chapter = chapter_networks(NOTEBOOKS / "jax/faster.ipynb")

    def network(self, name: str) -> Any:
        """A new network, in evaluation mode."""
        from flax import nnx

        if name in NETWORKS:
            return getattr(self.chapter, name)()
        rngs, widths = nnx.Rngs(0), [(512, 256), (256, 128), (128, 2)]
        first, second, third = (nnx.Linear(a, b, rngs=rngs) for a, b in widths)
        return nnx.Sequential(first, nnx.relu, second, nnx.relu, third)

    def inputs(self, case: Case) -> Any:
        import jax.numpy as jnp

        if case.network == "encoder":
            return self.chapter.tokens(case.batch)
        if case.network == "resnet":
            return self.chapter.images(case.batch)
        return jnp.asarray(np.random.default_rng(0).standard_normal((case.batch, 512)), "float32")

    def ways(self, case: Case) -> tuple[Any, tuple[Any, ...]]:
        """The callables by name, and the arguments of each call."""
        net, x = self.network(case.network), self.inputs(case)
        # One operation at a time, the encoder's step and its large batches take minutes on a GPU.
        eager = [] if case.network == "encoder" and case.batch > 32 else ["eager"]
        if case.task == "training":
            steps = self.chapter.train(net, x, self.chapter.labels(case.batch))
            return steps.only(*eager, "nnx.jit", "jit donated"), ()
        return dict(variants(net, x).only(*eager, "nnx.jit", "jit")), (x,)

    def settings(self) -> dict[str, Any]:
        return {"jax_default_matmul_precision": self.jax.config.jax_default_matmul_precision}
