"""Where other programs hold cores, a comparison is measured with one thread, in a fresh process.

A framework chooses its threads when its process starts, so it takes a fresh process.
"""

from d2lhybrid.core.errors import D2LHybridError
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.measuring.cores import with_one_thread
from d2lhybrid.measuring.provenance import core_count
from d2lhybrid.processes.parent import OneProcessExperiment
from d2lhybrid.verbs.callables import SourceFile
from d2lhybrid.verbs.comparison import Comparison
from d2lhybrid.verbs.experiment import Experiment


def run_with_one_thread(experiment: Experiment, source: SourceFile | None, held: int) -> Comparison:
    """Measure in a fresh process with one thread; in this one if that fails, and say why."""
    experiment.circumstance = with_one_thread(held)
    try:
        return OneProcessExperiment(experiment, 1, threads=1, source=source).run()
    except (D2LHybridError, OSError) as error:  # such as a full disk
        reason = getattr(error, "reason", str(error))  # without the lines that one could write
        text = _(
            "Other programs hold {held} of {cores} cores, and no process with one thread could "
            "measure this: {reason}"
        )
        experiment.circumstance = text.format(held=held, cores=core_count(), reason=reason)
        return experiment.run()
