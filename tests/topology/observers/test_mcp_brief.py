"""substrate.mcp.brief against real MCP servers: processes over stdio, and over streamable HTTP."""

from __future__ import annotations

import hashlib
import json
import os
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import rfc8785
from looking import parsed_emission, sole
from ports import free_port

from sluice.codecs.records import Annotation, Observation
from sluice.topology.observers.look import look
from sluice.topology.observers.observer_registry import ObserverRegistry
from sluice.topology.settings.settings import Settings

pytestmark = pytest.mark.slow

SERVER = str(Path(__file__).with_name("mcp_server.py"))
TOOLS = "{ brief = { arguments.issue = true }, echo = { arguments.text = true } }"
VOUCHED = "{ brief = { arguments.issue = true, read_only = true } }"
CLOSED = "closed is 2026-05-25."
IS_CLOSED = ["equals(closed, 2026-05-25)"]
Ask = Callable[..., Observation]


@pytest.fixture
def notes(tmp_path: Path) -> Callable[[str], list[str]]:
    """The lines that servers wrote of their starts and calls."""
    return lambda name: (tmp_path / name).read_text().split("\n")[:-1] if (tmp_path / name).exists() else []


@pytest.fixture
def asking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Ask]]:
    """Opens instruments for one server, by its `[mcp.tracker]` lines; everything is closed at the end.

    A look has a minute, unless it is about its time-out: it starts a process, on a busy machine too.
    """
    opened: list[ObserverRegistry] = []
    monkeypatch.setenv("STARTS", str(tmp_path / "starts"))
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    monkeypatch.setenv("TRACKER_TOKEN", "tok-123")

    def open_(kind: str = "stdio", lines: str | None = None, **bounds: Any) -> Ask:
        command = json.dumps([sys.executable, SERVER, kind])
        lines = lines or f'command = {command}\nenv = ["STARTS", "CALLS", "TRACKER_TOKEN"]'
        tools = TOOLS if kind == "stdio" else VOUCHED  # those that misbehave mark nothing
        (tmp_path / "list.toml").write_text(f"[mcp.tracker]\n{lines}\ntools = {tools}\n")
        settings = Settings(**{"look_timeout": 60} | bounds)
        mine = ObserverRegistry(settings, str(tmp_path / "list.toml"))
        opened.append(mine)

        def ask(
            text: str, tool: str = "brief", kind: str = "assertion", declared: str | None = None, **more: Any
        ) -> Any:
            """Of a text alone that is `CLOSED`: the check that says so."""
            checks = more.pop("checks", IS_CLOSED if text == CLOSED else None)
            locator = {"server": "tracker", "tool": tool, "arguments": more.pop("arguments", {"issue": 7}), **more}
            annotation = Annotation("substrate.mcp.brief", declared, None, locator)
            asked = parsed_emission(text, annotation, kind=kind, checks=checks)
            return sole(look(asked, settings, tmp_path, instruments=mine))

        return ask

    yield open_
    for one in opened:
        one.close()


def alive(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_what_a_tool_says_bears_an_assertion_out(asking: Callable[..., Ask], notes: Callable[[str], list[str]]):
    """One process and one call serve every assertion about the same locator; each check is decided on the result."""
    ask = asking()
    found = ask(CLOSED)
    assert (found.outcome, found.verified, found.looked_at) == ("corroborates", [0], None)
    (reported,) = (found.detail or {})["checks"]
    assert (reported["check"], reported["holds"]) == ("equals(closed, 2026-05-25)", True)
    for check, holds in {
        'equals(status, "merged")': True,
        "equals(/status, merged)": True,
        "not equals(status, open)": True,
        "equals(status, open)": False,
        "compare(closed, <, 2026-05-26)": True,
        "contains(merged)": True,
        "contains(open)": None,
        "count(merged, =, 1)": True,
        "count(merged, =, 2)": False,
        "equals(nothing, 1)": None,
        "absent(open)": None,
        "exists(status)": None,
        "equals(status, merged, path=a.json)": None,
    }.items():
        (reported,) = (ask("The status.", checks=[check]).detail or {})["checks"]
        assert reported["holds"] is holds, check
    assert ask("status is open", checks=["equals(status, open)"]).outcome == "contradicts"
    assert ask("status is not open", kind="denial", checks=["not equals(status, open)"]).outcome == "corroborates"
    assert len(notes("starts")) == 1
    assert notes("calls") == ["brief 7"]
    assert ask(CLOSED, arguments={"issue": 8}).outcome == "corroborates"
    assert notes("calls") == ["brief 7", "brief 8"]


def test_words_count_for_nothing(asking: Callable[..., Ask]):
    """That they are there is told."""
    ask = asking()
    assert ask("Somebody closed it on 2026-05-25 it seems.").outcome == "terms-present"
    assert ask("Somebody closed it on 2026-05-26 it seems.").outcome == "absent"
    assert ask("It was not closed on 2026-05-26.", kind="denial").outcome == "absent"


def test_the_id_is_the_hash_of_the_result(asking: Callable[..., Ask]):
    """`sha256:` of the RFC 8785 form of content and structuredContent; a declared one may have moved on."""
    found = asking()(CLOSED, declared="sha256:0badcafe12")
    result = {"issue": 7, "status": "merged", "closed": "2026-05-25", "token": "tok-123 end"}
    text = json.dumps(result, indent=2)
    form = {"content": [{"type": "text", "text": text}], "structuredContent": result}
    assert found.observation_id == f"sha256:{hashlib.sha256(rfc8785.dumps(form)).hexdigest()}"
    assert found.outcome == "corroborates"
    assert found.locator == {"server": "tracker", "tool": "brief", "arguments": {"issue": 7}}


def test_an_answer_that_is_kept_keeps_its_time(asking: Callable[..., Ask]):
    """A second look says when the answer was seen, not when it was asked for again."""
    ask = asking()
    ask(CLOSED)
    asked = datetime.now(UTC)
    time.sleep(0.02)
    assert datetime.fromisoformat(ask("Issue 7 is merged.").observed_at) < asked


def test_an_echo_bears_nothing_out(asking: Callable[..., Ask]):
    """What the arguments say is a place, never evidence: a server that repeats them proves nothing."""
    ask = asking()
    for text in ("The release was on 2026-05-25.", "The release was late.", "`parse_time` reads leap seconds."):
        assert ask(text, tool="echo", arguments={"text": text}).outcome in ("absent", "unavailable")
        assert ask(text, tool="echo", arguments={"text": text[:-6]}).outcome in ("absent", "unavailable")
    reported = "the retry limit is 42"
    for check in ('contains("retry limit is 42")', 'contains("limit is 42")', 'contains("IS 42")', "count(42, =, 1)",
                  "count(tracker, =, 0)", f'equals(result, "You said: {reported}")'):  # fmt: skip
        found = ask(reported, tool="echo", arguments={"text": reported}, checks=[check])
        if "You said" not in check:
            assert found.outcome == "absent", check
            assert found.verified == [], check
    assert ask("You said it.", tool="echo", arguments={"text": reported}, checks=['contains("You said")']).verified == [
        0
    ]


def test_a_member_that_repeats_an_argument_decides_nothing(asking: Callable[..., Ask]):
    """Neither that it is so, nor that it is not otherwise; what the server says of its own does."""
    ask = asking()
    for check in ("equals(issue, 7)", "not equals(issue, 8)", "equals(issue, 8)", "compare(issue, <, 9)"):
        assert ask("The issue is 7 or 8 or 9.", checks=[check]).verified == [], check
        assert ask("The issue is 7 or 8 or 9.", checks=[check]).refuted == [], check
    assert ask("status is merged", checks=["equals(status, merged)"]).verified == [0]


def test_what_the_server_says_is_not_there_decides_nothing(asking: Callable[..., Ask]):
    """The error -32002, or an error that names the argument and says so: `path-missing`; any other is `unavailable`."""
    ask = asking()
    for issue in (98, 99):
        for check in (["equals(status, merged)"], ["not equals(status, merged)"], None):
            found = ask(f"It is known that issue {issue} was merged.", arguments={"issue": issue}, checks=check)
            assert (found.outcome, (found.detail or {})["reason"]) == ("absent", "path-missing")
            assert found.observation_id == "none:substrate.mcp.brief"
        named = ask(f"Issue {issue} does not exist.", arguments={"issue": issue}, kind="denial")
        assert named.outcome == "absent"
    for issue in (96, 97):
        assert ask(f"Issue {issue} is merged.", arguments={"issue": issue}).outcome == "unavailable"
    secret = ask("Issue 96 is merged.", arguments={"issue": 96})
    assert "sk-secret" not in str(secret)


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"server": "other"}, "the server is not on the operator's list"),
        ({"tool": "delete"}, "the tool is not on the operator's list"),
        ({"server": None}, "the locator names no server"),
        ({"tool": ["brief"]}, "the tool is not on the operator's list"),
        ({"arguments": [7]}, "the locator's arguments are no object of at most 16384 bytes"),
        ({"arguments": {"issue": "x" * 20_000}}, "the locator's arguments are no object of at most 16384 bytes"),
    ],
)
def test_what_is_not_listed_is_not_asked(
    asking: Callable[..., Ask], notes: Callable[[str], list[str]], more: dict[str, Any], reason: str
):
    """Before any other test, and nothing of such a locator is repeated; no process is started."""
    found = asking()("It is what it is.", **more)
    assert (found.outcome, (found.detail or {})["reason"]) == ("unavailable", reason)
    assert found.locator is None
    assert notes("starts") == []


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("silent", "the server did not answer in time"),
        ("nonsense", "the server does not speak the Model Context Protocol"),
        ("dead", "the server ended"),
        ("dies", "the server ended"),
        ("huge", "the server sent more than 1000000 bytes"),
        ("chatty", "the server sent more than 1000000 bytes"),
        ("deep", "the server did not answer in time"),
        ("wrong", "the answer is not as the protocol wants it"),
    ],
)
def test_a_hostile_server_is_bounded(
    asking: Callable[..., Ask], notes: Callable[[str], list[str]], kind: str, reason: str
):
    """Each ends as `unavailable` within the look's time and memory, and its process with it."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds = 1.5 if reason == "the server did not answer in time" else 60
    found = asking(kind, look_timeout=seconds, look_bytes=1_000_000)(CLOSED)
    assert (found.outcome, (found.detail or {})["reason"].split(":")[0]) == ("unavailable", reason)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 150_000
    until = time.monotonic() + 60
    while any(map(alive, notes("starts"))) and kind not in ("wrong", "silent"):  # these end with the instruments
        assert time.monotonic() < until
        time.sleep(0.02)


def test_a_server_that_fails_is_left_alone_for_a_while(asking: Callable[..., Ask], notes: Callable[[str], list[str]]):
    """Its next look does not start it again, and says why."""
    ask = asking("dead")
    ask(CLOSED)
    again = ask("Issue 8 is merged.", arguments={"issue": 8})
    assert (again.detail or {})["reason"] == "left alone after 1 failure: the server ended"
    assert len(notes("starts")) == 1


def test_a_slow_call_keeps_only_its_own_arguments_from_the_server(asking: Callable[..., Ask]):
    """Arguments are strangers': a call that hangs puts no rest on others."""
    ask = asking("slow", look_timeout=5)
    quote = ['contains("closed on 2026-05-25")']
    assert ask("`closed on 2026-05-25`", checks=quote).outcome == "corroborates"
    assert ask("Issue 95 is merged.", arguments={"issue": 95}).outcome == "unavailable"
    assert "left alone" in (ask("Issue 95 is open.", arguments={"issue": 95}).detail or {})["reason"]
    assert ask("`closed on 2026-05-25`", arguments={"issue": 8}, checks=quote).outcome == "corroborates"


def test_no_process_outlives_the_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Neither the server, which ignores SIGTERM, nor its child."""
    monkeypatch.setenv("STARTS", str(tmp_path / "starts"))
    command = json.dumps([sys.executable, SERVER, "stubborn"])
    (tmp_path / "list.toml").write_text(f'[mcp.t]\ncommand = {command}\nenv = ["STARTS"]\ntools = {VOUCHED}\n')
    locator = {"server": "t", "tool": "brief"}
    asked = parsed_emission("It was closed on 2026-05-25.", Annotation("substrate.mcp.brief", None, None, locator),
                     checks=['contains("closed on 2026-05-25")'])  # fmt: skip
    settings = Settings(look_timeout=60)
    instruments = ObserverRegistry(settings, str(tmp_path / "list.toml"))
    assert sole(look(asked, settings, tmp_path, instruments=instruments)).verified == [0]
    pids = (tmp_path / "starts").read_text().split()
    assert len(pids) == 2
    assert all(map(alive, pids))
    instruments.close()
    until = time.monotonic() + 60
    while any(map(alive, pids)):
        assert time.monotonic() < until
        time.sleep(0.02)


def test_a_command_that_is_not_there_is_unavailable(asking: Callable[..., Ask]):
    """With the system's reason."""
    found = asking(lines='command = ["/nowhere/server"]')(CLOSED)
    assert (found.detail or {})["reason"] == "the server cannot be started: No such file or directory"


@pytest.fixture(scope="module", params=["", "json"])
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of a server over streamable HTTP, that answers with events or with JSON."""
    port = free_port()
    arguments = [sys.executable, SERVER, "http", str(port), *([request.param] if request.param else [])]
    process = subprocess.Popen(arguments, stderr=subprocess.DEVNULL, env={**os.environ, "TRACKER_TOKEN": "tok-123"})
    until = time.monotonic() + 60
    while True:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        assert time.monotonic() < until
        time.sleep(0.05)
    yield f"http://127.0.0.1:{port}/mcp"
    process.kill()
    process.wait()


def test_streamable_http_says_the_same_as_stdio(asking: Callable[..., Ask], url: str):
    """Outcome and id, whatever the transport."""
    over_http = asking(lines=f'url = "{url}"')
    over_stdio = asking()
    for text, issue in ((CLOSED, 7), ("Issue 99 is merged.", 99), ("Issue 98 is merged.", 98)):
        found = [ask(text, arguments={"issue": issue}) for ask in (over_http, over_stdio)]
        assert len({(one.outcome, one.observation_id) for one in found}) == 1


def test_an_answer_over_http_is_bounded(asking: Callable[..., Ask], url: str):
    """Bytes are counted where they come in."""
    ask = asking(lines=f'url = "{url}"', look_bytes=500_000)
    found = ask("Issue 94 is merged.", arguments={"issue": 94})
    assert (found.detail or {})["reason"] == "the server sent more than 500000 bytes"
    assert ask(CLOSED).outcome == "corroborates"


def test_a_server_that_is_away_is_unavailable(asking: Callable[..., Ask]):
    """Nobody listens, or somebody who does not speak HTTP and never answers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        assert asking(lines=f'url = "http://127.0.0.1:{port}/mcp"', look_timeout=1)(CLOSED).outcome == "unavailable"
        free.listen()
        found = asking(lines=f'url = "http://127.0.0.1:{port}/mcp"', look_timeout=1)(CLOSED)
        assert (found.detail or {})["reason"] == "the server did not answer in time"
