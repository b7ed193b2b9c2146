"""What d2lhybrid asks of a framework: one class, of which each framework's folder makes an object.

Making the object imports nothing, and neither do its class attributes. The methods import the
framework, and what stands beside the class, when they are called.
"""

import copy
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from importlib import import_module
from inspect import isroutine
from operator import neg
from pathlib import Path
from time import perf_counter
from typing import Any, ClassVar

import numpy as np

from d2lhybrid.core.arguments import write_nearest
from d2lhybrid.core.errors import ArgumentError, CannotBuildError
from d2lhybrid.core.host_array import HostArray
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.core.reader import typed
from d2lhybrid.core.usage import kind_of
from d2lhybrid.frameworks.formats import Format
from d2lhybrid.frameworks.layers import Layer
from d2lhybrid.frameworks.variant import Args, Function, Kwargs, VariantsByName
from d2lhybrid.graphs.explanation import Explanation, Finding
from d2lhybrid.graphs.graph import Graph

# Calls, and seconds, in which is measured what a call spends before compiled code begins.
BEFORE_CALLS, BEFORE_SECONDS = 10, 0.15


class Framework(ABC):
    """One framework: its devices and tensors, and what can be done with its models.

    A folder (``d2lhybrid/frameworks/<name>/``) defines one subclass and an object of it,
    ``FRAMEWORK``. What has a default here, a framework may lack.
    """

    name: ClassVar[str]  # what Python imports; in records and manifests; of the extra for it
    display: ClassVar[str]  # for people
    order: ClassVar[int] = 100  # among the frameworks, where they are listed
    # Environment variables that the import sets where the user has not: two frameworks that both
    # take a GPU's memory beforehand do not fit into one process.
    environment: ClassVar[Mapping[str, str]] = {}
    # Is each operation that eager code calls compiled, too? Then a program that was compiled in a
    # call says nothing of whether the function is.
    compiles_operations: ClassVar[bool] = False
    # Packages on top of it, with the classes that some verbs need: training, for example.
    companions: ClassVar[tuple[str, ...]] = ()
    # A function that makes a tensor of an array or a number, as users write it.
    converter: ClassVar[str] = ""
    # How many times too large or too small a ratio may be that was measured with one thread while
    # other programs held it up: 1.25 times the largest distortion that benchmarks/distortion.py has
    # found (README.md there); of one that isn't known, as much as of any.
    busy_bound: ClassVar[float] = 9.5
    # How users run a model without dropout, as code.
    inference: ClassVar[str] = "net.eval()"
    # What it writes and reads, by name, the best first; without importing it.
    formats: ClassVar[Mapping[str, Format]] = {}

    # The framework itself

    def owns(self, packages: Collection[str]) -> bool:
        """Does something whose classes come from these top-level packages belong to it?"""
        if "keras" in packages:
            return bool(import_module("keras").config.backend() == self.name)
        return self.name in packages

    def load(self) -> Any:
        """Import the framework and return it."""
        module = sys.modules.get(self.name)
        if module is not None:  # TorchDynamo can trace this, but no import
            return module
        for name, value in self.environment.items():
            os.environ.setdefault(name, value)
        return import_module(self.name)

    def version(self) -> str:
        """Its version; imports it."""
        return str(self.load().__version__)

    def lacks(self, what: str) -> ArgumentError:
        """The error to raise where d2lhybrid does not have this for the framework."""
        text = _("Expected a framework that {what} supports. Received: {framework}.")
        return ArgumentError(text.format(what=what, framework=self.display))

    # Devices

    @abstractmethod
    def devices(self) -> list[str]:
        """The devices that it can compute on, the CPU first, as the framework writes them."""

    @abstractmethod
    def compute_on(self, device: str) -> float:
        """Multiply two 2x2 matrices of ones on `device` and add up the product: 8.0."""

    @abstractmethod
    def synchronize(self) -> None:
        """Wait until every device has finished the work it was given.

        A device that has done nothing yet is left alone: waking it takes seconds and memory.

        Raises:
            TracingError: a graph is being traced, so there is no work to wait for.
        """

    def wait_for(self, output: Any) -> None:
        """Wait for the output of a call, and for what the same thread gave its device before.

        Code that uses the output waits like this. ``synchronize`` knows no output, and may take
        longer. The time of this call is part of what is measured.
        """
        self.synchronize()

    # Does ``has_unfinished_work`` find all work whose output somebody still holds?
    knows_unfinished_work = False

    def has_unfinished_work(self) -> bool:
        """Is there work left that ``wait_for`` did not wait for?"""
        return False

    def may_return_early(self, tensor: Any) -> bool:
        """May a call return this tensor before it is computed?"""
        return True

    def start_events(self) -> Any:
        """Mark the beginning of a stretch of device work; None where there is no accelerator."""
        return None

    def device_seconds(self, started: Any) -> float | None:
        """Device time since `started`, which `start_events` returned; waits for the device."""
        return None

    def reset_peak_memory(self) -> None:  # noqa: B027
        """Begin a new record of peak device memory."""

    def peak_memory_bytes(self) -> int | None:
        """Peak device memory since the reset, over all devices; None where it is not known."""
        return None

    def is_used(self) -> bool:
        """Has it computed in this process? Another may import it only; True if it doesn't tell."""
        return True

    def has_threads(self) -> bool:
        """Has this process, or the one that forked it, started the threads that it works with?"""
        return False

    def thread_count(self) -> int | None:
        """How many threads one operation may use; None where the framework does not tell."""
        return None

    def accelerators(self) -> list[str]:
        """The models of the accelerators that it has used, such as 'NVIDIA H200'."""
        return []

    # Compilers, and what they keep on the disk

    def start_compiler(self, function: Function) -> tuple[str, float | None]:
        """Start the compiler that this function needs, as the first to use it would have to.

        Returns:
            The compiler's name, "" if it needs none, and the seconds that its start took in this
            process, however long ago that was; None if nobody timed it, because other code had
            started it.
        """
        return "", None

    def disk_cache_hits(self) -> int:
        """How many programs its compilers have found on the disk in this process so far."""
        return 0

    def programs_compiled(self) -> int | None:
        """How many programs its compilers have made in this process so far; None if it isn't known.

        It is asked before and after each turn of a measurement, so it takes a microsecond.
        """
        return None

    def use_disk_cache(self, folder: Path) -> None:  # noqa: B027
        """Keep programs in this folder from now on, and find none that was compiled before."""

    # Fresh processes, in which it computes the same

    def thread_variables(self, count: int) -> Mapping[str, str]:
        """The environment of a fresh process in which an operation may use so many threads.

        Numerical libraries below a framework have variables that several frameworks name.
        """
        return {}

    def cache_variables(self, folder: Path) -> Mapping[str, str | None]:
        """The environment of a fresh process that keeps what it compiles in `folder` alone.

        A variable that is None there is not set.
        """
        return {"CUDA_CACHE_PATH": str(folder / "cuda")}

    def settings(self) -> Mapping[str, Any]:
        """What the user has set in this process for all that it computes, as plain data."""
        return {}

    def apply_settings(self, settings: Mapping[str, Any]) -> None:  # noqa: B027
        """Set in this process what ``settings`` of another has returned."""

    def reduce(self, obj: Any) -> Any:
        """How a fresh process makes the object again, as ``__reduce__`` says it.

        NotImplemented for whatever travels as it is, which is called for each part of it.
        """
        return NotImplemented

    # Tensors

    @abstractmethod
    def is_tensor(self, obj: Any) -> bool:
        """Is it a tensor of this framework, one that ``to_host`` can copy?"""

    def is_accelerated(self, tensor: Any) -> bool:
        """Does the tensor come from an accelerator, not from the CPU?"""
        return False

    @abstractmethod
    def to_host(self, tensor: Any) -> HostArray:
        """A copy of a tensor outside the framework."""

    @abstractmethod
    def from_host(self, host_array: HostArray, options: Mapping[str, Any]) -> Any:
        """The tensor inside the framework, on the device that `options` name."""

    # Models

    def classes(self) -> tuple[tuple[type, ...], tuple[type, ...]]:
        """The classes of what models are made of: modules, and the weights that a call may create.

        Every verb puts back the attributes of modules.
        """
        return (), ()

    def snapshot(self, parts: Sequence[Any]) -> Iterable[Callable[[], Any]]:
        """Functions that put back what running models changes beside output and attributes.

        That is the framework's random state, where it can be read, and the numbers that the models
        made of these parts count or average in, such as running means.
        """
        return ()

    def infer(self, model: Function, args: Args, kwargs: Kwargs) -> Any:
        """Run the model for inference, without dropout or gradients; what it returns."""
        return model(*args, **kwargs)

    def unchanged(
        self, model: Function, args: Args, kwargs: Kwargs
    ) -> AbstractContextManager[object]:
        """A block after which everything has the value that it had before calls of the model in it.

        That is what a function around it holds, too; ``snapshot`` knows models alone.
        """
        return nullcontext()

    def warnings(self, model: Function, args: Args, kwargs: Kwargs) -> Iterable[str]:
        """Sentences for a reader who measures this call as inference, if it is something else.

        So it is if layers act as in training, or if each call copies an argument to another device.
        """
        return ()

    @abstractmethod
    def variants(
        self,
        model: Function,
        args: Args,
        kwargs: Kwargs,
        *,
        include_expert: bool,
        compiler_options: Kwargs,
    ) -> VariantsByName:
        """Each way to run the model on these arguments, by name.

        Args:
            model: the model, or a function of its tensors.
            args, kwargs: what it is called with.
            include_expert: also the ways for experts.
            compiler_options: for the framework's compiler.

        Raises:
            ArgumentError: the compiler has no such option.
        """

    def training(
        self, model: Any, loss: Function, optimizer: Any, args: Args, kwargs: Kwargs, target: Any
    ) -> VariantsByName:
        """Each way to train the model by one step, by name.

        Raises:
            ArgumentError: this is no model or no optimizer of the framework.
        """
        raise self.lacks("training")

    def explain(self, model: Function, args: Args, kwargs: Kwargs) -> Explanation:
        """What the framework's compiler makes of a call."""
        raise self.lacks("explain")

    def graphs(self, model: Function, args: Args, kwargs: Kwargs) -> Sequence[Graph]:
        """The graphs that a call takes."""
        raise self.lacks("graph")

    def donates(self, function: Function) -> bool:
        """Does a call of it delete arguments, whose memory its result gets?"""
        return False

    def hint(self, error: Exception) -> str:
        """What to do about an error that a call of the user's has raised; often nothing."""
        return ""

    # Why a call takes the time that it takes: what ``d2lhybrid.why`` asks

    def is_compiled(self, function: Function) -> bool:
        """Was this compiled, or something in it that it calls, as far as one can see?"""
        return False

    def switched_off(self) -> str:
        """The setting, as code, with which the user has switched the compiler off; or nothing."""
        return ""

    def compiled_again(self, run: Callable[[], Any]) -> Finding | None:
        """Call `run` twice. Why the second call compiled a program, in the framework's own words.

        With the place in the user's code, and what differs from the nearest earlier program, where
        the framework tells. None if nothing was compiled.
        """
        return None

    def apart(self) -> AbstractContextManager[object] | None:
        """A block in which this thread runs programs made anew in place of what the user compiled.

        After it, whatever the user has compiled has the programs that it had before it. None if the
        framework has no such block.
        """
        return nullcontext()

    def compiled_again_apart(self, model: Function, args: Args, kwargs: Kwargs) -> Finding | None:
        """Why a second call of the model with the same arguments compiles a program, if one does.

        As ``compiled_again`` says it, but what the user has compiled gets no program by it. None,
        too, if the framework cannot be asked so.
        """

        def run() -> None:
            model(*args, **kwargs)
            self.synchronize()

        apart = self.apart()
        if apart is None:
            return None
        with self.unchanged(model, args, kwargs), apart:
            before = self.programs_compiled()
            if before is not None:
                run()
            compiled_nothing = before is not None and self.programs_compiled() == before
            return None if compiled_nothing else self.compiled_again(run)

    def first_call(self) -> AbstractContextManager[Callable[[], Explanation | None]]:
        """A block around the first call of something.

        It gives a function that says, after the block, what the call compiled, or None if it
        compiled nothing. The graphs are made of what the call has compiled; nothing is compiled
        again for them.
        """
        return nullcontext(lambda: None)

    def programs_run(self, run: Function) -> int | None:
        """Call `run` once. How many compiled programs did it run? None if that isn't known.

        The programs that a framework compiles of eager code, operation by operation, don't count.
        """
        return None

    def why_not_compiled(self, function: Function) -> str:
        """Why a call of this runs no compiled program, as a sentence; empty if that isn't known."""
        return ""

    def limit_reached(self, function: Function) -> str:
        """Which code of this is compiled no more often, as a sentence; empty if there is none."""
        return ""

    def seconds_before(self, run: Function) -> float | None:
        """What a call of `run` spends before compiled code begins, converting arguments included.

        None if that isn't known.
        """
        return None

    def eager_operation(self) -> Callable[[], Any]:
        """The quickest operation of eager mode, on one element, to be called without waiting."""
        one = self.from_host(HostArray.of(np.ones(1, np.float32)), {})
        return partial(neg, one)

    def eager_operations(self, explanation: Explanation) -> int | None:
        """How many operations an eager call starts at least for what was recorded."""
        program = explanation.program
        return program.recorded - program.free if program else None

    def dense_layers(self, model: Function) -> list[Layer] | None:
        """The model as a chain of dense layers; None if it is anything else."""
        return None


def least_until(begun: list[float], run: Function, wait: Callable[[], object]) -> float | None:
    """Seconds from the beginning of a call to what puts its time into `begun`; the least of some.

    None if nothing does. `wait` waits until the work of a call is done.
    """
    before: list[float] = []
    end = perf_counter() + BEFORE_SECONDS
    while len(before) < BEFORE_CALLS and (not before or perf_counter() < end):
        begun.clear()
        start = perf_counter()
        run()
        wait()
        if not begun:
            return None
        before.append(begun[0] - start)
    return min(before)


def numerical_threads(count: int) -> dict[str, str]:
    """What the libraries below a framework read when they are loaded: OpenMP, MKL, OpenBLAS."""
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    return dict.fromkeys(names, str(count))


def threads_set(variable: str) -> int | None:
    """The number of threads that a variable of the environment sets; None if it sets none."""
    text = os.environ.get(variable, "")
    return int(text) if text.isdecimal() else None


def tracing_text(framework: str) -> str:
    """What a TracingError says."""
    text = _(
        "Expected code that computes now. Received: code that {framework} is tracing, so "
        "there is nothing to measure yet. Measure outside the compiled function, around its call."
    )
    return text.format(framework=framework)


def require_options(compiler: str, options: Kwargs, known: tuple[str, ...]) -> None:
    """Raise ArgumentError for an option that the compiler does not have."""
    for name in options.keys() - set(known):
        text = _("Expected options of {compiler} among {known}. Received: {received!r}.")
        if not known:
            text = _(
                "Expected no options of {compiler}, because every way here is compiled with its "
                "defaults. Received: {received!r}. Compile the function yourself and add it: "
                "{example}."
            )
        names = {"known": ", ".join(known), "example": "ways['mine'] = compiled"}
        message = text.format(compiler=compiler, received=name, **names)
        raise ArgumentError(message + write_nearest(name, known))


def require_trainable(
    net: Any, models: Mapping[str, type], optimizer: Any, optimizers: Mapping[str, type], code: str
) -> None:
    """Raise ArgumentError unless both are objects of these classes, given by name.

    A function that calls a model is none: a copy of it is the function itself, which goes on
    calling the user's model. `code` makes an optimizer.
    """
    if not isinstance(net, tuple(models.values())):
        text = _(
            "Expected a model of the class {models}. Received: {net}. Pass the model itself, not a "
            "function that calls it; {call} takes its keyword arguments."
        )
        names = {"models": " / ".join(models), "call": "call(net, x, key=z)"}
        raise ArgumentError(text.format(net=type_of(net), **names))
    if not isinstance(optimizer, tuple(optimizers.values())):
        text = _(
            "Expected an optimizer of the class {optimizers}, made for this model. Received: "
            "{optimizer}. Write, for example, {example}."
        )
        names = {"optimizers": " / ".join(optimizers), "example": code}
        raise ArgumentError(text.format(optimizer=type_of(optimizer), **names))


def type_of(thing: Any) -> str:
    """What a message calls something of a wrong type."""
    text = _("{text!r}, a string") if isinstance(thing, str) else "{kind}"
    if isinstance(thing, type):
        text = _("{name}, a class and not an object of it")
    elif isroutine(thing):
        text = _("{name}, a function")
    names = {"text": thing, "kind": kind_of(thing), "name": kind_of(thing)}
    return text.format(**names)


def require_own(net: Any, weights: Iterable[Any], optimizer: Any, known: Iterable[Any]) -> None:
    """Raise ArgumentError if an optimizer updates none of the model's weights.

    Frozen layers may be missing. An optimizer that knows no weights yet can belong to any model.

    Args:
        weights: those of the model.
        known: those for which the optimizer was made.
    """
    of_model, of_optimizer = {*map(id, weights)}, {*map(id, known)}
    if of_optimizer and of_model.isdisjoint(of_optimizer):
        raise foreign_optimizer(net, optimizer)


def foreign_optimizer(net: Any, optimizer: Any) -> ArgumentError:
    """The error to raise for an optimizer of another model, with which this one learns nothing."""
    text = _(
        "Expected an optimizer made for {net}. Received: {optimizer}, which was made for other "
        "parameters, so this model would learn nothing. Make one for it, or pass the model that "
        "the optimizer belongs to."
    )
    names = {"net": type(net).__name__, "optimizer": type(optimizer).__name__}
    return ArgumentError(text.format(**names))


def copied(net: Any, shared: dict[int, Any]) -> Any:
    """A copy of a model, without what it shares with the copy, by id.

    Raises:
        CannotBuildError: Something in the model cannot be copied, such as a lock or an open file.
    """
    try:
        return copy.deepcopy(net, shared)
    except Exception as error:
        text = _(
            "Expected a model that can be copied, so that yours stays unchanged. Received: "
            "{error}: {said}. Remove what cannot be copied, or compare functions: {example}."
        )
        example = typed(
            "compare({'eager': net, 'compiled': ...}, x)", "compare FILE.py eager compiled"
        )
        names = {"example": example, "said": error}
        raise CannotBuildError(text.format(**names, error=type(error).__name__)) from error
