"""What every framework keeps to, by the public verbs. One that is missing fails these tests."""

import ast
import builtins
import gc
import weakref
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from models import IMPORTS, MODELS, PLANTED, TRAINING, compiled_model, masked_model
from our_names import OUR_NAMES

from d2lhybrid import call, compare, explain, graph, import_mxnet, training, variants
from d2lhybrid.backends import get, known
from d2lhybrid.backends.outputs import copy_outputs
from d2lhybrid.backends.owners import framework_of
from d2lhybrid.core.compare_outputs import require_same
from d2lhybrid.core.host_array import HostArray
from d2lhybrid.errors import ArgumentError, CallFailedError, UnknownFrameworkError
from d2lhybrid.graphs.program import counted

pytestmark = pytest.mark.filterwarnings("ignore")  # what compilers say of themselves
HERE = Path(__file__)
NAMES = [framework.name for framework in known()]


@pytest.fixture(params=NAMES)
def framework(request):
    return request.param


@pytest.fixture(scope="module")
def built():
    """For each framework its model, an input, and all variants, which are compiled once."""
    made = {}

    def of_framework(name):
        if name not in made:
            net, x = MODELS[name]()
            made[name] = net, x, variants(net, x, all=True)
        if name == "mxnet":  # whose NumPy semantics are switched off after each test
            import_mxnet().npx.set_np()
        return made[name]

    return of_framework


def require_equal_outputs(found, *args, **kwargs):
    expected = copy_outputs(next(iter(found.values()))(*args, **kwargs))
    for name, function in found.items():
        for _turn in range(2):  # the second time is not the first
            require_same(name, "eager", copy_outputs(function(*args, **kwargs)), expected)


def test_variants_agree_and_leave_the_model_as_it_was(framework, built):
    net, x, v = built(framework)
    before, attributes = copy_outputs(net(x)), sorted(vars(net))
    assert next(iter(v)) == "eager"
    assert len(v) >= 4
    assert all(isinstance(reason, str) for reason in v.unavailable.values())
    for given in (x, x * 2):
        require_equal_outputs(v, given)
    require_same("after", "before", copy_outputs(net(x)), before)
    assert sorted(vars(net)) == attributes


def test_each_variant_is_written_by_hand_as_its_code_says(framework, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    net, x = MODELS[framework]()
    code = variants(net, x, all=True).code
    code.pop("torch.compile reduce-overhead", None)  # of CUDA graphs
    expected = copy_outputs(net(x))["output"].values()
    for name, snippet in code.items():
        names = {"net": net, "x": x}
        exec(IMPORTS + snippet, names)
        (found,) = [leaf.values() for leaf in copy_outputs(names["y"]).values()]
        assert np.allclose(found, expected, atol=1e-5), name


@pytest.mark.parametrize("by_name", [True, False])
def test_the_code_passes_the_arguments_as_they_were_given(
    framework, by_name, tmp_path, monkeypatch
):
    if by_name and framework == "mxnet":
        pytest.skip("Gluon's blocks take no keyword arguments")
    monkeypatch.chdir(tmp_path)
    net, x = masked_model(framework)
    args, kwargs = ((x,), {"mask": x * 3}) if by_name else ((x, x * 3), {})
    names = {"net": net, "x": x, "image": x, "mask": x * 3}
    ways = variants(call(net, *args, **kwargs), all=True)
    expected = copy_outputs(net(*args, **kwargs))
    ran = []
    for label, snippet in ways.code.items():
        if label not in ways.unavailable:
            exec(IMPORTS + snippet, names)
            found = copy_outputs(names["y"])["output"].values()[0]
            assert np.allclose(found, expected["output"].values()[0], atol=1e-5), label
            ran.append(label)
    assert len(ran) >= 4


def renamed_model(framework, name):
    """The masked model, whose second argument has this name, and an image."""
    net, x = masked_model(framework)
    first, made = ("self, F" if framework == "mxnet" else "self"), {}
    exec(f"def forward({first}, image, {name}):\n    return image - 2 * {name}", made)
    names = {"mxnet": ["hybrid_forward"], "torch": ["forward"]}.get(
        framework, ["forward", "__call__"]
    )
    kind = type(net)
    kind = type(kind)("Renamed", (kind,), dict.fromkeys(names, made["forward"]))
    return (kind().eval() if framework == "torch" else kind()), x


@pytest.mark.parametrize("by_name", [True, False])
@pytest.mark.parametrize("name", ["graph", "path"])
def test_an_argument_may_be_called_as_the_code_calls_something_else(
    framework, name, by_name, tmp_path, monkeypatch
):
    if by_name and framework == "mxnet":
        pytest.skip("Gluon's blocks take no keyword arguments")
    monkeypatch.chdir(tmp_path)
    net, x = renamed_model(framework, name)
    ways = variants(call(net, x, **{name: x * 3}) if by_name else call(net, x, x * 3))
    expected = copy_outputs(-5 * x)["output"].values()
    for label, snippet in ways.code.items():
        if label in ways.unavailable or "torchscript" in label:  # which wants a file of source
            continue
        names = {"net": net, "x": x, "image": x, f"{name}_": x * 3}
        exec(IMPORTS + snippet, names)
        assert np.allclose(copy_outputs(names["y"])["output"].values(), expected, atol=1e-5), label


def test_no_argument_is_called_as_what_the_code_names(framework):
    """Each name in the code of any way is taken for the name of an argument as well."""
    net, x = masked_model(framework)
    ways = variants(net, x, x, all=True)
    codes = [code for name, code in ways.code.items() if name not in ways.unavailable]
    nodes = [node for code in codes for node in ast.walk(ast.parse(code))]
    named = {node.id for node in nodes if isinstance(node, ast.Name)} | {
        alias.asname or alias.name
        for node in nodes
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    for name in named - {"x", "image", "mask"} - {*vars(builtins)}:
        renamed, x = renamed_model(framework, name)
        assert f"net(image, {name}_)" in variants(renamed, x, x).code["eager"], name


def test_functions_and_keyword_arguments(framework, built):
    _net, x, _variants = built(framework)
    v = variants(call(lambda x, *, mode: x * mode, x, mode=3.0))
    quick = [name for name in v if "compile" not in name and "script" not in name]
    require_equal_outputs(v.only(*quick), x, mode=3.0)
    with pytest.raises(CallFailedError):
        variants(lambda x: 1 / 0, x)


@pytest.mark.parametrize("begun", [False, True], ids=["fresh optimizer", "begun optimizer"])
def test_all_learn_as_by_hand_and_the_users_own_does_not(framework, begun):
    (net, loss, optimizer, (x, y)), step = TRAINING[framework]()
    for _turn in range(2 * begun):  # the optimizer has a state, which counts in the next steps
        step()
    arguments = (call(net, x), loss, optimizer, (y,)) if begun else (net, loss, optimizer, (x, y))
    steps = training(*arguments)
    assert len(steps) >= 3
    expected = copy_outputs(steps["eager"]())
    for label, function in steps.items():
        for _turn in range(3):
            require_same(label, "eager", copy_outputs(function()), expected)
    losses = expected["output"].values()
    assert np.allclose(losses, [step() for _turn in range(3)])  # so it has not learned meanwhile
    assert losses[2] < losses[0]  # it learns


@pytest.mark.parametrize(
    "change",
    [
        lambda net, loss, optimizer, batch: (lambda x: net(x), loss, optimizer, batch),
        lambda net, loss, optimizer, batch: (net, loss, "adam", batch),
        lambda net, loss, optimizer, batch: (net, loss, optimizer, batch[:1]),
        lambda net, loss, optimizer, batch: (call(net, batch[0]), loss, optimizer, batch),
    ],
    ids=["a function", "no optimizer", "no target", "the input twice"],
)
def test_what_cannot_be_trained(framework, change):
    with pytest.raises(ArgumentError, match="Received"):
        training(*change(*TRAINING[framework]()[0]))


def test_an_optimizer_of_another_model(framework):
    (net, loss, _own, batch), _step = TRAINING[framework]()
    (_other, _loss, optimizer, _batch), step = TRAINING[framework]()
    step()  # an optimizer of Keras belongs to no model before its first step
    if framework == "jax":  # it takes its weights in each step, so those of an equal model fit
        from flax import nnx

        training(net, loss, optimizer, batch)
        smaller = nnx.Linear(3, 2, rngs=nnx.Rngs(0))
        optimizer = nnx.Optimizer(smaller, optimizer.tx, wrt=optimizer.wrt)
    with pytest.raises(ArgumentError, match="learn nothing"):
        training(net, loss, optimizer, batch)


def torch_broken(x):
    if x.sum() > 0:  # torch: breaks
        x = x + 1
    return x * 2


def tensorflow_broken(x):
    return x.numpy()  # tensorflow: unsupported


def jax_broken(x):
    return x * float(x[0])  # jax: unsupported


def mxnet_broken(F, x):
    return x if x.sum() > 1 else -x  # mxnet: unsupported


def test_a_planted_cause_is_found_with_its_line_and_has_no_whole_graph(framework):
    function = globals()[f"{framework}_broken"]
    function = import_mxnet().gluon.nn.HybridLambda(function) if framework == "mxnet" else function
    x = get(framework).device.from_host(HostArray.of(np.ones(3, np.float32)), {"device": "cpu"})
    lines = HERE.read_text(encoding="utf-8").splitlines()
    ((number, line),) = [one for one in enumerate(lines, 1) if f"# {framework}: " in one[1]]
    kind = line.rpartition(": ")[2]
    report = explain(function, x)
    (finding,) = getattr(report, kind)
    assert (finding.file, finding.line, finding.reason != "") == (str(HERE), number, True)
    assert report.graph_count == len(report.graphs()) == (2 if kind == "breaks" else 0)
    if kind == "breaks":
        assert "2" in graph(function, x).notes[0]
        function = lambda x: 3  # noqa: E731
    with pytest.raises(ArgumentError, match="explain"):
        graph(function, x)


def test_an_explanation_keeps_no_model_and_has_its_graphs_all_the_same(framework):
    model, x = MODELS[framework]()
    explanation = explain(model, x)
    alive = weakref.ref(model)
    del model
    gc.collect()
    assert alive() is None
    (only,) = explanation.graphs()
    assert len(only.stages) > 1


def test_a_whole_model_is_one_graph_and_what_was_compiled_stays(framework):
    compiled, x = compiled_model(framework)
    for _turn in range(2):
        report = explain(compiled, x)
        assert report.graph_count == 1
        # TensorFlow traces once more for the variables of a model.
        assert report.compilations == (2 if framework == "tensorflow" else 1)
        assert report.breaks == report.fallbacks == report.unsupported == ()
        assert report.framework.startswith(get(framework).display)


def programs_made_by(framework, run):
    """How many programs its compilers make in a call; None where the framework doesn't count."""
    before = get(framework).compiler.programs_compiled()
    run()
    after = get(framework).compiler.programs_compiled()
    return None if before is None or after is None else after - before


class Around:
    """An object of the user's that holds and calls something; its property isn't to run."""

    def __init__(self, function):
        self.functions = [function]

    def __call__(self, x):
        return self.through(x)

    def through(self, x):
        return self.functions[self.number](x)

    @property
    def number(self):
        raise AssertionError


def around(function):
    """Ways to call something."""
    by_name = {"one": function}
    inner = lambda x: function(x)  # noqa: E731
    return [
        inner,
        lambda x: inner(x) * 2,
        lambda x: by_name["one"](x),
        partial(lambda called, x: called(x), function),
        Around(function),
        Around(function).through,
    ]


def test_what_is_compiled_is_seen_and_compiles_once(framework):
    room, (net, x) = get(framework), MODELS[framework]()
    net(x)
    if framework == "torch":  # equal modules share programs, and other tests have had one
        room.load().compiler.reset()
    assert programs_made_by(framework, lambda: compiled_model(framework)) != 0
    compiled, x = compiled_model(framework)
    assert programs_made_by(framework, lambda: compiled(x)) in (0, None)
    assert room.why.watched_call(lambda: compiled(x)).again is None
    for function in (compiled, *around(compiled)):
        assert room.why.is_compiled(function)
    for function in (net, *around(net)):
        assert not room.why.is_compiled(function)


def test_a_first_call_says_what_it_compiled(framework):
    room, (net, x) = get(framework), MODELS[framework]()
    if framework == "torch":
        room.load().compiler.reset()
    with room.why.first_call() as compiled:
        fast, _x = compiled_model(framework)  # which calls it
    found = compiled()
    assert found is not None
    assert found.graph_count == 1
    if framework == "torch":  # compiled here by a backend that runs the graph in Python
        assert found.program is None
    else:
        assert found.program.recorded >= found.program.contractions >= 1
        assert room.why.eager_operations(found) >= 1
    assert room.why.watched_call(lambda: fast(x)).programs in (1, None)
    assert not room.why.watched_call(lambda: net(x)).programs
    with room.why.first_call() as compiled:
        fast(x)
    assert compiled() is None
    assert room.why.eager_operation()() is not None
    before = room.why.seconds_before(lambda: fast(x))
    assert before is None or before > 0


ARRAYS = {
    "torch": "torch.from_numpy(array)",
    "tensorflow": "tf.constant(array)",
    "jax": "jnp.asarray(array)",
    "mxnet": "mxnet.np.array(array)",
}


def test_a_function_of_an_array_belongs_to_what_is_compiled_in_it(framework):
    compiled, x = compiled_model(framework)
    net, array = MODELS[framework]()[0], copy_outputs(x)["output"].values()
    names = {"compiled": compiled, "net": net, "mxnet": import_mxnet()}
    exec(IMPORTS, names)
    around, eager = (
        eval(f"lambda array: {f}({ARRAYS[framework]})", names) for f in ("compiled", "net")
    )
    report = explain(around, array)
    assert report.framework.startswith(get(framework).display)
    assert report.graph_count == len(report.graphs()) == 1
    with pytest.raises(UnknownFrameworkError):
        explain(eager, array)


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_a_mistake_in_the_call_is_the_users(framework, compiled):
    net, x = compiled_model(framework) if compiled else MODELS[framework]()
    net(x)
    for ask in (explain, graph):
        with pytest.raises(CallFailedError) as raised:
            ask(net, x[:, :4])
        assert raised.value.label
        assert raised.value.reason
        with pytest.raises(ArgumentError, match="Received"):
            ask(x, x)


def test_what_becomes_of_planted_operations(framework):
    picture = graph(*PLANTED[framework]())
    fates = {}
    for node in picture.stages[0].operations:
        kind = node.operation.lower().rpartition(".")[2]
        fates.setdefault(kind, []).append(node.fate)
    assert "merged" in fates["tanh"]
    assert fates.get("sin", ["dropped"]) == ["dropped"]  # MXNet's symbols begin at their results
    if framework != "mxnet":  # which computes a constant at each call
        assert "folded" in fates["mul"]
        assert "fused" in picture.fates.values()
    program = counted([picture])
    assert (program.contractions, program.control_flow) == (1, 0)
    assert program.steps < program.recorded
    assert picture.svg().startswith("<svg")
    assert explain(*PLANTED[framework]()).graph_count == 1


def test_objects_are_known_by_their_classes(framework, built):
    net, x, _variants = built(framework)
    for thing in (net, x, net.__call__, {"a": [1, (x,)]}):
        assert framework_of(thing) is get(framework), thing


@pytest.mark.parametrize("value", ["v2", 3])
def test_a_model_may_have_attributes_with_our_names(framework, built, value):
    _net, _x, expected = built(framework)
    net, x = MODELS[framework]()
    for name in OUR_NAMES:
        if not hasattr(net, name):  # which would be the framework's own
            setattr(net, name, value)
    assert (net.compiler, net.anew) == (value, value)
    found = variants(net, x, all=True)
    assert (list(found), found.unavailable) == (list(expected), expected.unavailable)
    quick = [name for name in ("eager", "jit", "nnx.jit", "tf.function", "hybridized",
             "static_alloc", "torchscript") if name in found]  # fmt: skip
    ways = compare(found.only(*quick), time_limit=0.1, progress=False)
    assert (list(ways), ways.unavailable) == (list(found.only(*quick)), {})
    assert not any(one.note for one in ways.values())
    assert explain(net, x).graph_count == 1


@pytest.mark.parametrize("thing", [3, np.ones(1), lambda x: x, [1]])
def test_strangers_are_refused(thing):
    for ask in (framework_of, lambda thing: explain(len, thing)):
        with pytest.raises(UnknownFrameworkError, match="Received"):
            ask(thing)
