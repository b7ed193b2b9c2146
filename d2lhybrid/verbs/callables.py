"""The callables that ``compare`` compares, by label, of whatever it was given, such as a file."""

import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import Any

from d2lhybrid.backends.owners import module_classes
from d2lhybrid.backends.variant import variant_of
from d2lhybrid.core.arguments import Args, Call
from d2lhybrid.core.errors import ArgumentError, brief
from d2lhybrid.core.i18n import gettext as _, sentences
from d2lhybrid.core.usage import is_class, not_a_model
from d2lhybrid.core.wording import EXAMPLE_CODE, described, kind_of, write_nearest
from d2lhybrid.experiments.experiment import Callables
from d2lhybrid.verbs.variants import variants
from d2lhybrid.verbs.ways import Variants

EXAMPLE = "FILE.py:example"


def call_of(returned: Any) -> Call | None:
    """What a reader's function returns to have it compared; None if that is something else.

    It is ``call(net, ...)``, ``(net, x, ...)``, variants, or callables by label, alone or before
    their arguments in a tuple.
    """
    match returned:
        case Call() | Mapping():
            return Call.of(returned)
        case (first, *args) if callable(first) or isinstance(first, Mapping):
            return Call.of(first, tuple(args))
    return None


def not_comparable(thing: Any) -> str:
    """What is wrong with the model or the callables; "" if nothing is."""
    inside = Call.of(thing).function
    if not isinstance(inside, Mapping):
        return not_a_model(inside)
    if isinstance(inside, Variants) and not inside and inside.unavailable:
        text = _("{label} was left out: {reason}.")
        left_out = inside.unavailable.items()
        return sentences(*(text.format(label=k, reason=_(v)) for k, v in left_out))
    if not inside:
        return _("The dict is empty.")
    for label, function in inside.items():
        if not isinstance(label, str):
            return _("{label!r} is no name: use strings.").format(label=label)
        if not callable(function) and not isinstance(function, Call):
            text = _("{label!r} is {kind}, which cannot be called.")
            return text.format(label=label, kind=kind_of(function))
        if isinstance(function, type) and issubclass(function, module_classes()):
            return is_class(function)
    return ""


def callables_of(what: Any, args: Args = ()) -> Callables:
    """The callables by label, and the arguments of each call.

    Raises:
        ArgumentError: variants or steps of training get arguments, or the file or function that is
            named isn't as ``SourceFile`` describes it.
        Otherwise what ``variants`` raises.
    """
    called = Call.of(what.compared() if isinstance(what, SourceFile) else what, args)
    functions, more = called.function, described(called.args, called.kwargs)
    if not isinstance(functions, Mapping):
        functions, more = variants(called), ""
    has_steps = any(way and way.is_step for way in map(variant_of, functions.values()))
    if more and (has_steps or isinstance(functions, Variants)):
        text = _("Expected {example} alone, which holds its input. Received: {more}.")
        example = "compare(training(...))" if has_steps else "compare(variants(net, x))"
        raise ArgumentError(text.format(example=example, more=more))
    if isinstance(functions, Variants):
        return functions, functions.args, functions.kwargs
    return functions, called.args, called.kwargs


@dataclass(frozen=True)
class SourceFile:
    """What a file has to compare. A fresh process makes it for itself, because it gets only this.

    `file` is ``FILE.py:example``, whose ``example()`` returns what ``call_of`` takes, or a file
    whose `functions` are compared. It is run once and imports from its own folder.
    """

    file: str
    functions: tuple[str, ...] = ()

    def compared(self) -> Mapping[str, Callable[..., Any]] | Call:
        """The functions by their names, or what the example returns.

        Raises:
            ArgumentError: there is no such file or function, it does not run, or returns something
                else.
        """
        if self.functions:
            module = _imported(self.file)
            return {name: _function(module, name, self.file) for name in self.functions}
        path, _colon, name = self.file.rpartition(":")
        if not path:
            text = _(
                "Expected a function that returns a model and its input, as {example}. Received: "
                "{file!r}."
            )
            raise ArgumentError(text.format(example=f"{self.file}:example", file=self.file))
        example = _function(_imported(path), name, path)
        with _running(self.file, path):
            returned = example()
        called = call_of(returned)
        wrong = "" if called is None else not_comparable(called)
        if called is None or wrong:
            text = _(
                "Expected {example} to return what to compare. Received: {received}. Write this:"
            )
            message = text.format(example=self.file, received=kind_of(returned))
            raise ArgumentError(f"{sentences(wrong, message)}\n\n{EXAMPLE_CODE}")
        return called


def _imported(file: str) -> ModuleType:
    """The module that a file is; it imports from its own folder, as if Python had been given it.

    It is among the modules, because TorchDynamo looks there for what a function names.
    """
    if not os.path.isfile(file):
        text = _("Expected a Python file. Received: {file!r}, but there is no such file.")
        raise ArgumentError(text.format(file=file))
    path = Path(file).resolve()
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    # No library has such a name, so the file stands in the place of none.
    module = ModuleType(re.sub(r"\W", "_", f"file {path.stem}"))
    module.__file__ = str(path)
    sys.modules[module.__name__] = module
    with _running(path.name, file):
        exec(compile(path.read_bytes(), path, "exec"), vars(module))
    return module


@contextmanager
def _running(what: str, path: str) -> Iterator[None]:
    """Let what a file raises, or a function in it, be an ArgumentError with the file's last line.

    A shell shows no more of it.
    """
    try:
        yield
    except (Exception, SystemExit) as error:
        reason, file = brief(error).rstrip("."), Path(path).resolve()
        trace = extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in trace if frame.filename == str(file)]
        if lines:  # a SyntaxError says itself where it is
            place = _("{file}, line {line}").format(file=file.name, line=lines[-1])
            reason = f"{reason} ({place})"
        text = _("Could not run {file} ({error}).")
        raise ArgumentError(text.format(file=what, error=reason)) from error


def _function(module: ModuleType, name: str, file: str) -> Callable[..., Any]:
    function: Callable[..., Any] | None = getattr(module, name, None)
    if callable(function):
        return function
    text = _("Expected a function {name!r} in {file}. Received: none.")
    known = [other for other, value in vars(module).items() if callable(value)]
    raise ArgumentError(text.format(name=name, file=file) + write_nearest(name, known))
