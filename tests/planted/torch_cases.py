"""Causes planted in PyTorch."""

from itertools import pairwise

import numpy as np
import torch
import torch.nn.functional as F
from case import control, planted
from chapter import networks
from torch import nn


def both(net, *args):
    """A model or function as it is, and compiled."""
    if isinstance(net, nn.Module):
        net.eval().requires_grad_(False)
    return {"eager": net, "torch.compile": torch.compile(net)}, *args


def dense(*sizes):
    layers = [
        part
        for inputs, outputs in pairwise(sizes)
        for part in (nn.Linear(inputs, outputs), nn.ReLU())
    ]
    return nn.Sequential(*layers[:-1])


@planted(
    "not_whole",
    "An LSTM stands in the model, and TorchDynamo gives up the whole forward because of it.",
)
def recurrent_layer():
    class Tagger(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(1000, 64)
            self.lstm = nn.LSTM(64, 64, batch_first=True)
            self.scores = nn.Linear(64, 9)

        def forward(self, ids):
            hidden, _state = self.lstm(self.embedding(ids))
            return self.scores(F.gelu(hidden))

    return both(Tagger(), torch.arange(32)[None])


@planted(
    "not_whole",
    "`item()` takes a number out of a tensor, and a Python `if` looks at it: the graph breaks.",
)
def number_taken_out():
    def clipped(x):
        length = x.norm().item()
        if length > 1:
            x = x / length
        return x * 2 + 1

    return both(clipped, torch.linspace(0, 1, 1000))


@planted(
    "recompiled",
    "forward counts its calls in an attribute. Each count is another program, until the limit of "
    "eight is reached and the rest runs eagerly.",
    also=("not_whole",),
)
def counted_calls():
    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.calls = 0
            self.layers = dense(64, 64, 8)

        def forward(self, x):
            self.calls += 1
            return self.layers(x)

    return both(Counting(), torch.ones(4, 64))


@planted(
    "recompiled",
    "A schedule writes another number into the model before each call, and the limit of "
    "recompilations was raised, as threads advise, so every call compiles.",
    checked=False,
)
def scheduled_rate():
    torch._dynamo.config.recompile_limit = 100_000
    torch._dynamo.config.accumulated_recompile_limit = 100_000

    class Step(nn.Module):
        def __init__(self):
            super().__init__()
            self.rate = 0.1
            self.weight = nn.Parameter(torch.ones(64, 64), requires_grad=False)

        def forward(self, x):
            return torch.addmm(self.weight, x, x, alpha=self.rate)

    step = Step()
    compiled = torch.compile(step)

    def scheduled(function):
        def run(x):
            step.rate *= 0.9999
            return function(x)

        return run

    return {"eager": scheduled(step), "torch.compile": scheduled(compiled)}, torch.ones(64, 64)


@planted(
    "nothing_to_rewrite",
    "Three products of large matrices take nearly all of the time, and stay calls of the library.",
)
def wide_layers():
    return both(dense(1024, 1024, 1024, 1024), torch.ones(256, 1024))


@planted(
    "nothing_to_rewrite",
    "The only operation is attention over a long text, which is one call of a kernel either way.",
)
def long_attention():
    def attend(q, k, v):
        return F.scaled_dot_product_attention(q, k, v)

    return both(attend, *(torch.ones(1, 8, 1024, 64) for _ in range(3)))


@planted(
    "entering",
    "A logistic regression on one example: checking guards and entering takes longer than it does.",
)
def logistic_regression():
    return both(nn.Sequential(nn.Linear(16, 2), nn.Sigmoid()), torch.ones(1, 16))


@planted(
    "entering",
    "The loss of eight examples is two operations of a few microseconds.",
)
def small_loss():
    def loss(scores, target):
        return F.cross_entropy(scores, target)

    return both(loss, torch.ones(8, 10), torch.arange(8))


@planted(
    "moved_data",
    "Each call makes a tensor of a long history in NumPy, of which the model needs the last rows.",
)
def history_in_numpy():
    net = dense(64, 128, 8).eval().requires_grad_(False)
    compiled = torch.compile(net)

    def latest(function):
        return lambda history: function(torch.tensor(history, dtype=torch.float32)[-16:])

    history = np.random.default_rng(0).standard_normal((50_000, 64))
    return {"eager": latest(net), "torch.compile": latest(compiled)}, history


@planted(
    "faster_fused",
    "Six operations pass over a million numbers one after the other; fused, memory is read once.",
)
def gelu_by_hand():
    def gelu(x):
        return 0.5 * x * (1 + torch.tanh(0.79788456 * (x + 0.044715 * x * x * x)))

    return both(gelu, torch.linspace(-3, 3, 1_000_000))


@planted(
    "faster_python",
    "Sixteen steps of a small recurrent cell: a hundred calls of PyTorch from Python, each of "
    "which has next to nothing to do.",
    also=("faster_fused",),
)
def cell_by_hand():
    class Cell(nn.Module):
        def __init__(self):
            super().__init__()
            self.gates, self.state = nn.Linear(16, 16), nn.Linear(16, 16)

        def forward(self, x):
            hidden = x[0]
            for step in x:
                gate = torch.sigmoid(self.gates(step) + hidden)
                hidden = gate * hidden + (1 - gate) * torch.tanh(self.state(step))
            return hidden

    return both(Cell(), torch.ones(16, 1, 16))


@planted(
    "faster_folded_or_layout",
    "The weights are normalized anew in each call; frozen, the compiler does that once.",
)
def normalized_weights():
    class Normalized(nn.Linear):
        def forward(self, x):
            return F.linear(x, F.normalize(torch.tanh(self.weight)), self.bias)

    torch._inductor.config.freezing = True  # among the options of torch.compile it does nothing
    net = Normalized(1024, 1024).eval().requires_grad_(False)
    frozen = torch.compile(net)
    with torch.no_grad():  # freezing looks at this
        x = torch.ones(1, 1024)
    run = torch.no_grad()
    return {"eager": run(net), "torch.compile, frozen": run(frozen)}, x


@planted(
    "not_whole",
    "A hook, left from debugging, looks behind each layer of a Transformer whether a number is "
    "none, with an `if`.",
    real=True,
)
def encoder_with_checks():
    def check(layer, inputs, output):
        if torch.isnan(output).any():
            raise FloatingPointError(f"nan behind {layer}")

    chapter = networks("pytorch")
    net = chapter.encoder()
    for layer in net.modules():
        if not [*layer.children()]:
            layer.register_forward_hook(check)
    return both(net, chapter.tokens(1))


@planted(
    "moved_data",
    "A residual network gets a large photograph in NumPy's double precision, which each call "
    "converts as a whole, to keep one pixel in 64 by 64.",
    real=True,
)
def photograph_for_resnet():
    chapter = networks("pytorch")
    net = chapter.resnet().eval().requires_grad_(False)
    compiled = torch.compile(net)

    def small(function):
        def run(photograph):
            pixels = torch.tensor(photograph, dtype=torch.float32)
            return function(pixels[None, :, ::64, ::64].contiguous())

        return run

    photograph = np.random.default_rng(0).random((3, 2048, 2048))
    return {"eager": small(net), "torch.compile": small(compiled)}, photograph


@planted(
    "faster_fused",
    "A Transformer that writes its softmax, normalizations and GELU out makes many passes over "
    "the scores of a long text; fused, few are left.",
    also=("faster_folded_or_layout",),
    real=True,
)
def encoder_by_hand():
    class Layer(nn.Module):
        def __init__(self, width=64, heads=8):
            super().__init__()
            self.heads = heads
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.wide, self.back = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x):
            qkv = self.qkv(normalized(x)).unflatten(-1, (3, self.heads, -1))
            q, k, v = qkv.permute(2, 0, 3, 1, 4)
            scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
            ahead = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
            scores = torch.where(ahead, -1e9, scores)
            scores = torch.exp(scores - scores.amax(-1, keepdim=True))
            scores = scores / scores.sum(-1, keepdim=True)
            x = x + self.out((scores @ v).transpose(1, 2).flatten(2))
            hidden = self.wide(normalized(x))
            hidden = 0.5 * hidden * (1 + torch.tanh(0.79788456 * (hidden + 0.044715 * hidden**3)))
            return x + self.back(hidden)

    def normalized(x):
        centered = x - x.mean(-1, keepdim=True)
        return centered / torch.sqrt((centered**2).mean(-1, keepdim=True) + 1e-5)

    return both(nn.Sequential(Layer(), Layer()), torch.randn(4, 512, 64))


@planted(
    "faster_folded_or_layout",
    "A residual network on 32 images: the compiler lays its tensors out channels last, which "
    "convolutions on this processor prefer.",
    also=("faster_fused",),
    real=True,
)
def resnet_of_many_images():
    chapter = networks("pytorch")
    return both(chapter.resnet(), chapter.images(32))


@control(
    "A model that is switched between training and evaluation has two programs, and keeps both.",
    true=("entering", "nothing_to_rewrite", "faster_fused", "faster_python"),
)
def training_and_evaluation():
    net = nn.Sequential(nn.Linear(256, 256), nn.Dropout(0.0), nn.GELU(), nn.Linear(256, 256))
    net.requires_grad_(False)
    compiled = torch.compile(net)

    def by_turns(function):
        def run(x):
            net.train()
            trained = function(x)
            net.eval()
            return trained, function(x)

        return run

    return {"eager": by_turns(net), "torch.compile": by_turns(compiled)}, torch.ones(64, 256)


@control("On this processor nothing is queued, so that a wait changes nothing.")
def needless_wait():
    compiled = torch.compile(lambda x: torch.tanh(x) * 2 + 1)

    def waited(x):
        y = compiled(x)
        torch.cpu.synchronize()
        return y

    return {"torch.compile": compiled, "torch.compile, waiting": waited}, torch.ones(100_000)


@control(
    "Texts of two lengths by turns: the second length compiles once more, and no other does.",
    true=("faster_fused", "faster_python"),
)
def two_lengths():
    def score(x):
        return torch.softmax(torch.tanh(x * 2 + 1) * x, -1)

    compiled = torch.compile(score)

    def by_turns(function):
        return lambda short, long: (function(short), function(long))

    functions = {"eager": by_turns(score), "torch.compile": by_turns(compiled)}
    return functions, torch.ones(64, 3000), torch.ones(64, 5000)
