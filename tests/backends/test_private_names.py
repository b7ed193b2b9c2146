"""Where a framework renames what it never promised, explain and graph show less, and say so."""

import sys
from importlib import import_module
from types import SimpleNamespace

import numpy
import pytest
from models import MODELS, compiled_model
from processes import python

from d2lhybrid import explain, graph, synchronize, variants
from d2lhybrid.backends import get

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


GONE = """
import sys, jax
sys.modules["jax._src.pjit"] = None
del jax._src.pjit
from d2lhybrid import synchronize
from d2lhybrid.errors import TracingError
try:
    jax.jit(lambda x: synchronize() or x)(1)
except TracingError:
    print("seen")
"""


def test_without_one_module_of_jax_the_others_are_used():
    assert python("-c", GONE).stdout == "seen\n"


def test_a_program_is_heard_of_whose_jaxpr_jax_calls_otherwise(monkeypatch):
    (function, x), why = compiled_model("jax"), get("jax").why
    private = import_module("d2lhybrid.backends.jax.private")
    caller = SimpleNamespace(f_code=SimpleNamespace(co_name="_pjit_call_impl"), f_locals={})
    frames = SimpleNamespace(_getframe=lambda _depth: caller, modules=sys.modules)
    monkeypatch.setattr(private, "sys", frames)
    assert why.watched_call(lambda: function(x)).programs == 1


def test_the_limit_is_known_where_programs_are_not_kept_apart(monkeypatch):
    """As in PyTorch before ``isolate_recompiles``, whose functions lack the number for it."""
    torch, dynamo = import_module("torch"), import_module("d2lhybrid.backends.torch.dynamo")
    torch.compiler.reset()
    limit = torch._dynamo.config.recompile_limit
    function = torch.compile(lambda x, n: x * len(n), backend="eager")
    for number in range(limit + 1):
        function(torch.ones(2), "x" * number)
    vars(function).pop("_isolate_recompiles_id", None)
    monkeypatch.setattr(dynamo, "APART", {})
    assert f"The limit of {limit} " in get("torch").why.why_not_compiled(function)


def test_why_nothing_was_compiled_is_said_without_pytorchs_records(monkeypatch):
    torch = import_module("torch")
    utils = import_module("torch._dynamo.utils")
    monkeypatch.setattr(utils, "get_compilation_metrics", list)
    monkeypatch.delattr(utils, "_compilation_metrics")
    explanation = explain(lambda x: 1, torch.ones(2))
    assert explanation.graph_count == 0
    assert "no _compilation_metrics, so this report is incomplete" in " ".join(explanation.notes)
