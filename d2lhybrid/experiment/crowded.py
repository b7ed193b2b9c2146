"""Where other programs hold cores, a comparison is measured with one thread, in a fresh process.

More threads than free cores falsify a ratio, not the load as such: threads that share an operation
wait for the one that got no core, whatever they compute, and one thread waits for nobody. A
framework chooses its threads when its process starts, so it takes a fresh process.
"""

from time import perf_counter

from d2lhybrid.backends import is_used, loaded
from d2lhybrid.core.errors import D2LHybridError
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.experiment import disturbance
from d2lhybrid.experiment.comparison import Comparison
from d2lhybrid.experiment.experiment import Experiment
from d2lhybrid.experiment.processes import OneProcessExperiment
from d2lhybrid.experiment.provenance import environment
from d2lhybrid.source_file import SourceFile

WATCHED = 0.3  # seconds, over which other programs are watched
QUICK = 1.0  # a lower time limit asks for a quick try, which is no time to start a process in


def cores_held(experiment: Experiment) -> int:
    """How many cores other programs hold, if they leave too few for the frameworks' threads; or 0.

    It is 0 where threads matter little, because an accelerator computes, where the system doesn't
    tell what others use, and for another timer, which belongs to this process.
    """
    env = environment()
    used = [framework.device for framework in loaded() if is_used(framework)]
    threads = max((device.thread_count() or env.cores for device in used), default=1)
    is_other_timer = experiment.timer is not perf_counter
    if threads == 1 or env.accelerators or is_other_timer or experiment.time_limit < QUICK:
        return 0
    held = min(env.cores, round(disturbance.cores_others_use(WATCHED)))
    return held if threads > env.cores - held else 0


def with_one_thread(held: int) -> str:
    """Why one thread measures."""
    text = _("Measured with one thread, because other programs hold {held} of {cores} cores.")
    return text.format(held=held, cores=environment().cores)


def run_with_one_thread(
    experiment: Experiment, source: SourceFile | None, held: int, why: bool
) -> Comparison:
    """Measure in a fresh process with one thread; in this one if that fails, and say why."""
    experiment.circumstance = with_one_thread(held)
    try:
        return OneProcessExperiment(
            experiment, 1, threads=1, caches=True, source=source, why=why
        ).run()
    except D2LHybridError as error:
        reason = getattr(error, "reason", str(error))  # without the lines that one could write
        text = _(
            "Other programs hold {held} of {cores} cores, and no process with one thread could "
            "measure this: {reason}"
        )
        experiment.circumstance = text.format(held=held, cores=environment().cores, reason=reason)
        return experiment.run()
