"""Where a framework renames what it never promised, explain and graph show less, and say so."""

from importlib import import_module

import numpy
import pytest

from d2lhybrid import explain, graph, synchronize


def tensorflow_call():
    import tensorflow as tf

    return tf.function(lambda x: tf.tanh(x) + 1), tf.ones(3)


def jax_call():
    import jax

    return jax.jit(lambda x: jax.numpy.tanh(x) + 1), jax.numpy.ones(3)


def torch_call():
    import torch

    return torch.compile(lambda x: torch.tanh(x) + 1, backend="eager"), torch.ones(3)


CALLS = {"torch": torch_call, "tensorflow": tensorflow_call, "jax": jax_call}
# Names with their module, which loses them; or without, where the framework itself could not do
# without them: then the room's private.py alone does not see them.
NOTED = {
    "torch": (
        "torch._dynamo.output_graph.graph_break_reasons",
        "torch._dynamo.utils.get_compilation_metrics",
        "torch._dynamo.eval_frame._debug_get_cache_entry_list",
        "torch._inductor.config._post_fusion_custom_pass",
        "torch._inductor.ir.ExternKernel",
    ),
    "tensorflow": (
        *("_clone", "_jit_compile", "tensorflow.python.eager.context.enable_graph_collection"),
        "tensorflow.python.eager.context.disable_graph_collection",
        "tensorflow.python.eager.context.export_run_metadata",
    ),
    "jax": ("_cache_size", "DynamicJaxprTracer"),
}
NOT_NOTED = {  # for they are asked at other times, or what they tell is dispensable
    "tensorflow": ("context", "_initialized", "ag_error_metadata", "translated_stack"),
    "jax": (
        *("trace_state_clean", "backends_are_initialized", "runtime_tokens", "current_tokens"),
        *("jitted_fn", "parent", "in_tracers", "_line_info", "traceback", "debug_info"),
        "arg_names",
    ),
}
ROWS = [
    (room, name, table is NOTED)
    for table in (NOTED, NOT_NOTED)
    for room, names in table.items()
    for name in names
]


def take_away(monkeypatch, room, name):
    module, _dot, name = name.rpartition(".")
    if module:
        monkeypatch.delattr(import_module(module), name)
        return
    private = import_module(f"d2lhybrid.frameworks.{room}.private")

    def seen(owner, asked, *default):
        return getattr(owner, *((asked, *default) if asked != name else ("", *default)))

    monkeypatch.setattr(private, "getattr", seen, raising=False)


@pytest.mark.parametrize(("room", "name", "noted"), ROWS)
def test_nothing_raises_and_what_is_not_shown_is_said(monkeypatch, room, name, noted):
    function, x = CALLS[room]()
    kept = []

    def refused(x):
        kept.append(x * 2)  # a leak
        return x * numpy.asarray(x)

    function(x)
    take_away(monkeypatch, room, name)
    explanation, picture = explain(function, x), graph(function, x)
    assert (explanation.graphs, explanation.unsupported) == (1, ())
    assert len(picture.fates) >= 2
    assert any("known" in note for note in explanation.notes + picture.notes) == noted
    assert explain(refused, x).graphs == int(room == "torch")  # which knows NumPy
    explain(lambda x: kept.append(x * 2) or x, x)
    synchronize()
