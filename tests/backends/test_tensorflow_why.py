"""What a call of TensorFlow compiles, whether compiled code runs in it, why one compiles again."""

from itertools import count, cycle
from pathlib import Path
from statistics import median
from threading import Thread
from time import perf_counter, sleep

import numpy as np
import pytest
import tensorflow as tf
from models import tensorflow_model
from processes import python

from d2lhybrid import explain, variants
from d2lhybrid.backends import get
from d2lhybrid.backends.tensorflow import private, why

TENSORFLOW = get("tensorflow")
X = tf.ones((2, 3))
by_xla = tf.function(jit_compile=True)


def new_each_time(x):
    return tf.function(lambda y: y * 2)(x)  # makes


def made_anew():
    return lambda: new_each_time(X)


def python_number():
    scaled, numbers = tf.function(lambda x, factor: x * factor), count()
    return lambda: scaled(X, next(numbers))


def shape():
    doubled, sizes = tf.function(lambda x: x * 2), count(1)
    return lambda: doubled(tf.ones(next(sizes)))


def another_object():
    class Settings:
        factor = 2

    scaled = tf.function(lambda x, settings: x * settings.factor)
    kept = []

    def run():
        kept.append(Settings())
        return scaled(X, kept[-1])

    return run


def shape_below_a_signature():
    doubled = tf.function(
        lambda x: x * 2, input_signature=[tf.TensorSpec([None])], jit_compile=True
    )
    sizes = count(1)
    return lambda: doubled(tf.ones(next(sizes)))


@pytest.mark.parametrize(
    ("make", "reason", "traces"),
    [
        (made_anew, "each call makes a new tf.function of <lambda>", 1),
        (python_number, "factor is a Python value: now 1, before 0", 1),
        (shape, "x is now TensorSpec(shape=(2,), dtype=tf.float32, name=None), before", 1),
        (another_object, "settings is now Weakref[<weakref at ", 1),
        (shape_below_a_signature, "XLA compiles for each shape: x is now float32 (2,)", 0),
    ],
)
def test_a_planted_compilation_has_its_cause(make, reason, traces):
    run = make()
    found = TENSORFLOW.why.watched_call(run).again
    assert found.reason.startswith(reason)
    assert found.file == __file__
    before = TENSORFLOW.compiler.programs_compiled()
    run()
    assert TENSORFLOW.compiler.programs_compiled() - before == traces


def test_the_latest_of_the_nearest_traces_is_compared():
    run = python_number()
    for _turn in range(5):
        run()
    assert TENSORFLOW.why.watched_call(run).again.reason.endswith("now 6, before 5")


def test_a_compilation_has_the_line_of_the_call():
    found = TENSORFLOW.why.watched_call(made_anew()).again
    assert Path(__file__).read_text(encoding="utf-8").splitlines()[found.line - 1].endswith("makes")


def test_a_second_call_that_compiles_nothing_has_no_cause():
    sizes = cycle([3, 4])
    doubled, in_xla = tf.function(lambda x: x * 2), by_xla(lambda x: x * 2)
    for _turn in range(2):
        in_xla(doubled(tf.ones(next(sizes))))
    net, x = tensorflow_model()
    for run in (
        lambda: in_xla(doubled(tf.ones(next(sizes)))),
        lambda: in_xla(X),
        lambda: net(x),
        lambda: 3,
    ):
        assert TENSORFLOW.why.watched_call(run).again is None


def test_an_error_in_the_call_leaves_tensorflow_as_it_was():
    call_flat = tf.types.experimental.ConcreteFunction
    concrete = tf.function(lambda x: x).get_concrete_function(X)
    method = type(concrete)._call_flat
    with pytest.raises(ZeroDivisionError):
        TENSORFLOW.why.watched_call(lambda: 1 / 0)
    assert isinstance(concrete, call_flat)
    assert type(concrete)._call_flat is method


def test_a_function_in_a_trace_is_part_of_it():
    inner = tf.function(lambda x: x * 2)
    outer = tf.function(lambda x: inner(x) + inner(x[0]))
    before = TENSORFLOW.compiler.programs_compiled()
    outer(X)
    assert TENSORFLOW.compiler.programs_compiled() == before + 1


def test_without_the_callbacks_traces_are_not_counted(monkeypatch):
    monkeypatch.setattr(private, "trace_callbacks", lambda: None)
    assert TENSORFLOW.compiler.programs_compiled() is None


def test_integers_that_xla_takes_as_data_are_no_cause():
    embed, ids = by_xla(lambda x, ids: tf.gather(x, ids)), count()
    table = tf.ones((9, 3))
    assert TENSORFLOW.why.watched_call(lambda: embed(table, tf.constant([next(ids)]))).again is None


def test_what_keras_compiles_for_its_data_is_not_the_users():
    net, x = tensorflow_model()
    net.predict(x, verbose=0)
    before = TENSORFLOW.compiler.programs_compiled()
    assert TENSORFLOW.why.watched_call(lambda: net.predict(x, verbose=0)).again is None
    assert TENSORFLOW.compiler.programs_compiled() == before


# The first call


def first_call(run):
    with TENSORFLOW.why.first_call() as compiled:
        run()
    return compiled()


def in_numbers(program):
    return program.recorded, program.steps, program.contractions, program.fused


@pytest.mark.parametrize("options", [{}, {"jit_compile": True}], ids=["Grappler", "XLA"])
def test_a_first_call_has_the_graph_that_explain_shows(monkeypatch, options):
    """Layers may be hidden in a lambda: the trace has them."""
    monkeypatch.setattr(why, "_LONGEST_XLA_SECONDS", 60.0)  # also on a busy machine
    net, x = tensorflow_model()
    net(x)
    fast = tf.function(lambda x: net(x, training=False), **options)
    found = first_call(lambda: fast(x))
    assert (found.graph_count, found.compilations, found.fallbacks) == (1, 1, ())
    assert in_numbers(found.program) == in_numbers(explain(fast, x).program)
    assert found.program.contractions == 2
    assert fast.experimental_get_tracing_count() == 1
    assert first_call(lambda: fast(x)) is None
    assert first_call(lambda: net(x)) is None


def test_each_of_several_traces_has_the_graph_that_grappler_made_of_it():
    product, chain = tf.function(lambda x: x @ x), tf.function(lambda x: tf.sin(x * 2) + 1)
    x = tf.ones((3, 3))

    def run():
        for _turn in range(2):
            product(chain(x))

    found = first_call(run)
    assert (found.graph_count, found.compilations) == (2, 2)
    assert TENSORFLOW.why.watched_call(run).programs == 4
    kinds = [{node.operation for node in one.stages[-1].operations} for one in found.graphs()]
    assert ["Sin" in of_one for of_one in kinds] == [True, False]
    assert ["MatMul" in of_one for of_one in kinds] == [False, True]


def test_of_a_trace_that_ran_before_the_steps_are_unknown():
    old, new = tf.function(lambda x: tf.cos(x) * 3), tf.function(lambda x: tf.sin(x) + 1)
    old(X)
    found = first_call(lambda: new(old(X)))
    assert found.graph_count == 2
    assert found.program is None
    assert [len(one.stages) for one in found.graphs()] == [1, 2]


def test_graphs_are_made_without_running_the_model():
    calls, total = count(), tf.Variable(0.0)

    @tf.function
    def step(x):
        next(calls)
        return total.assign_add(tf.reduce_sum(x))

    found = first_call(lambda: step(X))
    assert found.program.steps
    assert (total.numpy(), next(calls)) == (6.0, 1)


def test_a_trace_that_is_not_called_is_nothing_that_runs():
    assert first_call(lambda: tf.function(lambda x: x * 2).get_concrete_function(X)) is None
    assert first_call(lambda: tf.data.Dataset.range(3).map(lambda x: x * 2)) is None


@pytest.mark.parametrize("name", ["tf.function XLA", "concrete function XLA"])
def test_to_build_a_variant_is_no_call_of_it(name):
    net, x = tensorflow_model()
    net(x)
    way = variants(net, x, all=True)[name]
    before = TENSORFLOW.compiler.programs_compiled()
    assert first_call(lambda: way(x)).graph_count == 1
    assert TENSORFLOW.compiler.programs_compiled() == before + 1


def test_a_trace_of_another_thread_is_not_of_this_call():
    def run():
        thread = Thread(target=lambda: tf.function(lambda x: x * 2)(X))
        thread.start()
        thread.join()

    assert first_call(run) is None


def test_code_that_is_left_to_python_is_found():
    fast = tf.function(lambda x: tf.numpy_function(np.sin, [x], tf.float32) * 2)
    (fallback,) = first_call(lambda: fast(X)).fallbacks
    assert (fallback.reason, fallback.file) == ("PyFunc", __file__)


def test_loops_are_told_from_other_steps():
    lstm, x = tf.keras.layers.LSTM(4), tf.ones((2, 5, 3))
    lstm(x)
    program = first_call(lambda: tf.function(lambda x: lstm(x))(x)).program
    assert program.recorded > 0
    assert program.control_flow > 0


def test_what_xla_compiles_for_long_is_not_compiled_once_more(monkeypatch):
    monkeypatch.setattr(why, "_LONGEST_XLA_SECONDS", 0.0)
    found = first_call(lambda: by_xla(lambda x: x * 2)(X))
    assert (found.graph_count, found.program) == (1, None)
    assert len(found.graphs()[0].stages) == 1


def test_below_a_signature_the_steps_of_xla_are_those_for_the_shape_of_the_call(monkeypatch):
    monkeypatch.setattr(why, "_LONGEST_XLA_SECONDS", 60.0)
    signature = [tf.TensorSpec([None])]
    doubled = tf.function(lambda x: x * 2, input_signature=signature, jit_compile=True)
    found = first_call(lambda: doubled(tf.ones(3)))
    assert (found.graph_count, found.program.steps) == (1, 1)


def test_watching_a_call_that_compiles_nothing_takes_no_millisecond():
    times = []
    for _turn in range(9):
        start = perf_counter()
        first_call(lambda: 3)
        times.append(perf_counter() - start)
    assert median(times) < 1e-3


def test_in_a_fresh_process_a_first_call_says_the_same():
    """TensorFlow isn't started yet, and the arguments are no tensors."""
    code = """
import numpy as np, tensorflow as tf
from d2lhybrid.backends import get
fast = tf.function(lambda x: tf.sin(x) * 2)
with get("tensorflow").why.first_call() as compiled:
    fast(np.ones(3, "float32"))
print(compiled().graph_count)
"""
    assert python("-c", code).stdout.split() == ["1"]


# Whether compiled code runs, and what comes before it


@pytest.fixture
def run_eagerly():
    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)


@pytest.fixture
def doubled():
    return tf.function(lambda x: x * 2)


def test_a_trace_that_is_called_is_compiled_code(doubled):
    assert TENSORFLOW.why.watched_call(lambda: doubled(X)).programs
    assert TENSORFLOW.why.watched_call(lambda: doubled(X)).programs
    assert TENSORFLOW.why.watched_call(lambda: doubled.get_concrete_function(X)(X)).programs
    net, x = tensorflow_model()
    assert not TENSORFLOW.why.watched_call(lambda: net(x)).programs
    assert TENSORFLOW.why.watched_call(lambda: net.predict(x, verbose=0)).programs


def test_functions_that_run_eagerly_are_not_compiled(doubled, run_eagerly):
    assert not TENSORFLOW.why.watched_call(lambda: doubled(X)).programs
    said = TENSORFLOW.why.why_not_compiled(lambda x: doubled(x))
    assert "tf.config.run_functions_eagerly(True)" in said
    assert TENSORFLOW.why.why_not_compiled(lambda x: x * 2) == ""


def test_what_is_compiled_and_never_called_is_named():
    @tf.function
    def step(x):
        return x * 2

    def run(x):
        return step(x) if x is None else x * 2

    assert not TENSORFLOW.why.watched_call(lambda: run(X)).programs
    assert TENSORFLOW.why.why_not_compiled(run).endswith("what is compiled: step.")
    assert TENSORFLOW.why.why_not_compiled(lambda x: x * 2) == ""


def test_a_model_that_keras_has_compiled_runs_as_it_is_when_it_is_called():
    net, x = tensorflow_model()
    assert TENSORFLOW.why.why_not_compiled(net) == ""
    net.compile(loss="mse")
    assert not TENSORFLOW.why.watched_call(lambda: net(x)).programs
    assert "fit, evaluate and predict" in TENSORFLOW.why.why_not_compiled(net)


def seconds_of(run):
    times = []
    for _turn in range(20):
        start = perf_counter()
        run()
        times.append(perf_counter() - start)
    return median(times)


def before(function, *tensors):
    def run():
        return function(*tensors)

    run()
    return TENSORFLOW.why.seconds_before(run), seconds_of(run)


def test_what_comes_before_compiled_code_does_not_grow_with_its_work(doubled):
    of_large, large = before(doubled, tf.ones((2048, 2048)))
    assert 0 < of_large < large / 2


def test_python_before_the_first_trace_counts_and_python_after_it_does_not(doubled):
    def run(x):
        sleep(0.02)
        result = doubled(x)
        sleep(0.03)
        return doubled(result)

    of_call, _whole = before(run, X)
    assert 0.02 < of_call < 0.035


def test_converting_an_array_comes_before_compiled_code():
    first = tf.function(lambda x: x[0, 0] + 1)
    array = np.ones((2048, 2048), np.float32)
    of_array, _whole = before(first, array)
    of_tensor, _whole = before(first, tf.constant(array))
    assert of_tensor < of_array / 2


def test_a_call_without_compiled_code_has_nothing_before_it(doubled):
    assert TENSORFLOW.why.seconds_before(lambda: X * 2) is None


@pytest.mark.parametrize("options", [{}, {"jit_compile": True}], ids=["graph", "XLA"])
@pytest.mark.parametrize("as_trace", [False, True], ids=["function", "trace"])
def test_entering_is_timed_with_a_trace_that_is_compiled_as_the_users(
    monkeypatch, options, as_trace
):
    net, x = tensorflow_model()
    function = tf.function(net, **options)
    function = function.get_concrete_function(x) if as_trace else function
    function(x)
    before, asked = TENSORFLOW.compiler.programs_compiled(), []
    is_by_xla = private.is_by_xla
    monkeypatch.setattr(private, "is_by_xla", lambda one: asked.append(is_by_xla(one)) or asked[-1])
    assert TENSORFLOW.why.seconds_before(lambda: function(x)) > 0
    assert asked == [bool(options)]
    assert TENSORFLOW.compiler.programs_compiled() == before + 1


NO_NUMBERS = {
    "flags": tf.ones((2, 3), tf.bool),
    "text": tf.constant("abc"),
    "nothing in it": tf.ones((0, 3)),
}


@pytest.mark.parametrize("first", NO_NUMBERS.values(), ids=NO_NUMBERS)
def test_entering_is_timed_whatever_the_first_tensor_is(first):
    function = tf.function(lambda first, x: (tf.size(first), x * 2))
    function(first, X)
    assert TENSORFLOW.why.seconds_before(lambda: function(first, X)) > 0


def dispatched(run):
    """How many operations TensorFlow starts in a call, as it tells its debuggers."""
    from tensorflow.python.framework.op_callbacks import add_op_callback, remove_op_callback

    started = []

    def note(op_type, *_rest, **_more):
        started.append(op_type)

    add_op_callback(note)
    try:
        run()
    finally:
        remove_op_callback(note)
    return len(started)


def attention(x):
    return tf.nn.softmax(x @ tf.transpose(x), axis=-1) @ x


def sliced(x):
    return tf.reshape(x[:, 1:], [-1, 1]) + tf.cast(tf.shape(x)[0], tf.float32)


def gradient(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = tf.reduce_mean(tf.square(tf.nn.relu(x @ tf.transpose(x)) - 1))
    return tape.gradient(loss, x)


def layers(*made):
    net = tf.keras.Sequential(made)
    net(X)
    return net


@pytest.mark.parametrize(
    "function",
    [
        attention,
        sliced,
        gradient,
        layers(tf.keras.layers.Dense(4, "relu"), tf.keras.layers.Dense(2)),
        layers(tf.keras.layers.LayerNormalization(), tf.keras.layers.BatchNormalization()),
        layers(tf.keras.layers.Reshape((3, 1)), tf.keras.layers.LSTM(2)),
        layers(tf.keras.layers.Dropout(0.5), tf.keras.layers.Softmax()),
    ],
    ids=["attention", "slices", "gradient", "dense", "norms", "loop", "softmax"],
)
@pytest.mark.parametrize("shape", [None, [None, 3]], ids=["static", "dynamic"])
def test_eager_operations_are_no_more_than_tensorflow_starts(function, shape):
    signature = None if shape is None else [tf.TensorSpec(shape)]
    compiled = tf.function(lambda x: function(x), input_signature=signature)
    said = TENSORFLOW.why.eager_operations(first_call(lambda: compiled(X)))
    assert 0 < said <= dispatched(lambda: function(X))
