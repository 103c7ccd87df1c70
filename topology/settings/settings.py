"""The configuration of a running sluice: flags, then `SLUICE_*` variables, then `sluice.toml`, then these defaults.

Each setting has its name, type, default and meaning here. What decides (k, windows, dispositions) is never a setting:
it is the policy's. `secrets_of` reads what identifiers are hashed with (streams/policy/privacy.py).
"""

from __future__ import annotations

import difflib
import math
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, cast

import msgspec
from msgspec import Meta, inspect

from ...codecs.errors import UsageError
from ...codecs.identifiers import IDENTIFIER_PATTERN
from ...codecs.signatures import DEFAULT_ORIGIN
from ...streams.policy.privacy import Secret, Secrets
from .files import read_file

PREFIX = "SLUICE_"
CONFIG_FILE = "sluice.toml"
MAX_FILE = 1_000_000
"""Bytes of a configuration file."""
LogLevel = Literal["debug", "info", "warning", "error"]
_NAME_PATTERN = r"^[A-Za-z0-9._-]{1,200}$"
_ORIGIN_PATTERN = r"^[!-~]{1,256}(?![\s\S])"
_PATTERNS = {
    _ORIGIN_PATTERN: "1 to 256 printable ASCII characters without blanks",
    _NAME_PATTERN: "1 to 200 of the characters A-Z a-z 0-9 . _ -",
    IDENTIFIER_PATTERN: "1 to 256 of the characters A-Z a-z 0-9 . _ ~ : / + = @ % -",
}
"""Each pattern of a setting in words."""


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every setting; `Meta.description` is what `sluice config show` and the reference print."""

    broker: Annotated[str, Meta(description="Kafka's address, as kafka://host:port[,host:port]")] = (
        "kafka://127.0.0.1:9092"
    )
    broker_ca: Annotated[
        str | None, Meta(description="File with the certificates that the broker's must be signed by, or `system`: TLS")
    ] = None
    broker_cert: Annotated[str | None, Meta(description="File with our own certificate, for brokers that ask")] = None
    broker_key: Annotated[str | None, Meta(description="File with that certificate's private key")] = None
    broker_user: Annotated[str | None, Meta(description="User name for SASL; none: no SASL")] = None
    broker_password: Annotated[
        str | None, Meta(description="Password for SASL; better in a file", extra={"secret": True})
    ] = None
    broker_password_file: Annotated[str | None, Meta(description="File with that password, read at each start")] = None
    broker_mechanism: Annotated[
        Literal["SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN"], Meta(description="Of SASL; PLAIN only with TLS")
    ] = "SCRAM-SHA-512"
    app_id: Annotated[str, Meta(description="Name of the application; ledgers are written by one alone")] = "sluice"
    renamed_from: Annotated[
        str | None, Meta(description="The application's name before: its ledgers are taken over, which they record")
    ] = None
    new_ledger: Annotated[
        str | None,
        Meta(
            description="Id of an empty ledger topic on which a new ledger may begin, although an earlier one was there"
        ),
    ] = None
    origin: Annotated[
        str, Meta(pattern=_ORIGIN_PATTERN, description="What our signatures are bound to: the policy's `origin`")
    ] = DEFAULT_ORIGIN
    topic_prefix: Annotated[str, Meta(description="Put before every topic's name")] = ""
    partitions: Annotated[int, Meta(ge=1, le=10_000, description="Partitions of every topic of the lane group")] = 4
    replication: Annotated[
        Annotated[int, Meta(ge=1, le=16)] | None,
        Meta(description="Replication factor for topics that we create; none: as many as there are brokers, up to 3"),
    ] = None
    retention: Annotated[
        str | None,
        Meta(description="How long topics keep records where not as declared, as TOPIC=DURATION, comma-separated"),
    ] = None
    policy: Annotated[str | None, Meta(description="Policy file that starts a new ledger")] = None
    partitioner: Annotated[
        Literal["murmur2", "crc32"], Meta(description="How producers choose a key's partition; lanes check it")
    ] = "murmur2"
    fold_version: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(description="Version of the fold that ledgers are raised to; none: each keeps its own"),
    ] = None
    delivery: Annotated[
        Literal["exactly-once", "at-least-once"],
        Meta(description="at-least-once only for brokers without transactions"),
    ] = "exactly-once"
    state_dir: Annotated[str, Meta(description="Folder for the lanes' snapshots; workers may share it")] = "var/state"
    snapshot_interval: Annotated[
        float, Meta(ge=0, description="Seconds between two snapshots of a lane's state; 0 for none")
    ] = 60.0
    key_file: Annotated[
        str | None,
        Meta(
            description="File with the private key of checkpoints; none: keys/signing.key beside state_dir, made once"
        ),
    ] = None
    checkpoint_interval: Annotated[
        float,
        Meta(ge=0, description="Seconds between two signed checkpoints of a lane with news at the most; 0 for none"),
    ] = 60.0
    standby: Annotated[
        int, Meta(ge=0, le=8, description="Other workers that follow each lane's ledger, to take it over at once")
    ] = 0
    # A block is 50 ms of a busy lane, and 4,000 inputs at the most, which are folded in 30 ms or less: what is left to
    # fold of so many, and taking the lane over, is less than a second together.
    hand_over_blocks: Annotated[
        int,
        Meta(
            ge=0,
            description="Blocks that a worker may lack of a lane that another one hands over to it; "
            "until then it follows the lane, and the other keeps it; 0: lanes move at once",
        ),
    ] = 10
    hand_over_timeout: Annotated[
        float, Meta(gt=0, description="Seconds after which a lane moves to a worker that has still not followed it")
    ] = 1800.0
    instance: Annotated[
        Annotated[str, Meta(pattern=_NAME_PATTERN)] | None,
        Meta(description="Name of this worker as a static member of its group, such as the pod's; none: a dynamic one"),
    ] = None
    # A silent worker's lanes stand still for so long, and a named worker that comes back sooner finds them where they
    # were: longer than a process needs to end and start (4 s), shorter than people wait. A broker takes 6 s to 30 min
    # by default; where a pod takes longer to come back, this must be longer.
    session_timeout: Annotated[float, Meta(gt=0, description="Seconds until a silent worker's lanes move")] = 10.0
    # A block is committed in 15 to 45 ms. Longer than a broker needs to fail over (some 10 s), so that this costs no
    # block; short, since readers of committed records see nothing beyond an open transaction until it ends.
    transaction_timeout: Annotated[float, Meta(gt=0, description="Seconds until the broker aborts a block")] = 20.0
    # Above every wait that is in order: a rebalance (as long as a session), an expiring transaction (30 s in all).
    stall_timeout: Annotated[
        float,
        Meta(
            gt=0,
            description="Seconds without progress after which a lane takes itself over, then is given up",
        ),
    ] = 60.0
    on_lost_input: Annotated[
        Literal["go-on", "stop"],
        Meta(description="What a lane does once it has recorded that retention deleted what it had not read"),
    ] = "go-on"
    on_poison: Annotated[
        Literal["go-on", "stop"],
        Meta(description="What a lane does about a batch that cannot be read: record it and go on behind it, or stop"),
    ] = "go-on"
    max_unpacked_bytes: Annotated[
        int,
        Meta(
            ge=1,
            description="Bytes of compressed batches held unpacked beside one: of all inputs; of all else that is read",
        ),
    ] = 134_217_728
    max_block_wait: Annotated[float, Meta(gt=0, le=5, description="Seconds a block stays open at the most")] = 0.05
    web_port: Annotated[
        Annotated[int, Meta(ge=1, le=65_535)] | None, Meta(description="Port of a service's metrics and probes, if any")
    ] = None
    web_host: Annotated[str, Meta(description="Address at which that port listens")] = "127.0.0.1"
    observer: Annotated[str, Meta(pattern=IDENTIFIER_PATTERN, description="Name under which our observers write")] = (
        "observer-1"
    )
    observer_key: Annotated[
        str | None,
        Meta(description="File with the private key that our observers sign with (`sluice key new`); none: unsigned"),
    ] = None
    producer_key: Annotated[
        str | None,
        Meta(description="File with the private key that `sluice produce` and clients sign with; none: unsigned"),
    ] = None
    root: Annotated[
        str, Meta(description="The repositories or folders that the observers look at, as [NAME=]DIR, one a line")
    ] = "."
    public_roots: Annotated[
        str | None,
        Meta(
            description="Names of roots of which observations may show the line that stands there instead, "
            "comma-separated (`default` is the one without a name, `*` all)"
        ),
    ] = None
    substrates: Annotated[
        str | None, Meta(description="List of MCP servers, event streams and sockets that may be looked at")
    ] = None
    look_timeout: Annotated[
        float, Meta(gt=0, description="Seconds for one look at a server, an event stream or a socket")
    ] = 5.0
    look_wall: Annotated[
        Annotated[float, Meta(gt=0)] | None,
        Meta(description="Seconds after which a look below a root is given up; none: its work alone is bounded"),
    ] = None
    look_bytes: Annotated[int, Meta(gt=0, description="Bytes read in one look at the most")] = 64_000_000
    emission_bytes: Annotated[
        int, Meta(gt=0, description="Bytes read in all looks of one emission at one class, shared by its statements")
    ] = 1_000_000_000
    look_commits: Annotated[int, Meta(gt=0, description="Commits searched in one look at the most")] = 20_000
    look_matches: Annotated[int, Meta(gt=0, description="Matching lines kept of one look at the most")] = 1_000
    parse_cache_bytes: Annotated[
        int, Meta(ge=0, description="Bytes of parsed source code and documents that observers keep between looks")
    ] = 64_000_000
    parse_memory_bytes: Annotated[
        int, Meta(gt=0, description="Bytes of memory of the process that parses files for observers")
    ] = 600_000_000
    index_cache_bytes: Annotated[
        int,
        Meta(ge=0, description="Bytes of the same that `vet` and `hook` keep in the user's cache folder; 0 keeps none"),
    ] = 256_000_000
    denied_names: Annotated[
        str | None,
        Meta(
            description="Names of files that are never looked at beside the built-in ones, as patterns, comma-separated"
        ),
    ] = None
    privacy_secret: Annotated[
        Annotated[str, Meta(min_length=16)] | None,
        Meta(description="Key of the HMAC over observation ids where the policy says hashed", extra={"secret": True}),
    ] = None
    privacy_secret_file: Annotated[str | None, Meta(description="File with that key, read at each start")] = None
    former_privacy_secrets: Annotated[
        str | None,
        Meta(
            description="Earlier ones, one a line: a ledger is folded with what it was written with",
            extra={"secret": True},
        ),
    ] = None
    proposer: Annotated[
        str | None,
        Meta(description="Proposer of checks for `sluice vet`: `form`, or `file:` and a path; none: no proposals"),
    ] = None
    log_level: Annotated[LogLevel, Meta(description="Least severity that is logged")] = "info"

    def __repr__(self) -> str:
        """As a struct's, without secrets: settings end up in logs."""
        stands = (Setting(name, getattr(self, name), "") for name in self.__struct_fields__)
        return f"Settings({', '.join(f'{setting.name}={setting.shown!r}' for setting in stands)})"


class Setting(NamedTuple):
    """One setting as it stands: its value, and where that came from (`default`, a file, a variable or a flag)."""

    name: str
    value: Any
    origin: str

    @property
    def shown(self) -> Any:
        """The value for people to read: of a secret only whether there is one."""
        return "(set, not shown)" if _KINDS[self.name].secret and self.value is not None else self.value

    @property
    def description(self) -> str:
        """What the setting means, in one line."""
        return _KINDS[self.name].description


class _Kind(NamedTuple):
    """What a setting may be, for `convert` and for the sentence that an error says."""

    type: Any
    expected: str
    description: str
    secret: bool
    optional: bool


def _kinds() -> dict[str, _Kind]:
    annotations = {field.name: field.type for field in msgspec.structs.fields(Settings)}
    described = inspect.type_info(Settings)
    assert isinstance(described, inspect.StructType)
    kinds: dict[str, _Kind] = {}
    for field in described.fields:
        type_: Any = field.type
        description, secret = "", False
        while isinstance(type_, inspect.Metadata):
            schema = cast("dict[str, Any]", type_.extra_json_schema or {})
            extra = cast("dict[str, Any]", type_.extra or {})
            description, secret = schema.get("description", description), secret or bool(extra.get("secret"))
            type_ = type_.type
        kinds[field.name] = _Kind(annotations[field.name], _expected(type_), description, secret, field.default is None)
    return kinds


def _expected(type_: inspect.Type) -> str:
    """A type in words: what an error says was expected."""
    match type_:
        case inspect.UnionType(types=types):
            return " or ".join(_expected(one) for one in types if not isinstance(one, inspect.NoneType))
        case inspect.LiteralType(values=values):
            return " or ".join(str(value) for value in values)
        case inspect.IntType(ge=ge, gt=gt, le=le):
            least = ge if ge is not None else None if gt is None else gt + 1
            bounds = f" from {least} to {le}" if le is not None else f" from {least} on" if least is not None else ""
            return f"a whole number{bounds}"
        case inspect.FloatType(ge=ge, gt=gt, le=le):
            least = f" from {ge:g} on" if ge is not None else "" if gt is None else f" above {gt:g}"
            above = f"a number{least}"
            return above if le is None else f"{above}, at most {le:g}"
        case inspect.StrType(min_length=int(least)):
            return f"text of at least {least} characters"
        case inspect.StrType(pattern=str(pattern)):
            return _PATTERNS[pattern]
        case _:
            return "text"


_KINDS = _kinds()
_HOST_PORT = re.compile(r"(?:[^\s,:/@\[\]]+|\[[0-9A-Fa-f:.]+\]):(\d{1,5})", re.ASCII)
_TOPIC_PREFIX = re.compile(r"[A-Za-z0-9._-]{0,200}")


def load_settings(config_file: str | None, flags: Mapping[str, object]) -> Settings:
    """The settings in force: flags, then `SLUICE_*` variables, then the configuration file, then defaults.

    Args:
        config_file: what `--config` named, or None: then `SLUICE_CONFIG`, or else `sluice.toml` in the working
            directory, where there is one.
        flags: values by setting; None is a flag that was not given.

    Raises:
        UsageError: a file that cannot be read, a key that no setting has (all of them at once), or a value that is
            not what its setting takes; the sentence names the setting, where it came from, and what was expected.
    """
    return Settings(**{name: value for name, value, _ in explain_settings(config_file, flags)})


def explain_settings(config_file: str | None, flags: Mapping[str, object]) -> list[Setting]:
    """As `load_settings`, as a list in the order of `Settings`, each with where its value came from.

    Values are the real ones, secrets included: whoever shows them uses `Setting.shown`.
    """
    given: dict[str, Setting] = {
        field.name: Setting(field.name, field.default, "default") for field in msgspec.structs.fields(Settings)
    }
    for setting in (*_from_file(config_file), *_from_environment(), *_from_flags(flags)):
        given[setting.name] = setting
    if given["privacy_secret_file"].value is not None:
        given["privacy_secret"] = _from_secret_file(given["privacy_secret"], given["privacy_secret_file"])
    return list(given.values())


def _from_secret_file(given: Setting, file: Setting) -> Setting:
    """The secret that a file holds, without line ends behind it.

    Raises:
        UsageError: a secret was given as well, or the file cannot be read, or holds none.
    """
    path = str(file.value)
    if given.value is not None:
        expected = "either it or `privacy_secret_file`"
        raise UsageError("the secret is given twice", path=f"privacy_secret ({given.origin})", expected=expected)
    try:
        text = read_file(path, MAX_FILE, f"the file {path!r} of privacy_secret_file").decode("utf-8")
    except UnicodeDecodeError:
        raise UsageError("privacy_secret_file cannot be read: it is not UTF-8", path=path) from None
    found = _checked("privacy_secret", text.rstrip("\r\n"), path, strict=True)
    if found.value is None:
        raise UsageError("privacy_secret_file holds no secret", path=path, expected=_KINDS["privacy_secret"].expected)
    return found


def _from_file(config_file: str | None) -> Iterator[Setting]:
    named = config_file or os.environ.get(f"{PREFIX}CONFIG")
    path = Path(named or CONFIG_FILE)
    try:
        if not path.exists():
            if named is None:
                return
            raise UsageError("the configuration file is not there", path=str(path), hint="check --config")
        document = tomllib.loads(read_file(path, MAX_FILE, f"the configuration file {str(path)!r}").decode("utf-8"))
    except OSError as error:
        raise UsageError(f"the configuration file cannot be read: {error.strerror}", path=str(path)) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"the configuration file is not TOML: {error}", path=str(path)) from None
    unknown = [_unknown(key) for key in document if key not in _KINDS]
    if unknown:
        plural = "s" if len(unknown) > 1 else ""
        raise UsageError(
            f"no such setting{plural}: {', '.join(unknown)}", path=str(path), hint="`sluice config show` lists them all"
        )
    for name, value in document.items():
        yield _checked(name, value, str(path), strict=True)


def _unknown(key: str) -> str:
    near = difflib.get_close_matches(key.replace("-", "_"), _KINDS, n=1)
    return f"{key} (did you mean {near[0]}?)" if near else key


def _from_environment() -> Iterator[Setting]:
    # Variables that are no setting are left alone: Kubernetes sets SLUICE_PORT and more for a service named sluice.
    for name in _KINDS:
        variable = PREFIX + name.upper()
        value = os.environ.get(variable)
        if value is not None:
            yield _checked(name, value, variable, strict=False)


def _from_flags(flags: Mapping[str, object]) -> Iterator[Setting]:
    for name, value in flags.items():
        if name not in _KINDS:
            raise TypeError(f"no setting is named {name!r}")
        if value is not None:
            yield _checked(name, value, f"--{name.replace('_', '-')}", strict=False)


def _checked(name: str, value: object, origin: str, *, strict: bool) -> Setting:
    """The value as its setting's type. Text from variables and flags is converted; a file must have the right type."""
    kind = _KINDS[name]
    if value == "" and kind.optional:
        return Setting(name, None, origin)  # how a variable says that a setting is not to be set
    expected = kind.expected
    try:
        converted = msgspec.convert(value, kind.type, strict=strict)
        right = True
    except msgspec.ValidationError:
        converted, right = None, False
    if isinstance(converted, float):
        right = math.isfinite(converted)
    elif name == "broker" and isinstance(converted, str):
        expected = "kafka://host:port[,host:port]"
        converted = converted if "://" in converted else f"kafka://{converted}"
        right = _is_broker(converted)
    elif name == "topic_prefix" and isinstance(converted, str):
        expected = "up to 200 of the characters A-Z a-z 0-9 . _ -"
        right = _TOPIC_PREFIX.fullmatch(converted) is not None
    if right:
        return Setting(name, converted, origin)
    if kind.secret:
        shown = "a value that is not shown"
    elif name == "broker" and "@" in str(value):
        shown = "an address with a user name"  # and perhaps a password, which somebody believed to be possible here
    else:
        shown = repr(value)[:80]
    raise UsageError(f"the setting {name} is wrong", path=origin, expected=expected, got=shown)


def _is_broker(address: str) -> bool:
    scheme, _, hosts = address.partition("://")
    matches = [_HOST_PORT.fullmatch(host) for host in hosts.split(",")]
    return scheme == "kafka" and all(match is not None and 0 < int(match[1]) < 65_536 for match in matches)


def bootstrap(settings: Settings) -> str:
    """The broker's address as clients want it: `host:port[,host:port]`."""
    return settings.broker.removeprefix("kafka://")


def secrets_of(settings: Settings) -> Secrets:
    """The secret of `privacy_secret` for new blocks, and those of `former_privacy_secrets` for blocks from before."""
    current = settings.privacy_secret
    former = (settings.former_privacy_secrets or "").splitlines()
    return Secrets(None if current is None else Secret(current), [Secret(one) for one in former if one])
