"""The ways to run a model, or to train it, by name: what ``variants`` and ``training`` return."""

from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import replace
from typing import Any

from d2lhybrid.backends.variant import Origin, Variant, VariantsByName, in_role, variant_of
from d2lhybrid.core.arguments import Args, Function
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.core.usage import written_as
from d2lhybrid.core.wording import unknown_label
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
    hand, with ``net`` for the model and ``x`` for its arguments. ``deprecated`` names the ways that
    their makers have deprecated, and ``other_runtimes`` those that run in a package other than the
    framework.
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
        if name not in self._ways or _reason(self._ways[name]):
            raise unknown_label(name, self, self.unavailable)
        return self._ways[name]

    def __setitem__(self, name: str, function: Function) -> None:
        self._ways[name] = function

    def __delitem__(self, name: str) -> None:
        del self._ways[name]

    def __iter__(self) -> Iterator[str]:
        return (name for name, way in self._ways.items() if not _reason(way))

    def __len__(self) -> int:
        return sum(1 for _name in self)

    @property
    def unavailable(self) -> dict[str, str]:
        """Why some cannot be built here, by name."""
        return {name: _reason(way) for name, way in self._ways.items() if _reason(way)}

    @property
    def code(self) -> Code:
        """How to write each by hand, by name; your own callables are left out."""
        known = {name: variant_of(function) for name, function in self._ways.items()}
        return Code({name: way.code for name, way in known.items() if way and way.code})

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
        return self._with(other) | self if isinstance(other, Mapping) else NotImplemented

    def update(self, other: Any = (), /, **named: Any) -> None:
        """Like ``dict.update``; of other variants also the reasons why some cannot be built."""
        if isinstance(other, Variants):
            for name in other.unavailable:  # one that can be built here stays
                self._ways.setdefault(name, other._ways[name])
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


def with_origin(by_name: VariantsByName, model: Function | None, origin: Origin) -> VariantsByName:
    """The ways that a framework has made, each with what is known of where it comes from."""
    return {
        name: replace(way, name=name, model=model, origin=origin) for name, way in by_name.items()
    }
