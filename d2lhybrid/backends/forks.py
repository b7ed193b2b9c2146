"""A forked process has none of the threads that its parent's framework had started."""

from d2lhybrid.backends import loaded
from d2lhybrid.backends.base import Framework
from d2lhybrid.core.errors import ArgumentError
from d2lhybrid.core.i18n import gettext as _


def require_threads(framework: Framework | None) -> None:
    """Raise ArgumentError where a call would wait for threads that a fork has left behind."""
    if framework not in loaded() or not framework.device.is_started():
        return
    import psutil

    if psutil.Process().num_threads() == 1:
        text = _(
            "Expected a process in which {framework} can start its threads. Received: one forked "
            "from a process that had used it. Start a fresh one instead: {example}."
        )
        example = 'multiprocessing.get_context("spawn")'
        raise ArgumentError(text.format(framework=framework.display, example=example))
