"""Where a framework renames what it never promised, explain and graph show less, and say so."""

from functools import reduce
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
# The module that is to lose the name, or "" where the framework itself could not do without: then
# the room's private.py alone does not see it. A True: explain or graph has to say that it is gone.
NAMES = {
    "torch": [
        ("torch._dynamo.output_graph", "graph_break_reasons", True),
        ("torch._dynamo.utils", "get_compilation_metrics", True),
        ("torch._dynamo.eval_frame", "_debug_get_cache_entry_list", True),
        ("torch._inductor.config", "_post_fusion_custom_pass", True),
        ("torch._inductor.ir", "ExternKernel", True),
    ],
    "tensorflow": [
        ("tensorflow.python.eager.context", "enable_graph_collection", True),
        ("tensorflow.python.eager.context", "disable_graph_collection", True),
        ("tensorflow.python.eager.context", "export_run_metadata", True),
        ("", "context", False),
        ("", "_initialized", False),
        ("", "_clone", True),
        ("", "_jit_compile", True),
        ("", "ag_error_metadata", False),
        ("", "translated_stack", False),
    ],
    "jax": [
        ("", "trace_state_clean", False),
        ("", "backends_are_initialized", False),
        ("", "runtime_tokens", False),
        ("", "current_tokens", False),
        ("", "jitted_fn", False),
        ("", "_cache_size", True),
        ("", "DynamicJaxprTracer", True),
        ("", "parent", False),
        ("", "in_tracers", False),
        ("", "_line_info", False),
        ("", "traceback", False),
        ("", "debug_info", False),
        ("", "arg_names", False),
    ],
}
ROWS = [(room, *row) for room, rows in NAMES.items() for row in rows]


def take_away(monkeypatch, room, module, name):
    if module:
        *owners, name = name.split(".")
        owner = reduce(getattr, owners, import_module(module))
        monkeypatch.delattr(owner, name)
        return
    private = import_module(f"d2lhybrid.frameworks.{room}.private")

    def seen(owner, asked, *default):
        return getattr(owner, *((asked, *default) if asked != name else ("", *default)))

    monkeypatch.setattr(private, "getattr", seen, raising=False)


@pytest.mark.parametrize(("room", "module", "name", "noted"), ROWS)
def test_nothing_raises_and_what_is_not_shown_is_said(monkeypatch, room, module, name, noted):
    function, x = CALLS[room]()
    kept = []

    def refused(x):
        kept.append(x * 2)  # a leak
        return x * numpy.asarray(x)

    function(x)
    take_away(monkeypatch, room, module, name)
    explanation, picture = explain(function, x), graph(function, x)
    assert (explanation.graphs, explanation.unsupported) == (1, ())
    assert len(picture.fates) >= 2
    assert any("known" in note for note in explanation.notes + picture.notes) == noted
    assert explain(refused, x).graphs == int(room == "torch")  # which knows NumPy
    explain(lambda x: kept.append(x * 2) or x, x)
    synchronize()
