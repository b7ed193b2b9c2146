"""What is compared, as questions about it need it: the callable, and how it is compiled."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from d2lhybrid.core.arguments import Call
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.core.pytree import leaves
from d2lhybrid.experiment.rows import Row
from d2lhybrid.experiment.variants import Variants, way_of
from d2lhybrid.frameworks import find_framework, framework_of_call, loaded
from d2lhybrid.frameworks.base import Framework
from d2lhybrid.frameworks.variant import Args, DeferredBuild, Function, is_eager


class Subject:
    """The callable of a row with its arguments, and how it is compiled."""

    def __init__(
        self,
        functions: Mapping[str, Any],
        row: Row,
        args: Args,
        kwargs: Mapping[str, Any],
        run: Callable[[], Any] | None,
    ) -> None:
        function = functions[row.label]
        inside = function if isinstance(function, Call) else Call(function, (), {})
        self.row = row
        self.call = inside.with_more(args, kwargs)
        self.function = self.call.function
        self.args, self.kwargs = self.call.args, self.call.kwargs
        self.way = way_of(self.function)
        self.is_ours = self.way is not None or (
            isinstance(functions, Variants) and row.label in functions.code
        )
        self.run = run or partial(self.function, *self.args, **self.kwargs)

    def framework(self) -> Framework | None:
        """That of the model, of its arguments, of what is compiled in it, or of the result."""
        found = framework_of_call(self.model, self.args, self.kwargs)
        return found or (find_framework(self.run()) if loaded() else None)

    @property
    def is_ahead(self) -> bool:
        """Is it compiled ahead of time, so that a program is loaded and nothing traced?"""
        return isinstance(self.function, DeferredBuild) and self.function.ahead

    @property
    def is_hidden(self) -> bool:
        """Is it compiled in one of our ways whose graphs nobody knows, or may it be?"""
        has_graphs = self.way is not None and self.way.explained is not None
        name = self.way.name if self.way else self.row.label
        return self.is_ours and not has_graphs and not is_eager(name)

    def is_compiled(self, framework: Framework) -> bool:
        """Is it, as far as one can see, or as its first call compiled a program?"""
        if self.is_ours:
            return self.way is not None and self.way.explained is not None
        has_compiled = bool(self.row.first_compilations) and not framework.compiles_operations
        return has_compiled or framework.is_compiled(self.function)

    @property
    def explained(self) -> Function:
        """What has its graphs."""
        explained = self.way.explained if self.way else None
        return explained or self.function

    @property
    def model(self) -> Function:
        """The model that it runs, uncompiled if that is known."""
        return self.way.model if self.way else self.function

    def tensors(self, framework: Framework) -> list[Any]:
        """Those of its arguments, and arrays that the framework takes for tensors."""
        inputs = [leaf for _path, leaf in leaves([self.args, self.kwargs])]
        takes_arrays = framework.takes_arrays
        return [
            leaf
            for leaf in inputs
            if framework.is_tensor(leaf) or (takes_arrays and isinstance(leaf, np.ndarray))
        ]

    @property
    def named_arguments(self) -> list[tuple[str, Any]]:
        """Its arguments, each with what a reader calls it."""
        text = _("argument {number}")
        by_position = [(text.format(number=n), arg) for n, arg in enumerate(self.args, 1)]
        return [*by_position, *self.kwargs.items()]

    def smallest(
        self, framework: Framework, tensors: Sequence[Any], of_first: bool
    ) -> tuple[Function, Function | None]:
        """The smallest model of its kind: eager, and compiled in the same way if there is one.

        It adds 1 to each tensor; `of_first` to the first alone.
        """
        model = framework.add_one(self.model)
        if of_first:
            model = _of_first(model)
        if self.way is None:
            return model, framework.compiled_like(self.function, model)
        by_name = framework.variants(
            model,
            (*tensors,),
            {},
            include_expert=True,
            compiler_options={**self.way.compiler_options},
        )
        eager, same = by_name["eager"].run, by_name[self.way.name].run
        compiled = None if isinstance(same, str) else same  # a text says why there is none
        return model if isinstance(eager, str) else eager, compiled


def _of_first(model: Function) -> Function:
    """The same of the first argument, whatever comes with it."""

    def run(first: Any, *_others: Any) -> Any:
        return model(first)

    return run
