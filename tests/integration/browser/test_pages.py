"""Every page of the console at both sizes, in the light and in the dark, for everybody; and with very many requests."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlencode

import pytest
import pytest_asyncio
from adapter_view import attested, claim
from axe_playwright_python.async_playwright import Axe
from console_records import CLAIM, Written, console_records, request, span_key
from console_site import Site, person, serving, shows
from console_story import console_lane, hostile_lane
from exported import ExportedLane
from hostile_texts import MARK, TEXTS
from playwright.async_api import Browser, Page

from sluice.topology.kafka.connect import open_producer
from sluice.topology.kafka.topics import topic_name
from sluice.topology.settings.process import now_ms
from sluice.topology.settings.settings import Settings

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.long]
RULES = {
    "runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]},
    "resultTypes": ["violations"],
}
PAGES = (
    "/",
    "/?status=admitted",
    "/emissions/em-release-notes",
    f"/emissions/em-release-notes?span={span_key(0)}",
    "/emissions/em-release-notes?statement=1",
    "/emissions/em-unknown",
    "/story?id=em-unknown",
    f"/story?id=em-release-notes&span={span_key(0)}",
    "/queue",
    "/queue?emitter=docs-bot",
    f"/queue/item?key=em-release-notes%23{span_key(3)}",
    f"/queue/item?key=em-summary-12%23{span_key(3)}",
    "/queue/bulk?emitter=docs-bot",
    "/insight",
    "/look-up",
    "/look-up?q=em-release-notes",
    "/look-up?q=participants",
    f"/claims?hash={CLAIM}",
)
STORY = PAGES[7]
SIZES = (({"width": 390, "height": 844}, "dark"), ({"width": 1280, "height": 800}, "light"))
FOCUSABLE = (
    ":is(a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0'])"
    ":not(details:not([open]) > :not(summary) *)"  # what is folded away is not come to
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def site(kafka: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    """A service with something on every page."""
    folder = tmp_path_factory.mktemp("serve")
    async with serving(Settings(broker=kafka, topic_prefix=f"{folder.name}-pages."), folder) as site:
        await site.write(console_records(now_ms()))
        await write_ledger(site)
        yield site


async def write_ledger(site: Site) -> None:
    """Puts the lane of the first emission on the topic, as its worker would."""
    await write_lane(site, console_lane("em-release-notes", now_ms(), site.settings.partitions))


async def write_lane(site: Site, lane: ExportedLane) -> None:
    """Puts the ledger of a lane on its topic."""
    async with open_producer(site.settings) as producer:
        for block in lane.blocks:
            await producer.send(topic_name(site.settings, "ledger"), block, partition=lane.lane)
        await producer.flush()


async def faults(page: Page) -> list[str]:
    """What is wrong with a page on a telephone in the dark, and at a desk in the light: colours know no sizes."""
    found: list[str] = []
    for size, scheme in SIZES:
        await page.emulate_media(color_scheme=scheme)
        await page.set_viewport_size(size)  # pyright: ignore[reportArgumentType]
        wide = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        if wide > 0:
            found.append(f"{size['width']} px: {wide} px too wide")
        result: dict[str, Any] = (await Axe().run(page, options=RULES)).response
        found += [
            f"{size['width']} px, {scheme}: {one['id']} {node['target']} {node['failureSummary']}"
            for one in result["violations"]
            for node in one["nodes"]
        ]
    return found


async def test_every_page_is_for_everybody(site: Site, browser: Browser):
    """axe finds nothing against WCAG AA, and nothing has to be scrolled sideways."""
    found: dict[str, list[str]] = {}
    async with person(site, browser, "ada") as page:
        await shows(page, "2 open", "/queue")
        await shows(page, "observer-3: corroborates", STORY)
        for path in PAGES:
            await page.goto(path)
            found[path] = await faults(page)
        await page.goto(f"/queue/item?key=em-release-notes%23{span_key(3)}")
        await page.get_by_role("button", name="Claim it").click()
        await page.get_by_role("button", name="Admit").wait_for()
        found["claimed"] = await faults(page)
        await page.get_by_label("Reason (required)").fill("seen in the source")
        await page.get_by_role("button", name="Admit").click()
        await page.get_by_role("heading", name="Just decided").wait_for()
        found["decided"] = await faults(page)
    context = await browser.new_context(base_url=site.url)
    page = await context.new_page()
    await page.goto("/sign-in")
    found["/sign-in"] = await faults(page)
    await context.close()

    assert {path: one for path, one in found.items() if one} == {}


async def test_every_page_is_reached_by_keyboard(site: Site, browser: Browser):
    """The tabulator comes to everything that can be used, in the order of the page, and shows where it is."""
    async with person(site, browser, "bob") as page:
        await shows(page, "open", "/queue")
        for path in PAGES:
            await page.goto(path)
            wanted = await page.locator(FOCUSABLE).count()
            places: list[int] = []
            for _ in range(wanted):
                await page.keyboard.press("Tab")
                place, outline = await page.evaluate(
                    "(all) => { const one = document.activeElement, style = getComputedStyle(one);"
                    " return [[...document.querySelectorAll(all)].indexOf(one), style.outlineStyle]; }",
                    FOCUSABLE,
                )
                places.append(place)
                assert outline != "none", f"{path}: element {place} does not show that it has the focus"
            assert places == list(range(wanted)), path
        await page.goto("/")
        await page.keyboard.press("Tab")
        await page.keyboard.press("Enter")
        assert await page.evaluate("document.activeElement.id") == "main"


async def test_every_page_is_read_without_scripts(site: Site, browser: Browser):
    """The same words are there."""
    async with (
        person(site, browser, "ada") as with_,
        person(site, browser, "ada", java_script_enabled=False) as without,
    ):
        await shows(with_, "open", "/queue")
        for path in PAGES:
            words = []
            for page in (with_, without):
                await page.goto(path)
                words.append(await page.locator("h1, h2, h3, caption, td, label, .card a").all_inner_texts())
            assert words[0] == words[1], path
            assert words[0], path


async def test_hostile_words_stay_words_on_claims_and_time_lines(kafka: str, prefix: str, tmp_path, browser: Browser):
    """No script of theirs runs, nothing is asked of another site (`person` looks at both), the title stays ours, and
    nothing has to be scrolled sideways on a telephone."""
    async with serving(Settings(broker=kafka, topic_prefix=prefix), tmp_path) as site:
        lane = hostile_lane("em-evil", now_ms(), site.settings.partitions)
        await write_lane(site, lane)
        said = [
            attested(text, about="evil", by=name, qualifications=text, evidence=[{"quote": text, "uri": text}])
            for name, text in TEXTS.items()
        ]
        await site.write([Written("grounded", claim("evil"), json.loads(one)) for one in said])
        paths = {f"/claims?hash={claim('evil')}": f"{len(TEXTS)} validators count", "/story?id=em-evil": MARK}
        paths |= {"/story?" + urlencode({"id": text[:2000], "span": "c:0-1"}): "Back" for text in TEXTS.values()}
        async with person(site, browser, "ada", viewport=SIZES[0][0]) as page:
            for path, words in list(paths.items())[:2]:
                await shows(page, words, path)
            for path in paths:
                await page.goto(path)
                assert await page.title() in ("Claim · sluice", "Time line · sluice", "No time line · sluice"), path
                assert await page.locator("script").count() == 1, path
                assert await page.locator("main :is(img, svg, iframe, form, style, link, meta)").count() == 0, path
                assert await page.locator("main a:not([href^='/'])").count() == 0, path
                wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
                assert await page.evaluate(wide) <= 0, path


async def test_ten_thousand_requests_are_one_page(kafka: str, prefix: str, tmp_path, browser: Browser):
    """The first page says how many there are and draws fifty; a filter and a decision about all say the same number."""
    async with serving(Settings(broker=kafka, topic_prefix=prefix), tmp_path) as site:
        await site.write(request(f"em-{number}", f"It is {number}.") for number in range(10_000))
        async with person(site, browser, "ada") as page:
            await shows(page, "10000 open, the first 50 shown", "/queue")
            assert await page.locator(".card").count() == 50
            assert await page.locator("*").count() < 600
            await page.goto("/queue?reason=too-few-classes")
            await page.get_by_role("link", name="Decide the first 1000 at once").click()
            assert await page.get_by_role("button", name="Admit all 1000").count() == 1
