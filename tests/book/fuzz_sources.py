"""Damage what the book is made of at random, and build: it works, or says file and line.

    python tests/book/fuzz_sources.py --count 300 --seed 0

A chapter, a catalog, the glossary and a framework's row are each damaged `count` times, and all
that the command line does is done with them. A refusal names file and line and writes nothing.
"""

import argparse
import contextlib
import io
import random
import re
import signal
import tempfile
import traceback
from collections import Counter
from dataclasses import replace
from pathlib import Path

from book_samples import FULL, LIMITS, change_entries, po, written

from book.__main__ import main
from book.frameworks import FRAMEWORKS

SOURCES = {
    "chapter": "chapters/full.md",
    "catalog": po(Path(), chapter="full").as_posix(),
    "glossary": "translations/glossary.csv",
}
GLOSSARY = "en,pt,zh,ja,never\nlayer,camada,层,層,\nto serialize (verb),serializar,序列化,,a|b\n"
# What Markdown, catalogs, tables and Python give a meaning to.
PIECES = [
    *"\n\t\r\0 `*#|[](){}:%$\\\"',-<>=~_1é層\ufeff\u2028\x0c\x85\xa0\udcff",
    *("\n\n", "---\n", "```", ":::", "::::", "```{code-cell} python\n", ":::{tab} pytorch\n"),
    *(":tags: [gpu]\n", "(sec-a)=\n", "% context: b\n", "![a](b)", "[](#c)", "\n> ", "\n- "),
    *("msgid ", 'msgstr "a"\n', "#, fuzzy\n", "#~ ", "# ", '"""', "%%time\n", "$$\n", "&nbsp;"),
]
PLACE = re.compile(r"^[\w./-]+:\d+: ", re.MULTILINE)
PATIENCE = 60  # seconds for one mutation


def mutate(text, rng):
    """One damaged copy of `text`: of its signs, of its lines, or of its pieces."""
    unit = rng.choice([list, lambda text: text.splitlines(keepends=True)])
    parts = unit(text)
    for _time in range(rng.choice([1, 1, 3])):
        at, to = (rng.randrange(len(parts) + 1) for _end in range(2))
        kind = rng.choice(["insert", "insert", "delete", "copy", "swap", "truncate", "indent"])
        if kind == "insert":
            parts[at:at] = [rng.choice(PIECES)]
        elif kind == "delete":
            del parts[at : at + rng.choice([1, 2, 9])]
        elif kind == "copy":
            parts[to:to] = parts[at : at + rng.choice([1, 3])]
        elif kind == "swap":
            parts[at : at + 1], parts[to : to + 1] = parts[to : to + 1], parts[at : at + 1]
        elif kind == "indent":
            parts[at : at + 3] = [rng.choice("> \t-") + part for part in parts[at : at + 3]]
        elif rng.random() < 0.2:
            del parts[at:]
    return "".join(parts).encode("utf-8", "surrogateescape")


def collection(root):
    """A small collection with one of everything, in two languages."""
    written(root, full=FULL, limits=LIMITS)
    assert main(["messages", "--start", "pt"], root) == 0
    (root / SOURCES["glossary"]).write_text(GLOSSARY)
    for name in ("full", "limits"):
        change_entries(po(root, chapter=name), lambda text: text)
    assert main(["build", "--partial"], root) == 0


def contents(root):
    """Every file below `root` by its path."""
    return {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}


def tried(root, command):
    """What became of one command, and what it said."""
    before, said = contents(root), io.StringIO()
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
            status = main(command, root)
    except Exception:
        return "traceback", traceback.format_exc()
    if status == 0:
        return "works", ""
    if contents(root) != before:
        return "half-written", said.getvalue()
    # What `check` says of committed notebooks has no line: they are made from what has.
    placed = PLACE.search(said.getvalue()) or command == ["check"]
    return ("refused" if placed else "nowhere"), said.getvalue()


def campaign(what, *, count, seed):
    """What became of `count` mutations, and the first report of each that is no good."""
    found, bad = Counter(), {}
    signal.signal(signal.SIGALRM, lambda *_args: (_ for _ in ()).throw(TimeoutError("a hang")))
    with tempfile.TemporaryDirectory() as folder:
        root, intact = Path(folder), dict(FRAMEWORKS)
        with contextlib.redirect_stdout(io.StringIO()):
            collection(root)
        good = contents(root)
        for number in range(count):
            rng = random.Random(f"{what} {seed} {number}")
            if what in SOURCES:
                source = root / SOURCES[what]
                source.write_bytes(mutate(good[source].decode(), rng))
            else:
                key, part = rng.choice(list(intact)), rng.choice(["key", "name", "module"])
                changed = mutate(getattr(intact[key], part), rng).decode(errors="replace")
                row = replace(intact[key], **{part: changed})
                FRAMEWORKS.clear()
                FRAMEWORKS.update({row.key if k == key else k: v for k, v in intact.items()})
                FRAMEWORKS[row.key] = row
            signal.alarm(PATIENCE)
            for command in (["check"], ["build"], ["build", "--partial"], ["messages"]):
                outcome, said = tried(root, command)
                found[outcome] += 1
                if outcome not in ("works", "refused"):
                    bad.setdefault(said.strip().split("\n")[-1], (number, command, said))
            signal.alarm(0)
            FRAMEWORKS.clear()
            FRAMEWORKS.update(intact)
            for path in set(contents(root)) - set(good):
                path.unlink()
            for path, content in good.items():
                path.write_bytes(content)
    return found, bad


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    failed = False
    for what in [*SOURCES, "framework's row"]:
        found, bad = campaign(what, count=options.count, seed=options.seed)
        print(f"{what}: {dict(found)}", flush=True)
        for number, command, said in bad.values():
            print(f"  mutation {number}, {' '.join(command)}:\n{said}", flush=True)
        failed |= bool(bad)
    raise SystemExit(int(failed))
