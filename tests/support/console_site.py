"""`sluice serve` as a process of its own, and people who look at its console with a browser."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
from console_records import Written
from playwright.async_api import Browser, Page
from ports import free_port

from sluice.topology.http.tokens import new_token
from sluice.topology.kafka.connect import open_producer
from sluice.topology.kafka.topics import create_topics, topic_name
from sluice.topology.settings.settings import Settings

SLUICE = str(Path(sys.executable).with_name("sluice"))


class Site(NamedTuple):
    """A service that answers.

    Attributes:
        url: of its console.
        settings: its broker and topics.
        tokens: its file of tokens.
    """

    url: str
    settings: Settings
    tokens: Path

    async def write(self, records: Iterable[Written]) -> None:
        """Puts records on the topics as if their writers had."""
        async with open_producer(self.settings) as producer:
            for topic, key, value in records:
                await producer.send(topic_name(self.settings, topic), json.dumps(value).encode(), key=key.encode())
            await producer.flush()

    def token(self, name: str, *scopes: str) -> str:
        """A new token."""
        return new_token(self.tokens, name, scopes or ("read", "review"), None)[0]


@asynccontextmanager
async def serving(settings: Settings, folder: Path) -> AsyncIterator[Site]:
    """The command itself, from its start to its end."""
    await create_topics(settings)
    port = free_port()
    site = Site(f"http://127.0.0.1:{port}", settings, folder / "tokens.json")
    site.token("first", "read")  # the file has to be there
    files = [f"--{name}={folder / file}" for name, file in (("view", "view.sqlite"), ("session-key", "session.key"))]
    command = [SLUICE, "serve", f"--port={port}", f"--tokens={site.tokens}", "--rate=1000", *files]
    where = [f"--broker={settings.broker}", f"--topic-prefix={settings.topic_prefix}"]
    log = folder / "serve.log"
    with log.open("wb") as file:
        process = await asyncio.create_subprocess_exec(*command, *where, cwd=folder, stdout=file, stderr=file)
    try:
        async with httpx2.AsyncClient(base_url=site.url, timeout=60) as client, asyncio.timeout(120):
            while not await _is_ready(client):
                assert process.returncode is None, log.read_text()
                await asyncio.sleep(0.1)
        yield site
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


async def _is_ready(client: httpx2.AsyncClient) -> bool:
    try:
        return (await client.get("/readyz")).status_code == 200
    except httpx2.TransportError:
        return False


@asynccontextmanager
async def person(site: Site, browser: Browser, name: str, **options: Any) -> AsyncIterator[Page]:
    """Somebody who has signed in; at the end nothing has failed in the page, and nobody else was asked for anything."""
    context = await browser.new_context(base_url=site.url, **options)
    context.set_default_timeout(60_000)
    page, said, asked = await context.new_page(), [], []
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: said.append(dialog.message))
    page.on("request", lambda request: asked.append(request.url))
    try:
        await page.goto("/sign-in")
        await page.get_by_label("Token").fill(site.token(name))
        await page.get_by_role("button", name="Sign in").click()
        await page.get_by_role("heading", name="Live").wait_for()
        yield page
        assert said == []
        assert [url for url in asked if not url.startswith(site.url)] == []
    finally:
        await context.close()


async def shows(page: Page, text: str, path: str = "") -> None:
    """Loads a page anew until it shows a text: what is written has to come back through Kafka first."""
    async with asyncio.timeout(120):
        while True:
            await page.goto(path or page.url)
            if text in await page.locator("body").inner_text():
                return
            await asyncio.sleep(0.2)
