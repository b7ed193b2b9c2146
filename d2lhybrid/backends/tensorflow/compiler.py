"""The traces that TensorFlow has made."""

from d2lhybrid.backends.defaults import compiler as defaults
from d2lhybrid.backends.tensorflow import why

disk_cache_hits = defaults.disk_cache_hits
is_imported = defaults.is_imported
start = defaults.start
use_disk_cache = defaults.use_disk_cache


def programs_compiled() -> int | None:
    """The traces since this was first asked.

    XLA may compile one of them many times, which no counter shows.
    """
    return why.traces_made()
