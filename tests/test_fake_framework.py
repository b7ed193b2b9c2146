"""A framework in one class goes through everything: nothing else in the package knows of it.

This file is also the example for the next framework, and imported by the processes that the
package starts: they find it by D2LHYBRID_FRAMEWORKS.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import d2lhybrid
from d2lhybrid.frameworks import VARIABLE, get, of, register, unregister
from d2lhybrid.frameworks.explanation import Explanation
from d2lhybrid.frameworks.formats import Format, Written
from d2lhybrid.frameworks.protocol import Framework, Layer, Lazy, Tensors, Variant
from d2lhybrid.frameworks.samples import Sample
from d2lhybrid.tensor import Raw

ROOT = Path(__file__).parents[1]


class Array:
    """A tensor of the framework."""

    def __init__(self, values: Any) -> None:
        self.values = np.asarray(values, np.float32)

    dtype = property(lambda self: self.values.dtype)
    shape = property(lambda self: self.values.shape)


class Affine:
    """A model of the framework."""

    def __init__(self, factor: float, shift: float = 0.0) -> None:
        self.factor, self.shift = factor, shift

    def __call__(self, x: Array, *, scale: float = 1.0) -> Array:
        return Array((x.values * self.factor + self.shift) * scale)


class Toy(Framework, Tensors):
    """The framework: what it is called, its tensors, its variants, its format and its words."""

    name, display, extra = "toy", "Toy Framework", "toy"
    module = __name__
    tensors = property(lambda self: self)

    def __init__(self) -> None:
        self.waited = 0

    def version(self) -> str:
        return "4.2"

    def devices(self) -> list[str]:
        return ["cpu"]

    def compute_on(self, device: str) -> float:
        return float((np.ones((2, 2)) @ np.ones((2, 2))).sum())

    def synchronize(self) -> None:
        self.waited += 1

    def threads(self) -> int:
        return 3

    def places(self, obj: Any) -> set[str]:
        return set()

    def is_tensor(self, obj: Any) -> bool:
        return isinstance(obj, Array)

    def to_raw(self, tensor: Array) -> Raw:
        return Raw.of(tensor.values.copy())

    def from_raw(self, raw: Raw, options: Any) -> Array:
        return Array(raw.array)

    def doubled(self, tensor: Array, axis: int = 0) -> Array:
        return Array(np.concatenate([tensor.values, tensor.values], axis))

    def infer(self, model: Any, args: Any, kwargs: Any) -> Any:
        return model(*args, **kwargs)

    def variants(
        self, net: Any, args: Any, kwargs: Any, everything: bool, options: Any
    ) -> dict[str, Variant]:
        def build() -> Any:
            return lambda x, scale=1.0: Array(x.values * (net.factor * scale) + net.shift * scale)

        return {
            "eager": Variant(net, "y = net(x)"),
            "fused": Variant(Lazy(build), "y = fuse(net)(x)"),
            "on chip": Variant("there is no chip"),
        }

    def layers(self, net: Any) -> list[Layer] | None:
        return None

    def explain(self, model: Any, args: Any, kwargs: Any) -> Explanation:
        return Explanation(f"{self.display} {self.version()}", type(model).__name__, 0, graphs=1)

    def default_format(self, model: Any) -> str:
        return "toy.json"

    @property
    def formats(self) -> dict[str, Format]:
        return {"toy.json": ToyJson()}


class ToyJson(Format):
    """The format of the framework."""

    name, packages, file = "toy.json", (), "model.json"

    def write(self, sample: Sample, folder: Path) -> Written:
        (folder / self.file).write_text(json.dumps([sample.model.factor, sample.model.shift]))
        return Written()

    def read(self, folder: Path, options: Any, into: Any = None) -> Affine:
        return Affine(*json.loads((folder / self.file).read_text()))


TOY = Toy()
if os.environ.get(VARIABLE) == __name__:
    register(TOY)  # in a process that the package started


@pytest.fixture
def toy(monkeypatch):
    monkeypatch.setenv(VARIABLE, __name__)
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}:{Path(__file__).parent}")
    yield register(TOY)
    unregister(TOY.name)


@pytest.fixture
def model(toy):
    return Affine(2.0, 1.0), Array([[1.0, 2.0, 3.0]])


def test_its_objects_are_its_own(toy, model):
    assert of(*model) is of([{"a": model[1]}]) is get("toy") is toy


def test_measure_waits_for_it_and_the_report_says_its_name(toy, model):
    toy.waited = 0
    m = d2lhybrid.measure(*model, time_limit=0.1)
    assert toy.waited > 3
    assert m.env.versions["toy"] == "4.2"
    assert "Toy Framework 4.2" in str(m)
    assert "Toy Framework: 3 threads" in str(m)


def test_variants_compare_and_their_answers(model):
    v = d2lhybrid.variants(*model, scale=3.0)
    assert v.unavailable == {"on chip": "there is no chip"}
    c = d2lhybrid.compare(v, model[1], scale=3.0, time_limit=0.2, progress=False)
    assert list(c) == ["eager", "fused"]
    assert "on chip" in c.unavailable
    c = d2lhybrid.compare(
        {"right": model[0], "wrong": Affine(2.0)}, model[1], time_limit=0.2, progress=False
    )
    assert list(c) == ["right"]
    assert "output" in c.unavailable["wrong"]


def test_explain(model):
    explanation = d2lhybrid.explain(*model)
    assert str(explanation).startswith("Affine (Toy Framework 4.2)")


def test_graph_says_that_it_has_none(model):
    with pytest.raises(d2lhybrid.D2LHybridError, match="Toy Framework"):
        d2lhybrid.graph(*model)


def test_save_verify_inspect_and_load(model, tmp_path):
    net, x = model
    d2lhybrid.save(net, tmp_path / "a", x)
    assert d2lhybrid.verify(tmp_path / "a").ok
    assert "toy.json" in str(d2lhybrid.inspect(tmp_path / "a"))
    again = d2lhybrid.load(tmp_path / "a")
    assert again(x).values.tolist() == net(x).values.tolist()


def test_doctor_asks_it_in_a_process_of_its_own(toy):
    done = subprocess.run(
        [sys.executable, "-m", "d2lhybrid", "doctor", "toy"], capture_output=True, text=True
    )
    assert "4.2, computes on cpu" in done.stdout, done.stdout + done.stderr
    assert done.returncode == 0
