"""A service's web server: metrics and probes."""

from __future__ import annotations

import aiohttp
import pytest
from ports import free_port

from sluice.codecs.errors import UsageError
from sluice.topology.engine.probe_server import Web


@pytest.fixture
def port() -> int:
    """One that is free."""
    return free_port()


async def get(port: int, path: str) -> tuple[int, str, str]:
    """Status, type and text of an answer."""
    async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{port}{path}") as answer:
        return answer.status, answer.content_type, await answer.text()


async def test_probes_say_why_not(port: int):
    """503 with the reason, 200 where there is none."""
    wrong = {"healthy": "", "ready": "adjudicate lane 2 is taking-over"}
    web = Web(
        "127.0.0.1", port, metrics=lambda: b"a 1\n", healthy=lambda: wrong["healthy"], ready=lambda: wrong["ready"]
    )
    await web.start()
    try:
        assert await get(port, "/healthz") == (200, "text/plain", "ok\n")
        assert await get(port, "/readyz") == (503, "text/plain", "adjudicate lane 2 is taking-over\n")
        wrong["ready"] = ""
        assert await get(port, "/readyz") == (200, "text/plain", "ok\n")
        assert await get(port, "/metrics") == (200, "text/plain", "a 1\n")
        assert (await get(port, "/send"))[0] == 404
    finally:
        await web.stop()


async def test_a_port_that_is_taken_is_one_sentence(port: int):
    """It names the setting."""
    webs = [Web("127.0.0.1", port, metrics=lambda: b"", healthy=lambda: "", ready=lambda: "") for _ in range(2)]
    await webs[0].start()
    try:
        with pytest.raises(UsageError, match="cannot listen") as caught:
            await webs[1].start()
        assert "web_port" in str(caught.value)
    finally:
        await webs[0].stop()
