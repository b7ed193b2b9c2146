"""What a reader does on the site, and what the page then shows."""

from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Page

ROOT = Path(__file__).resolve().parents[2]
LANGUAGES = ("en", "pt", "zh", "ja")
FRAMEWORKS = ("mxnet", "pytorch", "tensorflow")
WIDE, PHONE = 1500, 375


def place(page: Page) -> str:
    """The path and fragment of the page's address."""
    parts = urlsplit(page.url)
    return parts.path[1:] + ("#" + parts.fragment if parts.fragment else "")


def choose(page: Page, kind: str, value: str) -> None:
    """Click on a language or framework above the text."""
    page.locator(f'nav.switch a[data-{kind}="{value}"]').click()
    page.wait_for_load_state()


def top_of(page: Page, selector: str) -> float:
    return float(page.locator(selector).evaluate("e => e.getBoundingClientRect().top"))


def results(page: Page) -> list[str]:
    """The pages found, without their endings."""
    page.wait_for_timeout(300)  # results appear one by one
    links = page.locator("#search-results ul.search a").all()
    found = [str(link.get_attribute("href")).split(".html")[0] for link in links]
    return list(dict.fromkeys(found))


IN_SIGHT = """marks => marks.some(mark => {
  const box = mark.getBoundingClientRect();
  return box.top >= 0 && box.bottom <= innerHeight;
})"""


def in_sight(page: Page, selector: str) -> bool:
    """Whether one of these stands in the window once the page has come to rest."""
    page.wait_for_timeout(500)
    return bool(page.locator(selector).evaluate_all(IN_SIGHT))
