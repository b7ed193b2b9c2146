"""A name that no framework has, and which of them may be meant."""

from collections.abc import Iterable
from typing import Any

from d2lhybrid.backends.base import Framework
from d2lhybrid.core.errors import UnknownFrameworkError
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.core.wording import kind_of, nearest, write_nearest


def unknown_name(name: Any, known: Iterable[Framework]) -> UnknownFrameworkError:
    """The error to raise where none of the `known` has this name."""
    text = _("Expected one of the frameworks {frameworks}. Received: {received}.")
    by_display = {framework.display: framework.name for framework in known}
    names = [*by_display.values()]
    message = text.format(frameworks=", ".join(map(repr, names)), received=kind_of(name))
    near = nearest(name, [*names, *by_display]) if isinstance(name, str) else ""
    return UnknownFrameworkError(message + write_nearest(by_display.get(near, near), names))
