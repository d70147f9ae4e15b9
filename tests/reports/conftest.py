"""Made-up stores, and pages in a browser."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.reports import made_up
from tests.reports.history.stores import failed_history as failed_history
from tests.reports.history.stores import stepped_store as stepped_store

BROWSER_OPTIONS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-sync "
    "--disable-background-networking --disable-component-update --enable-logging=stderr "
    "--window-size=500,900"
).split()


def assert_self_contained(page: str) -> None:
    """Check that a page loads nothing from elsewhere, and that its ids are unique."""
    assert "default-src 'none'" in page
    assert not re.search(r"(src|href)\s*=\s*[\"'](https?:)?//", page)
    assert "@import" not in page and "url(" not in page
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))


@pytest.fixture(scope="session")
def full_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_up.write_full(tmp_path_factory.mktemp("store") / "cases")


@pytest.fixture(scope="session")
def full_table(full_store: Path) -> pd.DataFrame:
    """Return the table of the full store; tests must not change it."""
    return made_up.measured(full_store)


@pytest.fixture(scope="session")
def open_page(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    """Return a function that opens a page in a headless Chromium and returns the finished process.

    Skip the test if Chromium is not installed, or cannot open files.
    """
    names = ("chromium", "chromium-browser", "google-chrome")
    browser = next(filter(None, map(shutil.which, names)), None)
    if browser is None:
        pytest.skip("no chromium is installed")
    folder = tmp_path_factory.mktemp("browser")

    def opened(page: Path, *options: str) -> subprocess.CompletedProcess[str]:
        profile = f"--user-data-dir={folder / 'profile'}"
        command = [browser, *BROWSER_OPTIONS, profile, *options, "--dump-dom", page.as_uri()]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    plain = folder / "plain.html"
    plain.write_text("<p>it works</p>")
    try:
        works = "it works" in opened(plain).stdout
    except subprocess.TimeoutExpired:
        works = False
    if not works:
        pytest.skip(f"{browser} cannot open files in {folder}; a snap package may not")
    return opened


@pytest.fixture(scope="session")
def take_picture(open_page: Callable[..., Any]) -> Callable[..., None]:
    """Return a function that saves a picture of a page in the folder VCJAX_PICTURES, such as docs/.

    Without this variable the function does nothing.
    """
    folder = os.environ.get("VCJAX_PICTURES")

    def taken(page: Path, name: str, *, height: int = 1250) -> None:
        if folder is not None:
            goal = Path(folder).resolve() / f"{name}.png"
            open_page(page, f"--window-size=1000,{height}", f"--screenshot={goal}")
            assert goal.stat().st_size > 10_000

    return taken
