"""Debian's Chromium for the tests of the console.

Without it these tests are skipped with a sentence; in CI, and with SLUICE_REQUIRE_BROWSER=1, that is a failure.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, async_playwright, expect

MISSING = "the console's tests need Chromium: `make browser`, or `apt-get install chromium`"


@pytest.fixture(scope="module")
def chromium() -> str:
    """The browser's path."""
    path = shutil.which("chromium")
    if path is None:
        required = os.environ.get("CI", "").lower() not in ("", "0", "false")
        if required or os.environ.get("SLUICE_REQUIRE_BROWSER") == "1":
            pytest.fail(MISSING)
        pytest.skip(MISSING)
    return path


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser(chromium: str) -> AsyncIterator[Browser]:
    """Chromium; a sandbox of its own is not to be had by root."""
    expect.set_options(timeout=60_000)
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium, args=arguments)
        yield browser
        await browser.close()
