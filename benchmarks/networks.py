"""Real networks, eager and compiled, in PyTorch or JAX, on the GPU where there is one.

python benchmarks/networks.py pytorch [network ...] [--limit 3] [--output FOLDER] [--first-calls]

A small residual network, a Transformer encoder and the chapter's MLP, with random weights, at
several batch sizes: inference and one training step. With torchvision, ResNet-50 as well. Each case
prints its table. With ``--output`` it also adds a line of JSON to FOLDER/networks-FRAMEWORK.jsonl
as soon as it has been measured, so a run that is cut off keeps what it had. ``--first-calls`` only
builds each variant and calls it twice: it shows the cold starts, and fills PyTorch's disk cache.
"""

import argparse
import json
import math
import sys
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from d2lhybrid import compare, synchronize, training, variants
from d2lhybrid.measurement.timing import Peak

CLOCKS = ("latency", "throughput", "device")


@dataclass(frozen=True)
class Case:
    """What is measured: a network, how many examples at once, the numeric type, and the task."""

    network: str
    batch: int
    dtype: str = "float32"
    task: str = "inference"

    def __str__(self) -> str:
        return f"{self.network}, batch {self.batch}, {self.dtype}, {self.task}"


CASES = [
    Case("resnet", 1),
    Case("resnet", 32),
    Case("encoder", 1),
    Case("encoder", 32),
    Case("mlp", 1),
    Case("mlp", 32),
    Case("resnet", 32, task="training"),
    Case("encoder", 32, task="training"),
    Case("resnet", 1024),
    Case("encoder", 1024),
    Case("mlp", 65536),
    Case("resnet50", 1),
    Case("resnet50", 64),
    Case("resnet50", 64, "bfloat16"),
    Case("resnet", 1024, "bfloat16"),
    Case("encoder", 1024, "bfloat16"),
    Case("resnet", 1024, task="training"),
    Case("encoder", 1024, task="training"),
    Case("resnet", 1024, "bfloat16", "training"),
    Case("encoder", 1024, "bfloat16", "training"),
    Case("resnet50", 64, "bfloat16", "training"),
]
SMALL = 4  # what a batch of more than 32 becomes in a rehearsal


class PyTorch:
    """The networks in PyTorch, and the ordinary ways to run them."""

    def __init__(self) -> None:
        import torch

        torch.manual_seed(0)
        self.torch = torch
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.name = torch.cuda.get_device_name() if self.device == "cuda" else "CPU"

    def network(self, name: str) -> Any:
        torch = self.torch
        nn, F = torch.nn, torch.nn.functional

        class Residual(nn.Module):
            def __init__(self, channels: int):
                super().__init__()
                self.first = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
                self.second = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
                self.norms = nn.ModuleList([nn.BatchNorm2d(channels), nn.BatchNorm2d(channels)])

            def forward(self, x: Any) -> Any:
                y = F.relu(self.norms[0](self.first(x)))
                return F.relu(x + self.norms[1](self.second(y)))

        class Layer(nn.Module):
            def __init__(self, width: int, heads: int):
                super().__init__()
                self.heads = heads
                self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
                self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
                self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])

            def forward(self, x: Any) -> Any:
                batch, tokens, width = x.shape
                parts = self.qkv(self.norms[0](x)).view(batch, tokens, 3, self.heads, -1)
                q, k, v = parts.permute(2, 0, 3, 1, 4)
                mixed = F.scaled_dot_product_attention(q, k, v)
                x = x + self.out(mixed.transpose(1, 2).reshape(batch, tokens, width))
                return x + self.down(F.gelu(self.up(self.norms[1](x))))

        class Encoder(nn.Module):
            def __init__(self, width: int = 128, heads: int = 4):
                super().__init__()
                self.embed = nn.Embedding(1000, width)
                self.layers = nn.ModuleList([Layer(width, heads) for _ in range(2)])
                self.head = nn.Linear(width, 10)

            def forward(self, x: Any) -> Any:
                x = self.embed(x)
                for layer in self.layers:
                    x = layer(x)
                return self.head(x.mean(1))

        if name == "resnet":
            stem = [nn.Conv2d(3, 32, 3, padding=1), *(Residual(32) for _ in range(3))]
            head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10)]
            return nn.Sequential(*stem, *head)
        if name == "encoder":
            return Encoder()
        if name == "resnet50":
            import torchvision

            return torchvision.models.resnet50()
        return nn.Sequential(
            nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 2)
        )

    def example(self, case: Case) -> tuple[Any, Any]:
        torch, shape = self.torch, shapes(case)
        classes = torch.randint(0, 2, (case.batch,), device=self.device)
        if case.network == "encoder":
            return torch.randint(0, 1000, shape, device=self.device), classes
        return torch.randn(shape, device=self.device, dtype=getattr(torch, case.dtype)), classes

    def ways(self, case: Case) -> tuple[Any, tuple[Any, ...]]:
        """The callables by name, and the arguments of each call."""
        torch = self.torch
        torch.compiler.reset()  # before 2.13 programs are shared between networks of one class
        net = self.network(case.network).to(self.device, getattr(torch, case.dtype))
        x, y = self.example(case)
        if case.task == "training":
            optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
            loss = torch.nn.functional.cross_entropy
            steps = training(net, loss, optimizer, (x, y))
            return steps.only("eager", "torch.compile"), ()
        net.eval()
        names = ["eager", "torch.compile"]
        if self.device == "cuda":
            names.append("torch.compile reduce-overhead")
        found = dict(variants(net, x).only(*names))
        if case.network.startswith("resnet"):
            found |= self.channels_last(net, x)
        if self.device == "cuda":
            found["CUDA graph of eager"] = self.recorded(net, x)
        return found, (x,)

    def channels_last(self, net: Any, x: Any) -> dict[str, Any]:
        """The same network on images whose channels lie together, eager and compiled."""
        import copy

        layout = self.torch.channels_last
        other, images = copy.deepcopy(net).to(memory_format=layout), x.to(memory_format=layout)
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


class Jax:
    """The networks in JAX, with Flax NNX, and the ordinary ways to run them."""

    def __init__(self) -> None:
        import jax

        self.jax = jax
        self.device = "cuda" if jax.devices()[0].platform == "gpu" else "cpu"
        self.name = jax.devices()[0].device_kind

    def network(self, name: str, dtype: str) -> Any:
        jax = self.jax
        import jax.numpy as jnp
        from flax import nnx

        rngs, kind = nnx.Rngs(0), {"dtype": getattr(jnp, dtype), "param_dtype": getattr(jnp, dtype)}

        class Residual(nnx.Module):
            def __init__(self, channels: int):
                conv = {"padding": "SAME", "use_bias": False, "rngs": rngs, **kind}
                self.first = nnx.Conv(channels, channels, (3, 3), **conv)
                self.second = nnx.Conv(channels, channels, (3, 3), **conv)
                self.norm = nnx.BatchNorm(channels, rngs=rngs, **kind)
                self.last = nnx.BatchNorm(channels, rngs=rngs, **kind)

            def __call__(self, x: Any) -> Any:
                y = nnx.relu(self.norm(self.first(x)))
                return nnx.relu(x + self.last(self.second(y)))

        class Layer(nnx.Module):
            def __init__(self, width: int, heads: int):
                self.heads = heads
                self.qkv = nnx.Linear(width, 3 * width, rngs=rngs, **kind)
                self.out = nnx.Linear(width, width, rngs=rngs, **kind)
                self.up = nnx.Linear(width, 4 * width, rngs=rngs, **kind)
                self.down = nnx.Linear(4 * width, width, rngs=rngs, **kind)
                self.norm = nnx.LayerNorm(width, rngs=rngs, **kind)
                self.last = nnx.LayerNorm(width, rngs=rngs, **kind)

            def __call__(self, x: Any) -> Any:
                batch, tokens, width = x.shape
                parts = self.qkv(self.norm(x)).reshape(batch, tokens, 3, self.heads, -1)
                q, k, v = (parts[:, :, i] for i in range(3))
                mixed = jax.nn.dot_product_attention(q, k, v)
                x = x + self.out(mixed.reshape(batch, tokens, width))
                return x + self.down(nnx.gelu(self.up(self.last(x))))

        class Encoder(nnx.Module):
            def __init__(self, width: int = 128, heads: int = 4):
                self.embed = nnx.Embed(1000, width, rngs=rngs, **kind)
                self.first, self.second = Layer(width, heads), Layer(width, heads)
                self.head = nnx.Linear(width, 10, rngs=rngs, **kind)

            def __call__(self, x: Any) -> Any:
                x = self.second(self.first(self.embed(x)))
                return self.head(x.mean(1))

        if name == "encoder":
            return Encoder()
        if name == "resnet":
            stem = nnx.Conv(3, 32, (3, 3), padding="SAME", rngs=rngs, **kind)
            head = [lambda x: x.mean((1, 2)), nnx.Linear(32, 10, rngs=rngs, **kind)]
            return nnx.Sequential(stem, *(Residual(32) for _ in range(3)), *head)
        widths = [(512, 256), (256, 128), (128, 2)]
        first, second, third = (nnx.Linear(a, b, rngs=rngs, **kind) for a, b in widths)
        return nnx.Sequential(first, nnx.relu, second, nnx.relu, third)

    def ways(self, case: Case) -> tuple[Any, tuple[Any, ...]]:
        """The callables by name, and the arguments of each call."""
        import jax.numpy as jnp
        import optax
        from flax import nnx

        net, random = self.network(case.network, case.dtype), np.random.default_rng(0)
        shape = shapes(case)
        y = jnp.asarray(random.integers(0, 2, case.batch))
        if case.network == "encoder":
            x = jnp.asarray(random.integers(0, 1000, shape))
        else:
            if case.network.startswith("resnet"):  # in JAX, channels come last
                shape = (shape[0], *shape[2:], shape[1])
            x = jnp.asarray(random.standard_normal(shape), getattr(jnp, case.dtype))
        if case.task == "training":
            optimizer = nnx.Optimizer(net, optax.sgd(0.01), wrt=nnx.Param)
            loss = optax.softmax_cross_entropy_with_integer_labels
            return training(net, loss, optimizer, (x, y)).only(
                "eager", "nnx.jit", "jit donated"
            ), ()
        net.eval()
        return variants(net, x).only("eager", "nnx.jit", "jit"), (x,)

    def settings(self) -> dict[str, Any]:
        return {"jax_default_matmul_precision": self.jax.config.jax_default_matmul_precision}


def shapes(case: Case) -> tuple[int, ...]:
    """The shape of a batch, channels first."""
    example = {"resnet": (3, 32, 32), "resnet50": (3, 224, 224), "encoder": (64,), "mlp": (512,)}
    return (case.batch, *example[case.network])


def measured(room: Any, case: Case, limit: float) -> dict[str, Any]:
    """What ``compare`` says of this case, and beside it peak memory and how far answers differ."""
    ways, args = room.ways(case)
    # Answers are compared below: here a way that rounds differently stays a row.
    comparison = compare(ways, *args, time_limit=limit, check=False, progress=False)
    print(comparison, flush=True)
    extra = answers(ways, args) if case.task == "inference" else {}
    rows = []
    for label in comparison:
        known = [clock for clock in CLOCKS if getattr(comparison[label].times, clock)]
        times = {clock: comparison[label].median_of(clock) for clock in known}
        ratios = {clock: list(map(finite, comparison.ratio(label, clock))) for clock in known}
        verdicts = {clock: comparison.verdict(label, clock) for clock in known}
        cold = comparison[label].cold_seconds
        row = {"label": label, "seconds": times, "ratio": ratios, "verdict": verdicts}
        rows.append(row | {"first_call": cold} | extra.get(label, {}))
    floors = {clock: finite(comparison.floor_of(clock)) for clock in known}
    facts = {"rounds": comparison.rounds, "noise_floor": floors, "stopped": comparison.stopped}
    env = comparison.env
    where = {"date": env.date, "versions": env.versions, "accelerators": list(env.accelerators)}
    where |= {"cpu": env.cpu, "cores": env.cores, "load": env.load}
    return {"rows": rows, "unavailable": comparison.unavailable, **facts, "env": where}


def finite(number: float) -> float | None:
    """None in place of infinity, which JSON does not have."""
    return number if math.isfinite(number) else None


def answers(ways: Any, args: tuple[Any, ...]) -> dict[str, dict[str, Any]]:
    """By label: the peak of device memory in a call, and how far its answer is from eager's.

    That is the largest difference, relative to the largest number of eager's answer.
    """
    found: dict[str, dict[str, Any]] = {}
    expected = None
    for label, way in ways.items():
        peak = Peak()
        answer = way(*args)
        rise = peak.device_bytes()
        numbers = np.asarray(answer.float().cpu() if hasattr(answer, "cpu") else answer, np.float64)
        expected = numbers if expected is None else expected
        apart = float(np.abs(numbers - expected).max() / np.abs(expected).max())
        found[label] = {"difference": finite(apart), "peak_bytes": rise}
    return found


def table(files: list[Path]) -> str:
    """What such files hold, as tables in Markdown: latency, then throughput.

    One row a case: eager's time, then how many times as fast the others are, with one figure for
    each process. An undecided one is in parentheses; one without an interval has a question mark.
    """
    recorded = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    recorded = [content for content in recorded if content.get("rows")]
    labels = list(dict.fromkeys(row["label"] for c in recorded for row in c["rows"]))
    lines: list[str] = []
    for clock in ("latency", "throughput"):
        lines.append(f"\n| {clock} | " + " | ".join(labels) + " |")
        lines.append("|---|" + "---:|" * len(labels))
        for case in CASES:
            cells: dict[str, list[str]] = {label: [] for label in labels}
            for content in recorded:
                if all(content[name] == value for name, value in vars(case).items()):
                    for row in content["rows"]:
                        cells[row["label"]].append(shown(row, clock))
            if any(cells.values()):
                lines.append(f"| {case} | " + " | ".join(map(", ".join, cells.values())) + " |")
    return "\n".join(lines)


def shown(row: dict[str, Any], clock: str) -> str:
    """Eager's time in milliseconds, or another row's ratio to it."""
    if row["label"] == "eager":
        return f"{row['seconds'][clock] * 1e3:.3g} ms"
    ratio, low, _high = row["ratio"][clock]
    if not low:  # too few rounds for an interval
        return f"{ratio:.3g}?"
    return f"({ratio:.3g})" if row["verdict"][clock] == "undecided" else f"{ratio:.3g}"


def first_calls(room: Any, case: Case) -> dict[str, Any]:
    """Seconds of the first and the second call of each way, none of which has run before."""
    ways, args = room.ways(case)
    rows = []
    for label, way in ways.items():
        seconds = []
        for _call in range(2):
            start = perf_counter()
            way(*args)
            synchronize()
            seconds.append(perf_counter() - start)
        rows.append({"label": label, "first_call": seconds[0], "second_call": seconds[1]})
        print(f"  {label}: {seconds[0]:.2f} s, then {seconds[1]:.4f} s", flush=True)
    return {"rows": rows}


def chosen(options: argparse.Namespace) -> Iterator[Case]:
    """The cases to run, in the order of what they are worth."""
    for case in CASES:
        if options.framework == "jax" and case.network == "resnet50":
            continue
        if options.networks and case.network not in options.networks:
            continue
        if options.task and case.task != options.task:
            continue
        batch = min(case.batch, SMALL) if options.small and case.batch > 32 else case.batch
        yield Case(case.network, batch, case.dtype, case.task)


def main() -> int:
    """Measure; the exit status is 1 where a case failed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("framework", choices=["pytorch", "jax"])
    parser.add_argument("networks", nargs="*", help="of these networks only")
    parser.add_argument("--limit", type=float, default=3.0, help="seconds of a comparison's rounds")
    parser.add_argument("--output", type=Path, help="the folder for the lines of JSON")
    parser.add_argument("--task", choices=["inference", "training"])
    parser.add_argument("--first-calls", action="store_true", help="build and call once, no more")
    parser.add_argument("--small", action="store_true", help="no large batch: to try the script")
    parser.add_argument("--table", type=Path, nargs="+", help="show such files, measure nothing")
    options = parser.parse_args()
    if options.table:
        print(table(options.table))
        return 0
    room = PyTorch() if options.framework == "pytorch" else Jax()
    print(f"{options.framework} on {room.name}", room.settings(), flush=True)
    failed = 0
    for case in chosen(options):
        print(f"\n== {case}", flush=True)
        start = perf_counter()
        try:
            content = (
                first_calls(room, case)
                if options.first_calls
                else measured(room, case, options.limit)
            )
        except Exception as error:  # the other cases are worth having
            traceback.print_exc(limit=-3, file=sys.stdout)
            content = {"error": f"{type(error).__name__}: {error}"[:500]}
            failed += 1
        about = {"framework": options.framework, "device": room.name, **vars(case)}
        about |= {"seconds": perf_counter() - start, "settings": room.settings()}
        if options.output:
            options.output.mkdir(parents=True, exist_ok=True)
            kind = "first-calls" if options.first_calls else "networks"
            with (options.output / f"{kind}-{options.framework}.jsonl").open("a") as file:
                file.write(json.dumps(about | content) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
