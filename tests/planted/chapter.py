"""The residual network and the Transformer of the chapter `faster`, as its reader has them."""

import sys
from functools import cache

from processes import ROOT

sys.path.insert(0, str(ROOT))  # where a benchmark starts elsewhere


@cache
def networks(framework):
    """A module with resnet(), encoder(), images(batch) and tokens(batch)."""
    from recording.chapter_networks import chapter_networks

    return chapter_networks(ROOT / f"notebooks/en/{framework}/faster.ipynb")
