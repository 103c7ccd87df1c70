"""substrate.unix.peercred: who listens on a Unix socket, as the kernel of this host reports it (SO_PEERCRED) [S §4].

Our observer connects. A socket is then a place like a path: whoever has independent access can look at it again, as
the memo wants of an observation [S §3, §6]. Who connects to a socket of ours would be for the emitter's side to
choose, and could not be looked at again. Linux gives the connecting end the credentials of the process that called
`listen`, as they were then. Nothing is sent or read; the connection is closed at once.

Identity-bound [S §12]: uid, gid, pid and user never leave this module. The observation id is `peercred:` and an
HMAC-SHA256 over them; of the checks `peer` alone is decided here, and only whether it holds gets out. Words are not
looked for: what is found would say who is there.
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
from typing import Final

from ...codecs.records import Locator
from ...streams.judging.facts import PeerFacts, verify_peer
from ...streams.policy.privacy import may_be_credentials
from .ask import Ask, Finding, ObservationUnavailable, answer, decided
from .kept_looks import Kept, Memory, Rest

CLASS: Final = "substrate.unix.peercred"
_UCRED: Final = struct.Struct("3i")
_MAX_KNOWN: Final = 100_000
_HMAC: Final = re.compile(r"peercred:[0-9a-f]{64}")


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
        self._memory: Memory[PeerFacts] = Memory(seconds)
        self._rest = Rest()
        self._known: set[str] = set()

    def admit(self, locator: Locator) -> Locator:
        """Raises:
        ObservationUnavailable: no socket is named, or one that is not on the operator's list.
        """
        path = locator.get("socket")
        if not isinstance(path, str) or path not in self._sockets:
            raise ObservationUnavailable(
                "the socket is not on the operator's list" if path else "the locator names no socket"
            )
        return {"socket": path}

    def observe(self, ask: Ask) -> Finding:
        """Holds the peer against the checks.

        Raises:
            ObservationUnavailable: nobody is to be connected to, or the assertion has no check on a peer.
        """
        path = str(ask.locator["socket"])
        at, peer = self._peer(path, ask.budget.remaining())
        seen = identifier(self._key, peer)
        if len(self._known) < _MAX_KNOWN:
            self._known.add(seen)
        if self._made_up(ask):
            reason = "no connection since the observer's start had it"
            return Finding("unknown-observation", ask.declared, reason=reason)
        if ask.question.is_sentence:
            raise ObservationUnavailable("of a peer only checks are decided, and the assertion has none")
        # Whether a check holds, and no more: not even why it does not.
        helds = [decided(CLASS, check, lambda check: verify_peer(check, peer, _uid)) for check in ask.question.checks]
        return answer(ask, helds, seen, at=at)

    def _peer(self, path: str, seconds: float) -> Kept[PeerFacts]:
        """Who listens, or listened not long ago: one that accepts nobody has only so much room for connections."""
        kept = self._memory.recall(path)
        if kept is None:
            self._rest.check(path)
            began, at = time.monotonic(), self._clock()
            try:
                kept = Kept(at, peer_of(path, seconds))
            except ObservationUnavailable as reason:
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


def identifier(key: bytes, peer: PeerFacts) -> str:
    """The observation id of a peer: the same for the same process, and of no use without the key."""
    said = f"sluice peercred\n{peer.uid}\n{peer.gid}\n{peer.pid}".encode()
    return f"peercred:{hmac.new(key, said, hashlib.sha256).hexdigest()}"


def peer_of(path: str, seconds: float) -> PeerFacts:
    """Connects and asks the kernel.

    Raises:
        ObservationUnavailable: nobody listens there, in time.
    """
    for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
        with socket.socket(socket.AF_UNIX, kind | socket.SOCK_CLOEXEC) as connection:
            # A blocking connect to a full backlog waits so long and no longer; a time-out of Python's would not wait.
            whole, part = divmod(max(int(seconds * 1e6), 1), 1_000_000)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", whole, part))
            try:
                connection.connect(path)
                return PeerFacts(
                    *_UCRED.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size))
                )
            except OSError as error:
                if error.errno == errno.EPROTOTYPE and kind == socket.SOCK_STREAM:
                    continue
                raise ObservationUnavailable(f"the socket cannot be connected to: {error.strerror}") from None
    raise ObservationUnavailable("the socket knows no connections")


def _uid(name: str) -> int | None:
    try:
        return pwd.getpwnam(name).pw_uid
    except (KeyError, ValueError):
        return None
