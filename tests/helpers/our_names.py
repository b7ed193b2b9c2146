"""The names of all attributes of ours, which a user's callable or model may have, too."""

from d2lhybrid.backends.variant import DeferredBuild, TrainingStep, Variant
from d2lhybrid.core.arguments import call
from d2lhybrid.experiments.comparison import Comparison
from d2lhybrid.measuring.sampler import Sampler
from d2lhybrid.measuring.waiting import Waiting
from d2lhybrid.verbs.ways import Variants

CLASSES = (
    DeferredBuild,
    TrainingStep,
    Variant,
    Variants,
    Sampler,
    Waiting,
    Comparison,
    type(call(print)),
)
names = {*vars(DeferredBuild(print)), *vars(Variants({}))}
for kind in CLASSES:
    names |= {*dir(kind), *getattr(kind, "__dataclass_fields__", {})}
OUR_NAMES = sorted(name for name in names if not name.startswith("_"))
