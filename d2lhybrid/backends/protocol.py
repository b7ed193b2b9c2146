"""What the modules in a framework's folder define.

The folders have modules of the same names, and in each module stand functions of the same names
(the backends of Keras are such modules). ``compare`` needs three of them, in which a framework that
computes on the CPU alone writes a dozen functions:

- ``device.py``: devices and tensors,
- ``models.py``: running a model, and what that changes,
- ``variants.py``: the ways to run a model.

The others a folder may lack: ``compiler.py``, ``training.py``, ``explain.py``, ``formats.py`` and
``why.py``. What a module can't do, it takes from the one of its name in ``defaults``, as in
``peak_memory_bytes = defaults.peak_memory_bytes``. At the end of a folder's ``__init__.py`` stand
its modules as ``Modules``, so that mypy holds each against its protocol.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from d2lhybrid.backends.defaults.device import Setting
from d2lhybrid.backends.formats import Format
from d2lhybrid.backends.variant import VariantsByName
from d2lhybrid.core.arguments import Args, Function, Kwargs
from d2lhybrid.core.host_array import HostArray
from d2lhybrid.graphs.explanation import Explanation
from d2lhybrid.graphs.facts import WatchedCall

# What `compare` needs


class DeviceModule(Protocol):
    """``device.py``: its devices and tensors. What stands behind ``from_host`` has a default."""

    def devices(self) -> list[str]:
        """The devices that it can compute on, the CPU first, as the framework writes them."""

    def compute_on(self, device: str, /) -> float:
        """Multiply two 2x2 matrices of ones on `device` and add up the product: 8.0."""

    def synchronize(self) -> None:
        """Wait until every device has finished the work it was given.

        A device that has done nothing yet is left alone: waking it takes seconds and memory.

        Raises:
            TracingError: a graph is being traced, so there is no work to wait for.
        """

    def wait_for(self, output: Any, /) -> None:
        """Wait for the output of a call, and for what the same thread gave its device before.

        Code that uses the output waits like this. ``synchronize`` knows no output, and may take
        longer. The time of this call is part of what is measured.
        """

    def is_tensor(self, obj: Any, /) -> bool:
        """Is it a tensor of this framework, one that ``to_host`` can copy?"""

    def is_accelerated(self, tensor: Any, /) -> bool:
        """Does the tensor come from an accelerator, not from the CPU?"""

    def to_host(self, tensor: Any, /) -> HostArray:
        """A copy of a tensor outside the framework."""

    def from_host(self, host_array: HostArray, options: Mapping[str, Any], /) -> Any:
        """The tensor inside the framework, on the device that `options` name."""

    def may_return_early(self, tensor: Any, /) -> bool:
        """May a call return this tensor before it is computed?"""

    def has_unfinished_work(self) -> bool | None:
        """Is there work left that ``wait_for`` did not wait for?

        It finds all work whose output somebody still holds, or it is None: not known.
        """

    def start_clock(self) -> Callable[[], float] | None:
        """Mark the beginning of a stretch of device work; None where there is no accelerator.

        What it returns waits for the device, and gives the device's seconds since then.
        """

    def reset_peak_memory(self) -> None:
        """Begin a new record of peak device memory."""

    def peak_memory_bytes(self) -> int | None:
        """Peak device memory since the reset, over all devices; None where it is not known."""

    def is_started(self) -> bool | None:
        """Has this process, or the one that forked it, started what it computes with?

        Threads that it started don't survive a fork. None if it doesn't tell, and they do.
        """

    def thread_count(self) -> int | None:
        """How many threads one operation may use; None where the framework does not tell."""

    def accelerators(self) -> list[str]:
        """The models of the accelerators that it has used, such as 'NVIDIA H200'."""

    def settings(self, with_threads: bool, /) -> Iterable[Setting]:
        """What the user has set in this process that changes what is computed, or how quickly.

        A fresh process gets them, `with_threads` also the number of threads.
        """


class ModelsModule(Protocol):
    """``models.py``: running a model. All but ``infer`` has a default."""

    def infer(self, model: Function, args: Args, kwargs: Kwargs, /) -> Any:
        """Run the model for inference, without dropout or gradients; what it returns."""

    def classes(self) -> tuple[tuple[type, ...], tuple[type, ...]]:
        """The classes of what models are made of: modules, and the weights that a call may create.

        Every verb puts back the attributes of modules.
        """

    def snapshot(self, parts: Sequence[Any], /) -> Iterable[Callable[[], Any]]:
        """Functions that put back what running models changes beside output and attributes.

        That is the framework's random state, where it can be read, and the numbers that the models
        made of these parts count or average in, such as running means.
        """

    def layers_in_training(self, model: Function, /) -> Iterable[Any]:
        """The layers that act as in training when the model is called, such as dropout."""

    def donates(self, function: Function, /) -> bool:
        """Does a call of it delete arguments, whose memory its result gets?"""


class VariantsModule(Protocol):
    """``variants.py``: the ways to run a model."""

    def variants(
        self,
        model: Any,
        args: Args,
        kwargs: Kwargs,
        include_expert: bool,
        compiler_options: Kwargs,
        /,
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


# What a framework may lack


class CompilerModule(Protocol):
    """``compiler.py``: its compilers, and what they keep on the disk."""

    def start(self, function: Function, /) -> tuple[str, float | None]:
        """Start the compiler that this function needs, as the first to use it would have to.

        Returns:
            The compiler's name, "" if it needs none, and the seconds that its start took in this
            process, however long ago that was; None if nobody timed it, because other code had
            started it.
        """

    def is_imported(self) -> bool:
        """Has anybody imported it? Until then nothing is compiled, and ``why`` has no answers."""

    def programs_compiled(self) -> int | None:
        """How many programs its compilers have made in this process so far; None if it isn't known.

        It is asked before and after each turn of a measurement, so it takes a microsecond.
        """

    def disk_cache_hits(self) -> int:
        """How many programs its compilers have found on the disk in this process so far."""

    def use_disk_cache(self, folder: Path, /) -> None:
        """Keep programs in this folder from now on, and find none that was compiled before."""


class TrainingModule(Protocol):
    """``training.py``: the ways to train a model."""

    def training(
        self, model: Any, loss: Function, optimizer: Any, args: Args, kwargs: Kwargs, target: Any, /
    ) -> VariantsByName:
        """Each way to train the model by one step, by name.

        Raises:
            ArgumentError: this is no model or no optimizer of the framework.
        """


class ExplainModule(Protocol):
    """``explain.py``: what its compiler makes of a model."""

    def explain(self, model: Any, args: Args, kwargs: Kwargs, /) -> Explanation:
        """What the framework's compiler makes of a call, with the graphs that it takes."""


class FormatsModule(Protocol):
    """``formats.py``: how a model is saved and loaded. Its import imports no framework."""

    @property
    def FORMATS(self) -> Mapping[str, Format]:
        """What it writes and reads, by name, the best first."""


class WhyModule(Protocol):
    """``why.py``: why a call takes the time that it takes, which ``d2lhybrid.why`` asks."""

    def is_compiled(self, function: Function, /) -> bool:
        """Was this compiled, or something in it that it calls, as far as one can see?"""

    def hint(self, error: Exception, /) -> str:
        """What to do about an error that a call of the user's has raised; often nothing."""

    def first_call(self) -> AbstractContextManager[Callable[[], Explanation | None]]:
        """A block around the first call of something.

        It gives a function that says, after the block, what the call compiled, or None if it
        compiled nothing. The graphs are made of what the call has compiled; nothing is compiled
        again for them.
        """

    def watched_call(self, run: Function, /) -> WatchedCall:
        """Call `run` twice, and watch the second call, which finds what the first has compiled.

        If it compiles a program all the same, the finding has the place in the user's code, and
        what differs from the nearest earlier program, where the framework tells.
        """

    def why_not_compiled(self, function: Function, /) -> str:
        """Why a call of this runs no compiled program, as a sentence; empty if that isn't known."""

    def seconds_before(self, run: Function, /) -> float | None:
        """What a call of `run` spends before compiled code begins, converting arguments included.

        That is at least the time until the framework calls its first program. What this call itself
        spends before the first operation is added where a program that computes nearly nothing
        shows it. The least of some calls; None if no program of the user's is seen.
        """

    def eager_operation(self) -> Callable[[], Any] | None:
        """The quickest operation of eager mode, on one element, to be called without waiting."""

    def eager_operations(self, explanation: Explanation, /) -> int | None:
        """How many operations an eager call starts at least for what was recorded."""


Modules = tuple[
    DeviceModule,
    ModelsModule,
    VariantsModule,
    CompilerModule,
    TrainingModule,
    ExplainModule,
    FormatsModule,
    WhyModule,
]

if TYPE_CHECKING:
    from d2lhybrid.backends.defaults import compiler, why

    _DEFAULTS: tuple[CompilerModule, WhyModule] = (compiler, why)
