"""What the command line compares: functions in a file, or the model that one of them returns."""

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import module_from_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from d2lhybrid.core.arguments import Call, call, nearest
from d2lhybrid.core.errors import ArgumentError, brief
from d2lhybrid.core.i18n import gettext as _, sentences
from d2lhybrid.experiment.variants import variants

EXAMPLE = "FILE.py:example"


def to_compare(
    file: str, functions: Sequence[str], *, in_processes: bool = False
) -> Mapping[str, Callable[..., Any]] | Call:
    """What ``compare`` takes: functions of a file by their names, or the variants of a model.

    Args:
        file: the file, which is run once and imports from its own folder; or ``FILE.py:example``,
            where ``example()`` returns the model with its arguments: ``(net, x)``,
            ``(net, args, kwargs)``, or ``call(net, ...)``.
        functions: the names of functions, if `file` names no example.
        in_processes: have other processes to import it, too?

    Raises:
        ArgumentError: there is no such file or function, the file does not run, or the example
            raises or returns something else.
        Otherwise what ``variants`` raises.
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
        raise ArgumentError(text.format(example=EXAMPLE))
    module = _imported(path, in_processes)
    if functions:
        return {name: _function(module, name, path) for name in functions}
    called = _returned(_function(module, example, path), example, path)
    return replace(called, function=variants(called))


def _split(file: str) -> tuple[str, str]:
    """The path, and the name of a function behind its last colon, if there is one.

    >>> _split("models/net.py:example"), _split("net.py")
    (('models/net.py', 'example'), ('net.py', ''))
    """
    path, _colon, name = file.rpartition(":")
    return (path, name) if path and name.isidentifier() else (file, "")


def _imported(file: str, in_processes: bool) -> ModuleType:
    """The module that a file is.

    It has the name by which another process imports it from its folder. Where there is no such
    name, it has another one, which is among the modules all the same: TorchDynamo looks there for
    what a function names.
    """
    path = Path(file).resolve()
    if not path.is_file():
        text = _("Expected a Python file. Received: {file!r}, but there is no such file.")
        raise ArgumentError(text.format(file=file))
    sys.path.insert(0, str(path.parent))
    name = path.stem
    if path.suffix != ".py" or not name.isidentifier() or name in sys.modules:
        if in_processes:
            text = _(
                "Expected a file that other processes can import, such as {example}. Received: "
                "{file!r}. Give it a name of letters, digits and underscores that no library uses."
            )
            raise ArgumentError(text.format(example="my_model.py", file=file))
        name = re.sub(r"\W", "_", f"file {name}")
    loader = SourceFileLoader(name, str(path))
    spec = ModuleSpec(name, loader, origin=str(path))
    spec.has_location = True  # which gives the module its __file__
    module = sys.modules[name] = module_from_spec(spec)
    try:
        loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        text = _("Expected {file} to run. Received: {error}.")
        raise ArgumentError(text.format(file=file, error=brief(error).rstrip("."))) from error
    return module


def _function(module: ModuleType, name: str, file: str) -> Callable[..., Any]:
    """The function of that name."""
    function: Callable[..., Any] | None = getattr(module, name, None)
    if callable(function):
        return function
    text = _("Expected a function {name!r} in {file}. Received: none.").format(name=name, file=file)
    near = nearest(name, [other for other, value in vars(module).items() if callable(value)])
    hint = _("Did you mean {near!r}?").format(near=near) if near else ""
    raise ArgumentError(sentences(text, hint))


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
        raise ArgumentError(text.format(**names, error=brief(error).rstrip("."))) from error
    match returned:
        case Call():
            return returned
        case (net, tuple(args), dict(kwargs)):
            return call(net, *args, **kwargs)
        case (net, x):
            return call(net, x)
    text = _("Expected {example} in {file} to return {pair} or {triple}. Received: {received}.")
    forms = {"pair": "(net, x)", "triple": "(net, args, kwargs)"}
    raise ArgumentError(text.format(**names, **forms, received=_described(returned)))


def _described(returned: Any) -> str:
    """What an example returned, by its types.

    >>> _described(3), _described((print, 3))
    ('int', '(builtin_function_or_method, int)')
    """
    if isinstance(returned, (tuple, list)):
        return f"({', '.join(type(part).__name__ for part in returned)})"
    return type(returned).__name__
