"""What became of recorded operations, and how a graph and an explanation are shown."""

import pickle
import re
import sys
import time
import xml.etree.ElementTree as ET
from pathlib import Path
from threading import Barrier, Thread

import pytest
from IPython.core.formatters import DisplayFormatter

from d2lhybrid.errors import ArgumentError, MissingPackageError
from d2lhybrid.graphs.explanation import Explanation, Finding, Recording
from d2lhybrid.graphs.fates import decide_fates
from d2lhybrid.graphs.graph import Graph
from d2lhybrid.graphs.stages import Node, Part, Stage

LINE = re.compile(r"(\S+) = ([^(!]*)(!?)\(([^)]*)\)(?: as (.*)| (.*))?")


def stage(text, runs=False):
    """A stage in lines such as "y = add(a b) key", of which the last is the output.

    One with "!" has an effect, and behind "as" stands what the compiler is handed for it; of a step
    that runs, what it is made of, each with the operations that this comes from.
    """
    nodes = [Node("x")]
    for line in text.split("; "):
        name, operation, effect, inputs, more, key = LINE.fullmatch(line).groups()
        of = (part.split(":") for part in (more or f"{operation}:{name}").split())
        given = {"lowered_to": tuple(more.split()) if more else None, "has_effect": bool(effect)}
        if runs:
            given = {"parts": tuple(Part(kind, frozenset(origins)) for kind, *origins in of)}
        nodes.append(Node(name, operation, tuple(inputs.split()), key or "", **given))
    return Stage("a stage", tuple(nodes), (name,))


def graph(recorded, run):
    return Graph("Toy 1", "f", decide_fates((stage(recorded), stage(run, True)), {"turn"}))


# x is squared twice, once in vain; 2 * 3 is known; all that is needed ends up in one step.
SMALL = (
    "two = () 2; six = mul(two two); square = mul(x x); again = mul(x x); vain = exp(x); "
    "sum = add(square again); same = turn(sum); total = mul(same six)",
    "k = k(x) as mul:square add:sum; total = mul(k)",
)
CASES = {
    "each": (
        *SMALL,
        "six folded, square fused, again merged, vain dropped, sum fused, same free, total kept",
    ),
    "effects": ("r = rnd!(); p = put!(x); y = f(r)", "y = f()", "r rewritten, p rewritten, y kept"),
    "constants": ("a = c(); b = c(); y = f(a b)", "a = c(); y = f()", "a kept, b merged, y kept"),
    "what runs all the same": (
        "a = sum(); b = max(); c = turn(x); y = f(a b c)",
        "k = sum() as sum; b = window() as window:b; c = turn(); y = f()",
        "a kept, b rewritten, c kept, y kept",
    ),
    "a library's call": (
        "p = mm(x); q = mm(x); r = relu(q); y = add(p r)",
        "a = mm() as mm:p; k = call() as mm:q add:y relu:r",
        "p kept, q fused, r fused, y fused",
    ),
    "a call that says nothing": ("a = mm(x); y = f(a)", "k = k() as k", "a rewritten, y rewritten"),
    "once for each fusion": (
        "a = sin(x); b = sin(x); y = f(a b)",
        "k = k() as sin:a add; l = l() as sin:a f:y",
        "a fused, b fused, y fused",
    ),
    "too many for that, and others": (
        "a = sin(x); b = sin(x); c = sin(x); d = clip(x) 1; e = clip(x) 2; y = f(a b c d e)",
        "a = sin(); k = sin() as sin:a; d = clip(); y = f()",
        "a kept, b rewritten, c rewritten, d kept, e rewritten, y kept",
    ),
    "by the compiler's words": (
        "a = softmax(x) as exp sum; b = mean(a) as sum div; c = sin(x) as sine; y = f(b c)",
        "k = k() as exp:a sum:a; l = l() as sum:b mul:b; m = m() as sine:c f:y",
        "a kept, b rewritten, c fused, y fused",
    ),
    "one that another's name is on": (
        "a = rev(x); y = slice(a)",
        "k = k() as slice:y rev:y",
        "a rewritten, y fused",
    ),
    "which of two": (
        "a = sin(x) 1; b = sin(x) 2; y = f(a b)",
        "k = sin() as sin; l = l() as sin f:y",
        "a rewritten, b rewritten, y fused",
    ),
}


@pytest.mark.parametrize(("recorded", "run", "fates"), CASES.values(), ids=CASES)
def test_fates(recorded, run, fates):
    found = graph(recorded, run)
    assert found.fates == dict(pair.split() for pair in fates.split(", "))
    assert found.count("fused") == fates.count("fused")


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


def test_a_notebook_holds_an_image_beside_the_html():
    small, formatter = graph(*SMALL), DisplayFormatter()
    data, _metadata = formatter.format(small)
    assert set(data) == {"text/plain", "text/html", "image/svg+xml"}
    image = ET.fromstring(data["image/svg+xml"])
    svg = "{http://www.w3.org/2000/svg}"
    headline, *lines = data["text/plain"].splitlines()
    assert (image.get("role"), image.find(f"{svg}title").text) == ("img", headline)
    assert image.find(f"{svg}desc").text == "\n".join(lines)
    assert (image.get("color"), image.find(f"{svg}rect").get("fill")) == ("#111", "#fff")
    assert small._repr_svg_() == graph(*SMALL)._repr_svg_()  # which notebooks are compared by
    many = "; ".join(f"x{n} = sin()" for n in range(400))
    data, _metadata = formatter.format(graph(many, many))
    assert set(data) == {"text/plain", "text/html"}


def test_networkx(monkeypatch):
    networkx = pytest.importorskip("networkx")
    small = graph(*SMALL)
    found = small.to_networkx()
    assert isinstance(found, networkx.DiGraph)
    assert found.nodes["again"] == {"operation": "mul", "fate": "merged", "parts": ()}
    assert list(found.predecessors("total")) == ["same", "six"]
    assert set(small.to_networkx(-1)) == {"x", "k", "total"}
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(MissingPackageError, match="networkx"):
        small.to_networkx()


def test_an_explanation_escapes_names_and_reasons():
    breaks = (Finding("a < b", __file__, 1), Finding("no place"))
    markup = Explanation("PyTorch 2", "<net>", 2, 1, breaks=breaks)._repr_html_()
    assert "&lt;net&gt;" in markup
    assert f"tests/graphs/{Path(__file__).name}, line 1" in markup
    assert "<br>a &lt; b<br>no place</td>" in markup


def test_two_threads_that_look_at_graphs_make_them_once():
    made, seen, ready = [], [], Barrier(2, timeout=30)

    def make():
        made.append("once")
        time.sleep(0.1)  # in which the other thread asks
        return ("graph",)

    def look(explanation):
        ready.wait()
        seen.extend(explanation.graphs())

    explanation = Explanation("Toy 1", "f", 0, 1, recording=Recording(make))
    threads = [Thread(target=look, args=(explanation,)) for _thread in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert (made, seen) == (["once"], ["graph", "graph"])


def test_a_pickled_explanation_holds_its_graphs():
    explanation = Explanation("Toy 1", "f", 0, 1, recording=Recording(lambda: ("graph",)))
    copied = pickle.loads(pickle.dumps(explanation))
    assert copied == explanation
    assert copied.graphs() == ("graph",)
    assert "recording" not in repr(copied)


def test_graphs_that_nobody_recorded_are_an_error_unless_there_are_none():
    assert Explanation("Toy 1", "f", 0, 0).graphs() == ()
    with pytest.raises(ArgumentError, match="graphs"):
        Explanation("Toy 1", "f", 0, 1).graphs()
