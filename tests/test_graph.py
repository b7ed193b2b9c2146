"""What became of recorded operations, and how a graph and an explanation are shown."""

import copy
import pickle
import re
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from d2lhybrid.errors import MissingPackageError
from d2lhybrid.frameworks.explanation import Explanation, Finding, Graph, Graphs
from d2lhybrid.frameworks.fates import judged
from d2lhybrid.report.picture import Node, Stage

LINE = re.compile(r"(\S+) = (\S*)\(([^)]*)\) ?(.*)")


def stage(text, runs=False):
    """A stage in lines such as "y = add(a b) key", of which the last is the output.

    Of a stage that runs, the operation computes those named behind it in the one before, or the one
    of its own name, and behind "as" stands what it is made of.
    """
    nodes = [Node("x")]
    for line in text.split("; "):
        name, operation, inputs, rest = LINE.fullmatch(line).groups()
        of, _as, parts = rest.partition("as ")
        more = (rest,)
        if runs:
            more = ("", frozenset(of.split() or [name]), tuple(parts.split()))
        nodes.append(Node(name, operation, tuple(inputs.split()), *more))
    return Stage("a stage", tuple(nodes), (name,))


def graph(recorded, run):
    stages = judged((stage(recorded), stage(run, True)), lambda operation: operation == "_Fused")
    return Graph("Toy 1", "f", stages)


# x is squared twice, once in vain; 2 * 3 is known; all that is needed ends up in one step.
SMALL = (
    "two = () 2; six = mul(two two); square = mul(x x); again = mul(x x); vain = exp(x); "
    "sum = add(square again); same = identity(sum); total = mul(same six)",
    "k = k(x) square sum as mul add; l = mul(k) total",
)
CASES = {
    "each kind": (
        *SMALL,
        "six folded, square fused, again merged, vain dropped, sum fused, same dropped, total kept",
    ),
    "constant, and not needed": ("c = ones(); y = sin(x)", "y = sin()", "c dropped, y kept"),
    "random numbers": (
        "r = rand(); q = rng(); y = add(x r q)",
        "k = k() y",
        "r dropped, q dropped, y kept",
    ),
    "three become one": (
        "p = mm(x); b = add(p); t = tanh(b)",
        "m = _Fused() t",
        "p fused, b fused, t fused",
    ),
    "equal past a step that changes nothing": (
        "one = () 1; same = mul(x one); a = tanh(x); b = tanh(same); y = add(a b)",
        "a = tanh(x); y = add(a a)",
        "same dropped, a kept, b merged, y kept",
    ),
    "equal to a later one": (
        "a = tan(x); b = tan(x); y = f(a b)",
        "b = tan(x); y = f(b)",
        "a merged, b kept, y kept",
    ),
    "attributes differ": (
        "a = clip(x) 1; b = clip(x) 2; y = add(a b)",
        "a = clip(x); y = add(a)",
        "a kept, b dropped, y kept",
    ),
}


@pytest.mark.parametrize(("recorded", "run", "fates"), CASES.values(), ids=CASES)
def test_fates(recorded, run, fates):
    expected = dict(pair.split() for pair in fates.split(", "))
    found = graph(recorded, run)
    assert found.fates == expected
    assert found.count("fused") == fates.count("fused")


def test_nothing_is_known_of_a_stage_that_does_not_run():
    alone = Graph("Toy", "f", judged([stage("y = sin(x)")]))
    assert set(alone.fates.values()) == {""}


def test_text_and_a_graph_too_large_for_a_picture():
    text = repr(graph(*SMALL))
    assert text.splitlines()[0] == ("f (Toy 1): operations recorded: 7, steps that run: 2")
    assert re.search(r"merged +again = mul\(x, x\)", text)
    assert re.search(r"fused +k = mul, add\(x\)", text)
    assert "<svg" in graph(*SMALL)._repr_html_()
    many = "; ".join(f"x{n} = sin()" for n in range(400))
    assert graph(many, many)._repr_html_().startswith("<pre>")


def test_the_picture_is_well_formed_and_no_box_lies_on_another():
    root = ET.fromstring(graph(*SMALL).svg())
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
    ET.fromstring(graph(*["b<c> = <&>()"] * 2).svg())  # names are escaped


def test_networkx(monkeypatch):
    networkx = pytest.importorskip("networkx")
    small = graph(*SMALL)
    found = small.to_networkx()
    assert isinstance(found, networkx.DiGraph)
    assert found.nodes["again"] == {"operation": "mul", "fate": "merged", "parts": ()}
    assert list(found.predecessors("total")) == ["same", "six"]
    assert set(small.to_networkx(-1)) == {"x", "k", "l"}
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(MissingPackageError, match="networkx"):
        small.to_networkx()


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
    said = f"""<net> (PyTorch 2)
so far
compilations so far: 2
graphs in one call:  1
graph breaks:        2
tests/{Path(__file__).name}, line 1: {first}
a < b
no place
fallbacks to Python: 0
not supported:       0"""
    assert [line.strip() for line in str(explanation).splitlines()] == said.splitlines()
    markup = explanation._repr_html_()
    assert "&lt;net&gt;" in markup
    assert "<br>a &lt; b<br>no place</td>" in markup
