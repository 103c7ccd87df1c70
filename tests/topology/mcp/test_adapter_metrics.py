"""What the adapter counts: by the SDK's own client, over the view and through the door, as Prometheus reads it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest
from adapter_view import DOMAIN, NOW, attested, decided
from aiokafka import TopicPartition
from mcp.client.client import Client
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.shared.exceptions import MCPError
from ports import free_port
from prometheus_client.parser import text_string_to_metric_families

from sluice.topology.http import view_follower
from sluice.topology.http.adapter import Adapter
from sluice.topology.http.adapter_process import ListenConfig, adapter_application, open_sessions
from sluice.topology.http.kept_view import Readers
from sluice.topology.http.mcp_server import AdapterMetrics, _permit, create_server
from sluice.topology.http.tokens import new_token

pytestmark = pytest.mark.slow

SECRET = "a question that is nobody's business"


@pytest.fixture
def meter(readers):
    """Over the view, at `NOW`."""
    return AdapterMetrics(readers, now=lambda: NOW)


@pytest.fixture
def server(filled, readers, meter):
    """A server over the filled view, at `NOW`, counted."""
    filled.put("grounded", attested("The entry is there."))
    filled.view.tell(caught_up_at=str(NOW))
    return create_server(Adapter(readers, now=lambda: NOW), meter)


async def samples(meter: AdapterMetrics, name: str) -> dict[Any, float]:
    """The values of a series, by their labels' values; those that are 0 left out."""
    found: dict[Any, float] = {}
    for family in text_string_to_metric_families((await meter.text()).decode()):
        for sample in family.samples:
            if sample.name == name and sample.value:
                found[tuple(value for key, value in sorted(sample.labels.items()) if key != "le")] = sample.value
    return found


async def test_requests_are_counted_by_tool_and_outcome(server, meter, filled):
    """Whatever is asked: an answer, a question that is none, a broker that is not there, a tool that is not either."""
    async with Client(server) as client:
        await client.call_tool("ground", {"query": "entry"})
        await client.call_tool("ground", {"query": "entry", "consensus_domain": DOMAIN})
        await client.call_tool("check_assertion", {"text": 7})
        await client.call_tool("explain", {"emission_id": "em-1"})
        await client.read_resource("sluice://vocabulary")
        for asked in (client.call_tool(SECRET, {}), client.read_resource("sluice://nothing")):
            with pytest.raises(MCPError):
                await asked
        filled.view.tell(caught_up_at=str(NOW - 61_000))
        await client.call_tool("check_assertion", {"text": "It rains."})

    assert await samples(meter, "sluice_adapter_requests_total") == {
        ("answered", "ground"): 2,
        ("wrong", "check_assertion"): 1,
        ("unreachable", "explain"): 1,
        ("answered", "resources"): 1,
        ("wrong", "another"): 1,
        ("wrong", "resources"): 1,
        ("not-ready", "check_assertion"): 1,
    }


async def test_only_answers_are_timed(server, meter):
    """What is refused at once would make the answers look quick."""
    async with Client(server) as client:
        await client.call_tool("ground", {"query": "entry"})
        await client.call_tool("ground", {"query": "entry", "limit": 1000})

    assert await samples(meter, "sluice_adapter_answer_seconds_count") == {("ground",): 1}


async def test_what_fails_or_is_cancelled_is_counted_as_that(meter):
    """Neither is an answer, and both end as they would have."""
    for error in (RuntimeError("a bug"), view_follower.asyncio.CancelledError()):
        with pytest.raises(type(error)), meter.request("explain"):
            raise error

    assert await samples(meter, "sluice_adapter_requests_total") == {
        ("failed", "explain"): 1,
        ("cancelled", "explain"): 1,
    }
    assert await samples(meter, "sluice_adapter_answer_seconds_count") == {}


async def test_no_word_of_a_stranger_is_reported(server, meter):
    """Not what was asked, nor what stands in the view."""
    async with Client(server) as client:
        await client.call_tool("ground", {"query": SECRET})
        with pytest.raises(MCPError):
            await client.call_tool(SECRET, {"query": SECRET})

    text = (await meter.text()).decode()
    assert SECRET not in text
    assert "entry" not in text


async def test_the_view_is_reported_as_it_stands(filled, meter):
    """What it holds, by kind, and how far it is behind."""
    filled.put("grounded", attested("Yes."), attested("No.", by="two", verdict="FALSE"), attested("Well.", by="one"))
    filled.admit("It rains in Paris.")
    filled.admit("It rains in London.", emission="em-2", status="refused")
    filled.view.tell(**{"caught_up_at": str(NOW - 2500), "behind.admitted": "3", "behind.grounded": "0"})

    assert await samples(meter, "sluice_adapter_attestations") == {("VERIFIED",): 1, ("FALSE",): 1}
    assert await samples(meter, "sluice_adapter_assertions") == {("admitted",): 1, ("refused",): 1}
    assert await samples(meter, "sluice_adapter_lag_records") == {("admitted",): 3}
    assert await samples(meter, "sluice_adapter_lag_seconds") == {(): 2.5}
    assert await samples(meter, "sluice_adapter_caught_up") == {(): 1}


@pytest.mark.parametrize("about", [{}, {"caught_up_at": str(NOW - 60_001)}])
async def test_a_view_from_which_nothing_is_answered_is_not_caught_up(filled, meter, about):
    """As the answers have it: never complete so far, or not for a minute."""
    filled.view.tell(progress="0.5", **about)

    assert await samples(meter, "sluice_adapter_caught_up") == {}


async def test_without_a_view_the_rest_is_reported(path):
    """A scrape does not fail."""
    meter = AdapterMetrics(Readers(path / "nowhere"))

    assert b"\nsluice_adapter_caught_up 0.0\n" in await meter.text()
    assert b"\nsluice_adapter_lag_seconds " not in await meter.text()


async def test_records_that_are_no_fixed_point_are_counted(filled, readers):
    """By topic, and from 0 on."""
    meter = AdapterMetrics(readers, refused_records=filled.view.refused)
    assert b'sluice_adapter_refused_records_total{topic="grounded"} 0.0' in await meter.text()

    filled.put("grounded", b"{}", attested("Yes.").replace(b"Yes.", b"Y\xe2\x80\x8bes."))
    filled.put("admitted", decided("It rains.").replace(b"It rains.", b"It \xe2\x80\xaerains."))

    assert await samples(meter, "sluice_adapter_refused_records_total") == {("grounded",): 2, ("admitted",): 1}


def test_how_far_the_view_is_behind_is_reported_with_its_batches():
    """By topic, over all partitions: up to the end that the last answer told, or the one at the start."""
    places = {TopicPartition(topic, number): (topic, number) for topic in ("admitted", "grounded") for number in (0, 1)}
    ranges = {partition: view_follower._Range(0, 10) for partition in places}
    ends = {partition: 12 if partition.partition else None for partition in places}
    consumer = SimpleNamespace(last_stable_offset=ends.get, highwater=lambda _: None)
    for partition in places:
        ranges[partition].at = 10 if partition.topic == "grounded" else 7
    one: Any = view_follower._Pass(None, consumer, None, places, ranges, SimpleNamespace(policy={}))  # type: ignore[arg-type]

    about = one._about()

    assert (about["behind.admitted"], about["behind.grounded"]) == ("8", "2")


# ---------------------------------------------------------------- HTTP


async def test_whom_the_door_turns_away_is_counted_by_why(server, meter, tmp_path):
    """Host, origin, token, size, rate; and who has come in has a session."""
    file = tmp_path / "tokens.json"
    token, _ = new_token(file, "lab-1", ["ground"], None)
    app: Any = adapter_application(server, ListenConfig(tokens=file, rate=0.1, burst=12), meter)
    initialize = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
    }
    own = {"authorization": f"Bearer {token}", "accept": "application/json, text/event-stream"}

    async with server.session_manager.run(), httpx2.AsyncClient(transport=httpx2.ASGITransport(app)) as web:

        async def post(body: str = "{}", url: str = "http://127.0.0.1:8710/mcp", **headers: str) -> int:
            answer = await web.post(url, content=body, headers={"content-type": "application/json", **headers})
            return answer.status_code

        assert open_sessions(server) == 0
        assert await post(json.dumps(initialize), **own) == 200
        assert open_sessions(server) == 1
        assert await post(url="http://elsewhere.example/mcp") == 421
        assert await post(origin="https://evil.example") == 403
        assert await post() == await post(authorization=f"Bearer {SECRET}") == 401
        assert await post("x" * 70_000, **own) == 413
        while await post() != 429:
            pass

    found = await samples(meter, "sluice_adapter_refusals_total")
    assert found.pop(("token",)) >= 2
    assert found == {("host",): 1, ("origin",): 1, ("size",): 1, ("rate",): 1}
    assert token not in (await meter.text()).decode()


async def test_a_token_that_is_not_for_it_is_a_refusal(meter):
    """Counted as the request's outcome as well."""
    user = AuthenticatedUser(AccessToken(token="(not kept)", client_id="0a", scopes=["ground"]))
    ctx: Any = SimpleNamespace(request=SimpleNamespace(scope={"user": user}))

    with pytest.raises(MCPError), meter.request("explain") as request:
        _permit(ctx, "explain", meter, request)

    assert await samples(meter, "sluice_adapter_refusals_total") == {("scope",): 1}
    assert await samples(meter, "sluice_adapter_requests_total") == {("refused", "explain"): 1}


async def test_more_sessions_than_there_may_be_are_a_refusal(server, meter, monkeypatch):
    """The SDK answers 503."""
    monkeypatch.setattr("sluice.topology.http.adapter_process.MAX_SESSIONS", 1)
    app: Any = adapter_application(server, ListenConfig(), meter)
    hello = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},'
    hello += '"clientInfo":{"name":"t","version":"1"}}}'
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}

    async with server.session_manager.run(), httpx2.AsyncClient(transport=httpx2.ASGITransport(app)) as web:
        url = "http://127.0.0.1:8710/mcp"
        said = [(await web.post(url, content=hello, headers=headers)).status_code for _ in range(2)]

    assert said == [200, 503]
    assert await samples(meter, "sluice_adapter_refusals_total") == {("sessions",): 1}


# ---------------------------------------------------------------- the process

SLUICE = [sys.executable, "-c", "from sluice.topology.cli import main; main()", "mcp", "--broker", "127.0.0.1:1"]


def page(port: int, name: str) -> tuple[int, str]:
    """Status and text of a page, once it is there."""
    for _ in range(300):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/{name}", timeout=5) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError:
            time.sleep(0.1)
    raise AssertionError("nothing listens")


@pytest.mark.parametrize("transport", ["http", "stdio"])
def test_the_process_has_pages_on_a_port_of_their_own(tmp_path, transport):
    """Alive, and not ready as long as no broker has answered; over either transport."""
    web = free_port()
    command = [*SLUICE, "--view", str(tmp_path / "view.sqlite"), "--transport", transport, "--port", str(free_port())]
    environment = {**os.environ, "SLUICE_WEB_PORT": str(web)}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as process:
        try:
            health, ready, metrics = (page(web, name) for name in ("healthz", "readyz", "metrics"))
        finally:
            process.terminate()

    assert health == (200, "ok\n")
    assert ready[0] == 503
    assert "ask again in a moment" in ready[1]
    assert "sluice_adapter_caught_up 0.0" in metrics[1]


def test_a_session_goes_on_where_another_has_the_port(tmp_path):
    """Clients start a process each, with the same settings; over HTTP a taken port is an error."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        environment = {**os.environ, "SLUICE_WEB_PORT": str(taken.getsockname()[1])}
        command = [*SLUICE, "--view", str(tmp_path / "view.sqlite")]
        ping = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
        session = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
        )
        with session:
            assert session.stdin is not None
            assert session.stdout is not None
            session.stdin.write(ping)
            session.stdin.flush()
            assert b'"id":1' in session.stdout.readline()
            session.stdin.close()
            session.wait(60)
        http = [*command, "--transport", "http", "--port", str(free_port())]
        served = subprocess.run(http, capture_output=True, env=environment, timeout=30)

    assert session.returncode == 0
    assert served.returncode == 2
    assert b"web_port" in served.stderr
    assert b"Traceback" not in served.stderr
