"""What the chapters use beside the verbs: tables and plots, results, errors, the language.

The names load on first use, so importing this module loads no framework and no Matplotlib.
"""

from d2lhybrid import errors
from d2lhybrid.lazy import attach

_ROOMS = {
    "trials": ("print_table", "Trials", "outcome", "Outcome"),
    "report.results": ("Comparison", "Sweep"),
    "report.records": ("Measurement",),
    "report.plot": ("plot_roofline", "plot_calls"),
    "measurement.memory": ("Peak",),
    "installing": ("has_compiler",),
    "quieting": ("quiet",),
    "i18n": ("set_language", "pad"),
    "errors": tuple(name for name in vars(errors) if name.endswith("Error")),
}
__getattr__, __dir__, __all__ = attach(__name__, _ROOMS)
