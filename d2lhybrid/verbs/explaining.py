"""What does the compiler make of this model? The same question for every framework."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from d2lhybrid.backends.owners import framework_of_call, unknown_framework
from d2lhybrid.backends.verb import running, verb
from d2lhybrid.core.arguments import Call
from d2lhybrid.core.errors import ArgumentError
from d2lhybrid.core.i18n import gettext as _, noop as N_
from d2lhybrid.core.progress import show_status
from d2lhybrid.core.usage import not_a_model
from d2lhybrid.graphs.explanation import Explanation, Recording
from d2lhybrid.graphs.graph import Graph

ASKING = N_("asking the compiler")  # said meanwhile


def _misused(given: Mapping[str, Any]) -> str:
    return not_a_model(given["model"])


@verb("explain(net, x)", check=_misused)
def explain(model: Any, /, *args: Any) -> Explanation:
    """Report what the compiler did with ``model`` so far, and what it does with one call of it.

    Like ``graph``, it looks at inference.

    This changes nothing that you have compiled: the call runs programs that are compiled only for
    this report and then discarded. If you have compiled something and not called it yet, your first
    call still compiles it. Whether a later call compiles again, ``compare`` says.

    Args:
        model: a framework's model, a function of its tensors, compiled or not, or
            ``call(model, ...)``, which also takes keyword arguments of the model.
        args: the arguments of the call. The model's code runs, with all its side effects; what was
            compiled before stays as it is.

    Raises:
        UnknownFrameworkError: neither the model nor an input belongs to a known framework.
        ArgumentError: `model` is no model or function, but, say, its class or its variants.
        CallFailedError: the call also fails without a compiler.

    >>> from d2lhybrid import import_mxnet
    >>> mx = import_mxnet()
    >>> net = mx.gluon.nn.Dense(2, prefix="layer_")
    >>> net.initialize()
    >>> net.hybridize()
    >>> explanation = explain(net, mx.nd.ones((1, 3)))
    >>> explanation.graph_count, len(explanation.breaks)
    (1, 0)
    >>> explanation.graphs()[0].fates
    {'layer_fwd': 'kept'}
    """
    explanation = _explained(Call.of(model, args))
    if explanation.recording is None:
        return explanation
    recording = explanation.recording

    def graphs() -> tuple[Graph, ...]:
        with running():  # for what was recorded may run then, and draw random numbers
            return recording.graphs()

    return replace(explanation, recording=Recording(graphs))


@verb("graph(net, x)", check=_misused)
def graph(model: Any, /, *args: Any) -> Graph:
    """The graph that a framework records of one call, before and after the compiler rewrites it.

    The stages: in PyTorch, as TorchDynamo records it, as ATen operations, and as the loops and
    library calls that Inductor turns them into; in TensorFlow, as traced and as Grappler leaves it,
    or, for a function with ``jit_compile=True``, as XLA leaves it; in JAX, the jaxpr and what XLA
    leaves of it; in MXNet, the symbol and the optimized symbol. If a call takes several graphs,
    you get the first one; ``explain(model, x).graphs()`` returns all of them.

    This is the graph of inference, without gradients, as ``variants`` runs the model. For a graph
    of training, pass the function that computes the gradients, such as ``jax.grad(loss)`` or
    ``torch.func.grad(loss)``, or a function with a gradient tape.

    Its ``fates`` say what became of each recorded operation:

    - "kept": it runs as a separate step;
    - "fused": it runs in one step with others (operator fusion);
    - "folded": it depends on no input and was computed in advance (constant folding);
    - "merged": an equal one does its work (common subexpression elimination, CSE);
    - "free": it only arranges elements, and no step runs for it (a view);
    - "dropped": no result depends on it (dead code elimination, DCE);
    - "rewritten": it became something else, or we couldn't follow it.

    A cheap operation may be computed twice, once in each step that needs it.

    Args:
        model, args: as for ``explain``.

    Raises:
        UnknownFrameworkError: neither the model nor an input belongs to a known framework.
        ArgumentError: `model` is no model or function, or the call takes no graph.
        CallFailedError: the call also fails without a compiler.

    >>> from d2lhybrid import import_mxnet
    >>> mx = import_mxnet()
    >>> net = mx.gluon.nn.HybridLambda(lambda F, x: F.sin(x) + F.sin(x))
    >>> picture = graph(net, mx.nd.ones((1, 3)))
    >>> picture.count("merged"), picture.count("kept")
    (1, 2)
    """
    explanation = _explained(Call.of(model, args))
    if not explanation.graph_count or explanation.recording is None:
        text = _(
            "Expected a model that {framework} records as a graph. Received: {model}, which it "
            "doesn't. {explain} shows why."
        )
        names = {"framework": explanation.framework, "model": explanation.model}
        message = text.format(**names, explain="explain(model, ...)")
        refused = [finding.reason for finding in explanation.unsupported]
        raise ArgumentError(" ".join([message, *refused]))
    with show_status(ASKING):
        first, *others = explanation.graphs()
    if others:
        text = _("The first of {number} graphs that this call takes; {all} holds all of them.")
        note = text.format(number=len(others) + 1, all="explain(model, ...).graphs()")
    elif explanation.breaks:
        text = _("This call has a graph break, where Python runs a step; {explain} names its line.")
        note = text.format(explain="explain(model, ...)")
    else:
        return first
    return replace(first, notes=(*first.notes, note))


def _explained(call: Call) -> Explanation:
    """What the framework says whose model is called."""
    framework = framework_of_call(call.function, call.args, call.kwargs)
    if framework is None:
        raise unknown_framework(call.function, *call.args, *call.kwargs.values())
    with show_status(ASKING):
        return framework.explain.explain(call.function, call.args, call.kwargs)
