"""Run by ``make dist`` in an environment that has the built wheel and no framework.

Every example of the installed package is run that names no framework, and a reader's first steps.
"""

import doctest
import importlib.util
import os
import pkgutil
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import d2lhybrid
from d2lhybrid.frameworks import known

# An example with one of these needs what this environment lacks on purpose.
NEEDS = re.compile(
    r"\b(torch|tensorflow|tf|keras|mxnet|mx|jax|onnx\w*|pandas|matplotlib|safetensors|net)\b"
)
FEWEST = 10  # examples; fewer would mean that this file looks in the wrong place


def examples() -> list[doctest.DocTest]:
    """The examples in the docstrings of all modules that load here."""
    finder, found = doctest.DocTestFinder(exclude_empty=True), []
    for module in pkgutil.walk_packages(d2lhybrid.__path__, "d2lhybrid."):
        if module.name.endswith("__main__"):
            continue
        try:
            loaded = import_module(module.name)
        except ImportError as error:
            if (error.name or "d2lhybrid").startswith("d2lhybrid"):
                raise
            print(f"left out, {error}: {module.name}")
            continue
        found += [one for one in finder.find(loaded) if one.examples]
    return found


def run_examples() -> int:
    """Run those that need no framework; how many."""
    runner, done = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS), 0
    for one in examples():
        if NEEDS.search("".join(example.source for example in one.examples)):
            continue
        runner.run(one)
        done += 1
    if runner.failures:
        sys.exit(f"{runner.failures} examples failed in the installed package.")
    return done


def first_steps() -> None:
    """Ask doctor, which finds no framework, compare two functions, and load the magic."""
    doctor = [sys.executable, "-m", "d2lhybrid", "doctor"]
    english = {**os.environ, "D2LHYBRID_LANGUAGE": "en"}
    done = subprocess.run(doctor, capture_output=True, text=True, env=english)
    print(done.stdout)
    if done.returncode != 1 or done.stderr or "No framework is installed." not in done.stdout:
        sys.exit(f"Expected doctor to find no framework. It ended with {done.returncode}.")
    result = d2lhybrid.compare(
        {"sum": sum, "loop": lambda numbers: list(numbers)[-1]},
        list(range(1000)),
        check=False,
        time_limit=2,
        progress=False,
    )
    print(result)
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "d2lhybrid")
    if "benchmark" not in shell.magics_manager.magics["cell"]:
        sys.exit("Expected the magic %%benchmark after %load_ext d2lhybrid, found none.")


def main() -> None:
    """All of it."""
    present = [one.name for one in known() if importlib.util.find_spec(one.name)]
    if present or Path(d2lhybrid.__file__).is_relative_to(Path(__file__).parents[1] / "d2lhybrid"):
        sys.exit(f"Expected the wheel in an empty environment. Received: {present} {d2lhybrid}.")
    count = run_examples()
    if count < FEWEST:
        sys.exit(f"Expected at least {FEWEST} examples, found {count}.")
    first_steps()
    print(f"{count} examples, doctor, compare and load_ext: all well.")


if __name__ == "__main__":
    main()
