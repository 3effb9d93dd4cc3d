"""A real browser for the tests of pages: Debian's Chromium, driven by Playwright; None where there is none."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
OPTIONS = (
    "--no-sandbox",  # the tests may run as root
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def find_browser() -> str | None:
    """The browser's program: the one that SALTUS_BROWSER names, or the first that is installed."""
    return os.environ.get("SALTUS_BROWSER") or next((path for name in PROGRAMS if (path := shutil.which(name))), None)


@contextmanager
def open_browser() -> Iterator[Any]:
    """A running browser, closed in the end."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=find_browser(), args=list(OPTIONS))
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Opened:
    """A page in the browser, with all that it complained about and asked for."""

    page: Any
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


def open_page(browser: Any, path: Path, *, dark: bool = False, width: int = 1280, height: int = 900) -> Opened:
    """The page of a file, loaded."""
    page = browser.new_page(
        color_scheme="dark" if dark else "light", viewport={"width": width, "height": height}, locale="en-GB"
    )
    opened = Opened(page)
    page.on("console", lambda message: opened.complaints.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: opened.complaints.append(str(error)))
    page.on("request", lambda request: opened.requests.append(request.url))
    page.goto(path.resolve().as_uri())
    return opened
