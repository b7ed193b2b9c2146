"""What a reader does on the site, and what the page then shows."""

from urllib.parse import urlsplit

WIDE, PHONE = 1500, 375
ON_A_PHONE = {"width": PHONE, "is_mobile": True, "has_touch": True}


def place(page):
    """The path and fragment of the page's address."""
    parts = urlsplit(page.url)
    return parts.path[1:] + ("#" + parts.fragment if parts.fragment else "")


def choose(page, kind, value):
    """Click on a language or framework above the text."""
    page.locator(f'nav.switch a[data-{kind}="{value}"]').click()
    page.wait_for_load_state()


def top_of(page, selector):
    return float(page.locator(selector).evaluate("e => e.getBoundingClientRect().top"))


def search(page, words):
    """Type words into a page's search and wait for the answer."""
    page.locator(".sidebar-search").fill(words)
    page.locator(".sidebar-search").press("Enter")
    page.wait_for_function("document.querySelector('.search-summary')?.textContent")


def results(page):
    """The pages found, without their endings."""
    links = page.locator("#search-results ul.search > li > a").all()
    found = [str(link.get_attribute("href")).split(".html")[0] for link in links]
    return list(dict.fromkeys(found))
