"""The short, seeded part of the damage campaign: nothing silent, no crash, no foreign error.

One format of each framework: what looks at the files before a format reads them is the same for
all. `make fuzz` takes every format.
"""

import pytest
from fuzz_damage import campaign, make

COUNT = 30


@pytest.mark.parametrize("name", ["torch.export", "mxnet", "savedmodel", "jax.export"])
def test_damaged_artifacts_are_refused(tmp_path, name):
    make(name, tmp_path / name)
    theirs = campaign(tmp_path / name, through="load", target="theirs", count=COUNT, seed=1)
    assert theirs == {"refused": COUNT}
    ours = campaign(tmp_path / name, through="load", target="ours", count=COUNT, seed=1)
    assert ours["refused"] + ours["unchanged"] == COUNT
