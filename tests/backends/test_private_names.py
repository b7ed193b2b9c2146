"""Where a framework renames what it never promised, explain and graph show less, and say so."""

from importlib import import_module

import numpy
import pytest
from models import MODELS, compiled_model

from d2lhybrid import explain, graph, synchronize, variants

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


@pytest.mark.parametrize(("room", "module", "name"), NOTED)
def test_what_is_not_shown_is_said(monkeypatch, room, module, name):
    function, x = compiled_model(room)
    monkeypatch.delattr(import_module(module), name)
    explanation, picture = explain(function, x), graph(function, x)
    assert (explanation.graph_count, explanation.unsupported) == (1, ())
    assert len(picture.fates) >= 2
    said = " ".join((*explanation.notes, *picture.notes))
    assert "this report is incomplete" in said or "This report lacks" in said


def test_nothing_raises_without_what_is_dispensable_in_jax(monkeypatch):
    """Each name is gone for private.py alone: JAX itself could not do without."""
    calls, asked = (compiled_model("jax"), MODELS["jax"]()), [""]

    def seen(owner, name, *default):
        asked.extend({name}.difference(asked))
        return getattr(owner, "" if name == gone else name, *default)

    private = import_module("d2lhybrid.backends.jax.private")
    monkeypatch.setattr(private, "getattr", seen, raising=False)
    for gone in asked:  # which grows meanwhile
        synchronize()
        for function, x in calls:
            assert "eager" in variants(function, x), gone
            assert explain(function, x).graph_count == 1, gone
            assert len(graph(function, x).fates) >= 2, gone
            assert explain(lambda x: x * numpy.asarray(x), x).unsupported, gone
    assert len(asked) > 4


def test_why_nothing_was_compiled_is_said_without_pytorchs_records(monkeypatch):
    torch = import_module("torch")
    utils = import_module("torch._dynamo.utils")
    monkeypatch.setattr(utils, "get_compilation_metrics", list)
    monkeypatch.delattr(utils, "_compilation_metrics")
    explanation = explain(lambda x: 1, torch.ones(2))
    assert explanation.graph_count == 0
    assert "no _compilation_metrics, so this report is incomplete" in " ".join(explanation.notes)
