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
CONTEXT = "tensorflow.python.eager.context"
NOTED = [
    ("torch", "torch._dynamo.output_graph", "graph_break_reasons"),
    ("torch", "torch._dynamo.utils", "get_compilation_metrics"),
    ("torch", "torch._dynamo.eval_frame", "_debug_get_cache_entry_list"),
    ("torch", "torch._inductor.config", "_post_fusion_custom_pass"),
    ("torch", "torch._inductor.ir", "ExternKernel"),
    ("tensorflow", CONTEXT, "enable_graph_collection"),
    ("tensorflow", CONTEXT, "disable_graph_collection"),
    ("tensorflow", CONTEXT, "export_run_metadata"),
]
# Without these, the frameworks themselves could not do: the room's private.py alone does not see
# them. What they tell is dispensable, so it is not noted.
UNSEEN = {
    "tensorflow": ("ag_error_metadata", "translated_stack", "_flatten_layers", "autograph"),
    "jax": (
        *("trace_state_clean", "backends_are_initialized", "runtime_tokens", "current_tokens"),
        *("output_runtime_tokens", "jitted_fn", "traceback", "frames", "debug_info", "arg_names"),
        "_jit_info",
    ),
}


@pytest.mark.parametrize(("room", "module", "name"), NOTED)
def test_what_is_not_shown_is_said(monkeypatch, room, module, name):
    function, x = CALLS[room]()
    function(x)
    monkeypatch.delattr(import_module(module), name)
    explanation, picture = explain(function, x), graph(function, x)
    assert (explanation.graphs, explanation.unsupported) == (1, ())
    assert len(picture.fates) >= 2
    assert any("known" in note for note in (*explanation.notes, *picture.notes))


@pytest.mark.parametrize(("room", "name"), [(r, name) for r in UNSEEN for name in UNSEEN[r]])
def test_nothing_raises_without_what_is_dispensable(monkeypatch, room, name):
    function, x = CALLS[room]()
    private = import_module(f"d2lhybrid.frameworks.{room}.private")

    def seen(owner, asked, *default):
        return getattr(owner, *((asked, *default) if asked != name else ("", *default)))

    monkeypatch.setattr(private, "getattr", seen, raising=False)
    synchronize()
    assert explain(function, x).graphs == 1
    assert len(graph(function, x).fates) >= 2
    assert explain(lambda x: x * numpy.asarray(x), x).unsupported  # at its line, or without one
