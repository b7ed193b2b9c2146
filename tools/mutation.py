"""Change the code in small ways and count the changes that no test notices, with mutmut.

``make mutants`` runs this file; ONLY="stats report.text" chooses modules by the end of their names.
Which modules are changed, and which tests have to notice it, is said in ``[tool.mutmut]`` of
pyproject.toml. It ends with status 1 where a module has fewer than nine in ten mutants killed.
"""

import os
import shutil
import subprocess
import sys
from collections import Counter, defaultdict

from environments import ROOT, environment

MUTMUT = "mutmut==3.8.1"
ENOUGH = 0.9
# A mutant that hangs was noticed, too; what no test runs was not.
NOTICED = ("killed", "timeout", "segfault", "suspicious")


def main() -> None:
    """Run the tests against each mutant and print a line for each module.

    There is a process more than there are cores, for some tests wait.
    """
    python = environment(".venv-mutants", [MUTMUT], on_top=True)
    chosen = [f"d2lhybrid*.{name}.x*" for name in sys.argv[1:]]
    shutil.rmtree(ROOT / "mutants", ignore_errors=True)
    # Its copy of the package is what has to be imported, not the one that PYTHONPATH names.
    surroundings = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    mutmut = [python, "-m", "mutmut"]
    run = [*mutmut, "run", "--max-children", str((os.cpu_count() or 1) + 1), *chosen]
    if status := subprocess.run(run, cwd=ROOT, env=surroundings).returncode:
        sys.exit(f"mutmut ended with status {status}, see above: do the tests pass as they are?")
    listing = [*mutmut, "results", "--all", "true"]
    done = subprocess.run(listing, cwd=ROOT, env=surroundings, stdout=subprocess.PIPE, text=True)
    report, enough = summary(done.stdout)
    print(report)
    print(f"To see the change: {mutmut[0]} -m mutmut show NAME")
    sys.exit(0 if enough else 1)


def summary(results: str) -> tuple[str, bool]:
    """What mutmut's list says: the mutants that live, then a row for each module; is it enough?

    >>> print(summary("p.stats.x_f__mutmut_1: killed\\np.stats.x_f__mutmut_2: survived")[0])
    p.stats.x_f__mutmut_2: survived
    p.stats: 1 of 2 killed (50.0%)
    """
    counts: dict[str, Counter[bool]] = defaultdict(Counter)
    living = []
    for line in filter(None, map(str.strip, results.splitlines())):
        name, status = line.rsplit(": ", 1)
        if status in ("not checked", "skipped"):
            continue
        module = name.rsplit(".", 1)[0]
        counts[module][status in NOTICED] += 1
        if status not in NOTICED:
            living.append(line)
    rows = []
    for module, count in sorted(counts.items()):
        share = count[True] / count.total()
        rows.append(f"{module}: {count[True]} of {count.total()} killed ({share:.1%})")
    enough = all(count[True] >= ENOUGH * count.total() for count in counts.values())
    return "\n".join(living + rows), enough and bool(rows)


if __name__ == "__main__":
    main()
