# The public names, for type checkers; `__init__.py` loads each of them on first use.
from . import errors as errors
from .artifacts.load import (
    Inspection as Inspection,
    LoadedModel as LoadedModel,
    Verification as Verification,
    inspect as inspect,
    load as load,
    trust as trust,
    verify as verify,
)
from .artifacts.native import run_native as run_native
from .artifacts.save import save as save
from .backends.mxnet.compat import import_mxnet as import_mxnet
from .core.arguments import call as call
from .diagnosis import doctor as doctor
from .experiment.claim import Judgement as Judgement
from .experiment.compare import compare as compare, measure as measure
from .experiment.comparison import Comparison as Comparison, Sweep as Sweep
from .experiment.measurement import Measurement as Measurement
from .experiment.sweep import sweep as sweep
from .experiment.training import training as training
from .experiment.variants import Variants as Variants, variants as variants
from .explaining import explain as explain, graph as graph
from .graphs.explanation import Explanation as Explanation
from .graphs.graph import Graph as Graph
from .timing import Benchmark as Benchmark, Timer as Timer, synchronize as synchronize
from .why.rules import Reason as Reason

__version__: str
