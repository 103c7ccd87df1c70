"""The operator's list of what observers may reach: servers, channels, sockets, judges (docs/observing.md).

What is not on the list is not reached.
"""

from __future__ import annotations

import difflib
import ipaddress
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple, Protocol, cast
from urllib.parse import urlsplit

import re2

from ...codecs.errors import UsageError
from ...codecs.json_text import is_array, is_object
from ...codecs.times import parse_duration
from ...codecs.vocabulary import CLASSES_1_0
from ...streams.policy.policy import BUILT_IN
from ...streams.policy.policy_toml import locate
from ..settings.files import open_plain
from ..settings.settings import Settings

_TRANSLATED: Final = tuple(map(ipaddress.IPv6Network, ("64:ff9b::/96", "64:ff9b:1::/48")))
"""IPv6 networks of which an address ends with an IPv4 one (RFC 6052, RFC 8215)."""
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def is_public(address: str) -> bool:
    """Whether an address is one of the internet: not loopback, private, link-local, shared, reserved or multicast,
    in whichever spelling, and by no IPv6 address that stands for such an IPv4 one."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(found, ipaddress.IPv6Address):
        inner = _inner(found)
        if inner is not None:
            return _is_global(inner)
    return _is_global(found)


def _is_global(address: Address) -> bool:
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)


def _inner(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """The IPv4 address that an IPv6 address stands for; None where it stands for itself."""
    found = address.ipv4_mapped or address.sixtofour
    if found is None and any(address in network for network in _TRANSLATED):
        found = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return found


def names_an_address(url: str) -> bool:
    """Whether a URL's host is an address itself, or this machine: then the operator listed it as what it is."""
    host = urlsplit(url).hostname or ""
    if host.rstrip(".").lower() == "localhost":
        return True
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True


UNLISTED: Final = "an argument is not on the operator's list"
NOT_ALLOWED: Final = "an argument is not one that the operator's list allows"
EXPECTED: Final = 'a table of arguments, each with its JSON Schema, as { issue = { type = "integer" } }'


class _Validator(Protocol):
    def is_valid(self, instance: Any) -> bool: ...


class Arguments:
    """The arguments that one tool may be asked with.

    Args:
        schemas: a JSON Schema for each argument, by its name.

    Raises:
        ValueError: one of them is none that can be used; the message says what is expected.
    """

    def __init__(self, schemas: Mapping[str, Any]) -> None:
        self._validators: dict[str, _Validator] = {name: _validator(schema) for name, schema in schemas.items()}

    def why_not(self, given: Mapping[str, Any]) -> str | None:
        """Why a tool is not asked with these arguments; None where it may be. No word of a stranger stands in it."""
        for name, value in given.items():
            known = self._validators.get(name)
            if known is None:
                return UNLISTED
            try:
                if not known.is_valid(value):
                    return NOT_ALLOWED
            except Exception:  # noqa: BLE001 - nested too deeply, or a reference that leads nowhere: it was not allowed
                return NOT_ALLOWED
        return None


NOTHING: Final = Arguments({})


def _validator(schema: Any) -> _Validator:
    from jsonschema.exceptions import SchemaError
    from referencing.jsonschema import EMPTY_REGISTRY

    if not isinstance(schema, dict | bool):
        raise ValueError(EXPECTED)
    kind = _kind()
    try:
        kind.check_schema(schema)
    except SchemaError as error:
        raise ValueError(f"a JSON Schema: {'.'.join(map(str, error.path)) or 'it'} is none") from None
    for key, value in _members(schema):
        if key == "patternProperties":
            raise ValueError("a JSON Schema without patternProperties, which would have to search names")
        if key == "pattern" and isinstance(value, str):
            _pattern(value)
        if key in ("$ref", "$dynamicRef") and not (isinstance(value, str) and value.startswith("#")):
            raise ValueError("a JSON Schema that refers to nothing outside itself")
    return kind(schema, registry=EMPTY_REGISTRY)


def _members(value: Any) -> Iterator[tuple[str, Any]]:
    if is_object(value):
        for key, item in value.items():
            yield key, item
            yield from _members(item)
    elif is_array(value):
        for item in value:
            yield from _members(item)


@lru_cache(256)
def _pattern(text: str) -> Any:
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(text, options)
    except re2.error:
        raise ValueError("a JSON Schema with patterns that RE2 takes") from None


@lru_cache(1)
def _kind() -> Any:
    from jsonschema import Draft202012Validator, ValidationError, validators

    def pattern(_: Any, wanted: str, value: Any, __: Any) -> Iterator[ValidationError]:
        if isinstance(value, str) and not _pattern(wanted).search(value):
            yield ValidationError(NOT_ALLOWED)

    return cast(Any, validators.extend(Draft202012Validator, {"pattern": pattern}))


SETTING: Final = "substrates"
MAX_OWNER: Final = 256
"""Characters of an owner's name, as an observation holds it."""
TEXT_CLASSES: Final = frozenset(("substrate.git.log", "substrate.grep", "substrate.code.read", "substrate.mcp.brief"))
"""The classes whose content is text, which a judge can read."""


class Secrets(dict[str, str]):
    """Names and secret values; only the names are ever shown."""

    def __repr__(self) -> str:
        return f"Secrets({', '.join(self)})"


class McpTool(NamedTuple):
    """A tool that may be called.

    Attributes:
        arguments: with which it may be called.
        read_only: the operator's word that it changes nothing; otherwise the server has to mark it so.
    """

    arguments: Arguments = NOTHING
    read_only: bool = False


class McpServer(NamedTuple):
    """A server of the Model Context Protocol: a command (stdio) or a URL (streamable HTTP), and the tools allowed.

    Attributes:
        owner: whose state it gives; None where the operator does not say.
        environment: variables of the process; values are secrets.
        headers: of each HTTP request; values are secrets.
    """

    name: str
    command: tuple[str, ...] | None
    url: str | None
    tools: Mapping[str, McpTool]
    environment: Secrets
    headers: Secrets
    owner: str | None = None


class SseChannel(NamedTuple):
    """A stream of server-sent events that reports how many subscribe to it.

    Attributes:
        event: the type of the events that report.
        pointer: where in their JSON the count stands (RFC 6901); "" where the data is the number.
        own_subscription: the report counts our own subscription.
        max_tolerance: the most that a locator's `tolerance` may be; None for a tenth of the count.
        retry: milliseconds before reconnecting, until the channel says otherwise.
        headers: of the request; values are secrets.
        private: whether it may stand at an address that is not public.
    """

    url: str
    event: str
    pointer: str
    own_subscription: bool
    max_tolerance: int | None
    retry: int
    headers: Secrets
    private: bool = False


class JudgeEntry(NamedTuple):
    """A judge of the operator's own: its entry point, and the classes of what it judges."""

    entry_point: str
    classes: frozenset[str]


class Access(NamedTuple):
    """The whole list. `own` gives the entry point of the operator's own observer by class, `judges` those of judges by
    name."""

    mcp: Mapping[str, McpServer] = {}
    sse: Mapping[str, SseChannel] = {}
    sockets: frozenset[str] = frozenset()
    own: Mapping[str, str] = {}
    judges: Mapping[str, JudgeEntry] = {}


def access_of(settings: Settings, path: str | None = None) -> Access:
    """The list of the file that a flag or the setting `substrates` names; an empty one where neither does.

    Raises:
        UsageError: the file cannot be read, or something in it is wrong.
    """
    name = path or getattr(settings, SETTING, None)
    if not name:
        return Access()
    try:
        with open_plain(name) as file:
            text = file.read().decode("utf-8")
    except OSError as error:
        raise UsageError(f"the list of substrates cannot be read: {error.strerror}", path=str(name)) from None
    except UnicodeDecodeError:
        raise UsageError("the list of substrates is not UTF-8", path=str(name)) from None
    return load_access(text, str(name))


def load_access(text: str, name: str = SETTING, environment: Mapping[str, str] | None = None) -> Access:
    """The list of a TOML text.

    Args:
        text: the document.
        name: of the file, for errors.
        environment: where named variables are taken from; by default the process's own.

    Raises:
        UsageError: with everything that is wrong, a line each: file, line, key, sentence.
    """
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        at = re.search(r"at line (\d+)", str(error))
        raise UsageError(f"{name}:{at[1] if at else text.count(chr(10)) + 1}: is not TOML: {error}") from None
    reader = _ListReader(os.environ if environment is None else environment)
    made = _access(reader, tables)
    if reader.findings:
        problems = locate(text, reader.findings)
        raise UsageError("\n".join(f"{name}:{line}: {path}: {why}" for line, path, why in problems))
    return made


# ---------------------------------------------------------------- reading

TABLES: Final = ("mcp", "sse", "peercred", "own", "judge")
Check = Callable[[Any], Any]
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_HEADER: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}")
_POINTER: Final = re.compile(r"(?:/(?:[^~/]|~[01])*)*")


class _Expected(Exception):
    """A value is not what its key takes; the message says what that is, never the value, which may be a secret."""


class _ListReader:
    """Collects what is wrong, by dotted key, instead of stopping at the first."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.findings: list[tuple[str, str]] = []
        self._environment = environment

    def wrong(self, path: str, sentence: str) -> None:
        self.findings.append((path, sentence))

    def table(self, value: Any, path: str) -> dict[str, Any]:
        if is_object(value):
            return value
        self.wrong(path, "expected a table")
        return {}

    def unknown(self, keys: Iterable[str], known: Iterable[str], path: str) -> None:
        known = list(known)
        for key in keys:
            if key not in known:
                near = difflib.get_close_matches(key.partition(".")[0], known, 1)
                hint = f"did you mean {near[0]}?" if near else "known keys: " + ", ".join(known)
                self.wrong(f"{path}.{key}" if path else key, f"unknown key; {hint}")

    def fields(self, table: dict[str, Any], path: str, checks: Mapping[str, Check]) -> dict[str, Any]:
        """The checked values of a table whose keys are all known, for those that are there and right."""
        self.unknown(table, checks, path)
        found: dict[str, Any] = {}
        for key, check in checks.items():
            if key in table:
                try:
                    found[key] = check(table[key])
                except _Expected as expected:
                    self.wrong(f"{path}.{key}", f"expected {expected}")
        return found

    def variables(self, value: Any) -> Secrets:
        return Secrets({name: self._variable(name) for name in _texts(value)})

    def headers(self, value: Any) -> Secrets:
        if not is_object(value) or not all(_HEADER.fullmatch(name) for name in value):
            raise _Expected('a table of headers and the variables that hold them, as { Authorization = "VARIABLE" }')
        return Secrets({name: self._variable(variable) for name, variable in value.items()})

    def _variable(self, name: Any) -> str:
        if not isinstance(name, str) or not _VARIABLE.fullmatch(name):
            raise _Expected("names of environment variables, never their values")
        value = self._environment.get(name)
        if not value:
            raise _Expected(f"the environment variable {name} to be set")
        if not value.isprintable():
            raise _Expected(f"the environment variable {name} to hold printable characters only")
        return value


def _texts(value: Any) -> list[str]:
    if not is_array(value) or not value or not all(isinstance(item, str) and item for item in value):
        raise _Expected("a list of strings")
    if any("\0" in item for item in value):
        raise _Expected("strings without a NUL")
    return value


def _url(value: Any) -> str:
    try:
        parts = urlsplit(value) if isinstance(value, str) and value.isprintable() and " " not in value else None
        good = parts is not None and parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        parts, good = None, False
    if parts is None or not good or parts.fragment:
        raise _Expected("an http or https URL without a fragment")
    if parts.username is not None or parts.password is not None:
        raise _Expected("a URL without a user name or password; name a variable in header_env")
    return value


def _must(is_right: Callable[[Any], bool], expected: str) -> Check:
    """Takes a value that is right as it is, and refuses any other."""

    def check(value: Any) -> Any:
        if not is_right(value):
            raise _Expected(expected)
        return value

    return check


def _is_owner(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip()) and value.isprintable() and len(value) <= MAX_OWNER


_text = _must(lambda value: isinstance(value, str) and bool(value), "a string")
_owner = _must(_is_owner, f"a name of at most {MAX_OWNER} characters")
_boolean = _must(lambda value: isinstance(value, bool), "true or false")
_whole = _must(lambda value: type(value) is int and 0 <= value <= 2**53, "a whole number from 0 on")
_pointer = _must(
    lambda value: isinstance(value, str) and _POINTER.fullmatch(value) is not None,
    'a JSON Pointer such as "/subscribers", or "" where the data is the number',
)
_class = _must(
    lambda value: value in CLASSES_1_0, "a substrate-class of the closed vocabulary: " + ", ".join(sorted(CLASSES_1_0))
)


def _tools(value: Any) -> dict[str, McpTool]:
    """Names of tools that are called without arguments, or a table of tools, each with what it may be asked."""
    if not is_object(value):
        return dict.fromkeys(_texts(value), McpTool())
    if not value:
        raise _Expected("a list of tools, or a table for each")
    return {name: _tool(name, one) for name, one in value.items()}


def _tool(name: str, value: Any) -> McpTool:
    if not is_object(value) or not value.keys() <= {"arguments", "read_only"}:
        raise _Expected(f"arguments and read_only for the tool {name[:64]!r}, and no other key")
    arguments = value.get("arguments", {})
    if not is_object(arguments):
        raise _Expected(EXPECTED)
    try:
        return McpTool(Arguments(arguments), _boolean(value.get("read_only", False)))
    except ValueError as error:
        raise _Expected(str(error)) from None


def _retry(value: Any) -> int:
    milliseconds = parse_duration(value) if isinstance(value, str) else None
    if not milliseconds or not 100 <= milliseconds <= 60_000:
        raise _Expected('a duration from "100ms" to "1m"')
    return milliseconds


def _paths(value: Any) -> list[str]:
    paths = _texts(value)
    if not all(path.startswith("/") and len(os.fsencode(path)) < 108 for path in paths):
        raise _Expected("absolute paths, each shorter than 108 bytes")
    return paths


def _access(reader: _ListReader, tables: dict[str, Any]) -> Access:
    # `[mpc.x]` stands in no line as `mpc`: such a table is told by its first key.
    for key, value in tables.items():
        if key not in TABLES:
            first = next(iter(value), "") if is_object(value) else ""
            reader.unknown([f"{key}.{first}" if first else key], TABLES, "")
    mcp = {name: _mcp(reader, name, value) for name, value in reader.table(tables.get("mcp", {}), "mcp").items()}
    peercred = reader.fields(reader.table(tables.get("peercred", {}), "peercred"), "peercred", {"sockets": _paths})
    own: dict[str, str] = {}
    for name, value in reader.table(tables.get("own", {}), "own").items():
        found = reader.fields(reader.table(value, f"own.{name}"), f"own.{name}", {"class": _class}).get("class")
        if found in own:
            reader.wrong(f"own.{name}.class", f"{own[found]} observes {found} already")
        elif found is not None:
            own[found] = name
        elif is_object(value) and "class" not in value:
            reader.wrong(f"own.{name}", "names no class")
    judges = {
        name: _judge(reader, name, value) for name, value in reader.table(tables.get("judge", {}), "judge").items()
    }
    sse = {channel.url: channel for channel in _sse(reader, reader.table(tables.get("sse", {}), "sse"))}
    return Access(mcp, sse, frozenset(peercred.get("sockets", ())), own, judges)


def _judge(reader: _ListReader, name: str, value: Any) -> JudgeEntry:
    path = f"judge.{name}"
    if not _NAME.fullmatch(name) or name == BUILT_IN:
        reader.wrong(path, f"a judge's name is up to 64 of the characters A-Z a-z 0-9 _ -, and not {BUILT_IN}")
    found = reader.fields(reader.table(value, path), path, {"entry_point": _text, "classes": _text_classes})
    return JudgeEntry(found.get("entry_point", name), found.get("classes", TEXT_CLASSES))


def _text_classes(value: Any) -> frozenset[str]:
    if not is_array(value) or not value or not TEXT_CLASSES.issuperset(one for one in value if isinstance(one, str)):
        raise _Expected("some of the classes " + ", ".join(sorted(TEXT_CLASSES)))
    return frozenset(map(_text, value))


def _mcp(reader: _ListReader, name: str, value: Any) -> McpServer:
    path = f"mcp.{name}"
    table = reader.table(value, path)
    if not _NAME.fullmatch(name):
        reader.wrong(path, "a server's name is up to 64 of the characters A-Z a-z 0-9 _ -")
    checks = {
        "command": _texts,
        "url": _url,
        "owner": _owner,
        "tools": _tools,
        "env": reader.variables,
        "header_env": reader.headers,
    }
    found = reader.fields(table, path, checks)
    if ("command" in table) == ("url" in table):
        reader.wrong(path, "needs either command (stdio) or url (streamable HTTP)")
    if "tools" not in table:
        reader.wrong(path, "needs tools: only those named may be called")
    for key, needed in (("env", "command"), ("header_env", "url")):
        if key in table and needed not in table:
            reader.wrong(f"{path}.{key}", f"goes with {needed}")
    command = found.get("command")
    return McpServer(
        name,
        tuple(command) if command else None,
        found.get("url"),
        found.get("tools", {}),
        found.get("env", Secrets()),
        found.get("header_env", Secrets()),
        found.get("owner"),
    )


def _sse(reader: _ListReader, table: dict[str, Any]) -> list[SseChannel]:
    checks: dict[str, Check] = {
        "event": _text,
        "pointer": _pointer,
        "own_subscription": _boolean,
        "max_tolerance": _whole,
        "retry": _retry,
        "private": _boolean,
        "header_env": reader.headers,
    }
    named = {key: value for key, value in table.items() if is_object(value) and key != "header_env"}
    plain = {key: value for key, value in table.items() if key not in named}
    common = reader.fields(plain, "sse", {"urls": lambda value: [_url(one) for one in _texts(value)], **checks})
    channels = [_channel(url, common) for url in common.pop("urls", ())]
    for name, value in named.items():
        found = reader.fields(value, f"sse.{name}", {"url": _url, **checks})
        if "url" not in value:
            reader.wrong(f"sse.{name}", "needs url")
        elif "url" in found:
            channels.append(_channel(found.pop("url"), found))
    seen: set[str] = set()
    for channel in channels:
        if channel.url in seen:
            reader.wrong("sse", f"{channel.url} is listed twice")
        seen.add(channel.url)
    return channels


def _channel(url: str, found: dict[str, Any]) -> SseChannel:
    return SseChannel(
        url,
        found.get("event", "message"),
        found.get("pointer", ""),
        found.get("own_subscription", False),
        found.get("max_tolerance"),
        found.get("retry", 1000),
        found.get("header_env", Secrets()),
        found.get("private", False) or names_an_address(url),
    )
