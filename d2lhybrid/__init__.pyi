# The public names, for type checkers; `__init__.py` loads each of them on first use.
from . import errors as errors
from .artifacts.inspect import Inspection as Inspection, inspect as inspect, trust as trust
from .artifacts.load import LoadedModel as LoadedModel, load as load
from .artifacts.native import run_native as run_native
from .artifacts.save import save as save
from .artifacts.verify import Verification as Verification, verify as verify
from .backends.mxnet.compat import import_mxnet as import_mxnet
from .core.arguments import call as call
from .experiments.comparison import Comparison as Comparison, Judgement as Judgement
from .graphs.explanation import Explanation as Explanation
from .graphs.graph import Graph as Graph
from .measuring.measurement import Measurement as Measurement
from .timing import Benchmark as Benchmark, Timer as Timer, synchronize as synchronize
from .verbs.compare import compare as compare
from .verbs.doctor import Diagnosis as Diagnosis, doctor as doctor
from .verbs.explaining import explain as explain, graph as graph
from .verbs.measure import measure as measure
from .verbs.sweep import Sweep as Sweep, sweep as sweep
from .verbs.training import training as training
from .verbs.variants import variants as variants
from .verbs.ways import Variants as Variants
from .why.rules import Reason as Reason, Reasons as Reasons

__version__: str
