"""A framework: what is known of it without importing it, and its modules, imported when asked for.

The folder of a framework makes one object of this class, ``FRAMEWORK``. What is done with the
framework stands in modules of the folder, which have the same names in each: ``protocol`` says
what they define, and ``defaults`` what is taken for what a framework lacks.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, cast

from d2lhybrid.core.errors import ArgumentError

if TYPE_CHECKING:  # so that waiting for a device imports nothing that only other verbs need
    from d2lhybrid.backends import protocol
    from d2lhybrid.backends.formats import Format

# What is taken of a framework for which its folder gives nothing else.
BUSY_BOUND = 9.5
INFERENCE = "net.eval()"
# What the numerical libraries below a framework read when they are loaded.
_NUMERICAL = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


Module = TypeVar("Module")


class Part(Generic[Module]):
    """A module of a framework's folder, which is looked up once: what is timed pays no import."""

    def __init__(self, has_defaults: bool = False) -> None:
        self._has_defaults = has_defaults

    def __set_name__(self, _owner: type, name: str) -> None:
        self._name = name

    def __get__(self, framework: Framework | None, _owner: type) -> Module:
        if framework is None:  # dataclass asks the class
            return cast(Module, self)
        found: Module = framework.module(self._name, self._has_defaults)
        vars(framework)[self._name] = found
        return found


@dataclass(eq=False)
class Framework:
    """A framework, by the facts about it that need no import of it."""

    name: str  # what Python imports; in records and manifests; of the extra for it
    display: str  # for people
    folder: str  # the package with its modules, such as `device`
    order: int = 100  # among the frameworks, where they are listed
    # Other packages whose classes belong to it.
    packages: tuple[str, ...] = ()
    # Imports it, where a plain import isn't enough.
    importer: Callable[[], Any] | None = None
    # Environment variables that the import sets where the user has not: two frameworks that both
    # take a GPU's memory beforehand do not fit into one process.
    environment: Mapping[str, str] = field(default_factory=dict)
    # Those of a fresh process in which an operation may use {count} threads.
    thread_variables: Mapping[str, str] = field(default_factory=dict)
    # Those of a fresh process that keeps what it compiles in one folder alone, with the place in
    # that folder; a variable that is None here is not set.
    cache_variables: Mapping[str, str | None] = field(default_factory=dict)
    # Packages on top of it, with the classes that some verbs need: training, for example.
    companions: tuple[str, ...] = ()
    # A function that makes a tensor of an array or a number, as users write it.
    converter_code: str = ""
    # How users run a model without dropout, as code.
    inference: str = INFERENCE
    # How many times too large or too small a ratio may be that was measured with one thread while
    # other programs held it up: 1.25 times the largest distortion that benchmarks/distortion.py has
    # found (README.md there); of one that isn't known, as much as of any.
    busy_bound: float = BUSY_BOUND

    # Its modules, as `protocol` describes them.
    device: ClassVar[Part[protocol.DeviceModule]] = Part()
    models: ClassVar[Part[protocol.ModelsModule]] = Part()
    variants: ClassVar[Part[protocol.VariantsModule]] = Part()
    training: ClassVar[Part[protocol.TrainingModule]] = Part()
    explain: ClassVar[Part[protocol.ExplainModule]] = Part()
    compiler: ClassVar[Part[protocol.CompilerModule]] = Part(has_defaults=True)
    why: ClassVar[Part[protocol.WhyModule]] = Part(has_defaults=True)

    def owns(self, packages: Collection[str]) -> bool:
        """Does something whose classes come from these top-level packages belong to it?"""
        if "keras" in packages:
            return bool(import_module("keras").config.backend() == self.name)
        return not {self.name, *self.packages}.isdisjoint(packages)

    def is_named_in(self, dump: bytes) -> bool:
        """Does a pickle need it? Of whatever it needs, a pickle has the module's name as a text."""
        return any(name.encode() in dump for name in (self.name, *self.packages))

    def load(self) -> Any:
        """Import the framework and return it."""
        module = sys.modules.get(self.name)
        if module is not None:  # TorchDynamo can trace this, but no import
            return module
        for name, value in self.environment.items():
            os.environ.setdefault(name, value)
        return self.importer() if self.importer else import_module(self.name)

    def variables_for_threads(self, count: int) -> dict[str, str]:
        """Those of a fresh process in which an operation may use so many threads."""
        own = {name: text.format(count=count) for name, text in self.thread_variables.items()}
        return {**dict.fromkeys(_NUMERICAL, str(count)), **own}

    def variables_for_caches(self, folder: Path) -> dict[str, str | None]:
        """Those of a fresh process that keeps what it compiles in `folder` alone."""
        places = {"CUDA_CACHE_PATH": "cuda", **self.cache_variables}
        return {name: place and str(folder / place) for name, place in places.items()}

    def version(self) -> str:
        """Its version; imports it."""
        return str(self.load().__version__)

    def lacks(self, what: str) -> ArgumentError:
        """The error to raise where d2lhybrid does not have this for the framework."""
        from d2lhybrid.core.i18n import gettext as _  # no framework in use lacks its devices

        text = _("Expected a framework that {what} supports. Received: {framework}.")
        return ArgumentError(text.format(what=what, framework=self.display))

    @cached_property
    def formats(self) -> Mapping[str, Format]:
        """What it writes and reads, by name, the best first; the framework isn't imported."""
        if not self._has("formats"):
            return {}
        module: protocol.FormatsModule = import_module(f"{self.folder}.formats")
        return module.FORMATS

    def _has(self, part: str) -> bool:
        return find_spec(f"{self.folder}.{part}") is not None

    def module(self, name: str, has_defaults: bool) -> Any:
        """A module of the folder, which imports the framework; so that is done before, our way.

        Raises:
            ArgumentError: the folder has no such module, and there are no defaults for it.
        """
        if self._has(name):
            self.load()
            return import_module(f"{self.folder}.{name}")
        if not has_defaults:
            raise self.lacks(name)
        return import_module(f"d2lhybrid.backends.defaults.{name}")


def tracing_text(framework: str) -> str:
    """What a TracingError says: a framework traces code, so there is nothing to wait for."""
    from d2lhybrid.core.i18n import gettext as _  # who only waits needs no catalog

    text = _(
        "Expected code that computes now. Received: code that {framework} is tracing, so "
        "there is nothing to measure yet. Measure outside the compiled function, around its call."
    )
    return text.format(framework=framework)
