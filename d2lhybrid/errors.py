"""Every exception that d2lhybrid raises on purpose."""

from d2lhybrid.core.errors import *  # noqa: F403
from d2lhybrid.core.errors import __all__ as __all__
