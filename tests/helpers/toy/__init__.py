"""A framework of a few classes, and beside them what d2lhybrid needs of it: an example of a folder.

Of a real framework, the folder has ``FRAMEWORK`` and the modules alone. ``device``, ``models`` and
``variants``, a dozen functions, are all that ``compare`` needs; ``compiler`` and ``why`` it
lacks.
"""

import numpy as np

from d2lhybrid.backends.base import Framework

__version__ = "4.2"


class Array(np.ndarray):
    """A tensor of the framework."""


class Affine:
    """A model of the framework."""

    def __init__(self, factor, shift=0.0):
        self.factor, self.shift = factor, shift

    def __call__(self, x, *, scale=1.0):
        return (x * self.factor + self.shift) * scale


class Descent:
    """An optimizer of the framework."""

    def __init__(self, rate):
        self.rate = rate


FRAMEWORK = Framework(name="toy", display="Toy Framework", folder=__name__)
