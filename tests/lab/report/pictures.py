"""Makes the pictures of `docs/` anew: `python -m tests.lab.report.pictures`, with Chromium and Playwright installed.

The records are the examples, the training runs those whose folders are given (without any, their picture stays as it
is); the rollout is the bundled policy's on 24 blocks.
"""

from __future__ import annotations

import sys
import tempfile
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image
from tests.conftest import ROOT
from tests.lab.report.browser import open_browser, open_page
from tests.policy.test_rollout import blocks

from saltus.lab.report.explain import explain_page, trace
from saltus.lab.report.html import write_page
from saltus.lab.report.page import report_page
from saltus.lab.report.report import make_report
from saltus.policy import load_policy

PICTURES = ROOT / "docs" / "pictures"
MARGIN = 14
MOST_BYTES = 290_000
RECORDS = ROOT / "examples" / "records"


def picture_part(page: Any, name: str, first: str, last: str) -> None:
    """The picture of what lies between two elements of a page."""
    start, end = (page.locator(element).first.bounding_box() for element in (first, last))
    top = max(0, start["y"] - MARGIN)
    bottom = end["y"] + end["height"] + 3
    area = {"x": 0, "y": top, "width": page.viewport_size["width"], "height": bottom - top}
    save(page, name, clip=area)


def save(page: Any, name: str, **options: Any) -> None:
    """A picture of the page, in fewer colours where it would be large."""
    picture = Image.open(BytesIO(page.screenshot(full_page=True, **options))).convert("RGB")
    path = PICTURES / f"{name}.png"
    picture.save(path, optimize=True)
    if path.stat().st_size > MOST_BYTES:
        picture.quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(path, optimize=True)


def main() -> None:
    """All pictures; that of training curves if the folders of some runs are given."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name, open_browser() as browser:
        folder = Path(name)
        report = make_report(sorted(path.relative_to(ROOT) for path in RECORDS.glob("*.jsonl")), sys.argv[1:])
        write_page(folder / "report.html", report_page(report))
        page = open_page(browser, folder / "report.html", width=1200).page
        picture_part(page, "report", "h1", "#coverage-ipc2023")
        picture_part(page, "comparison", "#time", "#scatter")
        if sys.argv[1:]:
            picture_part(page, "training", "#training h2", "#training .plots")
        task = blocks(24, 2)
        write_page(folder / "explain.html", explain_page(trace(task, load_policy("blocksworld"), "blocksworld")))
        page = open_page(browser, folder / "explain.html", width=1280, height=860).page
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        page.locator("#tree circle.jump").click()
        save(page, "explain")
        dark = open_page(browser, folder / "explain.html", width=1280, height=860, dark=True).page
        save(dark, "explain-dark")


if __name__ == "__main__":
    main()
