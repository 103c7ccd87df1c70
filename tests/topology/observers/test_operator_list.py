"""The operator's list, and the interface for observers of one's own."""

from __future__ import annotations

from contextlib import closing
from importlib import metadata
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from looking import parsed_emission, sole

from sluice.codecs.errors import UsageError
from sluice.codecs.records import Annotation, Locator
from sluice.topology.observers.interface import (
    GROUP,
    Ask,
    CannotLook,
    Finding,
    answer,
    in_text,
    own_observers,
    words_in,
)
from sluice.topology.observers.look import look
from sluice.topology.observers.observer_registry import ObserverRegistry
from sluice.topology.observers.operator_list import Access, access_of, load_access
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
            raise CannotLook("not on Acme's list")
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
def test_what_is_no_observer_is_refused_at_the_start(points: list[EntryPoint], sentence: str):
    """One sentence for the operator, before anything is looked at."""
    with pytest.raises(UsageError, match=sentence):
        own_observers({"substrate.mcp.brief": "acme"}, Settings(), points)


def test_what_is_only_installed_observes_nothing():
    """Who observes is the operator's decision."""
    assert own_observers({}, Settings(), [point("acme")]) == {}
