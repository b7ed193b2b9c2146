"""What the chapters print with, beside the verbs.

Tables of figures, what compilers make of the same function, and what was found beside a reader's
guesses are made here; plots, the language and the other names are handed on. Importing this module
loads no framework and no Matplotlib.
"""

from d2lhybrid.core.i18n import pad, set_language
from d2lhybrid.core.output import quiet
from d2lhybrid.memory import PeakMemory
from d2lhybrid.teaching.answers import reveal
from d2lhybrid.teaching.plots import plot_calls, plot_roofline
from d2lhybrid.teaching.printing import has_compiler, print_table
from d2lhybrid.teaching.trials import Trials, outcome

__all__ = [
    "PeakMemory",
    "Trials",
    "has_compiler",
    "outcome",
    "pad",
    "plot_calls",
    "plot_roofline",
    "print_table",
    "quiet",
    "reveal",
    "set_language",
]
