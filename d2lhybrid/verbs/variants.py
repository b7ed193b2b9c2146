"""Every way in which a model's framework can run it, by name."""

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from dataclasses import replace
from typing import Any

from d2lhybrid.backends.failures import wrap_call_errors
from d2lhybrid.backends.owners import framework_of
from d2lhybrid.backends.variant import (
    DeferredBuild,
    Origin,
    Role,
    Variant,
    VariantsByName,
    variant_of,
)
from d2lhybrid.backends.verb import verb
from d2lhybrid.core.arguments import Args, Call, Function, Kwargs, name_of, unknown_label
from d2lhybrid.core.errors import ArgumentError
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.core.usage import kind_of, not_a_model, written_as
from d2lhybrid.measuring.row import named


class Code(dict[str, str]):
    """How to write each variant by hand, by name."""

    def __missing__(self, name: Any) -> str:
        raise unknown_label(name, self, {})


def _no_names(given: Mapping[str, Any]) -> str:
    are_names = all(isinstance(name, str) for name in given.get("names", ()))
    return "" if are_names else _("Each name is a separate argument.")


class Variants(MutableMapping[str, Function]):
    """Callables by name, and the arguments that ``compare`` calls each of them with.

    ``unavailable`` says why the others cannot be built here. ``code`` shows how to write each by
    hand, with ``net`` for the model and ``x`` for its arguments. ``references`` names the programs
    to compare with, which aren't ways to run the model, ``deprecated`` the ways that their makers
    have deprecated, and ``other_runtimes`` those that run in a package other than the framework.
    Add your own callables as in any dict, ``ways["mine"] = f`` or ``ways | {"mine": f}``. Of two
    joined ``Variants``, the first one's arguments are those of all. A plain dict, such as
    ``{**ways, "mine": f}``, has neither arguments nor the reasons in ``unavailable``.
    """

    def __init__(
        self, ways: Mapping[str, Function], args: Args = (), kwargs: Mapping[str, Any] = {}
    ) -> None:
        """`ways` are also those that cannot be built; `args` and `kwargs` those of every call."""
        self._ways = {**ways}
        self.args, self.kwargs = args, {**kwargs}

    def __getitem__(self, name: str) -> Function:
        """The callable of that name; raises UnknownLabelError, a KeyError, if there is none."""
        if name not in self:
            raise unknown_label(name, self, self.unavailable)
        return self._ways[name]

    def __setitem__(self, name: str, function: Function) -> None:
        if name not in self:  # a new name comes last, even if it was one that cannot be built
            self._ways.pop(name, None)
        self._ways[name] = function

    def __delitem__(self, name: str) -> None:
        _function = self[name]  # raises if there is none
        del self._ways[name]

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._ways if name in self)

    def __len__(self) -> int:
        return sum(1 for _name in self)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._ways and not _reason(self._ways[name])

    @property
    def unavailable(self) -> dict[str, str]:
        """Why some cannot be built here, by name."""
        reasons = {name: _reason(function) for name, function in self._ways.items()}
        return {name: reason for name, reason in reasons.items() if reason}

    @property
    def code(self) -> Code:
        """How to write each by hand, by name; your own callables are left out."""
        known = {name: variant_of(function) for name, function in self._ways.items()}
        return Code({name: way.code for name, way in known.items() if way and way.code})

    @property
    def references(self) -> tuple[str, ...]:
        """The names of the programs to compare with."""
        return in_role("reference", self)

    @property
    def deprecated(self) -> tuple[str, ...]:
        """The names of the ways that their makers have deprecated."""
        return in_role("deprecated", self)

    @property
    def other_runtimes(self) -> tuple[str, ...]:
        """The names of the ways that run in a package other than the framework."""
        return in_role("runtime", self)

    @written_as("only('eager', 'compiled')", check=_no_names)
    def only(self, *names: str) -> "Variants":
        """Only these, in this order; raises UnknownLabelError for an unknown name."""
        for name in names:
            if name not in self._ways:
                raise unknown_label(name, self._ways, {})
        return self._with({name: self._ways[name] for name in names})

    def copy(self) -> "Variants":
        """A copy with the same callables, which you can change independently."""
        return self._with(self._ways)

    __copy__ = copy

    def __deepcopy__(self, _memo: Any) -> "Variants":
        """The same as ``copy``: what is compiled exists once in a process."""
        return self.copy()

    def __or__(self, other: Any) -> "Variants":
        if not isinstance(other, Mapping):
            return NotImplemented
        joined = self.copy()
        joined.update(other)
        return joined

    def __ror__(self, other: Any) -> "Variants":
        if not isinstance(other, Mapping):
            return NotImplemented
        return self._with(other) | self

    def __ior__(self, other: Any) -> "Variants":
        self.update(other)
        return self

    def update(self, other: Any = (), /, **named: Any) -> None:
        """Like ``dict.update``; of other variants also the reasons why some cannot be built."""
        if isinstance(other, Variants):
            missing = other.unavailable.keys() - self._ways.keys()
            self._ways |= {name: other._ways[name] for name in other._ways if name in missing}
        super().update(other, **named)

    def __repr__(self) -> str:
        callables = [
            f"  {named(name, name in self.deprecated, name in self.other_runtimes)}"
            for name in self
        ]
        missing = [f"  {name}: {_(reason)}" for name, reason in self.unavailable.items()]
        return "\n".join(["Variants", *callables, *missing])

    def _with(self, ways: Mapping[str, Function]) -> "Variants":
        """These, with the same arguments."""
        return Variants(ways, self.args, self.kwargs)


def _reason(function: Function) -> str:
    """Why it cannot be built here; "" if it can, or if it is the user's own."""
    run = function.run if isinstance(function, Variant) else function
    return run if isinstance(run, str) else ""


def in_role(role: Role, functions: Mapping[str, Any]) -> tuple[str, ...]:
    """The labels of the ways in this role, also among callables of the user's own."""
    known = {label: variant_of(function) for label, function in functions.items()}
    return tuple(label for label, way in known.items() if way and way.role == role)


def with_origin(by_name: VariantsByName, model: Function | None, origin: Origin) -> VariantsByName:
    """The ways that a framework has made, each with what is known of where it comes from."""
    return {
        name: replace(way, name=name, model=model, origin=origin) for name, way in by_name.items()
    }


def _misused(given: Mapping[str, Any]) -> str:
    return not_a_model(given["net"])


@verb("variants(net, x)", check=_misused)
def variants(
    net: Callable[..., Any] | Call,
    /,
    *args: Any,
    all: bool = False,
    with_references: bool = False,
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
        all: add the ways for experts, some of which skip a check that the framework makes.
        with_references: add the programs "C" and "NumPy", references to compare with, if the
            model is a chain of dense layers.
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
    if with_references:
        from d2lhybrid.backends.mlp import references

        by_name = by_name | references(framework.variants.dense_layers(model), called.args)
    given = {"all": all, "with_references": with_references, "compiler_options": options}
    ways = with_origin(by_name, model, Origin(variants, (called,), given))
    return Variants(ways, called.args, kwargs)


def _ready(by_name: VariantsByName) -> Iterator[Function]:
    """Those that run without being built first."""
    for variant in by_name.values():
        if not isinstance(variant.run, str | DeferredBuild):
            yield variant.run
