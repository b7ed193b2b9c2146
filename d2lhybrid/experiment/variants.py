"""Every way in which a model's framework can run it, by name."""

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass, replace
from functools import partial
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
from d2lhybrid.core.pytree import leaves
from d2lhybrid.core.usage import described, kind_of, not_a_model, shape_and_dtype, usage
from d2lhybrid.experiment.rows import named
from d2lhybrid.frameworks import framework_of
from d2lhybrid.frameworks.failures import wrap_call_errors
from d2lhybrid.frameworks.mlp import references as reference_programs
from d2lhybrid.frameworks.state import preserve_state
from d2lhybrid.frameworks.variant import (
    Args,
    DeferredBuild,
    Function,
    Kwargs,
    Role,
    Variant,
    VariantsByName,
)


@dataclass(frozen=True)
class Way:
    """One of the ways to run `model` that ``variants`` or ``training`` has made.

    `explained` is as in ``Variant``; `compiler_options` as ``variants`` got them.
    """

    name: str
    model: Function
    explained: Function | None
    compiler_options: Mapping[str, Any]


class Recipe:
    """What made variants, and with what, so that another process can make them again."""

    def __init__(self, verb: "Callable[..., Variants]", /, *args: Any, **options: Any) -> None:
        self._verb, self._args, self._options = verb, args, options
        self.made: dict[str, Function] = {}  # by the names that the verb gave
        self.by_name: VariantsByName = {}  # the same as they were described

    def __reduce__(self) -> Any:
        """Without what was made, which belongs to one process."""
        return partial(Recipe, self._verb, *self._args, **self._options), ()

    def name_of(self, run: Any) -> str | None:
        """The name of a callable if this has made it."""
        return next((name for name, function in self.made.items() if function is run), None)

    def way(self, name: str) -> Way:
        """What is known of the one of that name, in the process that has made it."""
        first = self._args[0]
        model = first.function if isinstance(first, Call) else first
        options = self._options.get("compiler_options", {})
        return Way(name, model, self.by_name[name].explained, options)

    def make(self, name: str) -> Function:
        """The callable of that name, in a process in which it may have to be made first."""
        if not self.made:
            self.made = {**self._verb(*self._args, **self._options)}
        return self.made[name]


@dataclass(frozen=True)
class Given:
    """The arguments that ``variants`` got: what a call has to be like to be the same one.

    `structure` is None if variants of different calls were joined.
    """

    described: str
    structure: Any

    @classmethod
    def of(cls, args: Args, kwargs: Kwargs) -> "Given":
        by_name = {name: _tensors(value) for name, value in kwargs.items()}
        return cls(described(args, kwargs, detailed=True), ([*map(_tensors, args)], by_name))


def _tensors(value: Any) -> list[tuple[str, str]]:
    """The tensors and arrays inside an argument, with shape and dtype; of its numbers nothing."""
    described_leaves = [(path, shape_and_dtype(leaf)) for path, leaf in leaves(value)]
    return [(path, text) for path, text in described_leaves if text]


class Code(dict[str, str]):
    """How to write each variant by hand, by name."""

    def __missing__(self, name: Any) -> str:
        raise unknown_label(name, self, {})


def _no_names(_variants: Any, *names: Any) -> str:
    are_names = all(isinstance(name, str) for name in names)
    return "" if are_names else _("Each name is a separate argument.")


class Variants(BoundToProcess, MutableMapping[str, Function]):
    """Callables by name; ``unavailable`` says why the others cannot be built here.

    ``code`` shows how to write each by hand, with ``net`` for the model and ``x`` for its
    arguments. ``references`` names the programs to compare with, which aren't ways to run the
    model, ``deprecated`` the ways that their makers have deprecated, and ``other_runtimes`` those
    that run in a package other than the framework. Add your own callables as in any dict,
    ``ways["mine"] = f`` or ``ways | {"mine": f}``; ``compare`` also recognizes
    ``{**ways, "mine": f}``.
    """

    def __init__(
        self,
        variants: VariantsByName,
        model: Any = None,
        given: Given | None = None,
        holds_batch: bool = False,
        recipe: Recipe | None = None,
    ) -> None:
        """`model` is the model that they run; measuring leaves it as it was.

        They are called with the arguments that were `given`, and with none if each `holds_batch`,
        its arguments, itself.
        `recipe` makes them in another process.
        """
        self._variants = {**variants}  # also those that cannot be built
        self.models = () if model is None else (model,)
        self.given, self.holds_batch = given, holds_batch
        self.recipes = () if recipe is None else (recipe,)
        if recipe is not None:
            recipe.made, recipe.by_name = {**self}, {**variants}
        for variant in variants.values():
            if isinstance(variant.run, DeferredBuild):
                variant.run.among.append(self)

    def __getitem__(self, name: str) -> Function:
        """The callable of that name; raises UnknownLabelError, a KeyError, if there is none."""
        variant = self._variants.get(name)
        if variant is None or isinstance(variant.run, str):
            raise unknown_label(name, self, self.unavailable)
        return variant.run

    def __setitem__(self, name: str, function: Function) -> None:
        if name not in self:  # a new name comes last, even if it was one that cannot be built
            self._variants.pop(name, None)
        self._variants[name] = self._known(name, function)

    def __delitem__(self, name: str) -> None:
        _function = self[name]  # raises if there is none
        del self._variants[name]

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._variants if name in self)

    def __len__(self) -> int:
        return sum(1 for _name in self)

    def __contains__(self, name: object) -> bool:
        variant = self._variants.get(name) if isinstance(name, str) else None
        return variant is not None and not isinstance(variant.run, str)

    @property
    def by_name(self) -> VariantsByName:
        """All variants, including those that cannot be built here."""
        return {**self._variants}

    @property
    def unavailable(self) -> dict[str, str]:
        """Why some cannot be built here, by name."""
        variants = self._variants.items()
        return {name: variant.run for name, variant in variants if isinstance(variant.run, str)}

    @property
    def code(self) -> Code:
        """How to write each by hand, by name; your own callables are left out."""
        variants = self._variants.items()
        return Code({name: variant.code for name, variant in variants if variant.code})

    @property
    def references(self) -> tuple[str, ...]:
        """The names of the programs to compare with."""
        return self._in_role("reference")

    @property
    def deprecated(self) -> tuple[str, ...]:
        """The names of the ways that their makers have deprecated."""
        return self._in_role("deprecated")

    @property
    def other_runtimes(self) -> tuple[str, ...]:
        """The names of the ways that run in a package other than the framework."""
        return self._in_role("runtime")

    @usage("only('eager', 'compiled')", check=_no_names)
    def only(self, *names: str) -> "Variants":
        """Only these, in this order; raises UnknownLabelError for an unknown name."""
        for name in names:
            if name not in self._variants:
                raise unknown_label(name, self._variants, {})
        return self._with({name: self._variants[name] for name in names})

    def copy(self) -> "Variants":
        """A copy with the same callables, which you can change independently."""
        return self._with(self._variants)

    def of_functions(self, functions: Mapping[str, Function]) -> "Variants":
        """These functions, with what is known about the variants of the same name among them.

        The variants that cannot be built are added.
        """
        variants = {name: self._known(name, function) for name, function in functions.items()}
        missing = {name: self._variants[name] for name in self.unavailable if name not in functions}
        return self._with({**variants, **missing})

    def __or__(self, other: Any) -> "Variants":
        if not isinstance(other, Mapping):
            return NotImplemented
        joined = self.copy()
        joined.update(other)
        return joined

    def __ror__(self, other: Any) -> "Variants":
        if not isinstance(other, Mapping):
            return NotImplemented
        return self.of_functions({**other, **self})

    def __ior__(self, other: Any) -> "Variants":
        self.update(other)
        return self

    def update(self, other: Any = (), /, **named: Any) -> None:
        """Like ``dict.update``; keeps what is known about other variants."""
        if isinstance(other, Variants):
            for name, variant in other._variants.items():
                if name in other or name not in self:  # no reason takes the place of a callable
                    self._variants[name] = variant
            self.models = _joined(self.models, other.models)  # all are left as they were
            self.recipes = _joined(self.recipes, other.recipes)
            if self.given and other.given and self.given.structure != other.given.structure:
                self.given = replace(self.given, structure=None)
            self.given = self.given or other.given
            other = ()
        super().update(other, **named)

    def __repr__(self) -> str:
        callables = [
            f"  {named(name, name in self.deprecated, name in self.other_runtimes)}"
            for name in self
        ]
        missing = [f"  {name}: {_(reason)}" for name, reason in self.unavailable.items()]
        return "\n".join(["Variants", *callables, *missing])

    def _in_role(self, role: Role) -> tuple[str, ...]:
        return tuple(name for name in self if self._variants[name].role == role)

    def _known(self, name: str, function: Function) -> Variant:
        """The variant of that name if this is its callable, otherwise a callable of the user's."""
        variant = self._variants.get(name)
        return variant if variant and variant.run is function else Variant(function)

    def _with(self, variants: VariantsByName) -> "Variants":
        """These variants of the same models."""
        others = Variants(variants, None, self.given, self.holds_batch)
        others.models, others.recipes = self.models, self.recipes
        return others


def _joined(these: tuple[Any, ...], others: tuple[Any, ...]) -> tuple[Any, ...]:
    """Both, each object once; a model may say that it equals another."""
    return tuple({id(one): one for one in (*these, *others)}.values())


def recognized(functions: Any) -> Any:
    """Variants again, if these functions are a dict that all of some Variants were put into.

    A plain dict has lost what is known of those that cannot be built, and which are deprecated.
    """
    if not isinstance(functions, Mapping) or isinstance(functions, Variants):
        return functions
    candidates = [
        variants
        for function in functions.values()
        if isinstance(function, DeferredBuild)
        for variants in function.among
        if all(functions.get(name) is run for name, run in variants.items())
    ]
    largest = max(candidates, key=len, default=None)
    return functions if largest is None else largest.of_functions(functions)


def recipe_of(function: Any) -> tuple[Recipe, str] | None:
    """What has made a callable that is built at its first call, and by what name, if known."""
    if not isinstance(function, DeferredBuild):  # a model may have attributes of any name
        return None
    for variants in function.among:
        for recipe in variants.recipes:
            if name := recipe.name_of(function):
                return recipe, name
    return None


def way_of(function: Any) -> Way | None:
    """What is known of such a callable."""
    made = recipe_of(function)
    return made[0].way(made[1]) if made else None


def _misused(net: Any, *_args: Any, **_options: Any) -> str:
    return not_a_model(net)


@usage("variants(net, x)", check=_misused)
@preserve_state
@reject_ambiguous_options
def variants(
    net: Callable[..., Any] | Call,
    /,
    *args: Any,
    all: bool = False,
    with_references: bool = False,
    compiler_options: Mapping[str, Any] = {},
    **kwargs: Any,
) -> Variants:
    """Every way in which the framework of `net` runs ``net(*args, **kwargs)``, eager first.

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
        net: a model, a function of tensors, or ``call(net, ...)`` instead of `net` and its
            arguments.
        args, kwargs: the arguments of the model.
        all: add the ways for experts, some of which skip a check that the framework makes.
        with_references: add the programs "C" and "NumPy", references to compare with, if the
            model is a chain of dense layers.
        compiler_options: options of the framework's compiler, by name: `dynamic`, `backend` and
            `mode` of ``torch.compile``, `backend` of MXNet's ``optimize_for``.

    Returns:
        Variants, a mapping from name to callable that ``compare`` takes; ``.only(...)`` chooses.

    Raises:
        UnknownFrameworkError: neither `net` nor an argument belongs to a known framework.
        ArgumentError: `net` is no model or function, but, say, its class or its output; the
            framework has no such option, an option is also a parameter of `net`, or a keyword that
            isn't a parameter of `net` is nearly one.
        CallFailedError: ``net(*args, **kwargs)`` raised.
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
    >>> list(compare(ways, x, check=0.2, time_limit=0.5, progress=False))
    ['eager', 'bfloat16', 'autocast', 'channels last']
    >>> list(compare(ways, x, time_limit=0.5, progress=False))  # as exact as float32 can be
    ['eager', 'channels last']
    """
    model, args, kwargs = resolve_call(net, args, kwargs, options_of(variants))
    if not isinstance(compiler_options, Mapping):
        text = _("Expected a dict of compiler options, such as {example}. Received: {kind}.")
        example = '{"mode": "max-autotune"}'
        raise ArgumentError(text.format(example=example, kind=kind_of(compiler_options)))
    framework = framework_of(model, *args, *kwargs.values())
    with wrap_call_errors(name_of(model), args, kwargs):
        by_name = framework.variants.variants(model, args, kwargs, all, {**compiler_options})
        ready = next(_ready(by_name), model)  # "eager", unless even that is built first
        ready(*args, **kwargs)
        framework.device.synchronize()  # errors of the work come late
    if with_references:
        by_name = by_name | reference_programs(framework.variants.dense_layers(model), args)
    options = {"with_references": with_references, "compiler_options": {**compiler_options}}
    recipe = Recipe(variants, Call(model, args, kwargs), all=all, **options)
    given = Given.of(args, kwargs) if args or kwargs else None
    return Variants(by_name, model, given, recipe=recipe)


def _ready(by_name: VariantsByName) -> Iterator[Function]:
    """Those that run without being built first."""
    for variant in by_name.values():
        if not isinstance(variant.run, str | DeferredBuild):
            yield variant.run
