"""Does the line of facts show the cause that was planted, and is a cause false anywhere?

    python benchmarks/why.py [--framework jax] [--only jit_in_the_call] [--repeat 3]
    python benchmarks/why.py --page

The cases stand in ``tests/planted``: functions and models of which one row has a cause that is
known, and controls in which nothing is wrong. Each is compared in a process of its own, and the
cause that was planted stands above what ``comparison.why`` says. *Shown* is what decides, in the
line or the sentence; *silent* a line without it; *FALSE* a cause that isn't true of the row. A
control has nothing to show: a cause that is named has to be true. It ends with 1 if fewer than four
in five are shown, or if one is false or fails. The second form runs the programs of ``docs/why.md``
and writes below each what it prints.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from callables import ROOT, in_a_process

from d2lhybrid import compare

FRAMEWORKS = ("torch", "tensorflow", "jax", "mxnet")
SHOWN = 4 / 5
ENVIRONMENT = {"PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "3", "D2LHYBRID_LANGUAGE": "en"}


# A program of the page, and what it prints, if that stands there.
PROGRAM = r"```python\n(?P<program>(?:(?!```).)*)```\n(?:\n```text\n.*?```\n)?"


def cases_of(framework):
    """The cases of a framework by name; this imports the framework."""
    sys.path[:0] = [str(ROOT / "tests/helpers"), str(ROOT / "tests/planted")]
    from case import cases

    return cases(framework)


def of_case(case, seconds):
    """What a comparison says of the row."""
    functions, *args = case.build()
    comparison = compare(functions, *args, time_limit=seconds, check=case.checked, progress=False)
    label = case.label(functions)
    why = comparison.why(label)
    return {
        "verdict": "baseline" if label == comparison.baseline else comparison.verdict(label),
        "cause": why.cause,
        "sentence": str(why),
    }


def write_page(page):
    """Run the program of each question, and write below it what it prints."""

    def ran(match):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "question.py").write_text(match["program"], encoding="utf-8")
            done = subprocess.run(
                [sys.executable, "-W", "ignore", "question.py"],
                check=True, stdout=subprocess.PIPE, text=True, cwd=folder,
                env={**os.environ, **ENVIRONMENT},
            )  # fmt: skip
        printed = done.stdout.strip("\n")  # but not of the indentation of a table's header
        print(printed, flush=True)
        return f"```python\n{match['program']}```\n\n```text\n{printed}\n```\n"

    introduction, heading, questions = page.read_text(encoding="utf-8").partition("\n## ")
    questions = re.sub(PROGRAM, ran, questions, flags=re.DOTALL)
    page.write_text(introduction + heading + questions, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--framework", nargs="+", choices=FRAMEWORKS, default=FRAMEWORKS)
    parser.add_argument("--only", nargs="+", help="the names of cases")
    parser.add_argument("--seconds", type=float, default=6, help="of rounds for each comparison")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--short", action="store_true", help="half a second of rounds")
    parser.add_argument("--page", action="store_true", help="write what docs/why.md shows")
    parser.add_argument("--here", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.page:
        write_page(ROOT / "docs/why.md")
        return
    seconds = 0.5 if options.short else options.seconds
    if options.here:
        (framework,) = options.framework
        print(json.dumps(of_case(cases_of(framework)[options.here], seconds)))
        return
    counts = Counter()
    for framework in options.framework:
        for name, case in cases_of(framework).items():
            if options.only and name not in options.only:
                continue
            for _ in range(options.repeat):
                script = [__file__, "--framework", framework, "--here", name, "--seconds", seconds]
                try:
                    printed = in_a_process(*script, environment=ENVIRONMENT)
                except subprocess.CalledProcessError:
                    counts[bool(case.planted), "FAILED"] += 1
                    print(f"{framework}, {name}: FAILED", flush=True)
                    continue
                told = json.loads(printed.splitlines()[-1])
                judged = case.judge(told["cause"], told["sentence"])
                counts[bool(case.planted), judged] += 1
                print(f"{framework}, {name}: {judged}")
                print(f"    planted: {case.planted or 'nothing'}. {case.sentence}")
                print(f"    {told['verdict']}, {told['cause']}: {told['sentence']}", flush=True)
    planted = sum(count for (is_planted, _judged), count in counts.items() if is_planted)
    controls = counts.total() - planted
    shown, false = counts[True, "shown"], counts[True, "FALSE"]
    accused, failed = counts[False, "FALSE"], counts[True, "FAILED"] + counts[False, "FAILED"]
    print(f"\nOf {planted} planted causes, {shown} are shown and {false} are false.")
    print(f"Of {controls} controls, {accused} are accused.")
    sys.exit(1 if false or accused or failed or shown < SHOWN * planted else 0)


if __name__ == "__main__":
    main()
