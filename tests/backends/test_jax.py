"""What only JAX has: types that decide whether a call fits, static arguments, modes."""

from contextlib import suppress
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx
from processes import python

from d2lhybrid import call, compare, explain, graph, measure, save, training, variants
from d2lhybrid.backends import get
from d2lhybrid.backends.outputs import copy_outputs
from d2lhybrid.core.compare_outputs import require_same
from d2lhybrid.errors import ArgumentError, CallFailedError

X = jnp.ones((2, 3))


def test_the_note_has_the_types():
    scaled = lambda x, factor: jnp.tanh(x) * factor  # noqa: E731
    assert "float32[2,3]" in explain(scaled, X, 2.0).notes[0]
    assert "(weak type)" in explain(scaled, X, 2.0).notes[0]
    assert "(weak type)" not in explain(scaled, X, jnp.float32(2.0)).notes[0]


def test_calls_into_python_have_the_users_line():
    def model(x):
        jax.debug.print("x is {}", x)  # here
        return jax.lax.cond(x.sum() > 0, lambda: x, lambda: -x)

    report = explain(model, X)
    (found,) = report.fallbacks
    assert (report.graph_count, found.file) == (1, __file__)
    assert "# here" in Path(__file__).read_text(encoding="utf-8").splitlines()[found.line - 1]


def test_each_way_has_the_weights_of_when_it_was_made():
    net = nnx.Linear(3, 2, rngs=nnx.Rngs(0))
    v, before = variants(net, X), net(X)
    net.kernel[...] = net.kernel[...] + 1
    for name, function in v.items():
        np.testing.assert_allclose(function(X), before, rtol=1e-5, err_msg=name)


KEPT = []


def keeps(x):
    y = jnp.sin(x)
    KEPT.append(jnp.cos(y))  # keeps
    return y


class CountingByArray:
    def __init__(self):
        self.calls = jnp.zeros(())

    def __call__(self, x):
        self.calls = self.calls + 1  # counts
        return x * self.calls


def carrying(x):
    return jax.lax.scan(lambda c, e: (KEPT.append(c) or c, e), x[0], x)  # carries


LEAKING = {
    "a function": (lambda: keeps, "# keeps"),
    "an object": (CountingByArray, "# counts"),
    "compiled": (lambda: jax.jit(CountingByArray()), "# counts"),
    "in a gradient": (lambda: jax.grad(lambda x: keeps(x).sum()), "# keeps"),
    "in a branch": (lambda: lambda x: jax.lax.cond(x[0, 0] > 0, keeps, jnp.cos, x), "# keeps"),
    "an input of a loop's body": (lambda: carrying, "# carries"),
}


@pytest.mark.parametrize(("make", "line"), LEAKING.values(), ids=LEAKING)
def test_a_leaked_tracer_has_the_line_that_made_it(make, line):
    model = make()
    (found,) = explain(model, X).unsupported
    assert (found.file, "leaks" in found.reason) == (__file__, True)
    assert line in Path(__file__).read_text(encoding="utf-8").splitlines()[found.line - 1]


def test_a_tracer_that_leaks_in_a_program_of_earlier_is_found():
    compiled = jax.jit(keeps)
    compiled(X)
    report = explain(compiled, X)
    assert (report.compilations, report.graph_count, len(report.unsupported)) == (1, 1, 1)


def test_to_find_a_leak_takes_one_trace():
    shapes = []

    def noting(x):
        shapes.append(x.shape)
        return keeps(x)

    assert explain(noting, X).unsupported
    assert shapes == [X.shape]
    assert not jax.config.jax_check_tracer_leaks


@jax.custom_vjp
def sine(x):
    return jnp.sin(x)


sine.defvjp(lambda x: (jnp.sin(x), x), lambda x, gradient: (gradient * jnp.cos(x),))


def in_a_circle(x):
    keeps = {}
    keeps["itself"], keeps["x"] = keeps, x * 2
    return keeps["x"]


def in_an_error(x):
    with suppress(jax.errors.TracerArrayConversionError):
        np.asarray(x * 2)
    return x


def with_a_table(x, tables={}):  # noqa: B006 it is the point
    if 3 not in tables:
        tables[3] = np.arange(3.0)
    return x + tables[3]


RNGS = nnx.Rngs(0)
CLEAN = {
    "nothing": jnp.tanh,
    "vmap": jax.vmap(lambda row: row * 2),
    "scan": lambda x: jax.lax.scan(lambda c, e: (c + e, c * e), x[0], x),
    "cond": lambda x: jax.lax.cond(x.sum() > 0, jnp.sin, jnp.cos, x),
    "while": lambda x: jax.lax.while_loop(lambda c: c.sum() < 9, lambda c: c + 1, x),
    "grad": jax.grad(lambda x: jnp.sin(x).sum()),
    "hessian": jax.hessian(lambda x: jnp.sin(x).sum()),
    "custom_vjp": sine,
    "its gradient": jax.jit(jax.value_and_grad(lambda x: sine(x).sum())),
    "checkpoint": jax.grad(lambda x: jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)))(x).sum()),
    "activations": lambda x: jax.nn.softmax(jax.nn.gelu(jax.nn.relu(x))),
    "a pytree": jax.tree_util.Partial(lambda w, x: w * x, jnp.ones(3)),
    "a module": nnx.Sequential(nnx.Linear(3, 4, rngs=RNGS), nnx.BatchNorm(4, rngs=RNGS), nnx.relu),
    "a callback": lambda x: jax.pure_callback(np.asarray, x, x),
    "a circle": in_a_circle,
    "an error": in_an_error,
    "a table": with_a_table,
}


@pytest.mark.parametrize("model", CLEAN.values(), ids=CLEAN)
def test_what_does_not_leak_is_not_accused(model):
    for _turn in range(2):
        report = explain(model, X)
        assert (report.graph_count, report.unsupported) == (1, ())


def test_a_reason_names_the_users_function_and_no_address():
    class Odd:
        def __radd__(self, other):
            return other

    def added(x, y):
        return x + y

    reasons = compare(variants(added, X, Odd()), time_limit=0.05).unavailable
    assert {*reasons} == {"jit", "compiled ahead"}
    for reason in reasons.values():
        assert " to added as an abstract array" in reason
        assert "0x" not in reason


def test_a_graph_names_weights_arguments_and_what_it_does_not_show():
    key, large = jax.random.key(0), jnp.arange(64.0)

    class Noisy(nnx.Module):
        def __init__(self):
            self.scale = nnx.Param(jnp.ones(64))

        def __call__(self, x, *rest):
            return x * self.scale[...] + large + jax.random.normal(key, (64,)) + rest[0]

    picture = graph(Noisy(), large, large)
    nodes = {node.name: node for node in picture.stages[0].nodes}
    assert {"scale", "input", "input_1", "constant", "mul"} <= {*nodes}
    assert "key" in nodes["constant"].attributes + nodes["constant_1"].attributes
    assert picture.fates["random_bits"] != "folded"


def test_what_a_checkpoint_computes_again_is_not_merged():
    part = jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)))
    picture = graph(jax.value_and_grad(lambda x: part(x).sum()), X)
    assert picture.count("merged") == 0
    steps = [part.kind for node in picture.stages[-1].nodes for part in node.parts]
    assert steps.count("sine") == 3


def test_fates_of_what_xla_moves_and_of_what_jax_leaves_out():
    flipped = graph(lambda x: jnp.flip(x, 0)[:4], jnp.ones((8, 3)))
    assert flipped.fates["slice"] == "fused"  # with the reverse, which XLA notes as the slice's
    branch = jax.vmap(lambda row: jax.lax.cond(row.sum() > 0, jnp.sin, jnp.cos, row))
    fates = graph(branch, X).fates
    assert (fates["eq"], fates["eq_1"], fates["stop_gradient"]) == ("dropped", "dropped", "free")


def test_what_xla_removes_before_its_passes_is_dropped_or_rewritten():
    for function in (
        lambda x: jnp.where(True, jnp.sin(x), jnp.cos(x)),
        lambda x: jnp.concatenate([jnp.sin(x), jnp.cos(x)], 1)[:, : x.shape[1]],
        lambda x: jax.lax.sort((jnp.sin(x), jnp.cos(x)), num_keys=1)[0],
    ):
        fates = graph(function, X).fates
        assert (fates["sin"], fates["cos"]) == ("kept", "dropped")
        assert "free" not in fates.values()
    assert graph(lambda x: x + x**0, X).fates == {"integer_pow": "rewritten", "add": "kept"}


def test_an_iota_that_runs_in_a_step_is_not_folded():
    fates = graph(lambda x: x * jnp.arange(float(X.shape[1])), X).fates
    assert (fates["iota"], fates["mul"]) == ("fused", "fused")


def test_variants_of_what_is_compiled_and_of_static_arguments():
    class Model(nnx.Module):
        def __init__(self):
            self.calls = nnx.Variable(jnp.zeros(()))

        @nnx.jit
        def __call__(self, x):
            self.calls[...] += 1
            return x * 2

    net = Model()
    for name, function in variants(net, X).items():
        assert np.array_equal(function(X), 2 * X), name
    assert net.calls[...] == 0
    v = variants(jax.jit(lambda x: x + float(np.asarray(x)[0, 0])), X)  # cannot be traced
    assert v["eager"](X)[0, 0] == 2
    v = variants(lambda x, flag: x * 2 if flag else x, X, True)
    assert "no static arguments" in v.unavailable["compiled ahead"]
    assert all(np.array_equal(function(X, True), 2 * X) for function in v.values())
    for numbers in (1, -1):  # and what the user's own says
        power = jax.jit(lambda x, n: x * n if n > 1 else x, static_argnums=numbers)
        v = variants(power, X, 2, all=True)
        assert all(np.array_equal(function(X, 2), 2 * X) for function in v.values())
    with pytest.raises(ArgumentError, match="'dynamic'"):
        variants(net, X, compiler_options={"dynamic": True})


@pytest.mark.parametrize("method", [False, True], ids=["module", "method"])
def test_inference_switches_every_part_and_leaves_the_users_model(method):
    class Net(nnx.Sequential):
        def twice(self, x):
            return self(x) * 2

    rngs = nnx.Rngs(0)
    net = Net(nnx.Dropout(0.5, rngs=rngs), nnx.BatchNorm(3, rngs=rngs))
    found = get("jax").models.infer(net.twice if method else net, (X,), {})
    assert np.allclose(found, X * (1 + method), atol=1e-4)
    assert (net.layers[0].deterministic, net.layers[1].use_running_average) == (False, False)


def test_a_method_has_the_layers_of_its_module_in_training():
    class Net(nnx.Sequential):
        def encode(self, x):
            return self(x)

    net = Net(nnx.Dropout(0.5, rngs=nnx.Rngs(0)), nnx.relu)
    assert [*get("jax").models.layers_in_training(net.encode)] == [net.layers[0]]


def test_training_takes_keyword_arguments_and_an_optimizer_of_flax():
    class Scaled(nnx.Linear):
        def __call__(self, x, scale=1.0):
            return super().__call__(x) * scale

    net, y = Scaled(3, 2, rngs=nnx.Rngs(0)), jnp.zeros((2, 2))
    loss = lambda output, target: (output - target) ** 2  # noqa: E731
    optimizer = nnx.Optimizer(net, optax.sgd(0.01), wrt=nnx.Param)
    with pytest.raises(ArgumentError, match="GradientTransformation"):
        training(net, loss, optimizer.tx, (X, y))
    steps = training(call(net, X, scale=3.0), loss, optimizer, (y,))
    expected = copy_outputs(steps["eager"]())
    for label in steps:
        require_same(label, "eager", copy_outputs(steps[label]()), expected)


@pytest.mark.parametrize("label", ["eager", "nnx.jit", "jit", "jit donated"])
def test_the_code_of_a_step_is_what_it_says(label):
    net, y = nnx.Linear(3, 2, rngs=nnx.Rngs(0)), jnp.zeros((2, 2))
    loss, optimizer = optax.squared_error, nnx.Optimizer(net, optax.sgd(0.01), wrt=nnx.Param)
    steps = training(net, loss, optimizer, (X, y))
    expected = copy_outputs(steps["eager"]())["output"].values()[0]
    names = {"jax": jax, "jnp": jnp, "nnx": nnx, "net": net, "loss": loss, "x": X, "y": y}
    names["optimizer"] = optimizer
    *made, last = steps.code[label].splitlines()  # whose y is the loss, and no target more
    exec("\n".join([*made, last.replace("y =", "found =")]), names)
    assert np.isclose(float(names["found"]), expected)


def test_what_a_function_donates_is_there_after_an_explanation():
    step = jax.jit(lambda x: x + 1, donate_argnums=0)
    step(jnp.ones(3))
    x = jnp.ones(3)
    explain(step, x)
    assert x.tolist() == [1, 1, 1]


def test_a_first_call_is_left_to_the_user():
    waiting = jax.jit(lambda x: x * 2)
    for model in (waiting, lambda x: waiting(x) + 1):
        for _turn in range(2):
            assert explain(model, X).compilations == 0


def test_what_calls_nnx_jit_is_refused_and_its_module_stays_as_it_is():
    net = nnx.Sequential(nnx.Linear(4, 4, rngs=nnx.Rngs(0)), nnx.relu)
    compiled, x, held = nnx.jit(lambda model, x: model(x)), jnp.ones((1, 4)), {"net": net}

    def direct(x):
        return compiled(net, x)

    before = net(x)
    for function in (direct, lambda x: direct(x), lambda x: compiled(held["net"], x)):
        for ask in (explain, graph):
            with pytest.raises(ArgumentError, match=r"such as explain\(fast, net, x\)"):
                ask(function, x)
        assert (net(x) == before).all()
    assert explain(compiled, net, x).graph_count == 1


def repeated(x, n):
    for _turn in range(n):
        x = jnp.sin(x)
    return x


class Repeated(nnx.Module):
    def __init__(self):
        self.layer = nnx.Linear(8, 8, rngs=nnx.Rngs(0))

    def __call__(self, x, n=1):
        return repeated(self.layer(x), n)


@pytest.mark.parametrize(
    ("function", "given"),
    [
        (repeated, 3),
        (Repeated(), 3),
        (lambda x, n: x if n > 2 else -x, 3),
        (lambda x, n: x.reshape(n), (2, -1)),
    ],
    ids=["loop", "module", "branch", "shape"],
)
@pytest.mark.parametrize("by_name", [False, True])
def test_integers_are_static_if_the_code_needs_them(tmp_path, function, given, by_name):
    x = jnp.ones((8, 8))
    args, kwargs = ((x,), {"n": given}) if by_name else ((x, given), {})
    expected, called = function(x, given), call(function, *args, **kwargs)
    ways = variants(called, all=True)
    assert "static arguments" in ways.unavailable["compiled ahead"]
    assert "compiled ahead" not in ways.code
    for name, way in ways.items():
        assert jnp.allclose(way(*args, **kwargs), expected), name
    for name, code in ways.code.items():
        names = {"jax": jax, "nnx": nnx, "jnp": jnp, "net": function, "x": x}
        exec(code, names)
        assert jnp.allclose(names["y"], expected), name
    assert "static_argnames=['n']" in ways.code["jit"]
    report = explain(called)
    assert (report.graph_count, report.unsupported) == (1, ())
    assert graph(called).stages
    save(called, tmp_path / "saved")


def test_code_of_a_function_that_names_no_parameters():
    ways = variants(lambda *a: a[1] * 2, True, X)
    for name, code in ways.code.items():
        names = {"jax": jax, "jnp": jnp, "net": lambda *a: a[1] * 2, "x_1": X}
        exec(code, names)
        assert jnp.allclose(names["y"], X * 2), name


def test_an_integer_is_traced_where_it_can_be():
    ways = variants(lambda x, n: x * n, X, 100)
    assert "static" not in ways.code["jit"]
    assert "compiled ahead" in ways
    assert "int32[] (weak type)" in explain(lambda x, n: x * n, X, 100).notes[0]


def test_a_program_that_lacks_an_integer_says_how_to_make_it_static():
    functions = {"eager": repeated, "jit": jax.jit(repeated)}
    result = compare(functions, X, 3, time_limit=0.1, progress=False, why=False)
    assert 'static_argnames="n"' in result.unavailable["jit"]
    ways = variants(jax.jit(repeated), X, 3)
    result = compare(ways, time_limit=0.1, progress=False, why=False)
    assert 'static_argnames="n"' in result.unavailable["jit"]
    with pytest.raises(CallFailedError, match="static_argnames"):
        measure(jax.jit(repeated), X, 3)


def twice(weights):
    return weights * 2 + 1


donated = jax.jit(twice, donate_argnums=0)


WITHOUT_CPU = """
from jax._src import xla_bridge
from jax._src.lib import xla_client
xla_bridge.register_backend_factory("other", xla_client.make_cpu_client, fail_quietly=False)
import jax.numpy, d2lhybrid
jax.numpy.ones(3)
d2lhybrid.synchronize()
"""


def test_a_process_that_may_not_use_the_cpu_waits_for_its_accelerator():
    python("-c", WITHOUT_CPU, JAX_PLATFORMS="other")


def test_what_donates_its_arguments_is_refused_before_it_deletes_them():
    weights, own = jnp.ones((100, 100)), jnp.ones((100, 100))
    refused = "leaves its arguments as they are"
    functions = {
        "eager": twice,
        "donated": donated,
        "by name": jax.jit(twice, donate_argnames="weights"),
    }
    result = compare(functions, weights, time_limit=0.2)
    assert list(result) == ["eager"]
    assert all(refused in reason for reason in result.unavailable.values())
    assert list(result.unavailable) == ["donated", "by name"]
    with pytest.raises(ArgumentError, match=refused):
        measure(donated, weights)
    with pytest.raises(ArgumentError, match=f"{refused}.*'own'"):
        compare({"own": call(donated, own), "eager": call(twice, own)})
    explain(donated, weights)
    graph(donated, weights)
    assert not weights.is_deleted()
    assert not own.is_deleted()


def test_what_makes_the_arrays_that_it_donates_is_compared():
    functions = {"eager": lambda: twice(X), "donated": lambda: donated(X.copy())}
    assert list(compare(functions, time_limit=0.2)) == ["eager", "donated"]


def test_an_array_that_was_donated_unseen():
    weights = jnp.ones((100, 100))
    functions = {"unseen": lambda w: jax.jit(twice, donate_argnums=0)(w), "eager": twice}
    with pytest.raises(CallFailedError, match="donated this array"):
        compare(functions, weights, time_limit=0.2, why=False)
