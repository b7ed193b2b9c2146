"""How many cores other programs hold, and whether they leave enough for the frameworks' threads.

More threads than free cores falsify a ratio, not the load as such: threads that share an operation
wait for the one that got no core, whatever they compute, and one thread waits for no other.
"""

from time import perf_counter

from d2lhybrid.backends import is_used, loaded
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.measuring import disturbance
from d2lhybrid.measuring.cold_start import TimerFunction
from d2lhybrid.measuring.provenance import core_count, environment

WATCHED = 0.3  # seconds, over which other programs are watched
QUICK = 1.0  # a lower time limit asks for a quick try, which is no time to start a process in


def cores_held(timer: TimerFunction, time_limit: float) -> int:
    """How many cores other programs hold, if they leave too few for the frameworks' threads; or 0.

    It is 0 where threads matter little, because an accelerator computes, where the system doesn't
    tell what others use, and for another timer, which belongs to this process.
    """
    env = environment()
    used = [framework.device for framework in loaded() if is_used(framework)]
    threads = max((device.thread_count() or env.cores for device in used), default=1)
    is_other_timer = timer is not perf_counter
    if threads == 1 or env.accelerators or is_other_timer or time_limit < QUICK:
        return 0
    held = min(env.cores, round(disturbance.cores_others_use(WATCHED)))
    return held if threads > env.cores - held else 0


def with_one_thread(held: int) -> str:
    """Why one thread measures."""
    text = _("Measured with one thread, because other programs hold {held} of {cores} cores.")
    return text.format(held=held, cores=core_count())
