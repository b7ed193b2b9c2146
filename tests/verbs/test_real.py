"""On real frameworks, with bounds that hold on a busy machine, too."""

import statistics
import time
from dataclasses import dataclass
from typing import Any

import pytest

from d2lhybrid.artifacts.load import load
from d2lhybrid.artifacts.save import save
from d2lhybrid.core.arguments import call
from d2lhybrid.errors import ArgumentError
from d2lhybrid.verbs.compare import compare
from d2lhybrid.verbs.measure import measure
from d2lhybrid.verbs.sweep import sweep
from d2lhybrid.verbs.variants import variants


def test_a_call_of_jax_is_waited_for_as_its_users_wait():
    jax = pytest.importorskip("jax")
    x = jax.numpy.ones(3)
    run = jax.jit(lambda x: x + 1)
    alive = [x + index for index in range(2000)]  # arrays that nobody waits for
    m = measure(run, x, time_limit=1)
    times = []
    for _turn in range(300):
        start = time.perf_counter()
        run(x).block_until_ready()
        times.append(time.perf_counter() - start)
    assert len(alive) == 2000
    assert m.median < 20 * statistics.median(times)  # 290 times where all of them are waited for


def test_programs_that_jax_compiles_are_counted():
    jax = pytest.importorskip("jax")
    x = jax.numpy.ones(3)

    def made_anew(x):
        return jax.jit(lambda x: x + 1)(x)

    ways = {"kept": jax.jit(lambda x: x + 1), "anew": made_anew}
    c = compare(ways, x, time_limit=0.3, why=False, progress=False)
    assert c["kept"].later_compilations == 0
    assert c["anew"].later_compilations == c["anew"].later_calls > 0
    assert c["kept"].first_compilations == c["anew"].first_compilations == 1


def test_work_that_jax_does_besides_the_output_counts():
    jax = pytest.importorskip("jax")
    x = jax.numpy.ones((600, 600))
    work, kept = jax.jit(lambda x: x @ x @ x), {}

    def with_more_to_come(x):
        output = work(x)
        kept["more"] = [work(x) for _turn in range(5)]
        return output

    c = compare({"alone": work, "more": with_more_to_come}, x, check=False, time_limit=1)
    assert c.ratio("more")[0] < 0.5


def test_a_way_knows_where_it_comes_from():
    torch = pytest.importorskip("torch")
    net, x = torch.nn.Linear(3, 2), torch.ones(1, 3)
    ways = variants(net, x)
    for name, way in (ways | ways.copy()).items():
        assert (way.name, way.model, way.code) == (name, net, ways.code[name])
        assert way.origin is ways["eager"].origin
    assert (ways["torchscript"].role, ways["torch.compile"].role) == ("deprecated", "way")
    assert measure(ways["eager"], x, time_limit=0.01).label == "eager"


def test_an_argument_with_the_name_of_an_option_goes_into_call_or_by_place(
    tmp_path,
):
    torch = pytest.importorskip("torch")

    def scaled(x, all=1.0, format=1.0):
        return x * all * format

    x, path = torch.ones(2), tmp_path / "artifact"
    ways = variants(call(scaled, x, all=3), all=True)
    assert ways["eager"](x, all=3).tolist() == [3, 3]
    assert variants(scaled, x, 3, all=True)["eager"](x, 3).tolist() == [3, 3]
    save(scaled, path, x, 2, 3, format="torch.export")
    assert load(path)(x, 2, 3).tolist() == [6, 6]
    save(call(scaled, x, format=3), path, format="torch.export")
    assert load(path)(x, format=3).tolist() == [3, 3]


def test_a_method_and_an_object_that_holds_tensors_may_make_what_is_compared():
    torch = pytest.importorskip("torch")

    class Task(torch.nn.Module):
        def forward(self, x):
            return x + 1

        def at(self, size):
            return {"a": self}, torch.ones(size)

    @dataclass
    class Sized:
        data: Any

        def __call__(self, size):
            return {"a": len}, self.data[:size]

    task, options = Task(), {"time_limit": 0.01, "progress": False}
    for make in (task.at, Sized(torch.ones(8))):
        assert sweep(make, [1, 2], **options).sizes == (1, 2)
    for make in (task, task.forward):
        with pytest.raises(ArgumentError, match="function of the size"):
            sweep(make, [1, 2], **options)


def mlp_of_torch(torch):
    torch.manual_seed(0)
    layers = [torch.nn.Linear(20, 64), torch.nn.ReLU(), torch.nn.Linear(64, 64), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers, torch.nn.Linear(64, 10)).eval(), torch.rand(1, 20)


def test_what_a_network_of_torch_is_compiled_to_is_said_in_a_line():
    torch = pytest.importorskip("torch")
    net, x = mlp_of_torch(torch)
    ways = variants(net, x).only("eager", "torch.compile")
    c = compare(ways, time_limit=2, why=False).asked()
    facts = c.facts["torch.compile"]
    assert (facts.runs_compiled, facts.graphs) == (True, 1)
    assert facts.is_cut_short or (facts.program.recorded, facts.program.contractions) == (5, 3)
    assert str(c.why("torch.compile")).startswith("torch.compile: compiled once, whole; ")
    if c.verdict("torch.compile") in ("slower", "same"):
        assert c.why("torch.compile").cause in ("entering", "unknown")


def test_a_graph_break_of_torch_is_named_with_its_line():
    torch = pytest.importorskip("torch")
    net, x = mlp_of_torch(torch)

    def with_a_break(x):
        h = net(x)
        return h * h.sum().item()

    functions = {"eager": with_a_break, "compiled": torch.compile(with_a_break)}
    with torch.no_grad():
        c = compare(functions, x, time_limit=1, why=False).asked()
    assert c.facts["compiled"].breaks
    assert "1 graph break" in str(c.why("compiled"))
    if c.verdict("compiled") != "faster":
        assert c.why("compiled").cause == "graph_break"
        assert "test_real.py, line" in str(c.why("compiled"))


def test_a_network_of_jax_is_faster_for_what_it_leaves_out():
    jax = pytest.importorskip("jax")
    weights = [jax.numpy.ones(shape) / 8 for shape in ((20, 64), (64, 64), (64, 10))]

    def mlp(x):
        for weight in weights:
            x = jax.nn.relu(x @ weight)
        return x

    x = jax.numpy.ones((1, 20))
    c = compare(variants(mlp, x).only("eager", "jit"), time_limit=2)
    assert c.facts["jit"].program.contractions == 3
    if c.verdict("jit") == "faster":
        assert c.why("jit").cause in ("faster_python", "unknown")
    assert str(c.why("jit")) in str(c)


def test_a_jit_made_inside_the_function_compiles_again_and_again():
    jax = pytest.importorskip("jax")

    def eager(x):
        return jax.numpy.tanh(x) + 1

    def inside(x):
        return jax.jit(lambda x: jax.numpy.tanh(x) + 1)(x)

    c = compare({"eager": eager, "inside": inside}, jax.numpy.ones(8), time_limit=2)
    assert c.why("inside").cause == "recompiled"
    assert "inside compiles again and again" in str(c)


def test_what_the_first_process_compiles_the_next_finds_and_the_cold_start_is_the_first_ones():
    torch = pytest.importorskip("torch")
    x = torch.ones(1000)
    ways = variants(doubled, x).only("eager", "torch.compile")
    c = compare(ways, processes=2, threads=1, time_limit=0.2, why=False, progress=False)
    first, second = (process["torch.compile"] for process in c.processes[:2])
    assert (first.disk_cache_hit, second.disk_cache_hit) == (False, True)
    assert c["torch.compile"].first_seconds == first.first_seconds
    assert not c["torch.compile"].disk_cache_hit


def test_what_no_process_was_asked_after_its_rounds_one_more_is_asked():
    jax = pytest.importorskip("jax")
    ways = variants(doubled, jax.numpy.ones(8)).only("eager", "jit")
    c = compare(ways, processes=1, time_limit=0.2, why=False, progress=False)
    assert not c.processes[0].facts
    assert "jit" in [reason.label for reason in c.why()]


def doubled(x):
    return 2 * x


def test_our_own_wait_is_no_part_of_what_a_jax_call_runs():
    jnp = pytest.importorskip("jax.numpy")
    c = compare(lambda x: jnp.tanh(x * 2) + jnp.exp(x), jnp.ones((64, 64)), time_limit=0.3)
    assert [c.facts[label].in_python for label in ("jit", "compiled ahead")] == [(), ()]


def test_a_model_goes_to_a_process_of_one_thread_with_ways_that_cannot_be_built_here():
    torch = pytest.importorskip("torch")
    net = torch.nn.Linear(4, 2).eval()
    ways = variants(net, torch.ones(1, 4))
    few = ways.only("eager", *ways.unavailable)  # without a GPU, one that needs CUDA graphs
    c = compare(few, time_limit=0.2, threads=1, why=False, progress=False)
    assert (list(c), {*c.unavailable}) == ([*few], {*ways.unavailable})
