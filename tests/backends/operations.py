"""What the parts of `test_fates.py` share."""

import re
from collections import Counter

HLO = {"sin": "sine", "cos": "cosine", "tanh": "tanh", "exp": "exponential", "floor": "floor"}
"""Operations and what they are called in HLO's text."""


def named(library, inputs, names):
    """Functions of a library that are called as the operation is."""
    return {name: (inputs, getattr(library, name)) for name in names.split()}


def kinds(text):
    """How often each kind of operation stands in HLO's text."""
    return Counter(re.findall(r" = (?:\(.*?\)|\S+) ([a-z-]+)\(", text))
