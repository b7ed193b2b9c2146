"""The command line: ``python -m book`` with ``build``, ``student``, ``check`` and others."""

import argparse
import asyncio
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import nbformat

from book import package
from book.build import Built, build
from book.catalogs import update
from book.check import check, content_problems, is_current, output_problems
from book.errors import BookError, CatalogError, ExecutionError
from book.execute import CELL_SECONDS, TRIES, execute, with_outputs
from book.files import CHAPTERS, Key, notebook_bytes, read_notebook, write
from book.frameworks import FRAMEWORKS
from book.glossary import read_glossary
from book.gpu import require
from book.languages import ENGLISH, LANGUAGES
from book.lengths import lengths
from book.parse import load
from book.student import student

ROOT = Path(__file__).parents[1]
_GIVEN_OUT = Path("build/student")
_BUILD = (
    "Writes the notebooks that differ from what their sources build. Outputs are kept where the "
    "code is the same; without --execute the others have none, which `check` reports."
)
_STUDENT = (
    "Writes notebooks to give out: without solutions and with the committed outputs, but for those "
    "in exercises. Links to what is left out become text. What is not translated, or stale, shows "
    "in English, marked. It executes nothing."
)
_MESSAGES = (
    "Writes translations/*.pot and merges them into the catalogs that there are; likewise those of "
    "the package in d2lhybrid/locale."
)


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Run the command line on the repository at ``root``; 0 where all is well."""
    options = _parser().parse_args(arguments)
    try:
        if options.command == "messages":
            chapters = load(root / CHAPTERS)
            changed = [*update(root, chapters, options.start), *package.update(root, options.start)]
            print(*changed, sep="\n", end="\n" if changed else "")
            return 0
        if options.command == "words":
            print(*lengths(load(root / CHAPTERS)), sep="\n")
            return 0
        if options.command == "check":
            return _check(root)
        if options.command == "student":
            return _student(root, options)
        built = build(root, options.language, options.partial)
        return _build(options.output or root, built, options)
    except BookError as error:
        print(error, file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m book", description="Makes notebooks/ from chapters/ and translations/."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    about = "write the notebooks whose sources changed"
    make = commands.add_parser("build", help=about, description=_BUILD)
    make.add_argument("--execute", action="store_true", help="run them and keep their outputs")
    make.add_argument("--all", action="store_true", help="also those that did not change")
    jobs = "notebooks that run at a time (default: %(default)s); 1 for undisturbed timings"
    make.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help=jobs)
    limit = "seconds for one cell (default: %(default)s)"
    make.add_argument("--timeout", type=int, default=CELL_SECONDS, metavar="SECONDS", help=limit)
    folder = "write notebooks/ below this folder, and leave the committed one as it is"
    make.add_argument("--output", type=Path, metavar="FOLDER", help=folder)
    gaps = "show and mark what is not translated, or stale"
    make.add_argument("--partial", action="store_true", help=gaps)
    _add_choice(make)
    about = "write the notebooks without solutions, with the committed outputs"
    give = commands.add_parser("student", help=about, description=_STUDENT)
    folder = f"write below this folder (default: {_GIVEN_OUT}, which is emptied first)"
    give.add_argument("--output", type=Path, metavar="FOLDER", help=folder)
    _add_choice(give)
    about = "bring templates and catalogs up to date"
    messages = commands.add_parser("messages", help=about, description=_MESSAGES)
    others = [code for code in LANGUAGES if code != ENGLISH.code]
    start = "make the catalogs of a language that has none yet"
    messages.add_argument("--start", nargs="*", default=(), choices=others, help=start)
    about = "compare the committed notebooks with their sources; writes nothing"
    commands.add_parser("check", help=about)
    commands.add_parser("words", help="how many words and code cells each English notebook has")
    return parser


def _add_choice(command: argparse.ArgumentParser) -> None:
    """What chooses notebooks."""
    command.add_argument("--language", choices=LANGUAGES, help="only this language")
    command.add_argument("--framework", choices=FRAMEWORKS, help="only this framework")
    command.add_argument("--chapter", help="only this chapter: its file's name without .md")


def _student(root: Path, options: argparse.Namespace) -> int:
    """Write notebooks to give out, and say what they lack: translations, outputs."""
    choice = options.language, options.framework, options.chapter
    try:
        made = student(root, choice)
    except CatalogError as error:  # a class has a date, a translation has none
        files = ", ".join(sorted({problem.file for problem in error.problems}))
        print(f"Behind: {files}. `make check` says where.", file=sys.stderr)
        print("The notebooks show these texts in English, marked.", file=sys.stderr)
        made = student(root, choice, partial=True)
    folder = root / (options.output or _GIVEN_OUT)
    if not options.output:
        shutil.rmtree(folder, ignore_errors=True)
    for path, content in made.files.items():
        write(folder / path, content)
    for key, notebook in made.notebooks.items():
        write(folder / key.path, notebook_bytes(notebook))
        if not any(cell.get("execution_count") for cell in notebook.cells):
            why = "its code isn't that of the committed notebook; run `make notebooks`"
            print(f"{key.path}: without outputs, because {why}.", file=sys.stderr)
    print(f"{len(made.notebooks)} notebooks without solutions: {folder}")
    return 0


def _check(root: Path) -> int:
    problems = [str(problem) for problem in package.audit(root, read_glossary(root))]
    try:
        for length in lengths(load(root / CHAPTERS)):
            problems += map(str, length.problems)
        problems += check(root, build(root))
    except BookError as error:
        problems.append(str(error))
    print(*problems, sep="\n", file=sys.stderr, end="\n" if problems else "")
    return 1 if problems else 0


def _build(root: Path, built: Built, options: argparse.Namespace) -> int:
    """Write what changed; a notebook whose execution fails stays as it was."""
    if options.chapter not in {None, *(key.chapter for key in built.notebooks)}:
        raise BookError(f"Expected the name of a chapter, received {options.chapter!r}.")
    wanted = Key(options.language, options.framework, options.chapter)
    stale = {
        root / key.path: notebook
        for key, notebook in built.notebooks.items()
        if all(want in (None, part) for want, part in zip(wanted, key, strict=True))
        and (options.all or _stale(read_notebook(root / key.path), notebook, options.execute))
    }
    for path, content in built.files.items():
        if not is_current(root / path, content):
            write(root / path, content)
    kept = {}
    if not options.all:
        found = {path: _with_outputs(path, one, options.execute) for path, one in stale.items()}
        kept = {path: notebook for path, notebook in found.items() if notebook}
    ready = kept if options.execute else stale | kept
    for path, content in [(path, notebook_bytes(notebook)) for path, notebook in ready.items()]:
        write(path, content)
        print(path.relative_to(root))
    left = {path: notebook for path, notebook in stale.items() if path not in ready}
    if left:
        require()
    return asyncio.run(_execute(root, left, options)) if left else 0


def _with_outputs(
    path: Path, notebook: nbformat.NotebookNode, only_good: bool
) -> nbformat.NotebookNode | None:
    """The notebook with the committed outputs, where the code is the same.

    With `only_good`, None if something is wrong with them, which executing it anew may mend.
    """
    committed = read_notebook(path)
    if committed is None or (only_good and any(output_problems(committed))):
        return None
    return with_outputs(notebook, committed)


def _stale(
    committed: nbformat.NotebookNode | None, built: nbformat.NotebookNode, outputs: bool
) -> bool:
    if committed is None or any(content_problems(built, committed)):
        return True
    return outputs and any(output_problems(committed))


async def _execute(
    root: Path, notebooks: dict[Path, nbformat.NotebookNode], options: argparse.Namespace
) -> int:
    failed = 0
    # What is written elsewhere is to show whether it runs, on a shared machine, too.
    tries = 1 if options.output else TRIES
    async for path, result in execute(notebooks, options.jobs, options.timeout, tries):
        if isinstance(result, ExecutionError):
            failed += 1
            print(result, file=sys.stderr)
        else:
            write(path, notebook_bytes(result))
            print(path.relative_to(root), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
