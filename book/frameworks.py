"""The frameworks of the collection, in the order in which readers meet them.

The package knows which there are and what they are called. A framework that chapters are written
for has a row here besides.
"""

from dataclasses import dataclass

from d2lhybrid.backends import known

# What a chapter's tabs and the folder of its notebooks say, by the package's name of a framework.
_KEYS = {"torch": "pytorch", "tensorflow": "tensorflow", "jax": "jax", "mxnet": "mxnet"}


@dataclass(frozen=True)
class Framework:
    """``key`` is what a chapter's tabs and the folder say, ``module`` what Python imports."""

    key: str
    name: str
    module: str


FRAMEWORKS = {
    _KEYS[one.name]: Framework(_KEYS[one.name], one.display, one.name)
    for one in known()
    if one.name in _KEYS
}
