"""The command line: ``python -m website`` builds the site into ``build/html``."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from book.errors import BookError
from website.errors import SiteError

ROOT = Path(__file__).parents[1]


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Build the site of the repository at ``root``; 0 where all is well."""
    parser = argparse.ArgumentParser(prog="python -m website", description=__doc__)
    parser.add_argument("--output", type=Path, default=root / "build" / "html")
    options = parser.parse_args(arguments)
    from website.build import build_site

    site = options.output.resolve()
    try:
        build_site(root, site, site.with_name(f"{site.name}-work"))
    except (SiteError, BookError) as error:
        print(error, file=sys.stderr)
        return 1
    print(f"The site is at {site / 'index.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
