"""What the chapters print with, beside the verbs.

``printing`` has tables of figures, ``trials`` what compilers make of the same function, and
``plots`` the pictures that are of no comparison. ``guesses`` shows what was found beside what a
reader has guessed: words and numbers as a table, comparisons as a picture (``bars``) and what
stands below it (``revealed``); ``memory`` has the peak memory of a call. The language and the other
names are handed on. Importing this loads no framework and no Matplotlib.
"""

from d2lhybrid.core.i18n import pad, set_language
from d2lhybrid.core.output import quiet
from d2lhybrid.teaching.guesses import reveal
from d2lhybrid.teaching.memory import PeakMemory
from d2lhybrid.teaching.plots import plot_roofline
from d2lhybrid.teaching.printing import has_compiler, print_table
from d2lhybrid.teaching.trials import Trials, outcome

__all__ = [
    "PeakMemory",
    "Trials",
    "has_compiler",
    "outcome",
    "pad",
    "plot_roofline",
    "print_table",
    "quiet",
    "reveal",
    "set_language",
]
