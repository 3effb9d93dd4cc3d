"""Makes the headline page anew from the record files: `python tools/headline.py`.

Writes docs/headline.html, its picture (docs/pictures/headline.png, by Chromium and Playwright) and the table of
README.md whose first column is `system`. `--check` only says whether README and page are up to date. What is shown is
described in experiments/headline.toml.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
SPEC = ROOT / "experiments" / "headline.toml"
PAGE = ROOT / "docs" / "headline.html"
PICTURE = ROOT / "docs" / "pictures" / "headline.png"
README = ROOT / "README.md"
PLACE = re.compile(r"(?<=\n\n)\| system \|.*?\|(?=\n\n)", re.DOTALL)
"""Where the table is in README."""


def with_table(readme: str, lines: list[str]) -> str:
    """README with the table in its place."""
    text, count = PLACE.subn(lambda found: "\n".join(lines), readme)
    if count != 1:
        raise SystemExit("README.md: expected one table whose first column is 'system'")
    return text


def take_picture() -> None:
    """The picture of the top of the page, down to the bars of the first benchmark."""
    sys.path.insert(0, str(ROOT))
    from tests.lab.report.browser import open_browser, open_page

    with open_browser() as browser:
        page = open_page(browser, PAGE, width=1100).page
        last = page.locator(".bars").first.bounding_box()
        height = last["y"] + last["height"] + 16
        page.screenshot(path=str(PICTURE), full_page=True, clip={"x": 0, "y": 0, "width": 1100, "height": height})


def main() -> None:
    """Writes all three, or checks two of them."""
    from saltus.lab import write_page
    from saltus.lab.report.headline import headline_page, markdown_table, read_headline

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if something is out of date")
    parser.add_argument("--no-picture", action="store_true", help="leave the picture as it is")
    options = parser.parse_args()
    headline = read_headline(SPEC)
    page = headline_page(headline)
    readme = README.read_text(encoding="utf-8")
    wanted = with_table(readme, markdown_table(headline.benchmarks[0]))
    if options.check:
        stale = [
            path.name for path, text in ((README, wanted), (PAGE, page)) if path.read_text(encoding="utf-8") != text
        ]
        raise SystemExit(f"out of date: {', '.join(stale)}; run tools/headline.py" if stale else 0)
    README.write_text(wanted, encoding="utf-8")
    write_page(PAGE, page)
    if not options.no_picture:
        take_picture()


if __name__ == "__main__":
    main()
