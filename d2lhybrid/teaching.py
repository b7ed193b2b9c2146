"""What the chapters use beside the verbs: tables and plots, results, errors, the language.

The names load on first use, so importing this module loads no framework and no Matplotlib.
"""

from d2lhybrid import errors
from d2lhybrid.lazy import attach

_HOMES = {
    "print_table": "trials",
    "Trials": "trials",
    "outcome": "trials",
    "Outcome": "trials",
    "Comparison": "report.results",
    "Measurement": "report.records",
    "Sweep": "report.sweeps",
    "plot_roofline": "report.charts",
    "plot_calls": "report.charts",
    "Peak": "measurement.memory",
    "has_compiler": "compiler",
    "quiet": "quieting",
    "set_language": "i18n",
    "pad": "i18n",
}
_HOMES |= {name: "errors" for name in vars(errors) if name.endswith("Error")}
__all__ = list(_HOMES)
__getattr__, __dir__ = attach(__name__, _HOMES)
