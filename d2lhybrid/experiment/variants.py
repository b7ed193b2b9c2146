"""Every way in which a model's framework can run it, or train it by one step, by name."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from d2lhybrid.core.arguments import (
    BoundToProcess,
    Call,
    name_of,
    options_of,
    reject_ambiguous_options,
    resolve_call,
    unknown_label,
)
from d2lhybrid.core.errors import ArgumentError
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.experiment.rows import named
from d2lhybrid.frameworks import of, preserve_state
from d2lhybrid.frameworks.failures import wrap_call_errors
from d2lhybrid.frameworks.mlp import references as reference_programs
from d2lhybrid.frameworks.variant import DeferredBuild, VariantsByName

Loss = Callable[[Any, Any], Any]  # of the output and the target


class Variants(BoundToProcess, dict[str, Callable[..., Any]]):
    """Callables by name; ``unavailable`` says of the others why they cannot be built here.

    ``code`` shows for each name how to write it by hand, with ``net`` for the model and ``x`` for
    its arguments. ``references`` names those that are no way to run the model, but programs to
    compare with, and ``deprecated`` those that their makers have deprecated. Add callables of your
    own as to any dict, ``ways["mine"] = f`` or ``ways | {"mine": f}``; ``compare`` also recognizes
    what was made with ``{**ways, "mine": f}``.
    """

    def __init__(
        self,
        found: VariantsByName,
        net: Any = None,
        takes_arguments: bool = False,
    ) -> None:
        """`net` is the model that they run, which is left as it was where they are measured."""
        super().__init__({k: v.run for k, v in found.items() if not isinstance(v.run, str)})
        self._reasons = {k: one.run for k, one in found.items() if isinstance(one.run, str)}
        self._code = {name: (self.get(name), one.code) for name, one in found.items() if one.code}
        self._marked = {name: self[name] for name in self if found[name].role == "reference"}
        self._outdated = {name: self[name] for name in self if found[name].role == "deprecated"}
        self.function, self.takes_arguments = net, takes_arguments
        self._note_members()

    def _note_members(self) -> None:
        """Let those that are built later know that they are among these."""
        for run in self.values():
            if isinstance(run, DeferredBuild):
                run.among.append(self)

    @property
    def unavailable(self) -> dict[str, str]:
        """Of each that cannot be built here, why."""
        return {name: reason for name, reason in self._reasons.items() if name not in self}

    @property
    def code(self) -> dict[str, str]:
        """For each name, how to write it by hand; not of what was put in its place."""
        return {k: code for k, (run, code) in self._code.items() if self.get(k) is run}

    @property
    def references(self) -> tuple[str, ...]:
        """The names of the programs to compare with."""
        return self._still(self._marked)

    @property
    def deprecated(self) -> tuple[str, ...]:
        """The names of those that their makers have deprecated."""
        return self._still(self._outdated)

    def _still(self, marked: Mapping[str, Callable[..., Any]]) -> tuple[str, ...]:
        """Those whose mark holds: what was put in the place of a marked one has none."""
        return tuple(name for name in self if marked.get(name) is self[name])

    def __missing__(self, name: str) -> Callable[..., Any]:
        """Raise UnknownLabelError, a KeyError: there is none of that name."""
        raise unknown_label(name, self, self.unavailable)

    def only(self, *names: str) -> "Variants":
        """These alone, in this order; raises UnknownLabelError for an unknown name."""
        for name in names:
            if name not in self and name not in self.unavailable:
                raise unknown_label(name, [*self, *self.unavailable], {})
        made = self._like({name: self[name] for name in names if name in self})
        made._reasons = {name: made._reasons[name] for name in names if name not in made}
        return made

    def copy(self) -> "Variants":
        """Another with the same callables, which can be changed for itself."""
        return self._like(self)

    def _like(self, functions: Mapping[str, Callable[..., Any]]) -> "Variants":
        """These functions, with what is known of those here."""
        made = Variants({}, self.function, self.takes_arguments)
        dict.update(made, functions)
        made._reasons, made._code = {**self._reasons}, {**self._code}
        made._marked, made._outdated = {**self._marked}, {**self._outdated}
        made._note_members()
        return made

    def __or__(self, other: Any) -> Any:
        if not isinstance(other, Mapping):
            return NotImplemented
        made = self.copy()
        made |= other
        return made

    def __ror__(self, other: Any) -> Any:
        return self._like({**other, **self}) if isinstance(other, Mapping) else NotImplemented

    def __ior__(self, other: Any) -> "Variants":  # type: ignore[override]
        self.update(other)
        return self

    def update(self, *others: Any, **named: Any) -> None:
        """As that of a dict; with what is known of other variants."""
        super().update(*others, **named)
        for other in others:
            if isinstance(other, Variants):
                self._reasons |= other._reasons
                self._code |= other._code
                self._marked |= other._marked
                self._outdated |= other._outdated
                self.function = (self.function, other.function)  # both are left as they were
                self.takes_arguments |= other.takes_arguments

    def __repr__(self) -> str:
        there = [f"  {named(name, name in self.deprecated)}" for name in self]
        not_there = [f"  {name}: {_(reason)}" for name, reason in self.unavailable.items()]
        return "\n".join(["Variants", *there, *not_there])


def recognized(functions: Any) -> Any:
    """Variants again, if these functions are a dict that all of some Variants were put into.

    A plain dict has lost what is known of those that cannot be built, and which are deprecated.
    """
    if not isinstance(functions, Mapping) or isinstance(functions, Variants):
        return functions
    lazy = (run for run in functions.values() if isinstance(run, DeferredBuild))
    known = [ways for run in lazy for ways in run.among if _holds(functions, ways)]
    largest = max(known, key=len, default=None)
    return functions if largest is None else largest._like(functions)


def _holds(functions: Mapping[str, Any], ways: Variants) -> bool:
    """Has the dict all of these, by the same names?"""
    return all(functions.get(name) is run for name, run in ways.items())


def require_one(verb: str, function: Any) -> None:
    """Raise ArgumentError for several callables where one is wanted."""
    if isinstance(function, Mapping):
        text = _(
            "Expected one callable for {verb}. Received: {kind}, which holds several. Pass one of "
            "them, or all of them to {compare}."
        )
        names = {"kind": type(function).__name__, "compare": "compare"}
        raise ArgumentError(text.format(verb=verb, **names))


@preserve_state
@reject_ambiguous_options
def variants(
    net: Callable[..., Any] | Call,
    *args: Any,
    all: bool = False,
    references: bool = False,
    dynamic: bool | None = None,
    backend: Any = None,
    mode: str | None = None,
    **kwargs: Any,
) -> Variants:
    """Every way in which the framework of `net` runs ``net(*args, **kwargs)``, eager first.

    The compiled ones are built at their first call, so that ``compare`` sees what building costs.
    The model is called once now; otherwise its first eager call would include what the process
    does only once, such as loading kernels and giving layers their shapes.

    Your model stays as it was, also when ``compare`` and the others run it: its mode, parameters,
    averages and hybridization, and the random state, except MXNet's and that of ``tf.random``. A
    function that changes something when you call it, such as a training step, still changes it;
    use ``training`` for that. "eager" is eager even if `net` was compiled. All run without
    gradients, except PyTorch's "eager, with gradients" (`all`). ``.unavailable`` gives the reason
    for each that cannot be built on this machine, ``.deprecated`` names those that their makers
    have deprecated, and ``.code`` shows how to write each by hand.

    Args:
        net: a model, a function of tensors, or ``call(net, ...)`` in place of it and its arguments.
        args, kwargs: the arguments of the model.
        all: also the ways for experts, some of which skip a check that the framework makes.
        references: also the programs "C" and "NumPy", if the model is a chain of dense layers.
        dynamic: of torch.compile: for any sizes (True), or for these (False).
        backend: of the framework's compiler, if it has several.
        mode: of torch.compile.

    Returns:
        Variants, a mapping from name to callable, as ``compare`` takes it; ``.only(...)`` chooses.

    Raises:
        UnknownFrameworkError: neither `net` nor an argument belongs to a known framework.
        ArgumentError: the framework has no such option, an option is also a parameter of `net`, or
            a keyword that `net` does not name is nearly one.
        CallFailedError: ``net(*args, **kwargs)`` raised.
        CannotBuildError: the model cannot be copied.

    >>> import torch
    >>> net, x = torch.nn.Linear(3, 2), torch.ones(1, 3)
    >>> list(variants(net, x).only("eager", "torchscript"))
    ['eager', 'torchscript']
    >>> print(variants(net, x).code["eager"])
    with torch.no_grad():
        y = net(x)

    For another precision or memory layout, add a callable of your own. It converts its input and
    its output, and ``check`` is as loose as its numbers are. Run it without gradients, as the
    others do:

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
    >>> list(compare(ways, x, check=0.2, time_limit=0.5, progress=False))
    ['eager', 'bfloat16', 'autocast', 'channels last']
    >>> list(compare(ways, x, time_limit=0.5, progress=False))  # as exact as float32 can be
    ['eager', 'channels last']
    """
    model, args, kwargs = resolve_call(net, args, kwargs, options_of(variants))
    require_one("variants", model)
    framework = of(model, *args, *kwargs.values())
    given = {"dynamic": dynamic, "backend": backend, "mode": mode}
    options = {name: value for name, value in given.items() if value is not None}
    with wrap_call_errors(name_of(model)):
        found = framework.variants(
            model, args, kwargs, include_expert=all, compiler_options=options
        )
        ready = (one.run for one in found.values() if not isinstance(one.run, str | DeferredBuild))
        next(ready, model)(*args, **kwargs)
        framework.synchronize()  # errors of the work come late
    programs = reference_programs(framework.dense_layers(model), args) if references else {}
    return Variants(found | programs, model, takes_arguments=bool(args or kwargs))


@preserve_state
def training(
    net: Callable[..., Any] | Call, loss: Loss, optimizer: Any, batch: Sequence[Any], *more: Any
) -> Variants:
    """Every way to train `net` by one step on `batch`, eager first.

    Each variant is a function without arguments: ``compare(training(net, loss, optimizer, batch))``
    times the steps. Each trains a model of its own, which starts with the weights of `net` and the
    state of `optimizer`; these two are left as they are. Built at its first call, it makes three
    steps, and returns their losses then and ever after, so that ``compare`` sees whether all of
    them learn the same. Dropout is another matter: a compiler draws other random numbers.

    Args:
        net: the model itself, which is copied: a module of PyTorch or of Flax NNX, a layer or model
            of Keras, a ``tf.Module``, or a block of Gluon. ``call(net, x, key=z)`` where it takes
            keyword arguments; `batch` is the target alone then, ``(y,)``.
        loss: from the output of the model and the target to a tensor; its mean is what counts. A
            loss of Keras, and any function whose first parameter is called ``y_true``, gets the
            target first.
        optimizer: of the framework, made for the parameters of `net`: one of ``torch.optim``, of
            ``keras.optimizers``, an ``nnx.Optimizer``, or a ``gluon.Trainer``.
        batch: the arguments of the model, and the target last.
        more: not used; catches a batch written as separate arguments.

    Raises:
        UnknownFrameworkError: `net` belongs to no known framework.
        ArgumentError: `loss` cannot be called; `batch` is no tuple or list with an input and a
            target (beside ``call``: with a target alone); `net` is none of these models, but a
            function that calls one, say; or `optimizer` is none of its framework.
        CallFailedError: the model raised at its first call.

    >>> import torch
    >>> net = torch.nn.Linear(3, 1)
    >>> optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    >>> x, y = torch.ones(8, 3), torch.zeros(8, 1)
    >>> steps = training(net, torch.nn.functional.mse_loss, optimizer, (x, y))
    >>> steps["eager"]().shape
    torch.Size([3])
    """
    if more:
        text = _("Expected the batch as one argument, {batch}. Received: {count} arguments for it.")
        raise ArgumentError(text.format(batch="(x, y)", count=1 + len(more)))
    if not callable(loss):
        text = _("Expected a loss to call, such as {example}. Received: {kind}.")
        example = "lambda output, y: (output - y) ** 2"
        raise ArgumentError(text.format(example=example, kind=type(loss).__name__))
    inside = isinstance(net, Call)
    if not isinstance(batch, (tuple, list)) or (len(batch) != 1 if inside else len(batch) < 2):
        text = _(
            "Expected a batch with the model's input and the target, such as {batch}, or, beside "
            "{call}, with the target alone, {target}. Received: {kind}."
        )
        parts = {"batch": "(x, y)", "call": "call(net, x)", "target": "(y,)"}
        raise ArgumentError(text.format(kind=type(batch).__name__, **parts))
    *inputs, target = batch
    model, args, kwargs = resolve_call(net, tuple(inputs), {})
    framework = of(model, optimizer, args, kwargs)
    with wrap_call_errors(name_of(model)):
        return Variants(framework.training(model, loss, optimizer, args, kwargs, target))
