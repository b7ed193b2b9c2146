"""A way to run a model: what it is called, how it is built, and what a measurement asks of it."""

import copy
import pickle
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from d2lhybrid.core.arguments import Call, Function, RunsModels
from d2lhybrid.core.output import silent


class Folder:
    """A new folder at `path`, deleted when this object is; TemporaryDirectory would warn of it."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="d2lhybrid-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)

    def keep(self, path: Path) -> None:
        """Copy it into a folder at `path`, where ``kept`` finds it, in another process as well."""
        kept = copy.copy(self)
        kept.path = path / "files"
        shutil.copytree(self.path, kept.path)
        (path / "folder").write_bytes(pickle.dumps(kept))

    @staticmethod
    def kept(path: Path) -> "Folder | None":
        """What was kept at `path`, which stays there when this object goes; None if nothing was."""
        file = path / "folder"
        folder: Folder | None = pickle.loads(file.read_bytes()) if file.exists() else None
        return folder


_aside = ContextVar("aside", default=False)


@contextmanager
def aside() -> Iterator[None]:
    """What runs in this block is no part of the call in which it runs, such as building."""
    before = _aside.set(True)
    try:
        yield
    finally:
        _aside.reset(before)


def is_aside() -> bool:
    """Does this run in a block of ``aside``?"""
    return _aside.get()


class DeferredBuild:
    """A callable that is built at its first call, so that building is part of its cold start.

    With `load`, it is compiled ahead of time: ``build()`` is what a release pays once, ``load()``
    what each process pays for what was built. Without, building belongs to the first call.
    `compiler` is the one that building needs, if it has to be started in each process.
    `shared` is a folder in which the first of several processes leaves what it has built into a
    ``Folder``, for those after it.
    What the framework warns of meanwhile (TorchScript's end, say) is no news to the reader.
    """

    def __init__(
        self, build: Callable[[], Any], load: Function | None = None, compiler: str = ""
    ) -> None:
        self._build, self._load = build, load
        self.ahead = load is not None
        self.compiler = compiler
        self.shared: Path | None = None
        self._product: Any = None
        self._loaded: Function | None = None

    def anew(self) -> "DeferredBuild":
        """The same, not yet built."""
        new = copy.copy(self)
        new._product = new._loaded = None
        return new

    def build(self) -> None:
        """Build it, unless that is done, here or by an earlier process."""
        with silent(), aside():
            if self._product is None and self.shared:
                self._product = Folder.kept(self.shared)
            if self._product is None:
                self._product = self._build()
                if self.shared and isinstance(self._product, Folder):
                    self._product.keep(self.shared)

    def load(self) -> Function:
        """The callable, loaded from what was built, which is done first where it is not."""
        if self._loaded is None:
            self.build()
            with silent():
                self._loaded = self._load(self._product) if self._load else self._product
        return self._loaded

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._loaded is None:
            with silent():
                return self.load()(*args, **kwargs)
        return self._loaded(*args, **kwargs)


# "deprecated": a way that its makers have deprecated, which is shown and never recommended.
# "runtime": the model runs in a package other than its framework, which the advice says where it
# recommends it.
Role = Literal["way", "deprecated", "runtime"]


@dataclass(frozen=True, eq=False)
class Origin:
    """The call of ``variants`` or ``training`` that made some ways, so that it can be repeated.

    Compiled programs belong to their process: another one gets the call, and makes them again.
    """

    verb: Callable[..., Mapping[str, Function]]
    args: tuple[Any, ...]
    options: Mapping[str, Any]

    @cached_property
    def ways(self) -> Mapping[str, Function]:
        """The same ways, made in this process when the first of them is asked for."""
        return self.verb(*self.args, **self.options)


@dataclass(frozen=True, eq=False, repr=False)
class Variant(RunsModels):
    """One way to run a model: what runs it, or why nothing can, and where it comes from.

    A framework gives what stands above the line; ``variants`` and ``training`` add the rest, once.
    """

    run: Function | str  # the reason, if it cannot be built here
    code: str = ""  # by hand: it computes y from net and x, which stands for the arguments
    role: Role = "way"
    # ---
    name: str = ""
    model: Function | None = None  # None for a training step, which holds a copy
    origin: Origin | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the model, which is built first if it has to be."""
        run: Any = self.run
        return run(*args, **kwargs)

    @property
    def __name__(self) -> str:
        """As functions have it, for messages and for the label of ``measure``."""
        return self.name

    @property
    def models(self) -> list[Any]:
        return [] if self.model is None else [self.model]

    @property
    def is_step(self) -> bool:
        """Is it a step of training? It trains a copy of the model, on a batch that it holds."""
        return self.origin is not None and self.model is None

    def __copy__(self) -> "Variant":
        """Itself: what is compiled exists once in a process."""
        return self

    def __deepcopy__(self, _memo: Any) -> "Variant":
        return self

    def __reduce__(self) -> Any:
        """In another process, it is made again by the verb that has made it here."""
        return _made_again, (self.origin, self.name)


def _made_again(origin: Origin, name: str) -> Function:
    return origin.ways[name]


def variant_of(function: Any) -> Variant | None:
    """The way that a callable is, also with arguments of its own; None if it is the user's own."""
    inside = function.function if isinstance(function, Call) else function
    return inside if isinstance(inside, Variant) else None


def in_role(role: Role, functions: Mapping[str, Any]) -> tuple[str, ...]:
    """The labels of the ways in this role, also among callables of the user's own."""
    known = {label: variant_of(function) for label, function in functions.items()}
    return tuple(label for label, way in known.items() if way and way.role == role)


FIRST_STEPS = 3  # of a training: those whose losses are compared


class TrainingStep:
    """A step of training that returns the losses of the first ones, whenever it is called.

    So what it returns does not tell when it is done.
    """

    def __init__(self, step: Function, stack: Function, random: Iterable[Any] = ()) -> None:
        """`stack` makes a tensor of the losses; `random` are what draws numbers."""
        self._step, self._stack = step, stack
        self.random = tuple(dict.fromkeys(type(layer).__name__ for layer in random))  # their kinds
        self._first: Any = None

    def once(self) -> Any:
        """Make one step and return its loss."""
        return self._step()

    def __call__(self) -> Any:
        if self._first is None:
            losses = [self._step()]
            with aside():
                losses += [self._step() for _turn in range(FIRST_STEPS - 1)]
                self._first = self._stack(losses)
        else:
            self._step()
        return self._first


VariantsByName = dict[str, Variant]
