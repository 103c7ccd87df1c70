"""substrate.mcp.brief: the result of a tool call of an MCP server that the operator lists [S §4].

The observation id is `sha256:` of the RFC 8785 form of the result's `content` and, if it has one,
`structuredContent`, as the server sent them but for `_meta`: what is left is the same over either transport.

What is looked at is the text of the result and the values of its structured content. A server that repeats what it is
asked would bear anything out: so what the locator says (server, tool, arguments) is a place, never a term. Where an
assertion's literals are all places, its words are looked for.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from ...codecs.canonical import CanonicalError, canonical_json
from ...codecs.records import Locator
from ...codecs.unicode_text import nfkc
from ...streams.moments import negates
from ...streams.terms import Content, Presence, Term, Terms, presence, terms_of
from ...streams.writing import expression
from .access import McpServer
from .ask import Ask, CannotLook, Finding, judge
from .background import Background, TooSlow
from .keeping import Kept, Memory, Rest

if TYPE_CHECKING:
    from mcp_types import CallToolResult

    from .mcp_session import Session

MAX_ARGUMENTS: Final = 16_384
"""Octets of a locator's arguments."""
MAX_DEPTH: Final = 32
PART: Final = 0.95
"""Of a look's time, what a call gets: so that its end is the call's own, which knows what to leave alone."""
_MISSING: Final = re.compile(r"\b(?:not found|(?:does|do|did) not exist|doesn['’]t exist|no such|no longer exists)\b")
"""How an error says that something does not exist; a closed list, case-folded, for servers without an error code."""


class Brief(NamedTuple):
    """What a call gave: an id and a text; or None twice, where the server says that there is no such resource."""

    seen: str | None
    content: Content | None


NOTHING: Final = Brief(None, None)


class McpBrief:
    """The observer of all listed servers.

    Args:
        servers: as the operator lists them, by name.
        seconds: for which a result holds: a tenth of W.
        octets: what a server may send for one call.
        connect: seconds to connect.
        background: where the sessions live.
        clock: the present time in Unix milliseconds.
    """

    def __init__(
        self,
        servers: Mapping[str, McpServer],
        *,
        seconds: float,
        octets: int,
        connect: float,
        background: Background,
        clock: Callable[[], int],
    ) -> None:
        self._servers, self._octets, self._connect = servers, octets, connect
        self._background, self._clock = background, clock
        self._memory: Memory[Brief] = Memory(seconds)
        self._rest = Rest()
        self._sessions: dict[str, Session] = {}
        self._under_way: dict[str, asyncio.Task[Kept[Brief]]] = {}

    def admit(self, locator: Locator) -> Locator:
        """Raises:
        CannotLook: server or tool is not on the operator's list, or the arguments are none.
        """
        server, tool, arguments = (locator.get(name) for name in ("server", "tool", "arguments"))
        if not isinstance(server, str) or server not in self._servers:
            raise CannotLook("the server is not on the operator's list" if server else "the locator names no server")
        if not isinstance(tool, str) or tool not in self._servers[server].tools:
            raise CannotLook("the tool is not on the operator's list" if tool else "the locator names no tool")
        if arguments is None:
            return {"server": server, "tool": tool}
        if not isinstance(arguments, dict) or len(msgspec.json.encode(arguments)) > MAX_ARGUMENTS:
            raise CannotLook(f"the locator's arguments are no object of at most {MAX_ARGUMENTS} octets")
        return {"server": server, "tool": tool, "arguments": arguments}

    def observe(self, ask: Ask) -> Finding:
        """Calls the tool, or recalls what it gave not long ago, and looks for the assertion's terms.

        Raises:
            CannotLook: the server cannot be asked, fails, or sends more than it may.
        """
        locator = self.admit(ask.locator)
        try:
            place = canonical_json(locator).decode()
        except CanonicalError:
            raise CannotLook("the arguments have no canonical form") from None
        kept = self._memory.recall(place)
        if kept is None:
            self._rest.check(locator["server"])
            self._rest.check(place)
            kept = self._background.run(lambda: self._shared(place, locator, PART * ask.budget.remaining()), ask.budget)
        return judge_brief(ask, kept.value, locator, kept.at)

    def close(self) -> None:
        """Ends every session, and so every server's process."""
        sessions, self._sessions = list(self._sessions.values()), {}
        if sessions:
            self._background.finish(lambda: _close(sessions))

    async def _shared(self, place: str, locator: Locator, seconds: float) -> Kept[Brief]:
        """One call for all who ask the same at the same time."""
        task = self._under_way.get(place)
        if task is None:
            task = self._under_way[place] = asyncio.create_task(self._call(place, locator, seconds))
            task.add_done_callback(lambda done: self._done(place, done))
        return await asyncio.shield(task)

    def _done(self, place: str, task: asyncio.Task[Kept[Brief]]) -> None:
        self._under_way.pop(place, None)
        if not task.cancelled():
            task.exception()  # who asked may have stopped waiting for it

    async def _call(self, place: str, locator: Locator, seconds: float) -> Kept[Brief]:
        from .mcp_session import CallFailed, Session, SessionFailed  # the official client takes 0.7 s to import

        name = locator["server"]
        began, at = time.monotonic(), self._clock()
        session = self._sessions.get(name)
        if session is None:
            session = self._sessions[name] = Session(self._servers[name], self._octets, self._connect)
        try:
            async with asyncio.timeout(seconds):
                result = await session.call(locator["tool"], locator.get("arguments") or {})
                # Not on the loop: the canonical form of 16 MB of small values takes seconds, and others wait there.
                brief = await asyncio.to_thread(brief_of, result, locator)
        except TimeoutError:
            # Arguments are strangers': one call that is slow must not keep others from the server.
            slow = "the server did not answer in time"
            self._rest.failed(place if session.agreed else name, slow)
            raise TooSlow(slow) from None
        except SessionFailed as error:
            self._rest.failed(place if session.agreed else name, str(error))
            raise CannotLook(str(error)) from None
        except (CallFailed, CannotLook) as error:
            self._rest.worked(name)
            if not (isinstance(error, CallFailed) and error.missing):
                self._rest.failed(place, str(error))
                raise CannotLook(str(error)) from None
            brief = NOTHING
        self._rest.worked(name)
        self._rest.worked(place)
        kept = Kept(at, brief)
        self._memory.keep(place, began, 1000 + 2 * len(brief.content.text) if brief.content else 1000, kept)
        return kept


async def _close(sessions: list[Session]) -> None:
    await asyncio.gather(*(session.close() for session in sessions), return_exceptions=True)


def brief_of(result: CallToolResult, locator: Locator) -> Brief:
    """Id and text of a result.

    Raises:
        CannotLook: it is an error of the server's own, or has no canonical form.
    """
    form = result.model_dump(mode="json", by_alias=True, exclude_none=True)
    kept = {name: _bare(form[name]) for name in ("content", "structuredContent") if name in form}
    texts = list(_texts(kept.get("content", [])))
    if result.is_error:
        if says_missing("\n".join(texts)[:10_000], locator):
            return NOTHING
        raise CannotLook("the tool answers with an error")
    try:
        digest = hashlib.sha256(canonical_json(kept)).hexdigest()
    except CanonicalError:
        raise CannotLook("the result has no canonical form") from None
    lines = [f"{name}: {value}" if name else value for name, value in _leaves(kept.get("structuredContent"))]
    return Brief(f"sha256:{digest}", Content("\n".join([*texts, *lines])))


def _bare(value: Any, depth: int = 0) -> Any:
    """A value without the members `_meta` of the protocol: what differs from call to call."""
    if isinstance(value, list):
        return [_bare(item, depth + 1) for item in value] if depth < 2 else value
    if isinstance(value, dict) and depth < 3:
        return {name: _bare(item, depth + 1) for name, item in value.items() if name != "_meta"}
    return value


def _texts(content: list[Any]) -> Iterator[str]:
    """The text of a result's blocks: plain, of an embedded resource, of a link to one."""
    for block in content:
        for where in (block, block.get("resource")) if isinstance(block, dict) else ():
            if isinstance(where, dict):
                found = (where.get(name) for name in ("text", "title", "name", "uri"))
                yield from (text for text in found if isinstance(text, str))


def _leaves(value: Any, name: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """Every value that is no container, with the name of the member it stands under, as JSON writes it."""
    if depth > MAX_DEPTH:
        return
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, str(key), depth + 1)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item, name, depth + 1)
    elif isinstance(value, str):
        yield name, value
    elif value is not None:
        yield name, msgspec.json.encode(value).decode()


# ---------------------------------------------------------------- judging


def judge_brief(ask: Ask, brief: Brief, locator: Locator, at: int) -> Finding:
    """The verdict on a result.

    `contradicts` for a resource that is not there, in two cases only: the error -32002, or a result that says it is an
    error and has a line that both says so (`_MISSING`) and names a value of the arguments. Any other error is the
    server's own trouble.
    """
    asked = Content("\n".join(value for _, value in _leaves(locator.get("arguments"))))
    if brief.content is None:
        return _judge_missing(ask, locator, at)
    terms = own_terms(ask, Content(f"{asked.text} {locator['server']} {locator['tool']}"))
    ask = replace(ask, terms=Terms(terms))
    return replace(judge(ask, presence(terms, brief.content), brief.seen), at=at)


def own_terms(ask: Ask, asked: Content) -> tuple[Term, ...]:
    """The assertion's terms without what the locator says: the words of its text where nothing else is left."""
    kept = tuple(term for term in ask.terms.terms if not asked.holds(term))
    if kept or all(term.kind == "word" for term in ask.terms.terms):
        return kept
    text = nfkc(ask.text)
    for term in ask.terms.terms:
        text = expression(term.kind, term.text).sub(" ", text)
    return tuple(term for term in terms_of(text, "", {}).terms if not asked.holds(term))


def says_missing(error: str, locator: Locator) -> bool:
    """Whether a line of an error says that what the arguments name does not exist."""
    values = [value for _, value in _leaves(locator.get("arguments")) if value.strip()]
    for line in error.splitlines():
        if _MISSING.search(line.casefold()):
            content = Content(line)
            if any(content.holds(Term("quote", " ".join(nfkc(value).split()))) for value in values):
                return True
    return False


def _judge_missing(ask: Ask, locator: Locator, at: int) -> Finding:
    """As for a file that is not there: it bears out only a denial that names the resource itself."""
    held = Presence((), tuple(term.text for term in ask.terms.terms))
    reason = "the server says that there is no such resource"
    if not ask.denies:
        return Finding("absent" if negates(ask.text) else "contradicts", None, held, reason, at)
    said = Content(ask.text)
    values = [" ".join(nfkc(value).split()) for _, value in _leaves(locator.get("arguments"))]
    named = any(value and said.holds(Term("quote", value)) for value in values)
    return Finding("corroborates" if named else "absent", None, held, reason, at)
