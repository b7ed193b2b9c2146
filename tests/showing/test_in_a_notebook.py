"""In a notebook's kernel: plots with twice the pixels of their place; nothing of a bar stays."""

import base64
import re
import struct

from kernels import executed

from book.execute import is_progress
from d2lhybrid.experiments.comparison import MIME


def test_every_plot_shows_and_is_sharp_and_results_have_a_summary(tmp_path):
    code = (
        "from d2lhybrid import compare\n"
        "c = compare({'a': sum, 'b': max}, range(9), check=False, time_limit=0.1)\n"
        "c"
    )
    first, *plots = executed([code, "c.plot();", "c.plot(metric='throughput');"], tmp_path)
    (result,) = first.outputs
    assert {"text/plain", "text/html", MIME} == set(result.data)
    for cell in plots:
        (shown,) = (out for out in cell.outputs if out.output_type == "display_data")
        width, height = struct.unpack(">II", base64.b64decode(shown.data["image/png"])[16:24])
        assert re.search("Plot of the .*: [ab] .*; [ab] ", shown.data["text/plain"])
        place = {"width": width // 2, "height": height // 2}
        assert shown.metadata == {"image/png": place}  # and no background is asked for


def test_a_claim_at_the_end_of_a_cell_shows_its_line_and_nothing_else(tmp_path):
    code = (
        "from d2lhybrid import sweep\n"
        "def make(n):\n"
        "    return {'a': lambda: sum(range(1000 * n)), 'b': lambda: None}\n"
        "points = sweep(lambda n: (make(n),), [1, 2], time_limit=0.2, check=False)"
    )
    cells = executed(
        [code, "points.comparisons[0].claim('b', 'faster')", "points.claim('b', 'faster')"],
        tmp_path,
    )
    assert [out.output_type for out in cells[1].outputs] == ["display_data"]
    assert [out.output_type for out in cells[2].outputs] == ["display_data"] * 2


def test_progress_shows_below_the_cell_and_leaves_no_box(tmp_path):
    code = (
        "from d2lhybrid import compare\n"
        "from d2lhybrid.core import progress\n"
        "progress.SHOWN_AFTER = 0.0\n"
        "for _item in progress.show_progress('ab', 'letters', None): pass\n"
        "with progress.show_status('compiling {file}', file='run.c'): pass\n"
        "compare({'a': sum, 'b': max}, range(9), check=False, time_limit=0.1)\n"
        "print('end')"
    )
    (cell,) = executed([code], tmp_path, progress=True)
    *lines, end = cell.outputs
    assert end.text == "end\n"
    assert len(lines) > 2
    for line in lines:  # no stream, which would be a box; and nothing is left to be drawn
        assert (line.output_type, line.data) == ("display_data", {})
        assert is_progress(line)  # so it isn't committed, and nbval doesn't miss it
