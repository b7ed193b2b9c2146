"""A preview of a chapter at work: ``make watch WHAT=pt/pytorch/hybridize``.

It builds the page anew whenever the chapter or its catalog is saved, executes nothing, and takes
the outputs from the committed notebook where the code is still the same. The browser loads the page
again by itself. What is not translated, or translated from an earlier text, is marked, with the
English beside it. Sphinx stays in memory, so a change shows within a second or two.
"""

import argparse
import errno
import functools
import json
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import nbformat
from sphinx.application import Sphinx

from book.assemble import assemble
from book.audit import quote
from book.catalogs import catalog_path, entries, message_key
from book.errors import BookError, Problem
from book.files import CHAPTERS, FIGURES, Key, read_notebook, write
from book.frameworks import FRAMEWORKS, START
from book.languages import ENGLISH, LANGUAGES
from book.parse import Known, load
from book.translate import Message
from website.addresses import Addresses
from website.beside import Faults, beside, catalogs_of
from website.errors import SiteError
from website.notebooks import Chapter, page_source
from website.sections import sections

ROOT = Path(__file__).parents[1]
PORT = 8870
_PORTS = 10  # how many are tried, from that one on
_EVERY = 0.2  # seconds between two looks at the files
_RELOAD = """
(async () => {
  const ask = async () => (await fetch("/state")).json();
  const first = await ask().catch(() => null);
  setInterval(async () => {
    const now = await ask().catch(() => null);
    if (!first || !now) return;
    if (now.builds !== first.builds) location.reload();
    let note = document.getElementById("preview-problem");
    if (!note) {
      note = document.body.appendChild(document.createElement("pre"));
      note.id = "preview-problem";
      note.style = "position:fixed;bottom:0;left:0;right:0;z-index:9;margin:0;padding:1em;"
        + "max-height:40vh;overflow:auto;white-space:pre-wrap;color:#000;background:#ffd9d0";
    }
    note.textContent = now.problem;
    note.hidden = !now.problem;
  }, 400);
})();
"""


class Preview:
    """The page of one notebook, built again and again into a folder."""

    def __init__(self, root: Path, key: Key, folder: Path) -> None:
        self.root, self.key, self.folder = root, key, folder
        self.builds, self.problem = 0, ""
        self._app: Sphinx | None = None
        self._kept: dict[object, tuple[object, Any]] = {}
        self._parsed: Known = {}
        self._faults: Faults = {}

    @property
    def page(self) -> str:
        """The page's address below the folder of pages."""
        return f"{self.key.framework}/{self.key.chapter}.html"

    @property
    def pages(self) -> Path:
        """The folder that a server hands out."""
        return self.folder / "html"

    def sources(self) -> dict[Path, int]:
        """The files that the page is made from, and when each was saved."""
        found = [
            *(self.root / CHAPTERS).rglob("*.*"),
            *(self.root / "translations" / self.key.language).rglob("*.po"),
        ]
        return {
            path: path.stat().st_mtime_ns for path in found if path.is_file() and not _passing(path)
        }

    def build(self) -> None:
        """Build the page; what is wrong with its sources is kept as the ``problem``.

        A translation that cannot stand in its place is a problem too, though the page is built.
        """
        try:
            refused = self._write_sources()
            self._sphinx()
            self.problem = "\n".join(map(str, refused))
            self.builds += 1
        except (BookError, SiteError) as error:
            self.problem = str(error)

    def _write_sources(self) -> list[Problem]:
        """Write what Sphinx reads; the translations of the chapter that could not be used."""
        language, framework, name = self.key
        chapters = self._read((".md",), lambda: load(self.root / CHAPTERS, self._parsed))
        source = next((one for one in chapters if one.name == name), None)
        if source is None or framework not in source.frameworks:
            known = ", ".join(one.name for one in chapters if framework in one.frameworks)
            raise SiteError(f"Expected a chapter for {framework}: {known}. Received: {name}.")
        into, refused = LANGUAGES[language], dict[Problem, None]()

        def refuse(message: Message, why: Sequence[str]) -> None:
            key = message_key(message)
            if message.context.chapter == name:
                entry = entries(found[name]).get(key)
                place = catalog_path(into, name).as_posix(), (entry and entry.linenum) or 1
                refused.update({Problem(*place, f"{quote(key)}: {text}."): None for text in why})

        found, merged = self._read((".md", ".po"), lambda: catalogs_of(self.root, into, chapters))
        translate = beside(into, merged, self._faults, refuse)
        notebook = assemble(chapters, language, framework, translate, (), only=name)[self.key]
        committed = read_notebook(self.root / self.key.path)
        _keep_outputs(notebook, committed)
        chapter = Chapter(self.key, notebook, tuple(sections(source, framework)), name)
        made = page_source(chapter, {}, {}, Addresses({}, None))
        folder = self.folder / "source"
        write(folder / framework / f"{name}.ipynb", nbformat.writes(made).encode())
        for path in self.sources():
            if path.parent == self.root / CHAPTERS / FIGURES:
                write(folder / FIGURES / path.name, path.read_bytes())
        tree = f"# {name}\n\n```{{toctree}}\n{framework}/{name}\n```\n"
        settled = {"index.md": tree, "conf.py": _conf(language)}
        for file, text in settled.items():
            if not (folder / file).is_file() or (folder / file).read_text("utf-8") != text:
                write(folder / file, text.encode())
        return sorted(refused)

    def _read(self, kinds: tuple[str, ...], make: Callable[[], Any]) -> Any:
        """What these files hold, read again only where one of them was saved."""
        saved = {path: at for path, at in self.sources().items() if path.suffix in kinds}
        if self._kept.get(kinds, (None,))[0] != saved:
            self._kept[kinds] = (saved, make())
        return self._kept[kinds][1]

    def _sphinx(self) -> None:
        source = self.folder / "source"
        if self._app is None:
            self._app = Sphinx(
                *(str(source), str(source), str(self.pages), str(self.folder / "doctrees")),
                *("html",),
                status=None,
                warning=sys.stderr,
            )
            self._app.builder.search = False  # type: ignore[attr-defined]
            self._app.add_js_file(None, body=_RELOAD, loading_method="defer")
        self._app.build(False, [source / self.key.framework / f"{self.key.chapter}.ipynb"])


def _passing(path: Path) -> bool:
    """Whether an editor keeps a file beside what it edits, to swap, lock or go back."""
    return path.name.startswith((".", "#")) or path.name.endswith("~")


def _keep_outputs(notebook: nbformat.NotebookNode, committed: nbformat.NotebookNode | None) -> None:
    """Give cells whose code did not change the outputs that are committed."""
    known = {cell.id: cell for cell in committed.cells} if committed else {}
    for cell in notebook.cells:
        old = known.get(cell.id)
        if cell.cell_type == "code" and old is not None and old.source == cell.source:
            cell.outputs, cell.execution_count = old.outputs, old.execution_count


def _conf(language: str) -> str:
    return (
        "from website.settings import settings\n\n"
        f"globals().update(settings({language!r}, [{language!r}], '', __file__))\n"
    )


class _Pages(SimpleHTTPRequestHandler):
    """Hands out the pages, and says which build they are of."""

    def __init__(self, *arguments: Any, preview: Preview, **options: Any) -> None:
        self.preview = preview
        super().__init__(*arguments, directory=str(preview.pages), **options)

    def do_GET(self) -> None:
        """The state, or a file."""
        if self.path != "/state":
            return super().do_GET()
        state = {"builds": self.preview.builds, "problem": self.preview.problem}
        body = json.dumps(state).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def end_headers(self) -> None:
        """Nothing is kept: the next build may be different."""
        self.send_header("Cache-Control", "no-store")
        super().end_headers()

    def log_message(self, *arguments: object) -> None:
        """Print nothing."""


def _server(preview: Preview, port: int) -> ThreadingHTTPServer:
    handler = functools.partial(_Pages, preview=preview)
    last = min(port + _PORTS, 2**16) - 1
    for one in range(port, last + 1):
        try:
            return ThreadingHTTPServer(("127.0.0.1", one), handler)
        except OSError as error:
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                raise
    raise SiteError(
        f"Expected a free port among {port} to {last}; all are taken. "
        'Name another with ARGS="--port 9000".'
    )


@contextmanager
def serving(preview: Preview, port: int = PORT) -> Iterator[str]:
    """Hand out the preview, at the port or one of the next; the address of its page.

    Raises SiteError where all of them are taken.
    """
    server = _server(preview, port)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/{preview.page}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def watch(preview: Preview) -> None:
    """Build whenever a source was saved, and say how long it took; never ends by itself."""
    before: dict[Path, int] = {}
    while True:
        now = preview.sources()
        if now != before:
            start, builds = time.perf_counter(), preview.builds
            preview.build()
            seconds = time.perf_counter() - start
            done = f"built in {seconds:.1f} s" if preview.builds > builds else ""
            print("\n".join(filter(None, (preview.problem, done))), flush=True)
            before = now
        time.sleep(_EVERY)


def read_key(text: str, root: Path) -> Key:
    """Which notebook: ``pt/pytorch/hybridize``, or its beginning. Raises SiteError."""
    first = load(root / CHAPTERS)[0].name
    parts = [part for part in text.split("/") if part]
    key = Key(*[*parts, *(ENGLISH.code, START, first)[len(parts) :]][:3])
    if len(parts) > 3 or key.language not in LANGUAGES or key.framework not in FRAMEWORKS:
        raise SiteError(
            f"Expected language/framework/chapter, such as {ENGLISH.code}/{START}/{first}, with a "
            f"language of {', '.join(LANGUAGES)} and a framework of {', '.join(FRAMEWORKS)}. "
            f"Received: {text}."
        )
    return key


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Watch until Control-C."""
    parser = argparse.ArgumentParser(prog="python -m website.watch", description=__doc__)
    parser.add_argument("what", nargs="?", default="", help="language/framework/chapter")
    parser.add_argument("--port", type=int, default=PORT)
    options = parser.parse_args(arguments)
    try:
        key = read_key(options.what, root)
    except (BookError, SiteError) as error:
        print(error, file=sys.stderr)
        return 1
    preview = Preview(root, key, root / "build" / "preview" / "-".join(key))
    try:
        with serving(preview, options.port) as address:
            print(f"{address} shows what you save. Control-C ends it.", flush=True)
            watch(preview)
    except SiteError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
