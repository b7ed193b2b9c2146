"""Graphs before and after rewriting: what is planted in a function is found, and drawn."""

import re
import sys
import xml.etree.ElementTree as ET
from importlib.util import find_spec

import pytest

from d2lhybrid import explain, graph
from d2lhybrid.errors import ArgumentError, CallFailedError, MissingPackageError
from d2lhybrid.frameworks.fates import judged
from d2lhybrid.frameworks.graph import Graph, Graphs
from d2lhybrid.report.stages import Node, Stage

torch = pytest.importorskip("torch")


def stage(title, outputs, *nodes):
    return Stage(title, tuple(nodes), outputs)


def small():
    """x is squared twice, once in vain; 2 * 3 is known; all that is needed ends up in one step."""
    recorded = stage(
        "recorded",
        ("total",),
        Node("x"),
        Node("two", key="2"),
        Node("six", "mul", ("two", "two")),
        Node("square", "mul", ("x", "x")),
        Node("again", "mul", ("x", "x")),
        Node("vain", "exp", ("x",)),
        Node("sum", "add", ("square", "again")),
        Node("same", "identity", ("sum",)),
        Node("total", "mul", ("same", "six")),
    )
    run = stage(
        "runs",
        ("kernel", "other"),
        Node("x"),
        Node("k", "k", ("x",), origins=frozenset({"square", "sum"}), parts=("mul", "add")),
        Node("l", "mul", ("k",), origins=frozenset({"total"}), parts=("mul",)),
    )
    return Graph("Toy 1", "f", judged((recorded, run)))


class TestFates:
    def test_each_kind(self):
        assert small().fates == {
            "six": "folded",
            "square": "fused",
            "again": "merged",
            "vain": "dropped",
            "sum": "fused",
            "same": "dropped",
            "total": "kept",
        }
        assert small().count("fused") == 2

    def test_what_is_constant_and_not_needed_is_dropped(self):
        recorded = stage("a", ("y",), Node("x"), Node("c", "ones"), Node("y", "sin", ("x",)))
        run = stage("b", ("y",), Node("x"), Node("y", "sin", ("x",), origins=frozenset({"y"})))
        assert judged((recorded, run))[0].nodes[1].fate == "dropped"

    def test_random_numbers_are_no_constants(self):
        recorded = stage("a", ("y",), Node("x"), Node("r", "rand"), Node("y", "add", ("x", "r")))
        run = stage("b", ("k",), Node("x"), Node("k", "k", ("x",), origins=frozenset({"y"})))
        assert judged((recorded, run))[0].nodes[1].fate == "dropped"

    def test_both_of_two_that_become_one_are_fused(self):
        recorded = stage(
            "a", ("y",), Node("x"), Node("p", "matmul", ("x",)), Node("y", "add", ("p",))
        )
        run = stage("b", ("m",), Node("x"), Node("m", "addmm", ("x",), origins=frozenset({"y"})))
        fates = Graph(
            "T", "f", judged((recorded, run), lambda operation: operation == "addmm")
        ).fates
        assert fates == {"p": "fused", "y": "fused"}

    def test_all_of_three_that_become_one_are_fused(self):
        nodes = [Node("x"), Node("w"), Node("p", "matmul", ("x", "w")), Node("b", "add", ("p",))]
        recorded = stage("a", ("t",), *nodes, Node("t", "tanh", ("b",)))
        one = Node("m", "_Fused", ("x", "w"), origins=frozenset({"t"}))
        run = stage("b", ("m",), Node("x"), Node("w"), one)
        fates = Graph("T", "f", judged((recorded, run), lambda name: name == "_Fused")).fates
        assert fates == {"p": "fused", "b": "fused", "t": "fused"}

    def test_equal_past_a_step_that_changes_nothing(self):
        nodes = [Node("x"), Node("one", key="1"), Node("same", "mul", ("x", "one"))]
        sides = [Node("a", "tanh", ("x",)), Node("b", "tanh", ("same",))]
        recorded = stage("a", ("y",), *nodes, *sides, Node("y", "add", ("a", "b")))
        run = stage(
            "b",
            ("y",),
            Node("x"),
            Node("a", "tanh", ("x",), origins=frozenset({"a"})),
            Node("y", "add", ("a", "a"), origins=frozenset({"y"})),
        )
        fates = Graph("T", "f", judged((recorded, run))).fates
        assert fates == {"same": "dropped", "a": "kept", "b": "merged", "y": "kept"}

    def test_attributes_tell_twins_apart(self):
        nodes = [Node("x"), Node("a", "clip", ("x",), "1"), Node("b", "clip", ("x",), "2")]
        recorded = stage("a", ("y",), *nodes, Node("y", "add", ("a", "b")))
        run = stage("b", ("y",), Node("x"), Node("a", "clip", origins=frozenset({"a"})))
        assert judged((recorded, run))[0].nodes[2].fate == "dropped"


class TestShown:
    def test_text(self):
        text = repr(small())
        assert text.splitlines()[0] == ("f (Toy 1): operations recorded: 7, steps that run: 2")
        assert re.search(r"merged +again = mul\(x, x\)", text)
        assert re.search(r"fused +k = mul, add\(x\)", text)

    def test_the_picture_is_well_formed_and_no_box_lies_on_another(self):
        root = ET.fromstring(small().svg())
        assert root.get("role") == "img"
        svg = "{http://www.w3.org/2000/svg}"
        assert "Toy 1" in root.find(f"{svg}title").text
        for panel in root.findall(f"{svg}g"):
            inner = panel.find(f"{svg}g")
            boxes = [
                tuple(float(r.get(key)) for key in ("x", "y", "width", "height"))
                for r in inner.iter(f"{svg}rect")
            ]
            assert boxes
            for at, (x, y, w, h) in enumerate(boxes):
                assert not [
                    1
                    for x2, y2, w2, h2 in boxes[at + 1 :]
                    if x < x2 + w2 and x2 < x + w and y < y2 + h2 and y2 < y + h
                ]

    def test_names_are_escaped(self):
        one = stage("<a>", ("b",), Node("b<c>", "<&>"))
        ET.fromstring(Graph("T", "<f>", judged((one, one))).svg())

    def test_a_graph_too_large_for_a_picture_is_text(self):
        many = [Node("x0")] + [Node(f"x{n}", "sin", (f"x{n - 1}",)) for n in range(1, 400)]
        big = Graph("T", "f", judged((stage("a", ("x399",), *many),) * 2))
        assert big._repr_html_().startswith("<pre>")
        assert "<svg" in small()._repr_html_()

    def test_networkx(self, monkeypatch):
        networkx = pytest.importorskip("networkx")
        made = small().to_networkx()
        assert isinstance(made, networkx.DiGraph)
        assert made.nodes["again"] == {"operation": "mul", "fate": "merged", "parts": ()}
        assert list(made.predecessors("total")) == ["same", "six"]
        assert set(small().to_networkx(-1)) == {"x", "k", "l"}
        monkeypatch.setitem(sys.modules, "networkx", None)
        with pytest.raises(MissingPackageError, match=r"NetworkX.*graphs"):
            small().to_networkx()

    def test_graphs_count_and_wait(self):
        made = []
        graphs = Graphs(2, lambda: made.append(1) or ("a", "b"))
        assert (graphs, len(graphs), f"{graphs}") == (2, 2, "2")
        assert not made
        assert (list(graphs), graphs[1], made) == (["a", "b"], "b", [1])
        assert list(Graphs(0, lambda: made.append(2))) == []


def planted(x, weight, bias, lib):
    """A product with a bias, a dead branch, constants, the same tangent twice, an activation."""
    hidden = lib.product(x, weight, bias)
    dead = lib.sin(hidden)
    del dead
    scale = lib.ones(64) * 2 * 3
    return lib.relu(lib.tanh(hidden) * scale + (lib.tanh(hidden) + 1))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch's, of its own TorchScript
class TestTorch:
    class lib:
        sin, tanh, relu, ones = torch.sin, torch.tanh, torch.relu, torch.ones

        @staticmethod
        def product(x, weight, bias):
            return x @ weight + bias

    @pytest.fixture
    def function(self):
        weight, bias = torch.ones(64, 64), torch.ones(64)
        return lambda x: planted(x, weight, bias, self.lib)

    def test_what_is_planted(self, function):
        picture = graph(function, torch.ones(8, 64))
        fates = picture.fates
        assert fates["dead"] == "dropped"
        assert {fates["ones"], fates["mul"], fates["scale"]} == {"folded"}
        assert sorted(fates[name] for name in fates if "tanh" in name) == ["fused", "merged"]
        assert fates["matmul"] == fates["relu"] == "fused"
        assert len(picture.stages) == 3
        assert len(picture.stages[-1].operations) == 2  # the product, and all the rest

    def test_what_a_rewriting_puts_in_stands_for_what_it_replaces(self):
        def divided(x):
            return (x / x.max().item()).sum() > 0

        compiled = torch.compile(divided, backend="eager")
        for rows in (1, 2, 3):  # another number each: from now on it is an input of the graph
            compiled(torch.full((rows, 3), float(rows)))
        _before, after = explain(compiled, torch.ones(2, 3)).graphs
        assert {node.operation for node in after.stages[0].operations} >= {"truediv", "sum"}
        assert "dropped" not in after.fates.values()

    def test_the_code_that_runs_says_the_same(self, function):
        from torch._inductor.utils import run_and_get_code

        from d2lhybrid.teaching import has_compiler

        if not has_compiler():
            pytest.skip("no C++ compiler")
        _result, code = run_and_get_code(torch.compile(function), torch.ones(8, 64))
        assert code[0].count("tanh()") <= 2  # one in the vector loop, one in its remainder
        assert ".sin()" not in code[0]
        assert "6.0" in code[0]
        torch.compiler.reset()

    def test_all_graphs_of_a_call(self):
        def broken(x):
            x = x.sin()
            torch._dynamo.graph_break()
            return x.cos().tan()

        graphs = explain(broken, torch.ones(3)).graphs
        assert [len(g.fates) for g in graphs] == [1, 2]
        first = graph(broken, torch.ones(3))
        assert len(first.fates) == 1
        assert "2" in first.notes[0]

    def test_a_model_with_gradients_and_a_compiled_one(self):
        net = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU(), torch.nn.Linear(3, 2))
        compiled = torch.compile(net)
        assert list(graph(compiled, torch.ones(2, 4)).fates.values()) == [
            "kept",
            "kept",
            "kept",
        ]
        assert explain(compiled, torch.ones(2, 4)).compilations == 0

    def test_nothing_to_show(self):
        with pytest.raises(ArgumentError, match="explain"):
            graph(lambda x: 3, torch.ones(1))
        with pytest.raises(CallFailedError):
            graph(lambda x: x @ x, torch.ones(2, 3))


class TestTensorFlow:
    @pytest.fixture
    def tf(self):
        return pytest.importorskip("tensorflow")

    @pytest.fixture
    def function(self, tf):
        class lib:
            sin, tanh, relu = tf.sin, tf.tanh, tf.nn.relu

            @staticmethod
            def ones(size):
                return tf.fill([size], tf.ones([]))

            @staticmethod
            def product(x, weight, bias):
                return tf.nn.bias_add(tf.matmul(x, weight), bias)

        weight, bias = tf.ones([64, 64]), tf.ones([64])
        return lambda x: planted(x, weight, bias, lib)

    @pytest.mark.parametrize("by_xla", [False, True])
    def test_what_is_planted(self, tf, function, by_xla):
        with tf.device("/CPU:0"):
            x = tf.ones([8, 64])
            picture = graph(tf.function(function, jit_compile=by_xla), x)
        fates = picture.fates
        assert fates["Sin"] == "dropped"
        assert {fates["mul"], fates["mul_1"]} == {"folded"}
        one, other = sorted((fates["Tanh"], fates["Tanh_1"]))
        assert other == "merged"  # and the other one fused, where oneDNN is in use
        assert one in (["fused"] if by_xla else ["kept", "fused"])
        assert fates["BiasAdd"] == "fused"
        assert fates["MatMul"] == ("kept" if by_xla else "fused")
        assert len(picture.stages) == 2 + by_xla

    def test_its_own_traces_stay(self, tf):
        traced = tf.function(lambda x: x + 1)
        traced(tf.ones([2]))
        assert graph(traced, tf.ones([3])).count("kept") == 1
        assert traced.experimental_get_tracing_count() == 1

    def test_a_loop_and_a_keras_model(self, tf):
        def loop(x):
            while tf.reduce_sum(x) < 100.0:
                x = x * 2.0
            return x

        assert graph(loop, tf.ones([2])).svg()
        net = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(3, "relu")])
        (only,) = explain(net, tf.ones([1, 4])).graphs
        assert "fused" in only.fates.values()

    def test_what_cannot_be_traced(self, tf):
        with pytest.raises(ArgumentError, match="explain"):
            graph(lambda x: x * float(x.numpy()), tf.ones([]))


class TestJAX:
    @pytest.fixture
    def jax(self):
        return pytest.importorskip("jax")

    @pytest.fixture
    def function(self, jax):
        jnp = jax.numpy

        class lib:
            sin, tanh, relu, ones = jnp.sin, jnp.tanh, jax.nn.relu, jnp.ones

            @staticmethod
            def product(x, weight, bias):
                return x @ weight + bias

        weight, bias = jnp.ones([64, 64]), jnp.ones([64])
        return lambda x: planted(x, weight, bias, lib)

    @pytest.mark.parametrize("compiled", [False, True])
    def test_what_is_planted(self, jax, function, compiled):
        function = jax.jit(function) if compiled else function
        picture = graph(function, jax.numpy.ones([8, 64]))
        fates = picture.fates
        assert fates["sin"] == "dropped"
        assert fates["mul"] == fates["mul_1"] == "folded"
        assert sorted((fates["tanh"], fates["tanh_1"])) == ["fused", "merged"]
        assert fates["dot_general"] == "kept"
        assert fates["max"] == fates["add"] == "fused"
        assert len(picture.stages[0].operations) == 11
        assert len(picture.stages[-1].operations) <= 3
        assert "dot" in [node.operation for node in picture.stages[-1].operations]
        assert "x" in [node.name for node in picture.stages[0].nodes]
        assert compiled is False or function._cache_size() == 0  # its own compilations stay

    def test_a_loop_a_static_argument_and_a_module(self, jax):
        x = jax.numpy.ones([2, 4])
        loop = graph(lambda x: jax.lax.fori_loop(0, 3, lambda i, y: 2 * y, x), x)
        assert loop.fates == {"scan": "kept"}
        power = jax.jit(lambda x, exponent: x**exponent, static_argnums=1)
        assert graph(power, x, 3).fates == {"integer_pow": "fused"}
        nnx = pytest.importorskip("flax.nnx")
        net = nnx.Sequential(nnx.Linear(4, 3, rngs=nnx.Rngs(0)), nnx.relu)
        (only,) = explain(net, x).graphs
        assert only.fates == {"dot_general": "kept", "add": "fused", "max": "fused"}
        names = [node.name for node in only.stages[0].nodes]
        assert "layers_0_kernel" in names
        assert only.svg()

    def test_what_cannot_be_traced(self, jax):
        with pytest.raises(ArgumentError, match="explain"):
            graph(lambda x: x * float(x), jax.numpy.ones([]))


class TestMXNet:
    @pytest.fixture
    def mx(self):
        if not find_spec("mxnet"):
            pytest.skip("no MXNet")
        from d2lhybrid import import_mxnet

        return import_mxnet()

    @pytest.fixture
    def block(self, mx):
        class Planted(mx.gluon.HybridBlock):
            def __init__(self):
                super().__init__()
                self.dense = mx.gluon.nn.Dense(64)

            def hybrid_forward(self, F, x):
                hidden = self.dense(x)
                F.sin(hidden)
                scale = F.ones((1, 64)) * 2 * 3
                sides = F.broadcast_mul(F.tanh(hidden), scale), F.tanh(hidden) + 1
                return F.relu(sides[0] + sides[1])

        net = Planted()
        net.initialize(ctx=mx.cpu())
        return net

    def test_what_is_planted(self, mx, block):
        picture = graph(block, mx.nd.ones((8, 64), ctx=mx.cpu()))
        kinds = [node.operation for node in picture.stages[0].operations]
        assert "sin" not in kinds  # a symbol begins at its result
        tangents = [n.fate for n in picture.stages[0].operations if n.operation == "tanh"]
        assert sorted(tangents) == ["kept", "merged"]
        constants = [n for n in picture.stages[0].operations if "ones" in n.operation]
        assert [n.fate for n in constants] == ["kept"]  # MXNet computes it at each call

    def test_its_library_fuses(self, mx):
        net = mx.gluon.nn.HybridSequential()
        net.add(mx.gluon.nn.Dense(4, activation="relu"), mx.gluon.nn.Dense(2))
        net.initialize(ctx=mx.cpu())
        x = mx.nd.ones((1, 3), ctx=mx.cpu())
        assert graph(net, x).count("kept") == 3
        net.hybridize(backend="MKLDNN")
        picture = graph(net, x)
        assert picture.count("fused") == 3
        assert len(picture.stages[-1].operations) == 2

    def test_the_numpy_style_and_lists(self, mx):
        class Pair(mx.gluon.HybridBlock):
            def hybrid_forward(self, F, x, others):
                return F.np.sin(x) + others[0], others[1] * 2

        with mx.util.np_shape(True), mx.util.np_array(True):
            one = mx.np.ones((2, 3), ctx=mx.cpu())
            picture = graph(Pair(), one, [one, one])
        assert picture.count("kept") == 3

    def test_a_function_has_none(self, mx):
        with pytest.raises(ArgumentError, match="MXNet"):
            graph(lambda x: x * 2, mx.nd.ones((1,), ctx=mx.cpu()))
