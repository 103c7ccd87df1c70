"""The console while the broker is away, and after it has returned."""

from __future__ import annotations

import os
import signal

import pytest
from console_records import console_emission, request, span_key
from console_site import person, serving, shows
from playwright.async_api import Browser, expect

from sluice.topology.kafka.local_broker import RealBroker
from sluice.topology.settings.process import now_ms
from sluice.topology.settings.settings import Settings

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_broker_that_goes_away_and_returns_loses_no_decision(prefix: str, tmp_path, browser: Browser):
    """Pages are read from the view meanwhile; a decision waits; a claim says that it has to be made again."""
    with RealBroker() as broker:
        async with (
            serving(Settings(broker=broker.address, topic_prefix=prefix), tmp_path) as site,
            person(site, browser, "ada") as page,
        ):
            await site.write(
                [
                    one
                    for name in ("em-1", "em-2")
                    for one in (console_emission(name, "docs-bot", now_ms()), request(name))
                ]
            )
            items = [f"/queue/item?key={name}%23{span_key(3)}" for name in ("em-1", "em-2")]
            for path in items:
                await shows(page, "Claim it", path)
            await page.goto(items[0])
            await page.get_by_role("button", name="Claim it").click()
            await page.get_by_label("Reason (required)").fill("seen in the source")
            os.kill(broker.pid, signal.SIGSTOP)
            try:
                await page.get_by_role("button", name="Admit").click()
                await expect(page.get_by_role("list").filter(has_text="admit em-1")).to_be_visible()
                await page.goto(items[1])
                await page.get_by_role("button", name="Claim it").click()
                await expect(page.get_by_role("status")).to_contain_text("the broker does not take the claim now")
            finally:
                os.kill(broker.pid, signal.SIGCONT)
            await shows(page, f"admit em-1#{span_key(3)}: sent", "/queue")
            await page.goto(items[1])
            await page.get_by_role("button", name="Claim it").or_(page.get_by_role("button", name="Admit")).wait_for()
