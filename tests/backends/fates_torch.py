"""PyTorch's part of `test_fates.py`: the code that Inductor writes, which is not compiled."""

import re
from collections import Counter
from contextlib import suppress
from unittest import mock

import torch
import torch._inductor.config
from operations import named
from torch._inductor.graph import GraphLowering
from torch.nn import functional as F

from d2lhybrid import graph

INPUTS = [torch.linspace(-1, 1, 64).reshape(8, 8) * scale for scale in (1, 2, 3)]

KERNELS = torch.linspace(-1, 1, 144).reshape(4, 4, 3, 3)


def repeated(x):
    test, step = (lambda at, x: at < 3), (lambda at, x: (at + 1, x.cos()))
    written = x * 1  # what repeats a row would not keep its strides
    return torch._higher_order_ops.while_loop(test, step, (torch.tensor(0), written))[1]


def convolved(x):
    return F.conv2d(x.reshape(1, 4, 4, 4), KERNELS, padding=1).reshape(8, 8)


def added(x):
    y = x.clone()
    y += 1
    return y


OPERATIONS = {
    **named(torch, 1, "sin cos tanh exp abs sigmoid erf relu square neg"),
    **named(torch, 2, "add sub mul maximum matmul"),
    "div": (1, lambda x: x / 4.0),
    "conv": (1, convolved),
    "eval_dropout": (1, lambda x: F.dropout(convolved(x), 0.5, training=False)),
    "clamp": (1, lambda x: x.clamp(0, 6).clamp(0, 6)),
    "half": (1, lambda x: torch.cat([x.sin(), x.cos()], 1)[:, :8]),
    "columns": (1, lambda x: x * torch.arange(8.0)),
    "mask": (1, lambda x: x.masked_fill(torch.ones(8, 8).tril() == 0, 0.0)),
    "one_hot": (1, lambda x: F.one_hot(torch.arange(8), 8).float() @ x),
    "scatter": (1, lambda x: torch.zeros(8, 8).scatter_(1, x.argmax(1, keepdim=True), 1.0)),
    "contiguous": (1, lambda x: x.t().contiguous()),
    "one": (1, lambda x: x * 1),
    "zero": (1, lambda x: x + 0),
    "clone": (1, lambda x: x.clone()),
    "in_place": (1, added),
    "t": (1, lambda x: x.t()),
    "flip": (1, lambda x: x.flip(0)),
    "reshape": (1, lambda x: x.reshape(4, 16).reshape(8, 8)),
    "row": (1, lambda x: x[:1].expand(8, 8)),
    "sum": (1, lambda x: x - x.sum(1, keepdim=True)),
    "amax": (1, lambda x: x - x.amax(0)),
    "mean": (1, lambda x: x - x.mean()),
    "softmax": (1, lambda x: F.softmax(x, -1)),
    "layer_norm": (1, lambda x: F.layer_norm(x, (8,))),
    "cumsum": (1, lambda x: torch.cumsum(x, 0)),
    "sort": (1, lambda x: x.sort(1).values),
    "linear": (2, lambda x, y: F.linear(x, y, y[0])),
    "attention": (2, lambda x, y: F.softmax(x @ y.t() / 8**0.5, -1) @ y),
    "ones": (0, lambda: torch.ones(8, 8)),
    "arange": (0, lambda: torch.arange(64.0).reshape(8, 8)),
    "rand": (0, lambda: torch.rand(8, 8)),
    "normal": (1, lambda x: torch.randn_like(x)),
    "dropout": (1, lambda x: F.dropout(x, 0.5)),
    "cond": (2, lambda x, y: torch.cond(x.sum() > 0, torch.sin, torch.tanh, (y,))),
    "while_loop": (1, repeated),
}
EFFECTS = {"rand", "normal", "dropout"}
_STD = ("sin", "cos", "tanh", "exp", "abs", "erf")
_CALLED = ("cumsum", "sort", "cond", "while_loop")
WORDS = {name: name for name in (*_STD, *_CALLED, "sum", "neg", "conv2d")}
WORDS |= {"clone": "copy", "contiguous": "copy", "aten.clone.default": "copy"}
WORDS |= {"matmul": "mm", "linear": "mm", "truediv": "/", "div": "/", "maximum": "max"}
WORDS |= {"add": "+", "sub": "-", "mul": "*"}
WORDS |= {f"aten.{name}.default": name for name in (*_STD, "cumsum", "sort", "mm")}
# How the C++ computes each, on one element at a time, and how the Python around calls the rest.
_WRITTEN = {
    **{name: rf"std::{name}\(" for name in _STD},
    **{name: rf"(?<=tmp\d) \{name} (?=\w*tmp)|(?<=tmp\d\d) \{name} (?=\w*tmp)" for name in "+-*/"},
    "max": r" max_propagate_nan\(tmp\d",
    "neg": r"decltype\(tmp\d+\)\(-tmp|= -tmp|\(-tmp",
    "sum": r"tmp_acc\d+ = tmp_acc\d+ \+|cascade_sum_combine|welford_combine",
    "mm": r"extern_kernels\.(add)?mm\(",
    "cumsum": r"aten\.cumsum\.default\(",
    "conv2d": r"extern_kernels\.convolution\(",
    "copy": r"auto (tmp\d+) = \w+_ptr\d+\[.*\];\s+\w*out_ptr\d+\[.*\] = \1;",
    "sort": r"aten\.sort\.stable\(",
    "cond": r"if \w+\.item\(\):",
    "while_loop": r"while should_loop:",
}
_WRITTEN["+"] += r"|extern_kernels\.addmm\("  # adds to the product, inside the library
_KERNEL = re.compile(r"(\w+) = async_compile\.cpp_pybinding\((.*?)'''\)", re.DOTALL)


class _Written(BaseException):
    """The code is there; compiling it would follow."""


def programs(function):
    torch.compiler.reset()  # or it has compiled this code too often
    picture = graph(function, *INPUTS)
    written = []

    def stop(graph):
        written.append(graph.codegen()[0].value)
        raise _Written

    ways = {"cpp.simdlen": 1, "fx_graph_cache": False}
    with (
        torch.no_grad(),
        torch._inductor.config.patch(ways),
        mock.patch.object(GraphLowering, "compile_to_module", stop),
        suppress(_Written),
    ):
        torch.compile(function)(*INPUTS)
    text, count = "".join(written), Counter()
    for name, inside in [*_KERNEL.findall(text), (None, _KERNEL.sub("", text))]:
        calls = text.count(f"{name}(") if name else 1
        # What is named so brings the arguments of a convolution into its order.
        is_order = re.fullmatch(r"cpp_fused_convolution_(view_|t_)*\d+", name or "")
        for word, how in _WRITTEN.items():
            if not (is_order and word == "copy"):
                count[word] += len(re.findall(how, inside)) * calls
    yield picture, count
