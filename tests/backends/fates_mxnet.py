"""MXNet's part of `test_fates.py`: its profiler counts the operators that run."""

import json
import tempfile
from collections import Counter

from d2lhybrid import graph, import_mxnet

mx = import_mxnet()
INPUTS = [mx.nd.array(mx.nd.random.uniform(-1, 1, (8, 8))) for _input in range(3)]
FOLDER = tempfile.TemporaryDirectory()  # MXNet deletes the file it is given, be it /dev/null


def F():
    """The module of the moment: that of arrays, or that of symbols."""
    return mx.sym if _Block.symbols else mx.nd


def unary(names):
    return {name: (1, lambda x, name=name: getattr(F(), name)(x)) for name in names.split()}


def random(name):
    return 0, lambda: getattr(F().random, name)(shape=(8, 8))


def loop(x, y):
    def step(row, total):
        return F().broadcast_mul(row, row), F().sin(total + row)

    rows, _last = F().contrib.foreach(step, x, F().sum(y, axis=0))
    return rows


def choice(x, y):
    return F().contrib.cond(F().sum(x) > 0, lambda: F().cos(x), lambda: F().cos(y))


def repeated(x):
    test, step = (lambda at, x: at < 3), (lambda at, x: ([], [at + 1, F().cos(x)]))
    state = [F().zeros((1,)), x]
    return F().contrib.while_loop(test, step, state, max_iterations=3)[1][1]


OPERATIONS = {
    **unary("sin cos tanh exp abs relu sigmoid square negative identity transpose softmax"),
    "add": (2, lambda x, y: x + y),
    "subtract": (2, lambda x, y: x - y),
    "multiply": (2, lambda x, y: x * y),
    "maximum": (2, lambda x, y: F().maximum(x, y)),
    "times": (1, lambda x: x * 2),
    "plus": (1, lambda x: x + 0),
    "flip": (1, lambda x: F().flip(x, axis=0)),
    "reshape": (1, lambda x: F().reshape(F().reshape(x, (4, 16)), (8, 8))),
    "mean": (1, lambda x: F().broadcast_sub(x, F().mean(x, axis=1, keepdims=True))),
    "dot": (2, lambda x, y: F().dot(x, y)),
    "cumsum": (1, lambda x: F().cumsum(x, axis=0)),
    "top": (1, lambda x: F().broadcast_add(x, F().topk(x, k=1, ret_typ="value"))),
    "ones": (0, lambda: F().ones((8, 8))),
    "arange": (0, lambda: F().arange(64).reshape((8, 8))),
    "normal": random("normal"),
    "uniform": random("uniform"),
    "dropout": (1, lambda x: F().Dropout(x, mode="always")),
    "foreach": (2, loop),
    "while_loop": (1, repeated),
    "cond": (2, choice),  # whichever branch runs has the same kinds
}
EFFECTS = {"normal", "uniform", "dropout"}
# The profiler has the words of the symbol, but of control flow it knows only what that runs.
_SAME = """
sin cos tanh exp abs relu sigmoid square negative _copy transpose softmax reverse Reshape dot topk
elemwise_add elemwise_sub elemwise_mul _maximum _mul_scalar _plus_scalar mean sum broadcast_sub
broadcast_add _np_cumsum _ones _arange _random_normal _random_uniform Dropout
"""
WORDS = {word: word for word in _SAME.split()}


class _Block(mx.gluon.HybridBlock):
    symbols = False

    def __init__(self, function):
        super().__init__()
        self.function = function

    def hybrid_forward(self, F, *inputs):
        _Block.symbols = F is mx.sym
        try:
            # Gluon refuses a graph none of whose inputs could have a gradient.
            return [*self.function(*inputs), F.identity(inputs[0])]
        finally:
            _Block.symbols = False


def programs(function):
    block = _Block(function)
    picture = graph(block, *INPUTS)
    block.hybridize()
    block(*INPUTS)
    mx.nd.waitall()
    mx.profiler.set_config(profile_all=True, aggregate_stats=True, filename=f"{FOLDER.name}/all")
    mx.profiler.set_state("run")
    block(*INPUTS)
    mx.nd.waitall()
    mx.profiler.set_state("stop")
    found = json.loads(mx.profiler.dumps(reset=True, format="json"))["Time"]["operator"]
    yield picture, Counter({name: row["Count"] for name, row in found.items()})
