"""What the command line compares: functions in a file, or the model that one of them returns."""

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from d2lhybrid.core.arguments import (
    BY_POSITION,
    FORWARD,
    Call,
    call,
    keywords_of,
    parameters_of,
    write_nearest,
)
from d2lhybrid.core.errors import ArgumentError
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.core.module_files import import_file, with_line
from d2lhybrid.core.reader import option
from d2lhybrid.experiment.variants import variants

EXAMPLE = "FILE.py:example"
# What an example may return.
FORMS = {"pair": "(net, x)", "triple": "(net, ids, {'mask': mask})"}


def to_compare(
    file: str, functions: Sequence[str] = (), **options: Any
) -> Mapping[str, Callable[..., Any]] | Call:
    """What ``compare`` takes: functions of a file by their names, or the variants of a model.

    Args:
        file: the file, which is run once and imports from its own folder; or ``FILE.py:example``,
            as for ``example_in``.
        functions: the names of functions, if `file` names no example.
        options: those of ``variants``, for a model.

    Raises:
        ArgumentError: there is no such file or function, the file does not run, or `options` come
            with functions.
        Otherwise what ``example_in`` and ``variants`` raise.
    """
    path, example = _split(file)
    if bool(example) == bool(functions):
        text = _(
            "Expected functions to compare, or one that returns a model and its input, as "
            "{example}, but neither is given."
        )
        if example:
            text = _(
                "Expected functions to compare, or one that returns a model and its input, as "
                "{example}. Received: both."
            )
        raise ArgumentError(text.format(example=f"{path}:example"))
    if not functions:
        called = example_in(file)
        return replace(called, function=variants(called, **options))
    if options:
        text = _("Expected a model, as {example}, for {options}. Received: functions.")
        given = ", ".join(option(name) for name in options)
        raise ArgumentError(text.format(example=f"{path}:example", options=given))
    module = _imported(path)
    return {name: _function(module, name, path) for name in functions}


def refuse_example(file: str, name: str, function: Callable[[], Any]) -> None:
    """Raise ArgumentError if a function that was compared returns a model with its arguments.

    Call this after the comparison, because it calls the function: its first call is measured.
    """
    try:
        returned = function()
    except Exception:  # the comparison has said so
        return
    if isinstance(returned, Call) or (isinstance(returned, tuple) and _is_ours(returned)):
        text = _(
            "Expected functions to compare. Received: {name!r}, which returns a model. To compare "
            "the ways to run that model, write {example}."
        )
        raise ArgumentError(text.format(name=name, example=f"{file}:{name}"))


def _is_ours(returned: tuple[Any, ...]) -> bool:
    """Is it a model, and then its arguments?"""
    return len(returned) > 1 and _is_model(returned[0])


def example_in(file: str) -> Call:
    """The model that an example returns, with its arguments.

    Args:
        file: ``FILE.py:example``, where ``example()`` returns a model and then its arguments. A
            dictionary at the end whose keys are parameters of the model holds keyword arguments.
            ``(net, args, kwargs)`` with a tuple and a dictionary, and ``call(net, ...)``, also do.

    Raises:
        ArgumentError: there is no such file or function, the file does not run, or the example
            raises or returns something else.
    """
    path, example = _split(file)
    if not example:
        text = _(
            "Expected a function that returns a model and its input, as {example}. Received: "
            "{file!r}."
        )
        raise ArgumentError(text.format(example=f"{file}:example", file=file))
    return _returned(_function(_imported(path), example, path), example, path)


def _split(file: str) -> tuple[str, str]:
    """The path, and the name of a function behind its last colon, if there is one.

    >>> _split("models/net.py:example"), _split("net.py")
    (('models/net.py', 'example'), ('net.py', ''))
    """
    path, _colon, name = file.rpartition(":")
    return (path, name) if path and name.isidentifier() else (file, "")


def _imported(file: str) -> ModuleType:
    """The module that a file is; it imports from its own folder.

    A file with the name of a library gets another name, and its folder comes last: what imports
    that library must not get this file.
    """
    path = Path(file).resolve()
    if not path.is_file():
        text = _("Expected a Python file. Received: {file!r}, but there is no such file.")
        raise ArgumentError(text.format(file=file))
    name = path.stem
    is_library = _is_library(name)
    sys.path.insert(len(sys.path) if is_library else 0, str(path.parent))
    if is_library or not name.isidentifier():
        name = re.sub(r"\W", "_", f"file {name}")
    return import_file(name, str(path))


def _is_library(name: str) -> bool:
    """Is this the name of a module, and not only of a file in the current folder?"""
    if not name.isidentifier():
        return False
    if name in sys.modules:
        return True
    spec = find_spec(name)
    return spec is not None and Path(spec.origin or "").parent != Path.cwd()


def _function(module: ModuleType, name: str, file: str) -> Callable[..., Any]:
    """The function of that name."""
    function: Callable[..., Any] | None = getattr(module, name, None)
    if callable(function):
        if needed := _required(function):
            text = _(
                "Expected a function without arguments. Received: {name!r} in {file}, which takes "
                "{parameters}. If it is a model, add a function that returns it: {code}."
            )
            code = f"def example(): return {name}, {', '.join(needed)}"
            fields = {"name": name, "file": file, "parameters": ", ".join(needed)}
            raise ArgumentError(text.format(**fields, code=code))
        return function
    text = _("Expected a function {name!r} in {file}. Received: none.").format(name=name, file=file)
    known = [other for other, value in vars(module).items() if callable(value)]
    raise ArgumentError(text + write_nearest(name, known))


def _returned(example: Callable[[], Any], name: str, file: str) -> Call:
    """The model that an example returns, with its arguments."""
    names = {"example": f"{name}()", "file": file}
    try:
        returned = example()
    except (Exception, SystemExit) as error:
        text = _(
            "Expected {example} in {file} to return a model and its input. Received: {error}. "
            "Call it by itself to see where it fails."
        )
        reason = with_line(error, str(Path(file).resolve()))
        raise ArgumentError(text.format(**names, error=reason)) from error
    match returned:
        case Call():
            return returned
        case (net, tuple(args), dict(kwargs)) if _is_model(net):
            return call(net, *args, **kwargs)
        case (net, tuple()) if _is_model(net) and len(needed := _required(net)) > 1:
            text = _("Expected {form} from {example} in {file}. Received: {received}.")
            form = f"({', '.join([type(net).__name__, *needed])})"
            raise ArgumentError(text.format(**names, form=form, received=_described(returned)))
        case (net, *args, dict(kwargs)) if _is_model(net) and _are_keywords(kwargs, net, args):
            return call(net, *args, **kwargs)
        case (net, first, *others) if _is_model(net):
            return call(net, first, *others)
    text = _("Expected {example} in {file} to return {pair} or {triple}. Received: {received}.")
    raise ArgumentError(text.format(**names, **FORMS, received=_described(returned)))


def _are_keywords(last: dict[Any, Any], net: Any, args: Sequence[Any]) -> bool:
    """Are the keys of a dictionary parameters of the model that `args` leave free?"""
    return bool(last) and keywords_of(net, len(args)).issuperset(last)


def _required(function: Any) -> list[str]:
    """The parameters without which a function, or a model's forward pass, cannot be called.

    >>> def f(x, y, scale=1): ...
    >>> _required(f)
    ['x', 'y']
    """
    asked = [function, *(getattr(function, name, None) for name in FORWARD[:2])]
    for parameters in map(parameters_of, asked):
        needed = [
            each.name
            for each in parameters
            if each.kind in BY_POSITION and each.default is each.empty
        ]
        if needed:
            return needed
    return []


def _is_model(net: Any) -> bool:
    """Can it be called? A class is to be created first."""
    return callable(net) and not isinstance(net, type)


def _described(returned: Any) -> str:
    """What an example returned, by its types.

    >>> _described(3), _described((print, 3))
    ('int', '(builtin_function_or_method, int)')
    """
    if isinstance(returned, (tuple, list)):
        return f"({', '.join(type(part).__name__ for part in returned)})"
    return type(returned).__name__
