"""What became of recorded operations, and how a graph and an explanation are shown."""

import copy
import pickle
import re
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from d2lhybrid.errors import MissingPackageError
from d2lhybrid.frameworks.explanation import Explanation, Finding
from d2lhybrid.frameworks.fates import judged
from d2lhybrid.frameworks.graph import Graph, Graphs
from d2lhybrid.frameworks.hlo import read
from d2lhybrid.report.picture import Node, Stage

X = Node("x")


def stage(output, *nodes):
    return Stage("a stage", (X, *nodes), (output,))


def node(name, operation, *inputs, key=""):
    return Node(name, operation, inputs, key)


def made(name, operation, *inputs, of="", parts=()):
    """An operation of a stage that runs, which computes those named `of` in the one before."""
    return Node(name, operation, inputs, origins=frozenset((of or name).split()), parts=parts)


def small():
    """x is squared twice, once in vain; 2 * 3 is known; all that is needed ends up in one step."""
    recorded = stage(
        "total",
        Node("two", key="2"),
        node("six", "mul", "two", "two"),
        node("square", "mul", "x", "x"),
        node("again", "mul", "x", "x"),
        node("vain", "exp", "x"),
        node("sum", "add", "square", "again"),
        node("same", "identity", "sum"),
        node("total", "mul", "same", "six"),
    )
    k = made("k", "k", "x", of="square sum", parts=("mul", "add"))
    return Graph("Toy 1", "f", judged((recorded, stage("l", k, made("l", "mul", "k", of="total")))))


CASES = {
    "constant, and not needed": (
        stage("y", node("c", "ones"), node("y", "sin", "x")),
        stage("y", made("y", "sin")),
        {"c": "dropped", "y": "kept"},
    ),
    "random numbers": (
        stage("y", node("r", "rand"), node("q", "rng"), node("y", "add", "x", "r", "q")),
        stage("k", made("k", "k", of="y")),
        {"r": "dropped", "q": "dropped", "y": "kept"},
    ),
    "three become one": (
        stage("t", node("p", "mm", "x"), node("b", "add", "p"), node("t", "tanh", "b")),
        stage("m", made("m", "_Fused", of="t")),
        {"p": "fused", "b": "fused", "t": "fused"},
    ),
    "equal past a step that changes nothing": (
        stage(
            "y",
            Node("one", key="1"),
            node("same", "mul", "x", "one"),
            node("a", "tanh", "x"),
            node("b", "tanh", "same"),
            node("y", "add", "a", "b"),
        ),
        stage("y", made("a", "tanh", "x"), made("y", "add", "a", "a")),
        {"same": "dropped", "a": "kept", "b": "merged", "y": "kept"},
    ),
    "equal to a later one": (
        stage("y", node("a", "tan", "x"), node("b", "tan", "x"), node("y", "f", "a", "b")),
        stage("y", made("b", "tan", "x"), made("y", "f", "b")),
        {"a": "merged", "b": "kept", "y": "kept"},
    ),
    "attributes differ": (
        stage(
            "y",
            node("a", "clip", "x", key="1"),
            node("b", "clip", "x", key="2"),
            node("y", "add", "a", "b"),
        ),
        stage("y", made("a", "clip", "x"), made("y", "add", "a")),
        {"a": "kept", "b": "dropped", "y": "kept"},
    ),
}


@pytest.mark.parametrize(("recorded", "run", "fates"), CASES.values(), ids=CASES)
def test_fates(recorded, run, fates):
    found = judged((recorded, run), lambda operation: operation == "_Fused")
    assert Graph("Toy", "f", found).fates == fates


def test_each_kind_of_fate():
    assert small().fates == {
        "six": "folded",
        "square": "fused",
        "again": "merged",
        "vain": "dropped",
        "sum": "fused",
        "same": "dropped",
        "total": "kept",
    }
    assert small().count("fused") == 2
    alone = Graph("Toy", "f", judged([stage("y", node("y", "sin", "x"))]))
    assert set(alone.fates.values()) == {""}  # nothing is known


HLO = """HloModule m
%fused (p: f32[4]) -> f32[4] {
  %p = f32[4]{0} parameter(0)
  %c = f32[] constant(2), metadata={op_name="scale"}
  %b = f32[4]{0} broadcast(f32[] %c), dimensions={}
  %t = f32[4]{0} tanh(f32[4]{0} %p), metadata={op_name="tan"}
  ROOT %m = f32[4]{0} multiply(f32[4]{0} %t, f32[4]{0} %b), metadata={op_name="mul"}
}
ENTRY %main (x: f32[2,2]) -> (f32[4]) {
  %x = f32[2,2]{1,0} parameter(0)
  %r = f32[4]{0} reshape(f32[2,2]{1,0} %x)
  %f = f32[4]{0} fusion(f32[4]{0} %r), kind=kLoop, calls=%fused, metadata={op_name="mul"}
  ROOT %out = (f32[4]{0}) tuple(f32[4]{0} %f)
}
"""


def test_hlo_is_read():
    found = read("HLO", HLO, {"tan", "mul"})
    assert [(n.name, n.operation, n.inputs, n.parts) for n in found.nodes] == [
        ("x", "", (), ()),
        ("f", "fusion", ("x",), ("tanh", "multiply")),
    ]
    assert found.nodes[1].origins == {"tan", "mul"}
    assert found.outputs == ("f",)
    assert read("HLO", HLO, set(), found).nodes[1].origins == {"f"}


def test_text():
    text = repr(small())
    assert text.splitlines()[0] == ("f (Toy 1): operations recorded: 7, steps that run: 2")
    assert re.search(r"merged +again = mul\(x, x\)", text)
    assert re.search(r"fused +k = mul, add\(x\)", text)


def test_the_picture_is_well_formed_and_no_box_lies_on_another():
    root = ET.fromstring(small().svg())
    svg = "{http://www.w3.org/2000/svg}"
    assert root.get("role") == "img"
    assert "Toy 1" in root.find(f"{svg}title").text
    for panel in root.findall(f"{svg}g"):
        boxes = [
            tuple(float(box.get(key)) for key in ("x", "y", "width", "height"))
            for box in panel.find(f"{svg}g").iter(f"{svg}rect")
        ]
        assert boxes
        for at, (x, y, w, h) in enumerate(boxes):
            for x2, y2, w2, h2 in boxes[at + 1 :]:
                assert x >= x2 + w2 or x2 >= x + w or y >= y2 + h2 or y2 >= y + h
    strange = stage("b", node("b<c>", "<&>"))
    ET.fromstring(Graph("T", "<f>", judged((strange, strange))).svg())  # names are escaped


def test_a_graph_too_large_for_a_picture_is_text():
    many = stage("y", *(node(f"x{n}", "sin") for n in range(400)))
    assert Graph("T", "f", judged((many, many)))._repr_html_().startswith("<pre>")
    assert "<svg" in small()._repr_html_()


def test_networkx(monkeypatch):
    networkx = pytest.importorskip("networkx")
    found = small().to_networkx()
    assert isinstance(found, networkx.DiGraph)
    assert found.nodes["again"] == {"operation": "mul", "fate": "merged", "parts": ()}
    assert list(found.predecessors("total")) == ["same", "six"]
    assert set(small().to_networkx(-1)) == {"x", "k", "l"}
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(MissingPackageError, match="networkx"):
        small().to_networkx()


def test_graphs_count_wait_and_are_copied_as_a_number():
    asked = []
    graphs = Graphs(2, lambda: asked.append(1) or ("a", "b"))
    explanation = Explanation("Toy 1", "f", 0, graphs)
    assert copy.deepcopy(explanation) == pickle.loads(pickle.dumps(explanation)) == explanation
    assert (graphs, len(graphs), f"{graphs}", asked) == (2, 2, "2", [])
    assert (list(graphs), graphs[1], asked) == (["a", "b"], "b", [1])
    assert list(Graphs(0, lambda: asked.append(2))) == []


def test_an_explanation_has_every_number_and_finding():
    breaks = (Finding("a < b", __file__, 1), Finding("no place"))
    explanation = Explanation("PyTorch 2", "<net>", 2, 1, breaks=breaks, notes=("so far",))
    first = Path(__file__).read_text(encoding="utf-8").splitlines()[0]
    assert [line.strip() for line in str(explanation).splitlines()] == [
        "<net> (PyTorch 2)",
        "so far",
        "compilations so far: 2",
        "graphs in one call:  1",
        "graph breaks:        2",
        f"tests/{Path(__file__).name}, line 1: {first}",
        "a < b",
        "no place",
        "fallbacks to Python: 0",
        "not supported:       0",
    ]
    markup = explanation._repr_html_()
    assert "&lt;net&gt;" in markup
    assert "<br>a &lt; b<br>no place</td>" in markup
