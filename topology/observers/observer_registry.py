"""What looks are made with and what is kept between them: observers beyond the root, repositories, what was parsed,
and answers not long ago.

A service has one for all its life, the filter one for each run: opened from the operator's list, closed at the end, and
with it every connection, subscription and process. Answers are kept for a tenth of their class's W; an observation
made from one says when it was seen, which never changes.
"""

from __future__ import annotations

import os
import secrets
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ...codecs.errors import UsageError
from ...streams.policy.policy import DEFAULT_POLICY, Policy
from ...streams.policy.policy_toml import load_policy
from ..settings.late_logs import late_logger
from ..settings.process import require
from ..settings.settings import Settings
from .ask import Finding
from .enclosure import Enclosure, Kept, kept_of
from .file_contents import Contents
from .git import Git
from .interface import GROUP, Judges, Observer, load_one
from .kept_looks import Memory, state_of
from .listings import Denied
from .operator_list import TEXT_CLASSES, access_of
from .parsing import IndexCache, Limits, Parsed
from .repository import Repository
from .roots import Root
from .unix_peercred import UnixPeercred

if TYPE_CHECKING:
    from .background import Background
    from .sse_count import SseCount

MCP_BRIEF: Final = "substrate.mcp.brief"
SSE_COUNT: Final = "substrate.do.sse-count"
PEERCRED: Final = "substrate.unix.peercred"
MAX_SENT: Final = 16_000_000
"""Bytes that a server may send for one look at the most: several are taken in at once."""

log = late_logger(__name__)


def now() -> int:
    """Unix milliseconds."""
    return time.time_ns() // 1_000_000


class ObserverRegistry:
    """The observers beyond the root by class, and the answers of the last looks.

    Args:
        settings: the list's file, bounds, policy (for W) and the key of privacy.
        substrates: the list's file, where a flag names another one.
        clock: the present time in Unix milliseconds.
        vetted: files on this host that hold what is being vetted: they are no evidence for themselves.
        on_disk: for a short command: what was parsed is kept on disk for the next one, and what parses starts at once.

    Raises:
        UsageError: the list or the policy is wrong, an observer that it names does not load, or what the list names
            needs the extra `observe`, which is not installed.
    """

    def __init__(
        self,
        settings: Settings,
        substrates: str | None = None,
        clock: Callable[[], int] = now,
        vetted: Iterable[str] = (),
        on_disk: bool = False,
    ) -> None:
        self.access = access = access_of(settings, substrates)
        self._windows = _policy(settings).admissibility.window
        self._background: Background | None = None
        self._observers = {
            name: load_one(GROUP, point, f"the observer {point} for {name}", Observer, settings)
            for name, point in access.own.items()
        }
        self._sse: SseCount | None = None
        size, connect = min(settings.look_bytes, MAX_SENT), settings.look_timeout
        if access.mcp and MCP_BRIEF not in self._observers:
            require("mcp", "observe", "an MCP server as a substrate")
            from .mcp_brief import McpBrief

            self._observers[MCP_BRIEF] = McpBrief(
                access.mcp, self._event_loop(), seconds=self.fresh(MCP_BRIEF), size=size, connect=connect, clock=clock
            )
        if access.sse and SSE_COUNT not in self._observers:
            require("aiohttp", "observe", "an event stream as a substrate")
            from .sse_count import SseCount

            self._observers[SSE_COUNT] = self._sse = SseCount(
                access.sse, self._event_loop(), fresh=self.fresh(SSE_COUNT), size=size, connect=connect, clock=clock
            )
        if access.sockets and PEERCRED not in self._observers:
            key = settings.privacy_secret.encode() if settings.privacy_secret else secrets.token_bytes(32)
            self._observers[PEERCRED] = UnixPeercred(access.sockets, key, self.fresh(PEERCRED), clock)
        self.judges = Judges(access.judges, settings, min(map(self.fresh, TEXT_CLASSES)))
        self._denied, self._vetted = Denied.of(settings), tuple(map(os.path.realpath, vetted))
        self.contents = Contents(2 * settings.look_bytes)
        indexes = IndexCache(settings.index_cache_bytes if on_disk else 0)
        self.parsed = Parsed(settings.parse_cache_bytes, indexes, Limits(settings.parse_memory_bytes))
        if on_disk:
            self.parsed.start()
        self._repositories: dict[str, tuple[object, Repository | None]] = {}
        self._enclosed: dict[tuple[str, Enclosure], Kept] = {}
        self._lock = threading.Lock()
        self._answers = {name: Memory[tuple[Finding, int]](self.fresh(name)) for name in self._windows}

    def _event_loop(self) -> Background:
        """The loop of the connections, made when it is first needed: it takes a twentieth of a command's start."""
        if self._background is None:
            from .background import Background

            self._background = Background()
        return self._background

    def fresh(self, substrate_class: str) -> float:
        """Seconds for which what was seen holds: a tenth of the class's W."""
        return self._windows[substrate_class] / 10_000

    def observer(self, substrate_class: str) -> Observer | None:
        """Who looks at a class beyond the root, or in place of our own observer; None where nobody does."""
        return self._observers.get(substrate_class)

    def answers(self, substrate_class: str) -> Memory[tuple[Finding, int]]:
        """The findings on questions of this class, each with the bytes that it took, by the whole question."""
        return self._answers[substrate_class]

    def denied(self, root: Root) -> Denied:
        """What is never looked at below a root."""
        return self._denied.of_root(root.path, self._vetted)

    def repository(self, root: Root, enclosure: Enclosure) -> Repository | None:
        """Git's repository at a root, with what is kept of it; None where it is none.

        Another one in its place, such as a clone made anew, is another repository.

        Raises:
            ObservationUnavailable: it leads out of the roots that the operator named.
        """
        git = Git.at(root.path)
        if git is not None:
            self._demand_enclosed(git, enclosure)
        state = None if git is None else _identity(git.directory)
        with self._lock:
            before, known = self._repositories.get(root.path, (None, None))
            if state is not None and before == state:
                return known
            made = None if git is None else Repository(git, self.denied(root))
            self._repositories[root.path] = state, made
        if known is not None:
            known.close()
        return made

    def _demand_enclosed(self, git: Git, enclosure: Enclosure) -> None:
        """Follows the ways out of a repository, unless nothing in it was written since."""
        key = (git.directory, enclosure)
        known = self._enclosed.get(key)
        if known is not None and known == kept_of(git):
            return
        self._enclosed.pop(key, None)
        kept = enclosure.demand(git)
        if kept is not None:
            self._enclosed[key] = kept

    def start(self) -> None:
        """Begins what takes its time: subscriptions. Without it they begin with the first look."""
        if self._sse is not None:
            self._sse.start()

    def close(self) -> None:
        """Ends every connection, subscription and process, but for the one that parses, which all instruments share and
        which ends with this process. Calling it again does nothing."""
        observers, self._observers = list(self._observers.values()), {}
        for observer in observers:
            try:
                observer.close()
            except Exception as error:  # noqa: BLE001 - one that does not end must not keep the others from ending
                log.error("an observer did not close", error=type(error).__name__)
        if self._background is not None:
            self._background.close()
        self.judges.close()
        self.parsed.close()
        with self._lock:
            repositories, self._repositories = list(self._repositories.values()), {}
        for _, repository in repositories:
            if repository is not None:
                repository.close()


def _identity(directory: str) -> object:
    """What tells one git directory from another at its place; of a file that leads to one, what is written there."""
    state = state_of(directory)
    return state if state is None or os.path.isfile(directory) else state[3:]


def _policy(settings: Settings) -> Policy:
    if settings.policy is None:
        return DEFAULT_POLICY
    try:
        return load_policy(Path(settings.policy).read_text("utf-8"), settings.policy)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the policy file cannot be read: {type(error).__name__}", path=settings.policy) from None
