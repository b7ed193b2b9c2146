"""The names of all attributes of ours, which a user's callable or model may have, too."""

from d2lhybrid.calls import call
from d2lhybrid.frameworks.protocol import Lazy, Noted, Step, TimesItself, Variant
from d2lhybrid.measurement.runner import Runner
from d2lhybrid.measurement.variants import Variants
from d2lhybrid.report.results import Comparison

CLASSES = Lazy, Noted, Step, TimesItself, Variant, Variants, Runner, Comparison, type(call(print))
found = {*vars(Lazy(print)), *vars(Variants({}))}
for kind in CLASSES:
    found |= {*dir(kind), *getattr(kind, "__dataclass_fields__", {})}
OUR_NAMES = sorted(name for name in found if not name.startswith("_"))
