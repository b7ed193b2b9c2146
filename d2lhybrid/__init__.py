"""Measure, compare, save and run eager and compiled models in PyTorch, TensorFlow, JAX and MXNet.

The names load on first use, so ``import d2lhybrid`` costs milliseconds and loads no framework.
The chapters' own helpers are in ``d2lhybrid.teaching``.

A folder imports only from those below it:

- ``teaching``: what the chapters print and draw with, guesses, and the peak memory of a call;
- ``verbs``: what a reader calls;
- ``experiments``: rounds, here or in fresh processes, and the comparison that comes of them;
- ``showing``: rows as text, pictures and data;
- ``why``: what is observed of compiled code, and a cause where a rule holds;
- ``measuring``: rounds, and records of what was measured; ``artifacts``: models that are saved;
- ``timing``: timers and ``Benchmark``;
- ``backends``: the frameworks, a folder for each;
- ``graphs``: what a compiler makes of a model, as data;
- ``core``: what knows no framework.
"""

__version__ = "0.2.0"

# By module, as in ``__init__.pyi``. Nothing is imported here: ``python -m d2lhybrid`` runs this
# file while the current folder still comes first, so a file there could take a library's place.
_NAMES = {
    "artifacts.inspect": ("Inspection", "inspect", "trust"),
    "artifacts.load": ("LoadedModel", "load"),
    "artifacts.native": ("run_native",),
    "artifacts.save": ("save",),
    "artifacts.verify": ("Verification", "verify"),
    "backends.mxnet.compat": ("import_mxnet",),
    "core.arguments": ("call",),
    "graphs.explanation": ("Explanation",),
    "graphs.graph": ("Graph",),
    "measuring.measurement": ("Measurement",),
    "timing": ("Benchmark", "Timer", "synchronize"),
    "verbs.compare": ("compare",),
    "experiments.comparison": ("Comparison", "Judgement"),
    "verbs.doctor": ("Diagnosis", "doctor"),
    "verbs.explaining": ("explain", "graph"),
    "verbs.variants": ("variants",),
    "verbs.measure": ("measure",),
    "verbs.sweep": ("Sweep", "sweep"),
    "verbs.training": ("training",),
    "verbs.ways": ("Variants",),
    "why.rules": ("Reason", "Reasons"),
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names}
__all__ = sorted([*_MODULES, "errors"])


def __getattr__(name: str) -> object:
    """A public name, when it is first asked for."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    if name == "errors":
        return import_module(f"{__name__}.errors")
    globals()[name] = value = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
