"""A verb loads what it needs, and the rest when a reader asks for it."""

from processes import python

ROOMS = ("processes", "teaching", "artifacts", "why", "verbs.claims", "verbs.sweeping")
PICTURES = ("showing.pictures", "showing.plot", "showing.summary")


def test_comparing_two_functions_loads_nothing_that_only_others_need():
    program = (
        "import sys; from d2lhybrid import compare\n"
        "c = compare({'a': abs, 'b': float}, 1, time_limit=0.1, progress=False)\n"
        "print(c, c._repr_html_())\n"
        "print(*sys.modules)"
    )
    names = python("-c", program).stdout.splitlines()[-1].split()
    loaded = {name.removeprefix("d2lhybrid.") for name in names}
    assert {"verbs.comparing", "measuring.rounds", "showing.text"} <= loaded
    assert not {name for name in loaded if name.startswith((*ROOMS, *PICTURES))}
    assert not {"matplotlib", "pandas", "cloudpickle"} & loaded
