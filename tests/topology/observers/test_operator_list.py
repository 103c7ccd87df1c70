"""The operator's list: what is read, which arguments a tool may be asked with, which addresses are public."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from collections.abc import Iterator
from contextlib import closing
from importlib import metadata
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from looking import parsed_emission, sole

from sluice.codecs.errors import UsageError
from sluice.codecs.records import Annotation, Locator, Observation
from sluice.topology.observers.ask import ObservationUnavailable
from sluice.topology.observers.interface import (
    GROUP,
    Ask,
    Finding,
    answer,
    in_text,
    words_in,
)
from sluice.topology.observers.look import look
from sluice.topology.observers.mcp_session import MAY_WRITE
from sluice.topology.observers.observer_registry import ObserverRegistry
from sluice.topology.observers.operator_list import (
    NOT_ALLOWED,
    UNLISTED,
    Access,
    Arguments,
    SseChannel,
    access_of,
    is_public,
    load_access,
    names_an_address,
)
from sluice.topology.observers.sse_count import PRIVATE, Channel, NotPublicError, PublicResolver
from sluice.topology.settings.settings import Settings

ENVIRONMENT = {"TOKEN": "tok-1", "AUTH": "Bearer tok-2", "LINES": "a\nb"}
WHOLE = """
[mcp.tracker]
command = ["tracker", "--ro"]
tools = ["brief", "find"]
env = ["TOKEN"]
[mcp.remote]
url = "https://example.org/mcp"
tools = ["brief"]
header_env = { Authorization = "AUTH" }
[sse]
urls = ["https://example.org/a", "https://example.org/b"]
pointer = "/n"
[sse.own]
url = "http://127.0.0.1:9/c"
event = "x"
own_subscription = true
max_tolerance = 0
retry = "250ms"
header_env = { Authorization = "AUTH" }
[peercred]
sockets = ["/run/a.sock"]
[own.acme]
class = "substrate.grep"
"""


def test_a_whole_list_is_read():
    """Every key has its place; secrets come from the environment and are not shown."""
    access = load_access(WHOLE, environment=ENVIRONMENT)
    assert access.mcp["tracker"].command == ("tracker", "--ro")
    assert dict(access.mcp["tracker"].environment) == {"TOKEN": "tok-1"}
    assert dict(access.mcp["remote"].headers) == {"Authorization": "Bearer tok-2"}
    assert [(one.url, one.event, one.pointer, one.retry) for one in access.sse.values()] == [
        ("https://example.org/a", "message", "/n", 1000),
        ("https://example.org/b", "message", "/n", 1000),
        ("http://127.0.0.1:9/c", "x", "", 250),
    ]
    assert access.sse["http://127.0.0.1:9/c"].own_subscription is True
    assert (access.sockets, access.own) == ({"/run/a.sock"}, {"substrate.grep": "acme"})
    assert "tok-" not in repr(access)


def test_everything_that_is_wrong_is_reported_at_once_with_its_line():
    """Unknown keys, wrong values, what goes together; never a value that may be a secret."""
    text = """[mcp.a]
comand = ["x"]
tools = []
[mcp.b]
command = ["x"]
url = "https://user:s3cret@example.org/"
tools = ["t"]
env = ["s3cret value"]
header_env = { Authorization = "MISSING" }
[sse]
urls = ["ftp://example.org", 3]
pointer = "n"
retry = "1h"
[sse.c]
event = "x"
[peercred]
sockets = ["relative.sock"]
[own.d]
class = "substrate.web.search"
[own.e]
[other]
"""
    with pytest.raises(UsageError) as caught:
        load_access(text, "list.toml", ENVIRONMENT)
    problems = str(caught.value).splitlines()
    found = [tuple(line.split(": ")[:2]) for line in problems]
    assert found == [
        ("list.toml:1", "mcp.a"),
        ("list.toml:2", "mcp.a.comand"),
        ("list.toml:3", "mcp.a.tools"),
        ("list.toml:4", "mcp.b"),
        ("list.toml:6", "mcp.b.url"),
        ("list.toml:8", "mcp.b.env"),
        ("list.toml:9", "mcp.b.header_env"),
        ("list.toml:11", "sse.urls"),
        ("list.toml:12", "sse.pointer"),
        ("list.toml:13", "sse.retry"),
        ("list.toml:14", "sse.c"),
        ("list.toml:17", "peercred.sockets"),
        ("list.toml:19", "own.d.class"),
        ("list.toml:20", "own.e"),
        ("list.toml:21", "other"),
    ]
    assert "s3cret" not in str(caught.value)
    assert "did you mean command?" in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "[mcp.a]\ncommand = ['x']\ntools = ['t']\nenv = ['LINES']\n",
        "[mcp.'a.b']\ncommand = ['x']\ntools = ['t']\n",
        "mcp = 3\n",
        "[sse]\nurls = ['http://a/x', 'http://a/x']\n",
        "[own.a]\nclass = 'substrate.grep'\n[own.b]\nclass = 'substrate.grep'\n",
        "[sse]\nheader_env = ['AUTH']\n",
        "[mcp\n",
    ],
)
def test_a_wrong_list_is_no_list(text: str):
    """One wrong value is enough."""
    with pytest.raises(UsageError):
        load_access(text, environment=ENVIRONMENT)


def test_without_a_file_nothing_is_listed(tmp_path: Path):
    """Nothing but the root is looked at; a file that is named and not there is an error."""
    assert access_of(Settings()) == Access()
    with pytest.raises(UsageError):
        access_of(Settings(), str(tmp_path / "no.toml"))


class Acme:
    """An observer of one's own: every place called `there` bears everything out; it fails where told to."""

    def __init__(self, settings: Settings) -> None:
        self.closed = False

    def admit(self, locator: Locator) -> Locator:
        if locator.get("server") != "there":
            raise ObservationUnavailable("not on Acme's list")
        return {"server": "there"}

    def observe(self, ask: Ask) -> Finding:
        if "fail" in ask.text:
            raise ZeroDivisionError
        return Finding("corroborates", "acme:1")

    def close(self) -> None:
        self.closed = True


def point(name: str, value: str = "Acme") -> EntryPoint:
    return EntryPoint(name, f"{__name__}:{value}", GROUP)


def test_an_observer_of_ones_own_takes_the_place_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Named in the list, found by its entry point, held to what ours are held to, closed at the end."""
    made = Acme(Settings())
    monkeypatch.setattr(metadata, "entry_points", lambda group: [_Loaded(made)])
    (tmp_path / "list.toml").write_text('[own.acme]\nclass = "substrate.mcp.brief"\n')
    instruments = ObserverRegistry(Settings(), str(tmp_path / "list.toml"))

    def ask(text: str, server: str) -> Any:
        asked = parsed_emission(text, Annotation("substrate.mcp.brief", None, None, {"server": server, "x": 1}))
        return sole(look(asked, Settings(), tmp_path, instruments=instruments))

    found = ask("It is done.", "there")
    assert (found.outcome, found.observation_id, found.locator) == ("corroborates", "acme:1", {"server": "there"})
    assert (ask("It is done.", "elsewhere").detail or {})["reason"] == "not on Acme's list"
    assert (ask("It will fail.", "there").detail or {})["reason"] == "the observer failed"
    instruments.close()
    assert made.closed


class Checking(Acme):
    """One that decides checks, as ours do, on a text of its own."""

    def observe(self, ask: Ask) -> Finding:
        text = "A tortoise is there."
        held = [in_text(check, text) for check in ask.question.checks]
        return answer(ask, held, "acme:2", words=words_in(ask, text))


def test_an_observer_of_ones_own_may_decide_checks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """What comes of them is told in the same form, by the same rules."""
    monkeypatch.setattr(metadata, "entry_points", lambda group: [_Loaded(Checking(Settings()))])
    (tmp_path / "list.toml").write_text('[own.acme]\nclass = "substrate.mcp.brief"\n')
    with closing(ObserverRegistry(Settings(), str(tmp_path / "list.toml"))) as instruments:

        def ask(text: str, *checks: str) -> Any:
            annotation = Annotation("substrate.mcp.brief", None, None, {"server": "there"})
            return sole(
                look(parsed_emission(text, annotation, checks=checks), Settings(), tmp_path, instruments=instruments)
            )

        found = ask("`there`", "contains(there)")
        assert (found.outcome, found.verified, found.observation_id) == ("corroborates", [0], "acme:2")
        assert found.detail == {"checks": [{"check": "contains(there)", "holds": True, "lines": [1, 1]}]}
        assert ask("`there`", "absent(there)").outcome == "contradicts"
        others = ask("`there`", "exists(there)", "contains(there, path=a.txt)", "nonsense", "equals(there, 1)")
        reasons = [one.get("reason") for one in (others.detail or {})["checks"]]
        assert reasons == ["other-substrate", "other-substrate", "unknown-check", "unlisted-language"]
        assert ask("`there`", "contains(there)", "contains(elsewhere)").verified == [0]
        assert ask("It is there, as everybody knows.").outcome == "absent"
        assert ask("The tortoise is a tortoise now.").outcome == "terms-present"


class _Loaded:
    """An entry point that is loaded already."""

    name = "acme"

    def __init__(self, made: Acme) -> None:
        self._made = made

    def load(self) -> Any:
        return lambda settings: self._made


@pytest.mark.parametrize(
    ("points", "sentence"),
    [
        ([], "no entry point"),
        ([point("other")], "installed are: other"),
        ([point("acme"), point("acme")], "2 entry points"),
        ([EntryPoint("acme", "no_such_module:x", GROUP)], "does not load: ModuleNotFoundError"),
        ([EntryPoint("acme", "builtins:id", GROUP)], "gives no observer"),
    ],
)
def test_what_is_no_observer_is_refused_at_the_start(
    points: list[EntryPoint], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """One sentence for the operator, before anything is looked at; what is only installed is not loaded."""
    monkeypatch.setattr(metadata, "entry_points", lambda group: points)
    ObserverRegistry(Settings()).close()
    (tmp_path / "list.toml").write_text('[own.acme]\nclass = "substrate.mcp.brief"\n')
    with pytest.raises(UsageError, match=sentence):
        ObserverRegistry(Settings(), str(tmp_path / "list.toml"))


SERVER = str(Path(__file__).with_name("mcp_server.py"))
DEEP: list[Any] = []
for _ in range(3000):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    ("schema", "allowed", "refused"),
    [
        ({"type": "integer", "minimum": 1}, [1, 7, 2**60], [0, -1, "1", True, None, [1], {}]),
        ({"enum": ["open", "merged"]}, ["open"], ["Open", "open ", "", 0]),
        ({"type": "string", "maxLength": 5}, ["", "abcde"], ["abcdef", 5]),
        ({"type": "string", "pattern": "^PROJ-[0-9]+$"}, ["PROJ-12"], ["PROJ-", "xPROJ-1", "PROJ-1;rm"]),
        ({"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": False},
         [{}, {"a": 1}], [{"b": 1}, {"a": "1"}, []]),
        (True, [1, "x", None, DEEP], []),
        (False, [], [1, None]),
        ({"$ref": "#/$defs/n", "$defs": {"n": {"type": "integer"}}}, [1], ["1"]),
        ({"$ref": "#/$defs/nowhere"}, [], [1]),
        ({"$defs": {"l": {"items": {"$ref": "#/$defs/l"}, "maxItems": 1}}, "$ref": "#/$defs/l"}, [[[]]],
         [[1, 2], DEEP]),
    ],
)  # fmt: skip
def test_an_argument_is_as_its_schema_says(schema: Any, allowed: list[Any], refused: list[Any]):
    """Another one is refused, and so is one that the schema cannot decide; an argument without a schema always is."""
    arguments = Arguments({"x": schema})
    for value in allowed:
        assert arguments.why_not({"x": value}) is None
    for value in refused:
        assert arguments.why_not({"x": value}) == NOT_ALLOWED
    assert arguments.why_not({"y": 1}) == UNLISTED
    assert arguments.why_not({}) is None


def test_a_pattern_takes_linear_time():
    """The values are strangers'; this one would keep a backtracking search busy for centuries."""
    assert Arguments({"x": {"pattern": "^(a+)+$"}}).why_not({"x": "a" * 5000 + "!"}) == NOT_ALLOWED


@pytest.mark.parametrize(
    ("tools", "why"),
    [
        ("[]", "a list of strings"),
        ("{}", "a list of tools, or a table for each"),
        ("{ brief = 1 }", "arguments and read_only for the tool 'brief'"),
        ("{ brief = { argument = {} } }", "arguments and read_only for the tool 'brief'"),
        ("{ brief = { arguments = [] } }", "a table of arguments, each with its JSON Schema"),
        ('{ brief = { arguments = { type = "object" } } }', "a table of arguments, each with its JSON Schema"),
        ('{ brief = { arguments.x = { type = "number of things" } } }', "a JSON Schema: type is none"),
        ('{ brief = { arguments.x = { pattern = "(?=a)" } } }', "patterns that RE2 takes"),
        ('{ brief = { arguments.x = { patternProperties = { a = true } } } }', "without patternProperties"),
        ('{ brief = { arguments.x = { "$ref" = "https://example.org/s.json" } } }', "refers to nothing outside"),
        ('{ brief = { arguments.x = { items = { "$ref" = "file:///etc/passwd" } } } }', "refers to nothing outside"),
        ("{ brief = { read_only = 1 } }", "true or false"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_list_is_reported_with_its_line(tools: str, why: str):
    """As of any other key."""
    with pytest.raises(UsageError, match=r"list.toml:3: mcp.a.tools: expected") as wrong:
        load_access(f"[mcp.a]\ncommand = ['x']\ntools = {tools}\n", "list.toml")
    assert why in str(wrong.value)
    with pytest.raises(UsageError, match="a name of at most 256 characters"):
        load_access("[mcp.a]\ncommand = ['x']\ntools = ['t']\nowner = ' '\n")


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The lines that the server writes of its calls."""
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    (tmp_path / "calls").touch()
    return tmp_path / "calls"


def ask(tmp_path: Path, tools: str, tool: str, arguments: Any, more: str = "", kind: str = "stdio") -> Observation:
    """One look at one tool."""
    command = json.dumps([sys.executable, SERVER, kind])
    (tmp_path / "list.toml").write_text(
        f'[mcp.tracker]\ncommand = {command}\nenv = ["CALLS"]\ntools = {tools}\n{more}\n'
    )
    settings = Settings(look_timeout=60)
    locator = {"server": "tracker", "tool": tool} | ({} if arguments is None else {"arguments": arguments})
    asked = parsed_emission("The issue is closed.", Annotation("substrate.mcp.brief", None, None, locator),
                     checks=["equals(closed, 2026-05-25)"])  # fmt: skip
    with closing(ObserverRegistry(settings, str(tmp_path / "list.toml"))) as instruments:
        return sole(look(asked, settings, tmp_path, instruments=instruments))


BRIEF = '{ brief = { arguments.issue = { type = "integer", maximum = 90 } } }'


@pytest.mark.parametrize("arguments", [{"issue": 99}, {"issue": "7"}, {"issue": 7, "verbose": True}, {"Issue": 7}])
def test_what_is_not_listed_is_not_asked_for(tmp_path: Path, calls: Path, arguments: dict[str, Any]):
    """The server is not started, nothing of the locator is repeated, and nothing is told of the schema."""
    found = ask(tmp_path, BRIEF, "brief", arguments)
    assert found.outcome == "unavailable"
    assert (found.detail or {})["reason"] in (UNLISTED, NOT_ALLOWED)
    assert found.locator is None
    assert calls.read_text() == ""


def test_a_tool_of_a_plain_list_is_called_without_arguments(tmp_path: Path, calls: Path):
    """Which arguments may be asked for nobody said."""
    found = ask(tmp_path, '["brief"]', "brief", {"issue": 7})
    assert (found.detail or {})["reason"] == UNLISTED
    assert calls.read_text() == ""


@pytest.mark.slow
def test_a_tool_that_may_write_needs_the_operators_word(tmp_path: Path, calls: Path):
    """One that its server marks read-only does not; one that the server does not list at all does."""
    listed = "{ delete = { arguments.issue = true } }"
    found = ask(tmp_path, listed, "delete", {"issue": 7})
    assert (found.outcome, (found.detail or {})["reason"]) == ("unavailable", MAY_WRITE)
    assert calls.read_text() == ""
    vouched = "{ delete = { arguments.issue = true, read_only = true } }"
    assert ask(tmp_path, vouched, "delete", {"issue": 7}).outcome != "unavailable"
    assert calls.read_text() == "delete 7\n"
    assert ask(tmp_path, BRIEF, "brief", {"issue": 7}).verified == [0]
    unlisted = "{ brief = { arguments.issue = true } }"
    assert (ask(tmp_path, unlisted, "brief", {"issue": 7}, kind="prompt").detail or {})["reason"] == MAY_WRITE


@pytest.mark.slow
def test_an_observation_names_the_owner_of_the_state(tmp_path: Path, calls: Path):
    """As the operator's list does; nobody where it does not."""
    found = ask(tmp_path, BRIEF, "brief", {"issue": 7}, 'owner = "Example Ltd"')
    assert found.looked_at is not None
    assert found.looked_at.owner == "Example Ltd"
    assert ask(tmp_path, BRIEF, "brief", {"issue": 7}).looked_at is None


ADDRESSES = {
    "8.8.8.8": True, "2606:4700::1111": True, "127.0.0.1": False, "127.8.8.8": False, "0.0.0.0": False,
    "10.0.0.1": False, "172.16.3.4": False, "192.168.1.1": False, "169.254.169.254": False, "100.64.0.1": False,
    "198.18.0.1": False, "192.0.2.7": False, "224.0.0.1": False, "255.255.255.255": False, "240.0.0.1": False,
    "::": False, "::1": False, "fe80::1": False, "fe80::1%eth0": False, "fc00::1": False, "fd12::1": False,
    "ff02::1": False, "::ffff:127.0.0.1": False, "::ffff:10.0.0.1": False, "::ffff:8.8.8.8": True,
    "64:ff9b::7f00:1": False, "64:ff9b::a9fe:a9fe": False, "64:ff9b::808:808": True, "2002:7f00:1::": False,
    "2002:0a00:0001::1": False, "2001:db8::1": False, "": False, "localhost": False, "8.8.8": False,
}  # fmt: skip


@pytest.mark.parametrize(("address", "public"), ADDRESSES.items())
def test_which_addresses_are_public(address: str, public: bool):
    """In every spelling, and through every way in which IPv6 carries IPv4."""
    assert is_public(address) is public


def test_a_channel_is_private_where_it_is_listed_as_such():
    """By an address in its URL, as this machine, or by `private`; any other name has to lead to the internet."""
    listed = load_access(
        '[sse]\nurls = ["http://127.0.0.1:8/a", "http://LOCALHOST./b", "http://[::1]/c", "https://events.test/d"]\n'
        '[sse.inner]\nurl = "http://inner.test/e"\nprivate = true\n[sse.outer]\nurl = "http://2130706433/f"\n'
    ).sse
    private = {channel.url.rpartition("/")[2]: channel.private for channel in listed.values()}
    assert private == {"a": True, "b": True, "c": True, "d": False, "e": True, "f": False}
    with pytest.raises(UsageError, match="true or false"):
        load_access('[sse]\nurls = ["https://events.test/d"]\nprivate = "yes"\n')


@pytest.fixture
def server() -> Iterator[socket.socket]:
    """Somebody who listens on this machine, and whom nobody may call."""
    with socket.create_server(("127.0.0.1", 0)) as made:
        made.settimeout(0.2)
        yield made


def addresses(monkeypatch: pytest.MonkeyPatch, *answers: list[str]) -> list[str]:
    """Has names resolve to these addresses, one answer after the other; which names were asked."""
    asked: list[str] = []
    left = list(answers)

    async def resolve(self: object, host: str, port: int = 0, family: int = 0) -> list[dict[str, object]]:
        asked.append(host)
        found = left.pop(0) if len(left) > 1 else left[0]
        return [{"hostname": host, "host": one, "port": port, "family": socket.AF_INET, "proto": 0, "flags": 0}
                for one in found]  # fmt: skip

    monkeypatch.setattr("aiohttp.resolver.ThreadedResolver.resolve", resolve)
    return asked


async def why(url: str, *, private: bool = False) -> str:
    """Why a channel cannot be heard."""
    text = f'[sse.one]\nurl = "{url}"\nprivate = {str(private).lower()}\n'
    (listed,) = load_access(text).sse.values()
    channel = Channel(listed, fresh=10, size=10_000, connect=2, clock=lambda: 0)
    with pytest.raises(ObservationUnavailable) as refused:
        await channel.report()
    assert channel._task is not None
    channel._task.cancel()
    return str(refused.value)


@pytest.mark.parametrize("host", ["events.test", "2130706433", "0x7f.1", "127.1", "metadata.internal"])
async def test_a_name_that_leads_inside_is_not_connected_to(
    monkeypatch: pytest.MonkeyPatch, server: socket.socket, host: str
):
    """Whatever it is called: what it resolves to counts. One inner address among public ones is enough."""
    for found in (["127.0.0.1"], ["8.8.8.8", "127.0.0.1"], ["127.0.0.1", "8.8.8.8"]):
        addresses(monkeypatch, found)
        said = await why(f"http://{host}:{server.getsockname()[1]}/events")
        assert said == PRIVATE or said.endswith("InvalidUrlClientError")  # what is a number, aiohttp takes for no name
    with pytest.raises(TimeoutError):
        server.accept()


async def test_a_name_is_resolved_once_and_that_address_is_connected_to(
    monkeypatch: pytest.MonkeyPatch, server: socket.socket
):
    """A name that was public when it was looked up, and is loopback when it is looked up again, leads nowhere."""
    asked = addresses(monkeypatch, ["8.8.8.8"], ["127.0.0.1"])
    connected: list[str] = []

    async def connect(self: object, address: tuple[str, int]) -> None:
        connected.append(address[0])
        raise OSError("no network in a test")

    loop = asyncio.get_running_loop()
    monkeypatch.setattr(type(loop), "sock_connect", lambda self, sock, address: connect(self, address))
    said = await why(f"http://events.test:{server.getsockname()[1]}/events")
    assert said.startswith("the channel is not to be reached")
    assert (asked, connected) == (["events.test"], ["8.8.8.8"])


async def test_what_is_listed_as_private_is_connected_to(monkeypatch: pytest.MonkeyPatch, server: socket.socket):
    """The operator's word."""
    addresses(monkeypatch, ["127.0.0.1"])
    looking = asyncio.create_task(why(f"http://inner.test:{server.getsockname()[1]}/events", private=True))
    connection, _ = await asyncio.to_thread(server.accept)
    connection.close()
    assert await looking != PRIVATE


async def test_the_resolver_says_so_itself(monkeypatch: pytest.MonkeyPatch):
    """And gives the public addresses of a name as they are."""
    addresses(monkeypatch, ["8.8.8.8", "1.1.1.1"], ["10.0.0.1"])
    resolver = PublicResolver()
    assert [one["host"] for one in await resolver.resolve("events.test", 80)] == ["8.8.8.8", "1.1.1.1"]
    with pytest.raises(NotPublicError):
        await resolver.resolve("events.test", 80)
    await resolver.close()


def test_which_urls_name_an_address():
    """Only what reads as one to anybody."""
    assert names_an_address("http://[fe80::1]/")
    assert not names_an_address("http://127.1/")
    assert not names_an_address("http://localhost.example/")
    assert "private" in SseChannel._fields
