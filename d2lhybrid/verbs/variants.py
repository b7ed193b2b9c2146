"""Every way in which a model's framework can run it, by name."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from d2lhybrid.backends.failures import wrap_call_errors
from d2lhybrid.backends.owners import framework_of
from d2lhybrid.backends.variant import DeferredBuild, Origin, VariantsByName
from d2lhybrid.backends.verb import verb
from d2lhybrid.core.arguments import Call, Function, Kwargs
from d2lhybrid.core.errors import ArgumentError
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.core.usage import not_a_model
from d2lhybrid.core.wording import kind_of, name_of
from d2lhybrid.verbs.ways import Variants, with_origin


def _misused(given: Mapping[str, Any]) -> str:
    return not_a_model(given["net"])


@verb("variants(net, x)", check=_misused)
def variants(
    net: Callable[..., Any] | Call,
    /,
    *args: Any,
    all: bool = False,
    compiler_options: Mapping[str, Any] = {},
) -> Variants:
    """Every way in which the framework of `net` runs ``net(*args)``, eager first.

    Compiled variants are built at their first call, so ``compare`` sees what building costs. The
    model is called once now; otherwise its first eager call would include what the process does
    only once, such as loading kernels and giving layers their shapes.

    Your model stays as it was, even when ``compare`` and other functions run it: its mode,
    parameters, averages, attributes and hybridization, and the random state, except that of MXNet
    and ``tf.random``. So does any object that you can call, but weights that a first call creates
    stay. A function that changes something when you call it, such as a training step, still changes
    it; use ``training`` for that. "eager" is eager even if `net` was compiled. All run without
    gradients, except PyTorch's "eager, with gradients" (`all`). Other runtimes are included:
    "onnxruntime" for PyTorch and "litert" for TensorFlow, which run on the CPU. ``.unavailable``
    gives the reason for each that cannot be built on this machine, ``.deprecated`` names the ways
    that their makers have deprecated, ``.other_runtimes`` the other runtimes, and ``.code`` shows
    how to write each by hand.

    JAX compiles flags and texts into the program, as static arguments. It traces a Python integer,
    as ``jax.jit`` does, unless the code needs its value, such as in ``range(n)``: then integers
    (and shapes, tuples of them) are static, too. ``explain`` and ``graph`` do the same; ``save``
    makes every number part of the program.

    Args:
        net: a model, a function of tensors, or ``call(net, ...)``, which also takes keyword
            arguments of the model.
        args: the arguments of the model.
        all: add the ways for experts: "torch.compile max-autotune" and "eager, with gradients" of
            PyTorch, and "hybridized MKLDNN" of MXNet.
        compiler_options: options of the framework's compiler, by name: `dynamic`, `backend` and
            `mode` of ``torch.compile``, `backend` of MXNet's ``hybridize``.

    Returns:
        Variants, a mapping from name to callable that ``compare`` takes; ``.only(...)`` chooses.
        It holds the arguments, so ``compare(ways)`` needs none.

    Raises:
        UnknownFrameworkError: neither `net` nor an argument belongs to a known framework.
        ArgumentError: `net` is no model or function, but, say, its class or its output; or there is
            no such option.
        CallFailedError: ``net(*args)`` raised.
        CannotBuildError: the model cannot be copied.

    >>> import torch
    >>> net, x = torch.nn.Linear(3, 2), torch.ones(1, 3)
    >>> list(variants(net, x).only("eager", "torchscript"))
    ['eager', 'torchscript']
    >>> print(variants(net, x).code["eager"])
    with torch.no_grad():
        y = net(x)

    For a different precision or memory layout, add your own callable. It converts its input and its
    output; set ``check`` to a tolerance that fits its precision. Run it without gradients, like the
    others:

    >>> from copy import deepcopy
    >>> from d2lhybrid import compare
    >>> _ = torch.manual_seed(0)
    >>> net, x = torch.nn.Conv2d(3, 8, 3).eval(), torch.rand(1, 3, 32, 32)
    >>> half = deepcopy(net).to(torch.bfloat16)
    >>> last = deepcopy(net).to(memory_format=torch.channels_last)
    >>> @torch.no_grad()
    ... def bfloat16(x):
    ...     return half(x.to(torch.bfloat16)).float()
    >>> @torch.no_grad()
    ... def autocast(x):
    ...     with torch.autocast(x.device.type, torch.bfloat16):
    ...         return net(x).float()
    >>> @torch.no_grad()
    ... def channels_last(x):
    ...     return last(x.to(memory_format=torch.channels_last))
    >>> ways = variants(net, x).only("eager")
    >>> ways |= {"bfloat16": bfloat16, "autocast": autocast, "channels last": channels_last}
    >>> list(compare(ways, check=0.2, time_limit=0.5, progress=False))
    ['eager', 'bfloat16', 'autocast', 'channels last']
    >>> list(compare(ways, time_limit=0.5, progress=False))  # as exact as float32 can be
    ['eager', 'channels last']
    """
    called = Call.of(net, args)
    model, kwargs = called.function, called.kwargs
    if not isinstance(compiler_options, Mapping):
        text = _("Expected a dict of compiler options, such as {example}. Received: {kind}.")
        example = '{"mode": "max-autotune"}'
        raise ArgumentError(text.format(example=example, kind=kind_of(compiler_options)))
    options: Kwargs = {**compiler_options}
    framework = framework_of(model, *called.args, *kwargs.values())
    with wrap_call_errors(name_of(model), called.args, kwargs):
        by_name = framework.variants.variants(model, called.args, kwargs, all, options)
        ready = next(_ready(by_name), model)  # "eager", unless even that is built first
        ready(*called.args, **kwargs)
        framework.device.synchronize()  # errors of the work come late
    given = {"all": all, "compiler_options": options}
    ways = with_origin(by_name, model, Origin(variants, (called,), given))
    return Variants(ways, called.args, kwargs)


def _ready(by_name: VariantsByName) -> Iterator[Function]:
    """Those that run without being built first."""
    for variant in by_name.values():
        if not isinstance(variant.run, str | DeferredBuild):
            yield variant.run
