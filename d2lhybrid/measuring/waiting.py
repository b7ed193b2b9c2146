"""How a call is waited for: by which frameworks, and whether for its output or the whole device."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from d2lhybrid.backends import loaded
from d2lhybrid.backends.base import Framework
from d2lhybrid.backends.owners import find_framework
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.core.pytree import leaves

_HOST_VALUES = (np.generic, np.ndarray, bool, int, float, complex, str, bytes, type(None))


@dataclass(slots=True)
class Waiting:
    """The frameworks that have to be done with a call, and what its first output says of them.

    ``calibration.detect_async`` finds out the rest.
    """

    frameworks: tuple[Framework, ...] = ()
    # May a call return before its output is there? None: the framework of the output is not known.
    may_return_early: bool | None = None
    # Is the output numbers, arrays of NumPy or nothing, so that no framework need have computed it?
    is_on_host: bool = False
    returns_value: bool = True  # or nothing at all?
    # Does a call leave work that waiting for its output leaves out, as a step of training does?
    has_side_effects: bool = False
    is_async: bool = False  # does the work of a call go on when it has returned?

    @classmethod
    def of(cls, output: Any, has_side_effects: bool) -> "Waiting":
        """Waiting for the output's framework; for all if it belongs to none.

        A NumPy array is there when the call returns. What returns numbers or nothing may have left
        work to a device all the same.
        """
        framework, parts = find_framework(output), [leaf for _path, leaf in leaves(output)]
        if framework:
            device = framework.device
            early = [device.may_return_early(leaf) for leaf in parts if device.is_tensor(leaf)]
            return cls(
                (framework,), any(early) if early else None, has_side_effects=has_side_effects
            )
        unknown = [leaf for leaf in parts if not isinstance(leaf, np.ndarray)]
        if parts and not unknown:
            return cls(has_side_effects=has_side_effects)
        return cls(
            loaded(),
            is_on_host=all(isinstance(leaf, _HOST_VALUES) for leaf in unknown),
            returns_value=any(leaf is not None for leaf in parts),
            has_side_effects=has_side_effects,
        )

    def until_done(self, output: Any) -> None:
        """Wait until the devices have done their work, whose errors come up here.

        This waits for the output, as code that uses it does, and for the whole device only if calls
        leave other work, or if nothing is known of the output.
        """
        if self.may_return_early is False:
            return
        for framework in self.frameworks:
            if self.has_side_effects or self.may_return_early is None:
                framework.device.synchronize()
            else:
                framework.device.wait_for(output)

    def is_at_work(self) -> bool:
        """Does a device say that it is still at work?"""
        return any(framework.device.has_unfinished_work() for framework in self.frameworks)


def not_waited_for(output: Any) -> list[str]:
    """A sentence for each kind of tensor in the output whose library nobody here knows."""
    if find_framework(output):
        return []
    others = {type(leaf) for _path, leaf in leaves(output) if not isinstance(leaf, np.ndarray)}
    text = _("the clock didn't wait for the result: {kind} isn't a tensor of a supported framework")
    return [
        text.format(kind=f"{kind.__module__.partition('.')[0]}.{kind.__name__}")
        for kind in others
        if hasattr(kind, "__dlpack__")
    ]
