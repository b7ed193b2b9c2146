"""What Gluon has compiled: ``compat`` counts it, in a line of MXNet's that it replaces."""

from d2lhybrid.backends.defaults import compiler as defaults
from d2lhybrid.backends.mxnet import compat

disk_cache_hits = defaults.disk_cache_hits
is_imported = defaults.is_imported
programs_compiled = compat.programs_compiled
start = defaults.start
use_disk_cache = defaults.use_disk_cache
