"""What the English chapters say of a GPU is what was recorded on one.

Each test has the sentence of a chapter and holds it against ``recorded/``. If a new recording
contradicts a sentence, its test fails: then rewrite the sentence, in the chapter and here.
"""

import re
from statistics import median

import pytest
from processes import ROOT

from book.measured import on_cpu
from recording.recordings import Text, read_recordings

RECORDINGS = read_recordings(ROOT / "recorded")
EAGER, COMPILED, LAYOUT = "eager", "torch.compile", "eager, channels last"
REDUCED, GRAPH = "torch.compile reduce-overhead", "CUDA graph of eager"
SMALL = [(network, batch) for network in ("resnet", "encoder") for batch in (1, 32)]
NEXT_TO_NOTHING = 1.2  # times as fast


def says(chapter, *sentences):
    """A chapter says this, wherever its lines break."""
    text = (ROOT / f"chapters/{chapter}.md").read_text(encoding="utf-8")
    words = " ".join(text.split())
    assert [one for one in sentences if one not in words] == []


def entries(part):
    """What was recorded of a part."""
    return [entry for one in RECORDINGS if one.part == part for entry in one.entries]


def rows(label, framework, network, batch, task="inference"):
    """The row of a network, in float32, of each process that ran it."""
    wanted = (network, batch, "float32", task)
    found = [
        row
        for one in entries(f"networks-{framework}")
        if (one.network, one.batch, one.dtype, one.task) == wanted
        for row in one.rows
        if row.label == label
    ]
    assert found, f"no recording of {label} for {wanted}"
    return found


def ratios(label, *case):
    """How many times as fast as eager, by latency: a figure for each process."""
    return [row.ratio["latency"][0] for row in rows(label, *case)]


def verdicts(label, *case):
    return {row.verdict["latency"] for row in rows(label, *case)}


def eager_seconds(*case):
    return median(row.seconds["latency"] for row in rows(EAGER, *case))


def cell(notebook, code):
    """The recorded cell of a notebook that has this code."""
    found = entries(f"cells-{notebook.partition('/')[0]}")
    (one,) = [one for one in found if one.notebook == notebook and code in one.source]
    return one


def printed(notebook, code):
    """What that cell printed."""
    shown = cell(notebook, code).outputs
    return "\n".join(output.text for output in shown if isinstance(output, Text))


def test_what_a_compiler_alone_gains():
    says("faster", "At such batch sizes, `torch.compile` alone gains little, or loses.")
    assert verdicts(COMPILED, "pytorch", "mlp", 1) == {"slower"}
    for network, batch in SMALL:
        assert max(ratios(COMPILED, "pytorch", network, batch)) < NEXT_TO_NOTHING


def test_large_gains_come_from_graphs():
    gains = [gain for case in SMALL for gain in ratios(REDUCED, "pytorch", *case)]
    says(
        "faster",
        'Large gains come from CUDA graphs, captured by hand or by `mode="reduce-overhead"`:',
        f"`reduce-overhead` makes them {min(gains):.2g} to {max(gains):.2g} times as fast.",
    )
    for case in SMALL:
        for label in (REDUCED, GRAPH):
            assert verdicts(label, "pytorch", *case) == {"faster"}


def test_a_handful_of_operations():
    says(
        "faster",
        "`reduce-overhead` makes it *slower*, because calling compiled code has more overhead than "
        "five launches.",
        "A CUDA graph captured by hand has no such overhead, and makes it faster.",
    )
    assert verdicts(REDUCED, "pytorch", "mlp", 1) == {"slower"}
    assert verdicts(GRAPH, "pytorch", "mlp", 1) == {"faster"}


def test_eager_calls_take_no_longer_with_more_to_compute():
    says("faster", "the encoder takes no longer for 32 texts than for one.")
    assert eager_seconds("pytorch", "encoder", 32) <= eager_seconds("pytorch", "encoder", 1)
    says("faster", "the ResNet takes no longer for 1024 images than for one.")
    assert eager_seconds("jax", "resnet", 1024) <= eager_seconds("jax", "resnet", 1)


def test_a_large_batch_in_pytorch():
    says(
        "faster",
        "CUDA graphs add next to nothing. The ResNet gains from fusion and from another layout; "
        "the encoder, mostly matrix products, gains little.",
    )
    for network in ("resnet", "encoder"):
        case = "pytorch", network, 1024
        assert max(ratios(GRAPH, *case)) < NEXT_TO_NOTHING
        assert max(ratios(REDUCED, *case)) < NEXT_TO_NOTHING * min(ratios(COMPILED, *case))
    assert max(ratios(COMPILED, "pytorch", "encoder", 1024)) < NEXT_TO_NOTHING
    assert verdicts(COMPILED, "pytorch", "resnet", 1024) == {"faster"}
    assert verdicts(LAYOUT, "pytorch", "resnet", 1024) == {"faster"}


def test_training_in_pytorch():
    says(
        "faster",
        "A training step of the ResNet gains more from channels last than from the compiler, and "
        "at batch 32 compiling makes it slower.",
    )
    large = "pytorch", "resnet", 1024, "training"
    assert min(ratios(LAYOUT, *large)) > max(ratios(COMPILED, *large))
    assert verdicts(COMPILED, "pytorch", "resnet", 32, "training") == {"slower"}


def test_jit_gains_more_than_on_a_cpu():
    says(
        "faster",
        "In the picture, the ratios of `jit` at batches 1 and 32 are far larger than on a CPU.",
    )
    measured = on_cpu(ROOT)
    for key, network, batch in (
        *(("resnet", "resnet", 1), ("resnet-32", "resnet", 32)),
        ("encoder", "encoder", 1),
    ):
        on_a_cpu = measured[key]["jax"].variants["jit"].ratio
        assert min(ratios("jit", "jax", network, batch)) > 2 * on_a_cpu


def test_what_jit_gains_with_small_and_large_batches():
    says("faster", "At batch 1024 the GPU has work to do, so the ratio is smaller.")
    small = [min(ratios("jit", "jax", *case)) for case in SMALL]
    assert max(ratios("jit", "jax", "resnet", 1024)) < min(small)
    says("faster", "| it runs on a GPU | `jit`, even for large batches | [on a GPU](#sec-gpu) |")
    assert verdicts("jit", "jax", "resnet", 1024) == {"faster"}


@pytest.mark.parametrize("framework", ["pytorch", "jax"])
def test_two_clocks_of_the_first_chapter(framework):
    said = printed(f"{framework}/hybridize", 'Benchmark("work done")')
    returned, done = re.findall(r": (\S+) sec", said)
    says(
        "hybridize",
        f"returned after {returned} s and the work was done after {done} s.",
    )


def test_recorded_with_tf32():
    says(
        "faster",
        "We measured the networks with PyTorch 2.11 and its default for convolutions, TF32,",
    )
    for one in entries("networks-pytorch"):
        assert one.settings["torch.backends.cudnn.allow_tf32"]


def test_the_table_of_four_frameworks_is_what_six_processes_each_found():
    ways = {
        "pytorch": ("PyTorch, AOTInductor", "aotinductor"),
        "jax": ("JAX, `jit`", "jit"),
        "tensorflow": ("TensorFlow, XLA", "concrete function XLA"),
        "mxnet": ("MXNet, static", "static_shape"),
    }
    found, rows = on_cpu(ROOT)["resnet"], []
    for framework, (name, way) in ways.items():
        eager, row = found[framework].eager, found[framework].variants[way]
        times = (f"{1e3 * each.latency:#.3g} ms" for each in (eager, row))
        rows.append(f"| {name} | {' | '.join(times)} | {row.ratio:.1f} times |")
    says("faster", "each in six processes on another machine", *rows)


def test_the_table_of_other_processes_is_what_six_processes_found():
    ways = {
        "pytorch": ("PyTorch, AOTInductor", "aotinductor"),
        "jax": ("JAX, `jit`", "jit"),
        "tensorflow": ("TensorFlow, XLA", "concrete function XLA"),
        "mxnet": ("MXNet, static", "static_shape"),
    }
    found, rows = on_cpu(ROOT)["mlp"], []
    for framework, (name, way) in ways.items():
        row = found[framework].variants[way]
        rows.append(f"| {name} | {row.low:#.3g} times | {row.high:#.3g} times |")
    says("faster", "We measured the latency of the MLP in six processes", *rows)
