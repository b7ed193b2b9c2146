"""What became of recorded operations, and how a graph and an explanation are shown."""

import os
import pickle
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest
from IPython.core.formatters import DisplayFormatter

from d2lhybrid.errors import ArgumentError
from d2lhybrid.graphs.explanation import Explanation, Finding, Recording
from d2lhybrid.graphs.fates import decide_fates
from d2lhybrid.graphs.graph import Graph
from d2lhybrid.graphs.program import Program
from d2lhybrid.graphs.stages import Node, Part, Stage

X = Node("x")  # the input of each graph


def recorded(*operations):
    """A stage of recorded operations, of which the last is the output."""
    return Stage("recorded", (X, *operations), (operations[-1].name,))


def op(name, operation, *inputs, **facts):
    """A recorded operation; `facts` are fields of `Node`."""
    return Node(name, operation, inputs, **facts)


def program(*steps):
    """A stage of steps that run, of which the last is the output."""
    return Stage("program", (X, *steps), (steps[-1].name,))


def step(name, *parts, inputs=()):
    """A step that runs its parts."""
    operation = parts[0].kind if len(parts) == 1 else "call"
    return Node(name, operation, inputs, parts=parts)


def part(kind, *origins):
    """An operation inside a step, and the recorded ones that the compiler notes for it."""
    return Part(kind, frozenset(origins))


def graph(before, after):
    return Graph("Toy 1", "f", decide_fates((before, after), {"turn"}))


SMALL = (
    recorded(
        op("two", "", attributes="2"),
        op("six", "mul", "two", "two"),
        op("square", "mul", "x", "x"),
        op("again", "mul", "x", "x"),
        op("vain", "exp", "x"),
        op("sum", "add", "square", "again"),
        op("same", "turn", "sum"),
        op("total", "mul", "same", "six"),
    ),
    program(
        step("k", part("mul", "square"), part("add", "sum"), inputs=("x",)),
        step("total", part("mul", "total"), inputs=("k",)),
    ),
)
# For each rule: the recorded operations, the steps that run, and the fates.
CASES = {
    "every fate": (
        *SMALL,
        {
            "six": "folded",
            "square": "fused",
            "again": "merged",
            "vain": "dropped",
            "sum": "fused",
            "same": "free",
            "total": "kept",
        },
    ),
    "what has an effect is neither dropped nor folded": (
        recorded(
            op("random", "random", has_effect=True),
            op("printed", "print", "x", has_effect=True),
            op("y", "f", "random"),
        ),
        program(step("y", part("f", "y"))),
        {"random": "rewritten", "printed": "rewritten", "y": "kept"},
    ),
    "equal constants are merged": (
        recorded(op("a", "c"), op("b", "c"), op("y", "f", "a", "b")),
        program(step("a", part("c", "a")), step("y", part("f", "y"))),
        {"a": "kept", "b": "merged", "y": "kept"},
    ),
    "what runs is neither folded nor free": (
        recorded(op("a", "sum"), op("b", "max"), op("c", "turn", "x"), op("y", "f", "a", "b", "c")),
        program(
            step("k", part("sum")),
            step("b", part("window", "b")),
            step("c", part("turn", "c")),
            step("y", part("f", "y")),
        ),
        {"a": "kept", "b": "rewritten", "c": "kept", "y": "kept"},
    ),
    "the call of a library computes several": (
        recorded(
            op("p", "mm", "x"), op("q", "mm", "x"), op("r", "relu", "q"), op("y", "add", "p", "r")
        ),
        program(
            step("a", part("mm", "p")),
            step("k", part("mm", "q"), part("add", "y"), part("relu", "r")),
        ),
        {"p": "kept", "q": "fused", "r": "fused", "y": "fused"},
    ),
    "a call without a note explains nothing": (
        recorded(op("a", "mm", "x"), op("y", "f", "a")),
        program(step("k", part("k"))),
        {"a": "rewritten", "y": "rewritten"},
    ),
    "equal operations may run once in each step that needs them": (
        recorded(op("a", "sin", "x"), op("b", "sin", "x"), op("y", "f", "a", "b")),
        program(
            step("k", part("sin", "a"), part("add")),
            step("l", part("sin", "a"), part("f", "y")),
        ),
        {"a": "fused", "b": "fused", "y": "fused"},
    ),
    "if more run than merging leaves, none is merged": (
        recorded(
            op("a", "sin", "x"),
            op("b", "sin", "x"),
            op("c", "sin", "x"),
            op("d", "clip", "x", attributes="1"),
            op("e", "clip", "x", attributes="2"),
            op("y", "f", *"abcde"),
        ),
        program(
            step("a", part("sin", "a")),
            step("k", part("sin", "a")),
            step("d", part("clip", "d")),
            step("y", part("f", "y")),
        ),
        {
            **{"a": "kept", "b": "rewritten", "c": "rewritten"},
            **{"d": "kept", "e": "rewritten", "y": "kept"},
        },
    ),
    "all that an operation is lowered to has to run": (
        recorded(
            op("a", "softmax", "x", lowered_to=("exp", "sum")),
            op("b", "mean", "a", lowered_to=("sum", "div")),
            op("c", "sin", "x", lowered_to=("sine",)),
            op("y", "f", "b", "c"),
        ),
        program(
            step("k", part("exp", "a"), part("sum", "a")),
            step("l", part("sum", "b"), part("mul", "b")),
            step("m", part("sine", "c"), part("f", "y")),
        ),
        {"a": "kept", "b": "rewritten", "c": "fused", "y": "fused"},
    ),
    "a note may bear the name of another operation": (
        recorded(op("a", "rev", "x"), op("y", "slice", "a")),
        program(step("k", part("slice", "y"), part("rev", "y"))),
        {"a": "rewritten", "y": "fused"},
    ),
    "which of two runs alone is not known": (
        recorded(
            op("a", "sin", "x", attributes="1"),
            op("b", "sin", "x", attributes="2"),
            op("y", "f", "a", "b"),
        ),
        program(step("k", part("sin")), step("l", part("sin"), part("f", "y"))),
        {"a": "rewritten", "b": "rewritten", "y": "fused"},
    ),
    "what a compiler finds to be dead is dropped, and what it uses is not": (
        recorded(op("a", "sin", "x"), op("b", "cos", "a", is_dead=True), op("y", "f", "a", "b")),
        program(step("a", part("sin", "a")), step("y", part("f", "y"))),
        {"a": "kept", "b": "dropped", "y": "kept"},
    ),
    "a copy that runs without a note is none that was recorded": (
        recorded(op("a", "turn", "x", lowered_to=("copy",)), op("y", "f", "a")),
        program(step("k", part("copy")), step("y", part("f", "y"))),
        {"a": "rewritten", "y": "kept"},
    ),
    "an iota runs under the name of what uses it": (
        recorded(op("a", "iota"), op("y", "mul", "x", "a")),
        program(step("k", part("iota", "y"), part("mul", "y"))),
        {"a": "fused", "y": "fused"},
    ),
}


@pytest.mark.parametrize(("before", "after", "fates"), CASES.values(), ids=CASES)
def test_fates(before, after, fates):
    assert graph(before, after).fates == fates


def test_a_graph_counts_its_fates():
    small = graph(*SMALL)
    assert (small.count("fused"), small.count("rewritten")) == (2, 0)


def test_a_stage_alone_has_no_fates():
    (only,) = decide_fates((SMALL[0],))
    assert {node.fate for node in only.nodes} == {""}


def large():
    """A graph that is too large for a picture."""
    steps = [step(f"x{n}", part("sin", f"x{n}")) for n in range(400)]
    return graph(recorded(*(op(f"x{n}", "sin") for n in range(400))), program(*steps))


def test_text_and_a_graph_too_large_for_a_picture():
    text = repr(graph(*SMALL))
    assert text.splitlines()[0] == ("f (Toy 1): operations recorded: 7, steps that run: 2")
    assert re.search(r"merged +again = mul\(x, x\)", text)
    assert re.search(r"fused +k = mul, add\(x\)", text)
    assert "<svg" in graph(*SMALL)._repr_html_()
    assert large()._repr_html_().startswith("<pre>")


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
    named = op("b<c>", "<&>")
    ET.fromstring(graph(recorded(named), program(named)).svg())  # names are escaped


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
    data, _metadata = formatter.format(large())
    assert set(data) == {"text/plain", "text/html"}


def explained(*graphs, compilations=0, **findings):
    """An explanation of a call that takes these graphs."""
    recording = Recording(lambda: graphs)
    return Explanation("Toy 1", "f", compilations, len(graphs), recording=recording, **findings)


def test_an_explanation_counts_the_graphs_of_the_call():
    small = replace(graph(*SMALL), contractions=frozenset({"mul"}))
    assert explained(small, graph(*SMALL)).program == Program(
        recorded=14, steps=4, contractions=2, fused=4, folded=2, free=2
    )
    recorded_alone = Graph("Toy 1", "f", SMALL[:1])
    for unknown in (explained(), explained(small, recorded_alone)):
        assert unknown.program is None
        assert "steps that run" not in repr(unknown)


def test_an_explanation_says_what_there_is_to_say():
    assert repr(explained(graph(*SMALL))).splitlines() == [
        "f (Toy 1)",
        "  graphs in one call:  1",
        "  operations recorded: 7",
        "  fused with others:   2",
        "  steps that run:      2, none of them a matrix product, convolution or attention",
    ]
    product = replace(graph(*SMALL), contractions=frozenset({"add"}))
    found = explained(product, compilations=3, breaks=(Finding("item()", __file__, 1),))
    assert repr(found).splitlines() == [
        "f (Toy 1)",
        "  compilations so far: 3",
        "  graphs in one call:  1",
        "  graph breaks:        1",
        f'                       {os.path.relpath(__file__)}, line 1: """{__doc__}"""',
        "                       item()",
        "  operations recorded: 7",
        "  fused with others:   2",
        "  steps that run:      2, 1 of them a matrix product, convolution or attention",
    ]
    product = replace(product, contractions=frozenset({"mul"}))
    assert "2, 2 of them matrix products" in repr(explained(product))
    loop = replace(product, control_flow=frozenset({"add"}))
    assert "2, 1 of them a loop or branch, whose own steps aren't counted" in repr(explained(loop))
    nothing = Stage("recorded", (X,), ("x",))
    assert "0, because nothing is computed" in repr(explained(graph(nothing, nothing)))


def test_an_explanation_escapes_names_and_reasons():
    breaks = (Finding("a < b", __file__, 1), Finding("no place"))
    markup = Explanation("PyTorch 2", "<net>", 2, 1, breaks=breaks)._repr_html_()
    assert "&lt;net&gt;" in markup
    assert f"tests/graphs/{Path(__file__).name}, line 1" in markup
    assert "<br>a &lt; b<br>no place</td>" in markup


@pytest.mark.parametrize("code", ["en", "pt", "zh", "ja"])
def test_a_fate_that_is_not_known_is_no_text_in_any_language(monkeypatch, code):
    """Of the empty text, gettext's catalogs hold their own head."""
    monkeypatch.setenv("D2LHYBRID_LANGUAGE", code)
    only = Graph("Toy 1", "f", SMALL[:1])
    assert "Project" not in repr(only) + only.svg()


def test_a_pickled_explanation_holds_its_graphs():
    explanation = explained(graph(*SMALL))
    copied = pickle.loads(pickle.dumps(explanation))
    assert copied == explanation
    assert copied.graphs() == explanation.graphs() == (graph(*SMALL),)
    assert "recording" not in repr(copied)


def test_graphs_that_nobody_recorded_are_an_error_unless_there_are_none():
    assert Explanation("Toy 1", "f", 0, 0).graphs() == ()
    with pytest.raises(ArgumentError, match=r"of f \(Toy 1\) weren't recorded"):
        Explanation("Toy 1", "f", 0, 1).graphs()
