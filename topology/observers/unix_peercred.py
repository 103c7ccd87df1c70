"""substrate.unix.peercred: who listens on a Unix socket, as the kernel of this host reports it (SO_PEERCRED) [S §4].

Our observer connects. A socket is then a place like a path: whoever has independent access can look at it again, as
the memo wants of an observation [S §3, §6]. Who connects to a socket of ours would be for the emitter's side to
choose, and could not be looked at again. Linux gives the connecting end the credentials of the process that called
`listen`, as they were then. Nothing is sent or read; the connection is closed at once.

Identity-bound [S §12]: uid, gid, pid and user never leave this module. The observation id is `peercred:` and an
HMAC-SHA256 over them; a finding names which of the four were compared, never a value.
"""

from __future__ import annotations

import errno
import hashlib
import hmac
import pwd
import re
import socket
import struct
import time
from collections.abc import Callable
from typing import Final, NamedTuple

from msgspec.structs import replace

from ...codecs.records import Locator
from ...codecs.unicode_text import nfkc
from ...streams.moments import negates
from ...streams.privacy import may_be_credentials
from ...streams.terms import Presence, terms_of
from .ask import Ask, CannotLook, Finding
from .keeping import Kept, Memory, Rest

_UCRED: Final = struct.Struct("3i")
_MAX_KNOWN: Final = 100_000
_HMAC: Final = re.compile(r"peercred:[0-9a-f]{64}")

_NUMBER: Final = re.compile(
    r"\b(?P<field>e?uid|user[ -]?id|e?gid|group[ -]?id|pid|process[ -]?id)\b[`\"”’']?\s*"
    r"(?:(?:is|was|of|equals|number)\s+|[=:]\s*)?[`\"“‘']?(?P<number>\d{1,10})(?!\w|\.\d)",
    re.IGNORECASE,
)
_QUOTED: Final = r"[`\"“‘'](?P<quoted>[A-Za-z_][\w.-]{0,63}\$?)[`\"”’']"
_BARE: Final = r"(?P<bare>[a-z_][a-z0-9_-]{0,31}\$?)\b"
_BEFORE_USER: Final = (
    r"[Uu]ser(?:[ -]?name)?(?:\s+(?:is|was|named|called)\s+|\s*[=:]\s*|\s+)|as\s+(?:the\s+)?(?![Uu]ser\b)"
)
_USER: Final = re.compile(rf"\b(?:{_BEFORE_USER})(?:{_QUOTED}|{_BARE})")


class Peer(NamedTuple):
    """What SO_PEERCRED gives (unix(7)): ids as this process's namespaces show them; a pid of 0 is one they hide."""

    pid: int
    uid: int
    gid: int


class Claims(NamedTuple):
    """What a text says of a peer: field and value, and the text without it."""

    values: tuple[tuple[str, int | str], ...]
    rest: str


class UnixPeercred:
    """The observer of all listed sockets.

    Args:
        sockets: the paths that may be connected to.
        key: of the HMAC.
        seconds: for which a peer holds: a tenth of W.
        clock: the present time in Unix milliseconds.

    Invariant: `_known` holds the id of every connection since the start, as long as `_MAX_KNOWN` were not reached.
    """

    def __init__(self, sockets: frozenset[str], key: bytes, seconds: float, clock: Callable[[], int]) -> None:
        self._sockets, self._key, self._clock = sockets, key, clock
        self._started = clock()
        self._memory: Memory[Peer] = Memory(seconds)
        self._rest = Rest()
        self._known: set[str] = set()

    def admit(self, locator: Locator) -> Locator:
        """Raises:
        CannotLook: no socket is named, or one that is not on the operator's list.
        """
        path = locator.get("socket")
        if not isinstance(path, str) or path not in self._sockets:
            raise CannotLook("the socket is not on the operator's list" if path else "the locator names no socket")
        return {"socket": path}

    def observe(self, ask: Ask) -> Finding:
        """Compares the uid, gid, pid and user that the assertion names with those of the peer.

        Raises:
            CannotLook: the assertion names none of them, or nobody is to be connected to.
        """
        path = str(ask.locator["socket"])
        claims = claims_of(ask.text, path)
        at, peer = self._peer(path, ask.budget.remaining())
        seen = identifier(self._key, peer)
        if len(self._known) < _MAX_KNOWN:
            self._known.add(seen)
        if self._made_up(ask):
            reason = "no connection since the observer's start had it"
            return Finding("unknown-observation", ask.declared, reason=reason)
        if not claims.values:
            raise CannotLook("the assertion names no uid, gid, pid or user")
        if not ask.denies and negates(claims.rest):
            raise CannotLook("the assertion is negated; only a denial is turned round")
        return replace(judge_peer(ask, claims, peer, seen), at=at)

    def _peer(self, path: str, seconds: float) -> Kept[Peer]:
        """Who listens, or listened not long ago: one that accepts nobody has only so much room for connections."""
        kept = self._memory.recall(path)
        if kept is None:
            self._rest.check(path)
            began, at = time.monotonic(), self._clock()
            try:
                kept = Kept(at, peer_of(path, seconds))
            except CannotLook as reason:
                self._rest.failed(path, str(reason))
                raise
            self._rest.worked(path)
            self._memory.keep(path, began, 1000, kept)
        return kept

    def close(self) -> None:
        """Nothing is left open."""

    def _made_up(self, ask: Ask) -> bool:
        """Whether an id is declared that is nobody's; one from before our start, or of another kind, is not judged."""
        if ask.declared is None or not _HMAC.fullmatch(ask.declared) or len(self._known) >= _MAX_KNOWN:
            return False
        since = ask.ts if ask.ts is not None else ask.emitted
        return ask.declared not in self._known and (since is None or since >= self._started)


def fit_to_show(declared: str | None) -> str | None:
    """A declared id where it is an HMAC or names no credentials; None for one that may hold them in clear."""
    return None if declared is None or may_be_credentials(declared) else declared


def identifier(key: bytes, peer: Peer) -> str:
    """The observation id of a peer: the same for the same process, and of no use without the key."""
    said = f"sluice peercred\n{peer.uid}\n{peer.gid}\n{peer.pid}".encode()
    return f"peercred:{hmac.new(key, said, hashlib.sha256).hexdigest()}"


def peer_of(path: str, seconds: float) -> Peer:
    """Connects and asks the kernel.

    Raises:
        CannotLook: nobody listens there, in time.
    """
    for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
        with socket.socket(socket.AF_UNIX, kind | socket.SOCK_CLOEXEC) as connection:
            # A blocking connect to a full backlog waits so long and no longer; a time-out of Python's would not wait.
            whole, part = divmod(max(int(seconds * 1e6), 1), 1_000_000)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", whole, part))
            try:
                connection.connect(path)
                return Peer(*_UCRED.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size)))
            except OSError as error:
                if error.errno == errno.EPROTOTYPE and kind == socket.SOCK_STREAM:
                    continue
                raise CannotLook(f"the socket cannot be connected to: {error.strerror}") from None
    raise CannotLook("the socket knows no connections")


def claims_of(text: str, path: str) -> Claims:
    """The uid, gid, pid and user that a text names.

    `uid 998`, `gid=998`, `process id is 4242`; a user after `user` or `as`: in quotes or code any name, bare only one
    that this host knows, so that «as expected» names nobody.
    """
    text = nfkc(text).replace(path, " ")
    values: dict[tuple[str, int | str], None] = {}

    def number(match: re.Match[str]) -> str:
        initial = match["field"].lower().removeprefix("e")[0]
        values[{"u": "uid", "g": "gid", "p": "pid"}[initial], int(match["number"])] = None
        return " "

    def user(match: re.Match[str]) -> str:
        name = match["quoted"] or match["bare"]
        if match["bare"] and _uid(name) is None:
            return match[0]
        values["user", name] = None
        return " "

    rest = _USER.sub(user, _NUMBER.sub(number, text))
    return Claims(tuple(values), rest)


def _uid(name: str) -> int | None:
    try:
        return pwd.getpwnam(name).pw_uid
    except (KeyError, ValueError):
        return None


def judge_peer(ask: Ask, claims: Claims, peer: Peer, seen: str) -> Finding:
    """The verdict on a peer; of what it says only the names of fields get out."""
    right: list[str] = []
    wrong: list[str] = []
    for field, value in claims.values:
        if field == "pid" and peer.pid == 0:
            raise CannotLook("the peer's pid is hidden by a namespace")
        real = _uid(str(value)) if field == "user" else value
        (right if real == getattr(peer, "uid" if field == "user" else field) else wrong).append(field)
    held = Presence(tuple(dict.fromkeys(right)), tuple(dict.fromkeys(wrong)))
    # Literals beside them are what credentials cannot show; mere words are how the sentence says it.
    if any(term.kind != "word" for term in terms_of(claims.rest, "", {}).terms) and (ask.denies or not wrong):
        return Finding("absent", seen, held, "the assertion says more than credentials can show")
    if ask.denies:
        outcome = "contradicts" if not wrong else "corroborates" if not right else "absent"
        return Finding(outcome, seen, held)
    return Finding("contradicts" if wrong else "corroborates", seen, held)
