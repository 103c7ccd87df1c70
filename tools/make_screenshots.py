"""Draws the console's pages at two sizes into docs/images, from fixed records at a fixed time: `make screenshots`.

Beside the pictures it writes a hash of what each page is made of (its HTML, the style sheet, the script): fonts differ
from machine to machine. With `--check` it draws nothing, names the pages whose pictures are not current, and ends
with 1.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx2
from console_records import CLAIM, Written, console_records, span_key
from console_story import console_story
from starlette.applications import Starlette

from sluice.topology.audit.explanation import Explanation
from sluice.topology.http.auth_middleware import AuthMiddleware, ServiceMetrics
from sluice.topology.http.console import Console, console
from sluice.topology.http.http_server import ListenConfig
from sluice.topology.http.kept_view import Arrived, Batch, Readers
from sluice.topology.http.ledger_jobs import LaneTip, LaneTips, LedgerJobs, Tips
from sluice.topology.http.record_intake import Intake, Outbox
from sluice.topology.http.review_service import ReviewService
from sluice.topology.http.service_view import ServiceView
from sluice.topology.http.sign_in import Sessions
from sluice.topology.http.verdict_streams import Sight, VerdictBroadcaster
from sluice.topology.settings.settings import Settings

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
HASHES = IMAGES / "screenshots.json"
NOW = 1_767_258_000_000
"""1 January 2026, 09:00 UTC."""
SITE = "http://localhost"
FIRST = "em-release-notes"
PAGES = {
    "live": "/",
    "emission": f"/emissions/{FIRST}?span={span_key(2)}",
    "story": f"/story?id={FIRST}&span={span_key(0)}",
    "queue": "/queue",
    "review": f"/queue/item?key={FIRST}%23{span_key(3)}",
    "together": "/queue/bulk?emitter=support-bot",
    "insight": "/insight",
    "look-up": "/look-up?q=participants",
    "claim": f"/claims?hash={CLAIM}",
    "sign-in": "/sign-in",
}
WIDTHS = {"": (1280, 800), "-390": (390, 844)}


def picture(name: str, size: str) -> Path:
    """The file of a page at a size."""
    return IMAGES / f"console-{name}{size}.png"


@asynccontextmanager
async def site() -> AsyncIterator[httpx2.AsyncClient]:
    """The console over a view that holds the fixed records; it reaches no broker."""
    with tempfile.TemporaryDirectory() as folder:
        view = _view(Path(folder) / "serve.sqlite")
        readers = Readers(view.path)
        intake, meter = Intake(_nobody, seconds=1, room=1), ServiceMetrics(lambda: 0)
        sight = Sight(readers, VerdictBroadcaster(readers), meter, lambda: NOW)
        desk = ReviewService(sight, intake, Outbox(intake.take), None, "console", lambda: NOW)
        sessions, settings = Sessions(b"k" * 32, lambda: NOW), Settings()
        parts = Console(desk, sessions, None, jobs=_Story(settings), tips=_Tips(settings))
        pages = Starlette(routes=console(parts))
        gate = AuthMiddleware(pages, ListenConfig(rate=1e6, burst=1_000_000), meter)
        try:
            async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=gate), base_url=SITE) as client:
                yield client
        finally:
            readers.close()
            view.close()


class _Story(LedgerJobs):
    """The time line of a ledger with the fixed records."""

    async def story(self, emission_id: str, span_key: str | None) -> Explanation:
        return await console_story(emission_id, span_key, NOW)


class _Tips(LaneTips):
    """Two ledgers that are up to date, and one that is a little behind."""

    async def now(self) -> Tips:
        return {
            ("ledger", 0): LaneTip(4711, NOW, 0),
            ("bind-ledger", 0): LaneTip(310, NOW - 20_000, 0),
            ("frame-ledger", 0): LaneTip(86, NOW - 1000, 12),
        }


def _nobody() -> Any:
    raise NotImplementedError("nothing is sent from here")


def _view(path: Path) -> ServiceView:
    view = ServiceView(path, "screenshots")
    view.tell(caught_up_at=str(NOW), **{"partitions.verdicts": "1"})
    key = f"{FIRST}#{span_key(3)}"
    held = {"emission_id": FIRST, "span_key": span_key(3), "holder": "local", "seconds": 300}
    for offset, (topic, name, value) in enumerate([*console_records(NOW), Written("review-leases", key, held)]):
        at = NOW + 1000 * offset if topic == "verdicts" else NOW
        record = Arrived(offset, name.encode(), json.dumps(value).encode(), at)
        view.take({(topic, 0): Batch([record], offset + 1)})
    return view


async def hashes() -> dict[str, str]:
    """Of each page a hash of what it is made of."""
    async with site() as client:
        shared = [(await client.get(f"/static/console.{kind}")).content for kind in ("css", "js")]
        found: dict[str, str] = {}
        for name, path in PAGES.items():
            answer = await client.get(path)
            assert answer.status_code == 200, (name, answer.text)
            found[name] = sha256(b"\0".join([answer.content, *shared])).hexdigest()
    return found


async def draw() -> None:
    """Writes the pictures and the hashes."""
    from playwright.async_api import Route, async_playwright

    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("the pictures need Chromium: `make browser`")
    IMAGES.mkdir(exist_ok=True)
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    async with site() as client, async_playwright() as playwright:

        async def answer(route: Route) -> None:
            found = await client.get(route.request.url)
            await route.fulfill(status=found.status_code, headers=dict(found.headers), body=found.content)

        browser = await playwright.chromium.launch(executable_path=chromium, args=arguments)
        for size, (width, height) in WIDTHS.items():
            context = await browser.new_context(viewport={"width": width, "height": height}, color_scheme="light")
            await context.route(f"{SITE}/**", answer)
            # A stream of events does not end, and nothing is to come.
            await context.route(f"{SITE}/v1/**", lambda route: route.abort())
            page = await context.new_page()
            for name, path in PAGES.items():
                await page.goto(SITE + path)
                await page.screenshot(path=picture(name, size))
        await browser.close()
    HASHES.write_text(json.dumps(await hashes(), indent=2) + "\n")


async def check() -> None:
    """Compares what the pages are made of with what the pictures were drawn from."""
    stored = json.loads(HASHES.read_text("utf-8"))
    if stale := [name for name, found in (await hashes()).items() if stored.get(name) != found]:
        sys.exit(f"not current: {', '.join(stale)}; run `make screenshots`")


if __name__ == "__main__":
    asyncio.run(check() if sys.argv[1:] == ["--check"] else draw())
