"""explain() gives the same report for every framework, and names the lines at fault."""

from pathlib import Path

import numpy
import pytest
import tensorflow as tf

from d2lhybrid.errors import ArgumentError, CallFailedError, UnknownFrameworkError
from d2lhybrid.frameworks.explaining import explain
from d2lhybrid.frameworks.explanation import Explanation, Finding
from d2lhybrid.measurement.variants import variants

HERE = Path(__file__).name


def source_line(code: str) -> int:
    """Return the number of the first line of this file that reads ``code``."""
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    return [line.strip() for line in lines].index(code) + 1


def places(findings: tuple[Finding, ...]) -> list[tuple[str, int]]:
    return [(Path(finding.file).name, finding.line) for finding in findings]


@pytest.fixture
def torch():
    import torch

    torch.compiler.reset()
    yield torch
    torch.compiler.reset()


class TestRecord:
    explanation = Explanation(
        "PyTorch 2", "<net>", 2, 1, breaks=(Finding("a < b", __file__, 1), Finding("no place"))
    )

    def test_text_has_every_number_and_finding(self):
        place = f"tests/{HERE}, line 1: {Path(__file__).read_text().splitlines()[0]}"
        assert [line.strip() for line in str(self.explanation).splitlines()] == [
            "<net> (PyTorch 2)",
            "compilations so far: 2",
            "graphs in one call:  1",
            "graph breaks:        2",
            place,
            "a < b",
            "no place",
            "fallbacks to Python: 0",
            "not supported:       0",
        ]

    def test_html_is_escaped(self):
        markup = self.explanation._repr_html_()
        assert "&lt;net&gt;" in markup
        assert "<br>a &lt; b<br>no place</td>" in markup

    def test_unknown_framework(self):
        with pytest.raises(UnknownFrameworkError, match=r"Received: type, int\."):
            explain(int, 1)


class TestTorch:
    def test_whole_graph(self, torch):
        report = explain(torch.nn.Linear(3, 2), torch.ones(1, 3))
        assert (report.graphs, report.compilations) == (1, 0)
        assert report.breaks == report.fallbacks == report.unsupported == ()

    def test_breaks_have_lines(self, torch):
        def model(x):
            x = x * x.max().item()
            if x.sum() > 0:
                x = x + 1
            return x

        report = explain(model, torch.ones(3))
        assert report.graphs == 3
        assert places(report.breaks) == [
            (HERE, source_line("x = x * x.max().item()")),
            (HERE, source_line("if x.sum() > 0:")),
        ]

    @pytest.mark.parametrize("kind", ["function", "module", "in place"])
    @pytest.mark.parametrize("fullgraph", [True, False])
    def test_it_says_that_a_call_in_one_piece_raises(self, torch, kind, fullgraph, capsys):
        def talkative(x):
            print(end="")
            return x.relu()

        class Talkative(torch.nn.Module):
            def forward(self, x):
                print(end="")
                return x.relu()

        model = talkative if kind == "function" else Talkative()
        options = {"fullgraph": fullgraph, "backend": "eager"}
        if kind == "in place":
            model.compile(**options)
        else:
            model = torch.compile(model, **options)
        report = explain(model, torch.ones(2))
        assert len(report.breaks) == 1
        assert len(report.notes) == fullgraph
        if fullgraph:
            assert "fullgraph=True" in report.notes[0]
            with pytest.raises(torch._dynamo.exc.Unsupported):
                model(torch.ones(2))
        else:
            model(torch.ones(2))

    def test_break_before_the_first_graph_is_seen(self, torch, capsys):
        def model(x):
            print("not recorded")
            return x * 2

        report = explain(model, torch.ones(3))
        assert (report.graphs, len(report.breaks)) == (1, 1)

    @pytest.mark.parametrize("kind", ["function", "own module", "module of torch.nn"])
    def test_compilations_are_counted_and_kept(self, torch, kind):
        class Own(torch.nn.Module):
            def forward(self, x):
                return x * 2

        compiled_graphs = []

        def backend(graph, example_inputs):
            compiled_graphs.append(graph)
            return graph.forward

        models = {"function": lambda x: x * 2, "own module": Own()}
        compiled = torch.compile(models.get(kind) or torch.nn.Linear(3, 3), backend=backend)
        for size in (2, 4, 5):
            compiled(torch.ones(size, 3))
        torch.compile(torch.nn.ReLU(), backend="eager")(torch.ones(1))  # another model's
        expected = len(compiled_graphs)
        assert expected == 2
        assert explain(compiled, torch.ones(2, 3)).compilations == expected
        assert explain(compiled, torch.ones(2, 3)).compilations == expected
        compiled(torch.ones(2, 3))
        assert len(compiled_graphs) == expected

    def test_recompile_limit_is_a_fallback(self, torch):
        compiled = torch.compile(lambda x, name: x * len(name), backend="eager")
        with torch._dynamo.config.patch(recompile_limit=2):
            for name in ("a", "bc"):
                compiled(torch.ones(3), name)
            (fallback,) = explain(compiled, torch.ones(3), "d").fallbacks
        assert fallback.reason == "recompile_limit (2)"

    def test_a_refusal_has_the_users_line(self, torch):
        @torch._dynamo.forbid_in_graph
        def refuse(x):
            return torch.float64

        def model(x):
            return x.to(refuse(x))

        report = explain(model, torch.ones(2, 3))
        assert report.graphs == 0
        assert places(report.unsupported) == [(HERE, source_line("return x.to(refuse(x))"))]

    @pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch's, of its own TorchScript
    def test_a_mistake_in_the_call_is_the_users(self, torch):
        for model in (lambda x: x @ x, torch.compile(torch.nn.Linear(4, 2))):
            with pytest.raises(CallFailedError, match="before any compiler"):
                explain(model, torch.ones(2, 3))
        with pytest.raises(ArgumentError, match="Received: Tensor"):
            explain(torch.ones(2), torch.ones(2))

    def test_a_break_in_a_loop_leaves_nothing_compiled(self, torch, capsys):
        def model(x):
            for turn in range(2):
                x = x + turn
                print("not recorded")
            return x

        compiled = torch.compile(model)
        compiled(torch.ones(3))
        for one in (compiled, model):  # also where Dynamo gave up before
            report = explain(one, torch.ones(3))
            assert report.graphs == 0
            assert "Nothing was compiled, because a graph ends inside a loop" in str(report)
            assert "Nothing was compiled" in report._repr_html_()
            assert [file for file, _line in places(report.fallbacks)] == [HERE]

    def test_what_the_user_keeps_from_the_compiler_is_not_compiled(self, torch):
        class Own(torch.nn.Module):
            @torch.compiler.disable
            def forward(self, x):
                return x * 2

        report = explain(Own(), torch.ones(3))
        assert report.graphs == 0
        assert "torch.compiler.disable keeps TorchDynamo away" in str(report)

    def test_sequential_compile_compiles_nothing(self, torch):
        net = torch.nn.Sequential(torch.nn.Linear(3, 2))
        net.compile(backend="eager")
        report = explain(net, torch.ones(1, 3))
        assert report.graphs == 0
        assert "Sequential.compile() compiles the forward of Sequential" in str(report)
        assert explain(torch.nn.Sequential(torch.nn.Linear(3, 2)), torch.ones(1, 3)).graphs == 1

        class Own(torch.nn.Module):
            def forward(self, x):
                return x * 2

        own = Own()
        own.compile(backend="eager")
        own(torch.ones(2))
        report = explain(own, torch.ones(2))
        assert (report.compilations, report.graphs, report.notes) == (1, 1, ())


class TestTensorFlow:
    def test_traces_are_counted_and_none_is_added(self):
        function = tf.function(lambda x: x * 2)
        for size in (1, 2):
            function(tf.ones([size]))
        report = explain(function, tf.ones([3]))
        assert (report.compilations, report.graphs) == (2, 1)
        assert function.experimental_get_tracing_count() == 2

    def test_module_with_a_traced_call(self):
        class Model(tf.Module):
            @tf.function
            def __call__(self, x):
                return x * 2

        model = Model()
        model(tf.ones([1]))
        report = explain(model, tf.ones([1]))
        assert (report.model, report.compilations, report.graphs) == ("Model", 1, 1)

    def test_calls_into_python_are_fallbacks(self):
        def model(x):
            y = tf.py_function(numpy.sign, [x], tf.float32)
            return tf.cond(y[0] > 0, lambda: y, lambda: tf.py_function(numpy.abs, [x], tf.float32))

        report = explain(model, tf.ones([3]))
        line = source_line("y = tf.py_function(numpy.sign, [x], tf.float32)")
        assert places(report.fallbacks)[0] == (HERE, line)
        assert report.fallbacks[1].reason.startswith("EagerPyFunc (cond_false")

    def test_the_compilations_of_xla_are_those_of_the_shapes(self):
        function = tf.function(lambda x, y: x * y, jit_compile=True)
        for size in (2, 3, 2):
            function(tf.ones(size), tf.ones(()))
        report = explain(function, tf.ones(4), tf.ones(()))
        assert (report.graphs, report.compilations) == (1, 2)
        assert report.notes == ("XLA compiles once for each of the shapes (2,), (); (3,), ().",)
        signature = [tf.TensorSpec([None, 3])]
        free = tf.function(lambda x: x * 2, jit_compile=True, input_signature=signature)
        assert explain(free, tf.ones((1, 3))).notes == ()  # nothing is compiled yet
        for size in (1, 2):
            free(tf.ones((size, 3)))
        report = explain(free, tf.ones((1, 3)))
        assert report.compilations == 1
        assert "for every new shape that fits (None, 3)" in report.notes[0]
        assert explain(tf.function(lambda x: x), tf.ones(2)).notes == ()

    @pytest.mark.parametrize(
        ("function", "word"),
        [
            (lambda x: tf.strings.length(tf.strings.as_string(x)), "numbers alone"),
            (lambda x: tf.py_function(numpy.sign, [x], tf.float32), "EagerPyFunc"),
        ],
    )
    def test_what_xla_refuses(self, function, word):
        report = explain(tf.function(function, jit_compile=True), tf.ones(2))
        assert report.graphs == 0
        assert word in report.unsupported[0].reason

    def test_a_mistake_in_the_call_is_the_users(self):
        for model in (lambda x: x @ x, tf.function(lambda x: x @ x)):
            with pytest.raises(CallFailedError, match="before any compiler"):
                explain(model, tf.ones((2, 3)))

    def test_a_mistake_in_the_call_of_a_keras_model_is_said_in_its_own_words(self):
        net = tf.keras.Sequential([tf.keras.layers.Dense(2)])
        net(tf.ones((1, 3)))
        with pytest.raises(CallFailedError, match="expected axis -1 of input shape"):
            explain(net, tf.ones((1, 5)))

    def test_the_options_of_the_users_function_count(self):
        function = tf.function(lambda x: x if x[0] > 0 else -x, autograph=False)
        assert explain(function, tf.ones(2)).graphs == 0
        assert explain(function.python_function, tf.ones(2)).graphs == 1

    def test_error_has_the_users_line(self):
        def model(x):
            return x.numpy()

        report = explain(model, tf.ones([3]))
        assert report.graphs == 0
        assert places(report.unsupported) == [(HERE, source_line("return x.numpy()"))]
        assert report.unsupported[0].reason.startswith("AttributeError: ")


class TestMXNet:
    @pytest.fixture
    def mx(self):
        from d2lhybrid.frameworks.mxnet.compat import import_mxnet

        return import_mxnet()

    def test_whole_graph_before_and_after_the_first_call(self, mx):
        net = mx.gluon.nn.HybridSequential()
        net.add(mx.gluon.nn.Dense(2))
        net.initialize()
        x = mx.nd.ones((1, 3))
        report = explain(net, x)
        assert (report.graphs, report.compilations, report.fallbacks) == (1, 0, ())
        net.hybridize()
        net(x)
        assert explain(net, x).compilations == 1

    def test_plain_blocks_are_fallbacks(self, mx):
        class Plain(mx.gluon.Block):
            def forward(self, x):
                return -x

        class Undercover(mx.gluon.HybridBlock):
            def forward(self, x):
                return x

        net = mx.gluon.nn.Sequential()
        net.add(mx.gluon.nn.Dense(2), Plain(), Undercover())
        net.initialize()
        report = explain(net, mx.nd.ones((1, 3)))
        reasons = [finding.reason for finding in report.fallbacks]
        assert reasons == [
            "Sequential(Block).forward",
            "Plain(Block).forward",
            "Undercover(HybridBlock).forward",
        ]
        assert report.graphs == 1

    @pytest.mark.parametrize("hybridized", [False, True])
    def test_error_has_the_users_line(self, mx, hybridized):
        class Branch(mx.gluon.HybridBlock):
            def hybrid_forward(self, F, x):
                if x.sum() > 1:
                    return x
                return -x

        net = Branch()
        if hybridized:
            net.hybridize()
        report = explain(net, mx.nd.ones(3))
        assert report.graphs == 0
        assert places(report.unsupported) == [(HERE, source_line("if x.sum() > 1:"))]

    def test_states_in_lists_and_the_numpy_style(self, mx):
        cell = mx.gluon.rnn.LSTM(4)
        cell.initialize()
        report = explain(cell, mx.nd.ones((2, 1, 3)), cell.begin_state(1))
        assert (report.graphs, report.unsupported) == (1, ())
        with mx.util.np_shape(True), mx.util.np_array(True):
            net = mx.gluon.nn.HybridLambda(lambda F, x: F.np.abs(x))
            assert explain(net, mx.np.ones(3)).unsupported == ()

    def test_a_mistake_in_the_call_is_raised(self, mx):
        class Plain(mx.gluon.Block):
            def forward(self, x):
                raise ValueError("the model's own")

        with pytest.raises(CallFailedError, match="own"):
            explain(Plain(), mx.nd.ones(3))

    def test_an_error_that_comes_late_is_the_calls(self, mx):
        net = mx.gluon.nn.Dense(2)
        net.initialize()
        net.cast("float16")
        x = mx.nd.ones((1, 3), dtype="float16")
        for ask in (explain, variants):
            with pytest.raises(CallFailedError, match="float16 fully connected"):
                ask(net, x)
            mx.nd.waitall()  # nothing is left in the queue

    def test_functions(self, mx):
        def model(x):
            return x * 2

        report = explain(model, mx.nd.ones(3))
        assert report.graphs == 0
        assert "Nothing was compiled, because MXNet compiles HybridBlocks" in str(report)
        assert places(report.fallbacks)[0][0] == HERE
