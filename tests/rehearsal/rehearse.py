"""Rehearse what needs a GPU without one: ``rehearse.py FRAMEWORK``; prints what was run, as JSON.

The cells run in all languages, each after those that it needs, on stand-ins. So it proves that the
code runs and that its names exist, and nothing about a GPU or about times: a check of times may
fail.
"""

import ast
import contextlib
import json
import sys
from dataclasses import replace
from time import perf_counter
from types import ModuleType

from recording import ROOT, stand_ins
from recording.notebook_code import code_cells, for_a_gpu, misspelled, names


def show(thing):
    """In the place of ``display``: shows it as text, and lets no row be missing."""
    print(thing)
    assert not thing.unavailable, thing.unavailable


def complaint(code, space):
    """What a cell with a misspelled name ends with; nothing where it goes unnoticed."""
    try:
        exec(code, space)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def main(framework):
    """Where a translation has the code of the English cell, it takes what that one has made."""
    getattr(stand_ins, framework)()
    ran, made = {}, {}
    for path in sorted((ROOT / "notebooks").glob(f"*/{framework}/*.ipynb")):  # English is first
        # A module, where TorchDynamo looks up what a function of a cell reads from others.
        module = sys.modules["rehearsed"] = ModuleType("rehearsed")
        space = vars(module)
        space["display"] = show
        for cell in for_a_gpu(code_cells(path), asking=True):
            start = perf_counter()
            same = path.stem, cell.number, ast.dump(ast.parse(cell.source))
            if same in made and "gpu" not in cell.tags:
                space |= made[same]
                continue
            small = replace(cell, source=stand_ins.smaller(cell.source))
            with contextlib.redirect_stdout(sys.stderr):
                if "gpu" in cell.tags:
                    wrong = path.parts[-3] == "en" and misspelled(small).compiled()
                    ran[cell.place] = wrong and complaint(wrong, space)
                code = small.compiled()
                with contextlib.suppress(AssertionError if "hide-input" in cell.tags else ()):
                    exec(code, space)
            made[same] = {name: space[name] for name in names(code)[1] if name in space}
            print(f"{perf_counter() - start:6.2f}", cell.place, file=sys.stderr)
    print(json.dumps(ran))


if __name__ == "__main__":
    main(sys.argv[1])
