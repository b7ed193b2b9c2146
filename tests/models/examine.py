"""One model of the zoo through every function; one line of JSON for each, as soon as it is there.

    python examine.py LIBRARY MODEL FOLDER

The lines stand in FOLDER/found.jsonl. A process of its own, because a model may end it.
"""

import json
import os
import sys
import time
from pathlib import Path

from checks import (
    NATIVE,
    Wrong,
    check_compare,
    check_explain,
    check_load,
    check_native,
    check_save,
    check_verify,
)
from zoo import LIBRARIES

from d2lhybrid.errors import D2LHybridError

FUNCTIONS = ("compare", "explain", "save", "load", "verify", "run_native")


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
    framework, saved, data = LIBRARIES[library].framework, folder / "saved", folder / "user"
    os.environ["D2LHYBRID_DATA"] = str(data)
    model = LIBRARIES[library].build(name)

    def native():
        format = NATIVE.get(framework)
        if format is None:
            return check_native(saved)
        check_save(model, folder / "native", format)
        return check_native(folder / "native")

    checks = {
        "compare": lambda: check_compare(model, framework),
        "explain": lambda: check_explain(model),
        "save": lambda: check_save(model, saved),
        "load": lambda: check_load(saved, data),
        "verify": lambda: check_verify(saved),
        "run_native": native,
    }
    for function in FUNCTIONS:
        start = time.perf_counter()
        needs_saved = function in ("load", "verify") or (
            function == "run_native" and framework not in NATIVE
        )
        if needs_saved and not saved.exists():
            found = {"outcome": "not saved", "said": ""}
        else:
            found = outcome(checks[function])
        found |= {"function": function, "seconds": f"{time.perf_counter() - start:.1f}"}
        with (folder / "found.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
