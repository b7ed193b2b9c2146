"""The short, seeded part of the damage campaign: nothing silent, no crash, no foreign error.

One format of each framework: what looks at the files before a format reads them is the same for
all. `make fuzz` takes every format.
"""

import pytest
from fuzz_damage import campaign

COUNT = 30


@pytest.mark.parametrize(
    ("framework", "name"),
    [
        ("torch", "torch.export"),
        ("tensorflow", "savedmodel"),
        ("jax", "jax.export"),
        ("mxnet", "mxnet"),
    ],
)
def test_damaged_artifacts_are_refused(saved, framework, name):
    for target in ("theirs", "ours"):
        path = saved(framework, "mlp", name)
        found = campaign(path, through="load", target=target, count=COUNT, seed=1)
        assert found == {"refused": COUNT}
