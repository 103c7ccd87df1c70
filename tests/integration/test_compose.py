"""The Compose file's own commands, in its order, on a real Kafka: the first start is under the strict profile."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2
import pytest
from builders import assertion_value, text_value
from composed import Composed
from ports import free_port

from sluice.topology.kafka.topic_reader import read
from sluice.topology.settings.settings import Settings

pytestmark = pytest.mark.long

PATIENCE = 120.0
SOURCE = "RETRIES = 3\nTIMEOUT = 30\n"
TEXT = "`RETRIES` in settings.py is 3."


def true_line(name: str, system: str) -> str:
    """A true statement, with evidence of three kinds to be had."""
    classes = ("substrate.code.read", "substrate.grep", "substrate.git.log")
    provenance = [{"substrate_class": one, "locator": {"path": "settings.py"}} for one in classes]
    provenance[1]["locator"] = {"path": "settings.py", "pattern": "RETRIES"}
    assertion = assertion_value(TEXT, *provenance, checks=["equals(RETRIES, 3)"])
    return json.dumps(text_value(name, TEXT, emitter={"system": system}, assertions=[assertion])) + "\n"


@pytest.fixture
def composed(kafka: str, prefix: str, tmp_path: Path) -> Iterator[tuple[Composed, Settings]]:
    """What `docker compose up` starts, but for what we did not write; everything ends with the test."""
    root = tmp_path / "observed"
    root.mkdir()
    (root / "settings.py").write_text(SOURCE)
    for command in ("init --quiet", "add .", "-c user.name=a -c user.email=a@example.org commit --quiet -m x"):
        subprocess.run(["git", *command.split()], cwd=root, check=True)
    settings = Settings(broker=kafka, topic_prefix=prefix, app_id=prefix.rstrip("."), partitions=1)
    given = {"SLUICE_BROKER": kafka, "SLUICE_TOPIC_PREFIX": prefix, "SLUICE_APP_ID": settings.app_id}
    one = Composed(tmp_path / "volumes", {"SLUICE_OBSERVED": str(root), "SLUICE_PARTITIONS": "1"}, given)
    (tmp_path / "volumes").mkdir()
    for service in ("keys", "topics"):
        done = one.run(service)
        assert done.returncode == 0, done.stderr
    with ExitStack() as running:
        for service in ("worker-1", "worker-2", "observer", "observer-2"):
            process = running.enter_context(one.start(service, tmp_path / f"{service}.log"))
            running.callback(process.terminate)
        yield one, settings


@pytest.fixture
def served(composed: tuple[Composed, Settings], tmp_path: Path) -> Iterator[tuple[str, str]]:
    """The service as the file has it but for its port; its address, and a token made as docs/compose.md says."""
    one, _ = composed
    words = "mcp token new --tokens /var/lib/sluice/tokens.json --name me --scope emit --scope read --scope review"
    made = one.run("serve", *words.split())
    assert made.returncode == 0, made.stderr
    port = free_port()
    own = one.services["serve"]["command"]
    one.services["serve"]["command"] = [*own, "--host=127.0.0.1", f"--port={port}"]
    with one.start("serve", tmp_path / "serve.log") as process:
        yield f"http://127.0.0.1:{port}", re.findall(r"slm_\S+", made.stdout)[0]
        process.terminate()


def values(settings: Settings, topic: str) -> list[dict[str, Any]]:
    async def all_of() -> list[dict[str, Any]]:
        return [json.loads(record.value or b"{}") async for record in read(settings, topic)]

    return asyncio.run(all_of())


def lookers(settings: Settings) -> set[tuple[str, str]]:
    """Which observers looked at which emissions."""
    return {(one["observer"], one["subject"]["emission_id"]) for one in values(settings, "observations")}


def reasons(settings: Settings) -> list[str]:
    async def all_of() -> list[str]:
        return [dict(one.headers)["sluice-reason"].decode() async for one in read(settings, "dead-letters")]

    return asyncio.run(all_of())


def test_the_first_start_admits_what_is_signed_and_nothing_else(composed: tuple[Composed, Settings], tmp_path: Path):
    """The emitter's key makes the difference: a stranger's statement is as true, and is seen by the same observer."""
    one, settings = composed
    for name, system in (("em-stranger", "stranger"), ("em-pretended", "docs-bot")):
        assert one.run("topics", "produce", text=true_line(name, system)).returncode == 0
    assert one.run("emitter", text=true_line("em-signed", "docs-bot")).returncode == 0

    end = time.monotonic() + PATIENCE
    while not (admitted := values(settings, "admitted")) and time.monotonic() < end:
        time.sleep(0.5)

    said = "".join((tmp_path / f"{name}.log").read_text() for name in ("worker-1", "worker-2", "observer"))
    assert {value["emission_id"] for value in admitted} == {"em-signed"}, said[-4000:]
    # The second observer's look may already have moved the validity on, which is a record of its own.
    assert [value["status"] for value in admitted] == ["admitted"] + ["renewed"] * (len(admitted) - 1)
    # Each observer looks at each emission: `min_observers` could not be met otherwise.
    wanted = {(name, em) for name in ("observer-1", "observer-2") for em in ("em-stranger", "em-signed")}
    while not wanted <= (seen := lookers(settings)) and time.monotonic() < end:
        time.sleep(0.5)
    assert wanted <= seen
    assert reasons(settings) == ["unauthorised-emitter"]
    # Ids are hashed with the secret that the workers were given; the auditor has it too.
    ids = [seen["observation_id"] for seen in admitted[0]["evidence"]]
    assert ids
    assert all(name.startswith("hmac:") for name in ids)
    audit = one.run("auditor")
    assert "integrity: holds" in audit.stdout, audit.stdout + audit.stderr
    assert "no key was given" not in audit.stdout


def test_the_service_takes_records_and_shows_what_became_of_them(
    composed: tuple[Composed, Settings], served: tuple[str, str]
):
    """The page that one signs in at, the probe that keeps it running, and what was posted, on the topic."""
    one, settings = composed
    url, token = served
    end = time.monotonic() + PATIENCE
    with httpx2.Client(base_url=url, headers={"authorization": f"Bearer {token}"}, timeout=60) as client:
        while time.monotonic() < end and not is_ready(client):
            time.sleep(0.2)
        posted = client.post("/v1/emissions", json=json.loads(true_line("em-posted", "stranger")))
        page = client.get("/queue")
        while time.monotonic() < end and client.get("/v1/emissions/em-posted").status_code == 404:
            time.sleep(0.2)
        known = client.get("/v1/emissions/em-posted")
        # What the workers tell comes by itself, of one emission and of all.
        assert one.run("emitter", text=true_line("em-signed", "docs-bot")).returncode == 0
        told = [heard(client, "/v1/verdicts/events?emitter=docs-bot&status=admitted", {"last-event-id": "0"})]
        told.append(heard(client, "/v1/emissions/em-signed/events"))

    assert (posted.status_code, page.status_code, known.status_code) == (202, 200, 200)
    assert [value["emission_id"] for value in values(settings, "emissions")] == ["em-posted", "em-signed"]
    assert [(word["emission_id"], word["settled"]) for word in told] == [("em-signed", True)] * 2


PAGES = (
    "/", "/emissions/em-signed", "/queue", "/queue/bulk", "/insight", "/look-up", "/sign-in", "/openapi.json",
    "/metrics", "/healthz", "/readyz", "/v1/emissions/em-signed", "/static/console.css",
)  # fmt: skip


def test_every_page_of_the_service_as_it_is_shipped_is_there(
    composed: tuple[Composed, Settings], served: tuple[str, str]
):
    """Also those that are made of the ledger: what was admitted has a time line, and, once it is signed, a proof."""
    one, settings = composed
    url, token = served
    span = f"c:0-{len(TEXT)}"
    assert one.run("emitter", text=true_line("em-signed", "docs-bot")).returncode == 0
    end = time.monotonic() + PATIENCE
    while not values(settings, "admitted") and time.monotonic() < end:
        time.sleep(0.5)
    with httpx2.Client(base_url=url, headers={"authorization": f"Bearer {token}"}, timeout=60) as client:
        while time.monotonic() < end and (not is_ready(client) or client.get(PAGES[1]).status_code != 200):
            time.sleep(0.2)
        found = {page: client.get(page).status_code for page in PAGES}
        asked = {"id": "em-signed", "span": span}
        story = client.get("/story", params=asked)
        while (proof := client.get("/proof", params=asked)).status_code == 404:
            assert time.monotonic() < end, proof.text
            time.sleep(0.5)
    assert found == dict.fromkeys(PAGES, 200)
    assert (story.status_code, proof.status_code) == (200, 200), story.text + proof.text
    assert "admitted" in story.text


def is_ready(client: httpx2.Client) -> bool:
    try:
        return client.get("/readyz").status_code == 200
    except httpx2.TransportError:
        return False


def heard(client: httpx2.Client, path: str, headers: dict[str, str] | None = None) -> dict[str, Any]:
    """The first event of a stream."""
    with client.stream("GET", path, headers=headers) as answer:
        assert answer.status_code == 200
        return next(json.loads(line[6:]) for line in answer.iter_lines() if line.startswith("data: "))
