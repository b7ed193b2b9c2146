"""A preview of a chapter at work: ``make watch WHAT=pt/pytorch/hybridize``.

sphinx-autobuild builds the page anew whenever a chapter or a catalog of its language is saved, and
has the browser load it again. Nothing is executed: outputs come from the committed notebook, where
the code is still the same. What is not translated, or translated from an earlier text, is marked.
"""

import argparse
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

import nbformat

from book.assemble import assemble
from book.build import figure_files, recorded_files, translate_by
from book.catalogs import read_all
from book.errors import BookError
from book.files import CHAPTERS, TRANSLATIONS, Key, read_notebook
from book.languages import LANGUAGES
from book.parse import load
from book.recorded import read_recorded
from website.addresses import Addresses
from website.errors import SiteError
from website.notebooks import Chapter, page_source
from website.sections import sections
from website.sources import conf, synchronize

ROOT = Path(__file__).parents[1]


def read_key(text: str, root: Path) -> Key:
    """Which notebook: ``pt/pytorch/hybridize``; the first one without a text. Raises SiteError."""
    known = [
        Key(language, framework, one.name)
        for one in load(root / CHAPTERS)
        for framework in one.frameworks
        for language in LANGUAGES
    ]
    wanted = tuple(text.split("/")) if text else known[0]
    if wanted not in known:
        such = ", ".join("/".join(key) for key in known[: len(LANGUAGES)])
        raise SiteError(
            f"Expected the language, framework and chapter of a notebook: {such}, or another. "
            f"Received: {text}."
        )
    return Key(*wanted)


def preview_sources(root: Path, key: Key) -> dict[str, bytes]:
    """The sources of a site of one page, as the chapters and catalogs are now."""
    language, framework, name = key
    chapters = load(root / CHAPTERS)
    source = next(one for one in chapters if one.name == name)
    into = LANGUAGES[language]
    translate = translate_by(into, read_all(root, into, chapters))
    recorded = read_recorded(root)
    notebook = assemble(chapters, language, framework, translate, (), recorded=recorded)[key]
    _keep_outputs(notebook, read_notebook(root / key.path))
    chapter = Chapter(key, notebook, tuple(sections(source, framework)), name)
    made = page_source(chapter, {}, {}, Addresses({}, None))
    files = {
        f"{framework}/{name}.ipynb": nbformat.writes(made).encode(),
        "index.md": f"# {name}\n\n```{{toctree}}\n{framework}/{name}\n```\n".encode(),
        "conf.py": conf(language, [language]),
    }
    pictures = figure_files(root, chapters, {language: translate})
    return files | pictures | recorded_files(chapters, {language: translate}, recorded)


def _keep_outputs(notebook: nbformat.NotebookNode, committed: nbformat.NotebookNode | None) -> None:
    """Give cells whose code did not change the outputs that are committed."""
    known = {cell.id: cell for cell in committed.cells} if committed else {}
    for cell in notebook.cells:
        old = known.get(cell.id)
        if cell.cell_type == "code" and old is not None and old.source == cell.source:
            cell.outputs, cell.execution_count = old.outputs, old.execution_count


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Watch until Control-C; with ``--once``, only write what Sphinx reads."""
    parser = argparse.ArgumentParser(prog="python -m website.watch", description=__doc__)
    parser.add_argument("what", nargs="?", default="", help="language/framework/chapter")
    parser.add_argument("--once", action="store_true", help="write the page's sources and end")
    parser.add_argument("--port", type=int, default=0, help="a free one if none is named")
    options = parser.parse_args(arguments)
    try:
        key = read_key(options.what, root)
        folder = root / "build" / "preview" / "-".join(key)
        synchronize(folder / "source", preview_sources(root, key))
    except (BookError, SiteError) as error:
        print(error, file=sys.stderr)
        return 1
    if options.once:
        return 0
    again = [sys.executable, "-m", "website.watch", "/".join(key), "--once"]
    watched = [CHAPTERS, TRANSLATIONS + "/" + key.language]
    commands = [sys.executable, "-m", "sphinx_autobuild", "--quiet"]
    commands += [str(folder / "source"), str(folder / "html")]
    commands += ["--doctree-dir", str(folder / "doctrees"), "--ignore", str(folder)]
    commands += ["--pre-build", shlex.join(again), "--port", str(options.port)]
    commands += [f"--watch={root / path}" for path in watched if (root / path).is_dir()]
    print(f"The page is {key.framework}/{key.chapter}.html at the address below.", flush=True)
    os.execv(sys.executable, commands)


if __name__ == "__main__":
    sys.exit(main())
