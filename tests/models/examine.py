"""One model of the zoo through every function; one line of JSON for each, as soon as it is there.

    python examine.py LIBRARY MODEL FOLDER

The lines stand in FOLDER/found.jsonl. A process of its own, because a model may end it.
"""

import json
import os
import sys
import time
from pathlib import Path

from checks import Wrong, check_compare, check_explain, check_load, check_native
from zoo import LIBRARIES

from d2lhybrid import save, verify
from d2lhybrid.errors import D2LHybridError

# What runs natively without a compiler's minutes, where that is not what is saved by default.
NATIVE = {"torch": "onnx"}


def outcome(check):
    """ "works", "refused", "wrong" or "error", and what was said."""
    try:
        return {"outcome": "works", "said": check()}
    except D2LHybridError as error:
        return {"outcome": "refused", "said": str(error)}
    except Wrong as error:
        return {"outcome": "wrong", "said": str(error)}
    except Exception as error:
        return {"outcome": "error", "said": f"{type(error).__name__}: {error}"}


def main(library, name, folder):
    """Go through them in order; what was not saved is not loaded."""
    (framework, build, _models), saved = LIBRARIES[library], folder / "saved"
    os.environ["D2LHYBRID_DATA"] = str(folder / "user")
    model = build(name)

    def check_save(folder, format=None):
        save(model, folder, format=format)
        return ""

    def check_verify():
        if not (found := verify(saved)).ok:
            raise Wrong(str(found))
        return ""

    def check_its_program():
        if framework in NATIVE:
            check_save(folder / "native", NATIVE[framework])
        return check_native(folder / "native" if framework in NATIVE else saved)

    checks = {
        "compare": lambda: check_compare(model, framework),
        "explain": lambda: check_explain(model),
        "save": lambda: check_save(saved),
        "load": lambda: check_load([saved], folder / "user"),
        "verify": check_verify,
        "run_native": check_its_program,
    }
    for function, check in checks.items():
        start = time.perf_counter()
        first = function in ("compare", "explain", "save")
        found = {"outcome": "not saved", "said": ""}
        if first or saved.exists() or (function == "run_native" and framework in NATIVE):
            found = outcome(check)
        found |= {"function": function, "seconds": f"{time.perf_counter() - start:.1f}"}
        with (folder / "found.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
