"""Copies of models, so that the user's stays unchanged."""

import copy
from typing import Any

from d2lhybrid.core.errors import CannotBuildError
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.core.reader import typed


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
