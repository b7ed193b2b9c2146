"""What every test in a browser shares: chromium, its fonts, and the folder of screenshots.

``make test-browser`` runs this folder; no other command does, because it needs a browser.
"""

import functools
import os
import shutil
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urljoin

import pytest
from collection import ROOT
from playwright.sync_api import sync_playwright
from site_page import WIDE

from website.build import build_site

pytest.register_assert_rewrite("looks")

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# It runs as root in containers, and talks to nobody but the server under test.
_OPTIONS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
    *("--font-render-hinting=none", "--force-color-profile=srgb"),
)
# The machine's own fonts; for Chinese and Japanese, where it has none, the one of our plots.
_FONTS = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <include ignore_missing="yes">/etc/fonts/fonts.conf</include>
  <dir>{fonts}</dir>
  <cachedir>{cache}</cachedir>
</fontconfig>
"""


def chromium_path():
    """The browser: CHROMIUM, else the first of the usual names on the path."""
    names = [os.environ["CHROMIUM"]] if os.environ.get("CHROMIUM") else _NAMES
    if found := [*filter(None, map(shutil.which, names))]:
        return found[0]
    pytest.exit(
        f"Expected chromium for the tests in a browser. Received: none of {', '.join(names)}. "
        "Install it (apt-get install chromium fonts-dejavu-core), or say where it is: "
        "make test-browser CHROMIUM=/path/to/chromium",
        returncode=pytest.ExitCode.USAGE_ERROR,
    )


def pytest_addoption(parser):
    parser.addoption("--all", action="store_true", help="run every notebook, not one of each kind")


@pytest.fixture(scope="session")
def chromium(tmp_path_factory):
    """The browser. Each test takes a context of its own, so that none sees another's storage."""
    folder = tmp_path_factory.mktemp("fonts")
    settings = _FONTS.format(fonts=ROOT / "d2lhybrid/fonts", cache=folder / "cache")
    (folder / "fonts.conf").write_text(settings, encoding="utf-8")
    env = {**os.environ, "FONTCONFIG_FILE": str(folder / "fonts.conf")}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium_path(), args=list(_OPTIONS), env=env
        )
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def screenshots():
    """Where the pictures of this run go."""
    folder = ROOT / "build/screenshots"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        """Print nothing."""


@pytest.fixture(scope="session")
def address():
    """Where the site is served, built anew as far as something has changed."""
    folder = ROOT / "build" / "html"
    build_site(ROOT, folder, ROOT / "build" / "html-work")
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=folder))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def visit(chromium, address):
    """Opens a page as a new reader; all pages of one test that share a reader share its memory.

    At the end, no page has asked another host for anything or complained in its console.
    """
    contexts, asked, complaints = [], [], []

    def new_context(width=WIDE, locale="en", **options):
        size = {"width": width, "height": 720}
        context = chromium.new_context(viewport=size, locale=locale, **options)
        context.on("request", lambda request: asked.append(request.url))
        contexts.append(context)
        return context

    def open_page(path="", reader=None, **options):
        page = (reader.context if reader else new_context(**options)).new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda m: complaints.append(m.text) if m.type == "error" else None)
        page.goto(urljoin(address, path))
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert asked
    assert not [url for url in asked if not url.startswith((address, "data:", "file:"))]
    assert not complaints
