"""What a call of JAX compiles and runs, and why it compiles again, with the causes planted."""

import re
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import count
from time import sleep

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx
from processes import python

from d2lhybrid import explain, graph, variants
from d2lhybrid.backends import get
from d2lhybrid.backends.jax import private
from d2lhybrid.graphs.program import counted

X = jnp.ones((4, 8))
JAX = get("jax")
LOWER = "lower_sharding_computation"


def doubled(x):
    return x * 2


def attention(x):
    return jax.nn.dot_product_attention(*[x.reshape(1, 4, 2, 4)] * 3)


CONTRACTIONS = {
    "chain": (lambda x: jnp.tanh(x * 2) + 1, X, 0),
    "product": (lambda x: jnp.tanh(x @ jnp.ones((8, 16))), X, 1),
    "attention": (attention, X, 2),
    "convolution": (nnx.Conv(3, 5, (3, 3), rngs=nnx.Rngs(0)), jnp.ones((2, 8, 8, 3)), 1),
    "batched product": (lambda x: jnp.einsum("bij,bjk->bik", x, x), jnp.ones((9, 8, 8)), 1),
}


@pytest.mark.parametrize(("model", "x", "expected"), CONTRACTIONS.values(), ids=CONTRACTIONS)
def test_contractions_are_counted(model, x, expected):
    program = counted([graph(model, x)])
    assert program.contractions == expected
    assert program.control_flow == 0


def test_a_loop_is_control_flow():
    program = counted([graph(lambda x: jax.lax.scan(lambda c, e: (c @ c, e), x, x)[0], X[:, :4])])
    assert (program.contractions, program.control_flow) == (0, 1)


def test_programs_are_counted_when_they_are_made():
    def compiled_by(call):
        before = JAX.compiler.programs_compiled()
        call()
        return JAX.compiler.programs_compiled() - before

    fast = jax.jit(lambda x: x * 3)
    assert [compiled_by(lambda: fast(X)) for _turn in range(3)] == [1, 0, 0]
    scan = lambda: jax.lax.scan(lambda c, e: (c + e, e), X[0], X)  # noqa: E731
    scan()
    assert [compiled_by(scan) for _turn in range(3)] == [1, 1, 1]


def made_in_the_function(x):
    return jax.jit(lambda y: y * 2)(x)  # again: a new function


NUMBERS = count(1)
LENGTHS = count(1)
power = jax.jit(lambda x, n: x**n, static_argnums=1)
power_by_name = jax.jit(lambda x, *, exponent: x**exponent, static_argnames="exponent")
grown = jax.jit(lambda x: x + 1)
of_a_dict = jax.jit(lambda tensors: sum(tensors.values()))
module = nnx.Linear(8, 2, rngs=nnx.Rngs(0))
forward = nnx.jit(lambda net, x: net(x))
AGAIN = {
    "made in the function": (lambda: made_in_the_function(X), "another function"),
    "a number that is static": (lambda: power(X, next(NUMBERS)), r"now Static\(val="),
    "static by name": (lambda: power_by_name(X, exponent=next(NUMBERS)), r"Static\(val="),
    "a shape": (lambda: grown(np.ones(next(LENGTHS))), r"now f(32|64)\[\d+\] and before f"),
    "a key": (lambda: of_a_dict({str(next(NUMBERS)): X}), "different input pytree"),
    "an attribute of the module": (
        lambda: forward(setattr(module, "kept", next(NUMBERS)) or module, X),
        "metadata|pytree",
    ),
    "a closure in a loop": (
        lambda: jax.lax.scan(lambda c, e: (c + e, e), X[0], X),
        "another function|never seen",
    ),
    "an eager operation": (lambda: jnp.ones(next(LENGTHS) + 100) * 2, "compiled again"),
}


@pytest.mark.parametrize(("run", "reason"), AGAIN.values(), ids=AGAIN)
def test_a_call_that_compiles_again_has_its_reason_and_its_line(run, reason, caplog, capfd):
    found = JAX.why.watched_call(run).again
    assert found is not None
    assert re.search(reason, found.reason), found.reason
    assert (found.file, found.line > 0) == (__file__, True)
    assert not re.search(r"0x|\n| id=|TRACING|https", found.reason)
    assert (caplog.records, *capfd.readouterr()) == ([], "", "")
    assert not jax.config.jax_explain_cache_misses


def test_an_explanation_compiles_nothing():
    before = JAX.compiler.programs_compiled(), grown._cache_size()
    for function in (made_in_the_function, grown, lambda x: grown(x)):
        explain(function, X)
    assert (JAX.compiler.programs_compiled(), grown._cache_size()) == before


def test_a_weak_type_is_named():
    fast = jax.jit(lambda x, scale: x * scale)
    scales = iter([2.0, jnp.float32(2), 2.0])
    found = JAX.why.watched_call(lambda: fast(X, next(scales))).again
    assert "weak_type" in found.reason
    assert JAX.why.watched_call(lambda: fast(X, 2.0)).again is None


def test_what_fits_is_not_compiled_again():
    fast = jax.jit(doubled)
    for run in (lambda: fast(X), lambda: doubled(X), lambda: forward(module, X), lambda: 3):
        run()
        assert JAX.why.watched_call(run).again is None


def test_an_error_while_asking_leaves_nothing_behind():
    listeners = jax._src.monitoring.get_event_duration_listeners
    before = listeners()
    with pytest.raises(ZeroDivisionError):
        JAX.why.watched_call(lambda: 1 / 0)
    assert listeners() == before
    assert not jax.config.jax_explain_cache_misses


FAST = jax.jit(doubled)
ADD = jax.jit(lambda x, y: x + y)


class Block(nnx.Module):
    @nnx.jit
    def __call__(self, x):
        return x * 2


class Blocks(nnx.Module):
    def __init__(self):
        self.first, self.second = Block(), Block()

    def __call__(self, x):
        return self.second(self.first(x)) + 1


class Holder:
    def __init__(self):
        self.fast = FAST

    def __call__(self, x):
        return self.fast(x)


def names_it(x):
    return FAST(x) + 1


COMPILED = {
    "jit": FAST,
    "nnx.jit": forward,
    "a partial": partial(forward, module),
    "a module's call": Block(),
    "a method": Block().__call__,
    "modules in it": Blocks(),
    "a function that names it": names_it,
    "a function of that": lambda x: names_it(x),
    "an object that holds it": Holder(),
    "jit in the function": made_in_the_function,
    "ahead of time": FAST.lower(X).compile(),
}
EAGER = {
    "a function": doubled,
    "of the library": lambda x: jnp.where(x > 0, jax.nn.relu(x), jax.nn.gelu(x)),
    "a module": module,
    "its method": module.__call__,
    "a number": len,
}


@pytest.mark.parametrize("function", COMPILED.values(), ids=COMPILED)
def test_what_is_compiled_is_seen(function):
    assert JAX.why.is_compiled(function)


@pytest.mark.parametrize("function", EAGER.values(), ids=EAGER)
def test_what_is_not_compiled_is_not(function):
    assert not JAX.why.is_compiled(function)


def first_call(function, *args):
    with JAX.why.first_call() as compiled:
        function(*args)
    return compiled()


class WithJit:
    """An object that hides what it compiles from whoever looks at its attributes."""

    def __init__(self):
        self._by_name = {"fast": jax.jit(lambda x: jnp.tanh(x * 2) + 1)}

    def run(self, x):
        return self._by_name["fast"](x)


def in_a_closure():
    fast = [jax.jit(lambda x: jnp.tanh(x * 2) + 1)]
    return lambda x: fast[0](x)


# What makes a function; operations recorded, and those that an eager call starts at least.
FIRST = {
    "jit": (lambda: jax.jit(lambda x: jnp.tanh(x * 2) + 1), 3, 3),
    "in a closure": (in_a_closure, 3, 3),
    "in an object": (lambda: WithJit().run, 3, 3),
    "of a library's function": (lambda: jax.jit(jnp.sin), 1, 1),
    "of a library's compiled function": (lambda: jax.jit(jax.nn.silu), 2, 1),
    "nnx.jit": (lambda: partial(nnx.jit(lambda net, x: jnp.tanh(net(x))), module), 4, 3),
    "of a way": (lambda: variants(module, X)["jit"].run, 3, 2),
    "ahead of time": (lambda: variants(module, X)["compiled ahead"].run, 3, 2),
    "one function of many steps": (lambda: jax.jit(lambda x: jnp.var(x)), 12, 1),
    "a power": (lambda: jax.jit(lambda x: x**3), 1, 1),
    "a compiled function in it": (lambda: jax.jit(lambda x: jnp.where(x > 0, x, 0)), 4, 2),
}


@pytest.mark.parametrize(("make", "recorded", "eager"), FIRST.values(), ids=FIRST)
def test_a_first_call_knows_what_it_has_compiled_and_compiles_nothing_for_it(make, recorded, eager):
    function = make()
    explanation = first_call(function, X)
    before = JAX.compiler.programs_compiled()
    program = explanation.program
    assert JAX.compiler.programs_compiled() == before
    assert (explanation.graph_count, explanation.fallbacks) == (1, ())
    assert (program.recorded, JAX.why.eager_operations(explanation)) == (recorded, eager)
    assert first_call(function, X) is None
    assert JAX.why.watched_call(lambda: function(X)).programs


OPERATIONS = {
    "a broadcast": lambda x: x + x[0],
    "a loop": lambda x: [x := jnp.sin(x) for _turn in range(9)][-1],
    "steps that JAX inlines": lambda x: jnp.var(x, 1) + x.mean(1),
    "constants": lambda x: x * jnp.ones(8) + jnp.arange(8.0),
    "views": lambda x: x.T.reshape(2, 16)[0].astype(jnp.int32),
    "a network": nnx.Sequential(module, nnx.gelu, nnx.LayerNorm(2, rngs=nnx.Rngs(0))),
    "random numbers": lambda x: x + jax.random.normal(jax.random.key(0), x.shape),
    "a gradient": lambda x: jax.grad(lambda y: (jnp.cos(y) * 3).sum())(x),
    "an attention": attention,
}


@pytest.mark.parametrize("function", OPERATIONS.values(), ids=OPERATIONS)
def test_eager_code_starts_no_fewer_operations_than_are_said(function):
    started = []
    for _turn in range(2):  # the first of which compiles them
        started.clear()
        with private.watched(
            on_compiled=lambda *_about: None, on_run=lambda *_about: started.append(1)
        ):
            function(X)
    jitted = variants(function, X)["jit"].run
    assert 1 <= JAX.why.eager_operations(first_call(jitted, X)) <= len(started)


NOT_COMPILED = {
    "operations": lambda x: jnp.where(x > 0, jax.nn.relu(x), jax.nn.gelu(x)) + x[0],
    "a compiled function of a library": jax.nn.softmax,
    "a loop": lambda x: jax.lax.scan(lambda c, e: (c + e * 9, e), x[0], x)[0],
    "a gradient": lambda x: jax.grad(lambda y: (jnp.cos(y) * 3).sum())(x),
    "a module": module,
}


@pytest.mark.parametrize("function", NOT_COMPILED.values(), ids=NOT_COMPILED)
def test_eager_code_compiles_nothing(function):
    jax.clear_caches()  # so that each operation is compiled
    assert first_call(function, X) is None
    assert JAX.why.watched_call(lambda: function(X)).programs == 0


def test_a_transformation_of_compiled_code_is_compiled():
    fast = jax.jit(lambda x: jnp.tanh(x * 2) + 1)
    for transformed in (jax.grad(lambda x: fast(x).sum()), jax.vmap(fast)):
        assert first_call(transformed, X).graph_count >= 1
        assert JAX.why.watched_call(lambda transformed=transformed: transformed(X)).programs


def test_what_runs_beside_compiled_code_is_said():
    fast = jax.jit(lambda x: jnp.tanh(x * 2) + 1)
    for function in (lambda x: fast(x) + 1, lambda x: fast(fast(x))):
        jnp.ones((3, 8)) + 1  # so that this operation is compiled
        fast.clear_cache()
        explanation = first_call(function, jnp.ones((3, 8)))
        assert explanation.graph_count == 1
        (found,) = explanation.fallbacks
        assert "Only parts" in found.reason


def test_of_a_step_of_training_what_runs_beside_compiled_code_is_said():
    """Building copies weights and two more steps are made to be compared: neither is the step."""
    net, y = nnx.Linear(8, 2, rngs=nnx.Rngs(0)), jnp.zeros((4, 2))
    optimizer = nnx.Optimizer(net, optax.sgd(0.1), wrt=nnx.Param)
    found = {}
    for name in ("eager", "nnx.jit", "jit", "jit donated"):
        loss = jax.jit(lambda output, target: (output - target) ** 2)
        ways = JAX.training.training(net, loss, optimizer, (X,), {}, y)
        found[name] = [one.reason for one in first_call(ways[name].run).fallbacks]
    (only,) = found.pop("eager")
    assert "Only parts" in only
    assert not any(found.values())


def test_a_callback_is_code_in_python():
    def printed(x):
        jax.debug.print("{}", x[0, 0])
        return x * 2

    fast = jax.jit(printed)
    (found,) = first_call(fast, X).fallbacks
    assert found.file == __file__
    assert JAX.why.watched_call(lambda: fast(X)).programs


def test_what_is_computed_while_compiling_and_what_is_copied_is_counted():
    table = jnp.arange(8.0)
    folded = first_call(jax.jit(lambda x: x * jnp.tanh(table * 2)), X).program
    assert (folded.steps, folded.folded, folded.copies) == (1, 2, 0)
    copied = first_call(jax.jit(lambda x, y: (x * 2, y)), X, X).program
    assert (copied.steps, copied.copies) == (1, 1)  # XLA copies an argument that is a result
    net = nnx.Linear(8, 2, rngs=nnx.Rngs(0))
    returned = first_call(partial(nnx.jit(lambda net, x: net(x)), net), X)
    assert returned.program.copies == 2  # nnx.jit returns what the module holds


def test_switched_off_or_not_reached_no_compiled_code_runs():
    fast = jax.jit(lambda x: jnp.tanh(x * 2) + 1)

    def never(x):
        return fast(x) if x.ndim > 5 else x + 1

    assert JAX.why.watched_call(lambda: never(X)).programs == 0
    assert JAX.why.why_not_compiled(never) == "This call doesn't reach what is compiled: <lambda>."
    with jax.disable_jit():
        assert JAX.why.watched_call(lambda: fast(X)).programs == 0
        assert JAX.why.why_not_compiled(never).startswith("jax_disable_jit switches")
    assert JAX.why.watched_call(lambda: np.ones(3).sum()).programs is None


def test_a_watch_ends_with_an_error_and_hears_one_thread_alone():
    names = [(jax._src.pjit, "_run_python_pjit"), (jax._src.interpreters.pxla, LOWER)]
    before = [getattr(module, name) for module, name in names]
    with pytest.raises(StopIteration), JAX.why.first_call():
        raise StopIteration
    assert [getattr(module, name) for module, name in names] == before
    assert jax._src.api._post_hook_state.value is None
    with JAX.why.first_call() as compiled, ThreadPoolExecutor(1) as pool:
        pool.submit(jax.jit(lambda x: x * 3), X).result()
    assert compiled() is None


CACHED = """
import jax, jax.numpy as jnp
jax.config.update("jax_compilation_cache_dir", {folder!r})
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
from d2lhybrid.backends import get
from d2lhybrid.backends.jax import private
JAX = get("jax")
JAX.compiler.disk_cache_hits()
with JAX.why.first_call() as compiled:
    jax.jit(lambda x: jnp.tanh(x * 2) + 1)(jnp.ones(8))
program = compiled().program
print(JAX.compiler.disk_cache_hits() > 0, program.recorded, program.steps)
"""


def test_a_program_from_the_disk_is_known_and_watching_does_not_change_its_key(tmp_path):
    watched = CACHED.format(folder=str(tmp_path))
    plain, _with_block, _rest = watched.partition("with ")
    python("-c", f"{plain}jax.jit(lambda x: jnp.tanh(x * 2) + 1)(jnp.ones(8))")
    assert python("-c", watched).stdout.split() == ["True", "3", "1"]


ENTERED = {
    "jit": lambda: FAST(X),
    "NumPy": lambda: ADD(np.ones((4, 8)), np.ones(8)),
    "weights bound": partial(jax.jit(lambda weights, x: weights["w"] * x), {"w": X}, X),
    "options": partial(jax.jit(doubled, compiler_options={"xla_embed_ir_in_executable": True}), X),
    "nnx.jit": lambda: forward(module, X),
    "ahead of time": partial(FAST.lower(X).compile(), X),
    "beside eager code": lambda: FAST(X) + 1,
}


@pytest.mark.parametrize("run", ENTERED.values(), ids=ENTERED)
def test_what_comes_before_a_program_is_known_and_compiles_nothing_of_the_users(run):
    run()
    assert JAX.why.seconds_before(run) > 0
    before = JAX.compiler.programs_compiled()
    run()
    assert JAX.compiler.programs_compiled() == before


NO_NUMBERS = {
    "a random key": (jax.random.key(0), X),
    "an array with nothing in it": (jnp.ones((0, 8)), X),
    "no arguments": (),
}


@pytest.mark.parametrize("given", NO_NUMBERS.values(), ids=NO_NUMBERS)
def test_what_comes_before_a_program_is_known_whatever_it_gets_first(given):
    program = jax.jit(lambda *given: (given, jnp.ones(3)))
    program(*given)
    assert JAX.why.seconds_before(lambda: program(*given)) > 0


def test_what_comes_before_several_programs_or_none_is_not_known():
    for run in (lambda: FAST(ADD(X, X)), lambda: X + 1):
        run()
        assert JAX.why.seconds_before(run) is None


def test_python_before_the_program_counts_and_python_after_it_does_not():
    def run():
        sleep(0.02)
        result = FAST(X)
        sleep(0.03)
        return result

    run()
    assert 0.02 < JAX.why.seconds_before(run) < 0.04


def test_what_comes_before_compiled_code_has_the_conversion_of_arguments_in_it():
    batch = [np.ones((64, 16), np.float32) for _array in range(8)]
    sums = jax.jit(lambda batch: sum(array.sum() for array in batch))

    def converting():
        return sums([jnp.asarray(array) for array in batch])

    arrays = [jnp.asarray(array) for array in batch]
    converting()
    assert JAX.why.seconds_before(converting) > 2 * JAX.why.seconds_before(lambda: sums(arrays))


def test_the_quickest_operation_is_compiled_before_anybody_times_it():
    jax.clear_caches()
    operation = JAX.why.eager_operation()
    before = JAX.compiler.programs_compiled()
    operation()
    assert JAX.compiler.programs_compiled() == before


def hint_of(function, *args):
    with pytest.raises((TypeError, jax.errors.ConcretizationTypeError)) as raised:
        jax.jit(function)(*args)
    return JAX.why.hint(raised.value)


def test_the_hint_for_an_if_on_an_array_does_not_make_it_static():
    def f(x):
        return jnp.where(x > 0, x, 0) if x.sum() > 0 else x

    hint = hint_of(f, X)
    assert "jnp.where or jax.lax.cond" in hint
    assert "If an argument that is a Python number decides, make it static" in hint
    assert "An array can't be static" in hint_of(lambda x: x * int(x[0, 0]), X)
    assert hint_of(lambda x: x @ jnp.ones(3), X) == ""


def test_an_explanation_counts_and_names_what_a_function_calls():
    def halved(x):
        return x / 2

    fast = jax.jit(halved)
    one, two = jnp.ones(1), jnp.ones(2)
    fast(one)
    fast(two)
    for shell in (lambda x: fast(x), partial(fast)):
        report = explain(shell, two)
        assert (report.compilations, report.graph_count, report.fallbacks) == (2, 1, ())
    report = explain(lambda x: fast(x) + 1, two)
    assert (report.compilations, report.graph_count) == (2, 1)
    (found,) = report.fallbacks
    assert "compiled: halved. " in found.reason
    assert (found.file, found.line > 0) == (__file__, True)
    assert [len(graph.fates) for graph in report.graphs()] == [1]
    for whole in (FAST, Block(), doubled, Holder()):
        assert (explain(whole, X).graph_count, explain(whole, X).fallbacks) == (1, ())


def test_blocks_that_are_compiled_one_by_one_have_a_graph_each():
    net = Blocks()
    net(X)
    report = explain(net, X)
    assert (report.compilations, report.graph_count, len(report.fallbacks)) == (1, 2, 1)
    assert [graph.model for graph in report.graphs()] == ["__call__"] * 2
    report = explain(jax.jit(lambda x: net(x)), X)
    assert (report.graph_count, report.fallbacks) == (1, ())
