"""What people do at the console, in a real browser, with a real Kafka behind it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest
import pytest_asyncio
from console_records import EVIL, SENTENCES, Written, console_emission, request, span_key, verdicts
from console_site import Site, person, serving, shows
from playwright.async_api import Browser, Page, expect

from sluice.topology.kafka.topic_reader import read
from sluice.topology.settings.process import now_ms
from sluice.topology.settings.settings import Settings

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.long]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def site(kafka: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    """A service for the tests of this file; each test writes emissions of its own."""
    folder = tmp_path_factory.mktemp("serve")
    settings = Settings(broker=kafka, topic_prefix=f"{folder.name}-people.")
    async with serving(settings, folder) as site:
        yield site


def item(emission_id: str, number: int = 3) -> str:
    """The page of a request."""
    return f"/queue/item?key={emission_id}%23{span_key(number)}"


async def decisions(site: Site, emission_id: str) -> list[dict[str, str]]:
    """The reviews of an emission on the topic."""
    async with aclosing(read(site.settings, "reviews")) as records:
        found = [json.loads(record.value or b"{}") async for record in records]
    return [one for one in found if one["emission_id"] == emission_id]


async def decided(page: Page, how: str, why: str) -> None:
    """Fills the form in and sends it."""
    await page.get_by_label("Reason (required)").fill(why)
    await page.get_by_role("button", name=how).click()


async def test_a_person_signs_in_and_out(site: Site, browser: Browser):
    """A wrong token is told; no script can read the cookie; after signing out the page is closed."""
    context = await browser.new_context(base_url=site.url)
    page = await context.new_page()
    await page.goto("/queue")
    await expect(page).to_have_title("Sign in · sluice")
    await page.get_by_label("Token").fill("slm_wrong")
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.get_by_role("status")).to_have_text("This token is none, or has ended.")
    await page.get_by_label("Token").fill(site.token("eve"))
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="Live")).to_be_visible()
    assert await page.evaluate("document.cookie") == ""
    await page.get_by_role("button", name="Sign out").click()
    await page.goto("/queue")
    await expect(page).to_have_title("Sign in · sluice")
    await context.close()


async def test_verdicts_come_to_the_live_page_by_themselves(site: Site, browser: Browser):
    """Without a reload; and each leads to its emission, its text by status."""
    now = now_ms()
    async with person(site, browser, "ada") as page:
        await page.goto("/?emitter=docs-bot")
        await expect(page.locator("#live")).not_to_contain_text("em-live")
        await site.write([console_emission("em-live", "docs-bot", now), verdicts("em-live", "docs-bot", now)])
        await expect(page.locator("#live")).to_contain_text("em-live")
        await page.get_by_role("link", name="em-live").click()
        await page.get_by_role("link", name=SENTENCES[2]).click()
        await expect(page.locator("#chosen")).to_contain_text("substrate.git.log")


async def test_two_people_claim_one_request_at_once(site: Site, browser: Browser):
    """One holds it and decides; the other one is told who does, and decides nothing."""
    await site.write([console_emission("em-two", "docs-bot", now_ms()), request("em-two")])
    async with person(site, browser, "ada") as ada, person(site, browser, "bob") as bob:
        people = [ada, bob]
        await asyncio.gather(*(shows(page, "Claim it", item("em-two")) for page in people))
        await asyncio.gather(*(page.get_by_role("button", name="Claim it").click() for page in people))
        await asyncio.gather(*(expect(page.locator("main")).to_contain_text("until") for page in people))
        holders = [await page.get_by_role("button", name="Admit").count() for page in people]
        assert sorted(holders) == [0, 1]
        winner, loser = people[holders.index(1)], people[holders.index(0)]
        name = ("ada", "bob")[holders.index(1)]
        await expect(loser.locator("main")).to_contain_text(f"token:{name}")
        await decided(winner, "Admit", "seen in the source")
        await shows(winner, f"admit em-two#{span_key(3)}: sent", "/queue")

    assert [(one["reviewer"], one["decision"]) for one in await decisions(site, "em-two")] == [
        (f"token:{name}", "admit")
    ]


async def test_a_decision_is_taken_back(site: Site, browser: Browser):
    """Within its seconds; nothing of it is on the topic, and the request is as open as it was.

    A machine that takes longer than these seconds for one click is given further requests.
    """
    names = [f"em-undo-{number}" for number in range(10)]
    await site.write([one for name in names for one in (console_emission(name, "docs-bot", now_ms()), request(name))])
    async with person(site, browser, "ada") as page:
        for name in names:
            await shows(page, "Claim it", item(name))
            await page.get_by_role("button", name="Claim it").click()
            await decided(page, "Refuse", "not true")
            if await (undo := page.get_by_role("listitem").filter(has_text=name).get_by_role("button")).count() == 0:
                continue
            await undo.click()
            if await page.get_by_text("Taken back.").count() == 1:
                break
        await page.goto(item(name))
        await decided(page, "Refuse", "out of date")
        await shows(page, f"refuse {name}#{span_key(3)}: sent", "/queue")

    assert [one["reason"] for one in await decisions(site, name)] == ["out of date"]


async def test_a_claim_that_ended_decides_nothing(site: Site, browser: Browser):
    """The form was there while the claim held; what it sends later is refused, and says what to do."""
    key = f"em-late#{span_key(3)}"
    word = {"emission_id": "em-late", "span_key": span_key(3), "holder": "token:ada", "seconds": 600}
    await site.write(
        [console_emission("em-late", "docs-bot", now_ms()), request("em-late"), Written("review-leases", key, word)]
    )
    async with person(site, browser, "ada") as ada, person(site, browser, "bob") as bob:
        await shows(ada, "You hold it", item("em-late"))
        await ada.get_by_label("Reason (required)").fill("seen in the source")
        await site.write([Written("review-leases", key, {**word, "seconds": 0})])
        await shows(bob, "Claim it", item("em-late"))
        await ada.get_by_role("button", name="Admit").click()
        await expect(ada.get_by_role("status")).to_contain_text("Your claim of this request has ended: claim it again.")
        await bob.get_by_role("button", name="Claim it").click()
        await expect(bob.get_by_role("button", name="Admit")).to_be_visible()
        await ada.get_by_role("button", name="Claim it").click()
        await expect(ada.get_by_role("status")).to_contain_text("omebody else holds this request")

    assert await decisions(site, "em-late") == []


async def test_what_strangers_wrote_stays_inert(site: Site, browser: Browser):
    """A script in an assertion, a name, an answer, a reason: it is text everywhere, and its hidden characters show."""
    now = now_ms()
    hostile = console_emission("em-evil", EVIL, now)
    hostile.value["text"] = EVIL + hostile.value["text"]
    del hostile.value["assertions"]
    await site.write(
        [
            hostile,
            request("em-evil", EVIL, reason="<b>reason</b>", classes_seen=[EVIL]),
            Written(
                "reviews",
                "em-evil",
                {
                    "emission_id": "em-evil",
                    "span": {"chars": [0, 10]},
                    "decision": "refuse",
                    "reviewer": "r",
                    "reason": EVIL,
                },
            ),
        ]
    )
    async with person(site, browser, "ada") as page:
        await shows(page, "<script>", item("em-evil"))
        for path in (item("em-evil"), "/queue", "/queue/bulk?reason=<b>reason</b>", "/emissions/em-evil", "/"):
            await page.goto(path)
            assert (await page.title()).endswith("· sluice"), path
            assert await page.locator("main script, main img, main b").count() == 0, path
        await page.goto(item("em-evil"))
        await expect(page.locator("main")).to_contain_text("U+202E")


async def test_a_person_decides_without_scripts(site: Site, browser: Browser):
    """Sign in, queue, claim, decide, undo: all of it is forms and links."""
    await site.write(
        [console_emission("em-plain", "docs-bot", now_ms()), request("em-plain", "It runs without scripts.")]
    )
    async with person(site, browser, "ada", java_script_enabled=False) as page:
        await shows(page, "It runs without scripts.", "/queue?emitter=docs-bot")
        await page.get_by_role("link", name="It runs without scripts.").click()
        await page.get_by_role("button", name="Claim it").click()
        await decided(page, "Admit", "seen in the source")
        await expect(page.get_by_role("list").filter(has_text="admit em-plain")).to_be_visible()
        await page.get_by_role("link", name="Live").click()
        await expect(page.get_by_role("table", name="The newest")).to_be_visible()
