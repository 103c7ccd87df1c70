"""What a tool of an MCP server may be asked: what the operator's list has a schema for, and of tools that only read."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from looking import parsed_emission, sole

from sluice.codecs.errors import UsageError
from sluice.codecs.records import Annotation, Observation
from sluice.topology.observers.look import look
from sluice.topology.observers.mcp_session import MAY_WRITE
from sluice.topology.observers.observer_registry import ObserverRegistry
from sluice.topology.observers.operator_list import NOT_ALLOWED, UNLISTED, Arguments, load_access
from sluice.topology.settings.settings import Settings

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
