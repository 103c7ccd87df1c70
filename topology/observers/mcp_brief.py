"""substrate.mcp.brief: what a server of the Model Context Protocol says [S §4]."""

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
from ...codecs.json_text import decode_any, is_array, is_object
from ...codecs.records import Locator, LookedAt
from ...codecs.unicode_text import nfkc
from ...streams.judging.checks import Check, Held, Source, Unknown, Value, opposite
from ...streams.judging.documents import verify_json_value
from ...streams.judging.terms import Content, Term, expression, presence, terms_of
from ...streams.judging.verify import BARE, verify_content
from .ask import OTHER, UNKNOWN, Ask, Finding, ObservationUnavailable, answer, decides
from .background import Background, TooSlow
from .file_contents import APART
from .kept_looks import Kept, Memory, Rest
from .operator_list import McpServer

if TYPE_CHECKING:
    from mcp_types import CallToolResult

    from .mcp_session import Session

MAX_DEPTH: Final = 32
_MISSING: Final = re.compile(r"\b(?:not found|(?:does|do|did) not exist|doesn['’]t exist|no such|no longer exists)\b")
"""How an error says that something does not exist; a closed list, case-folded, for servers without an error code."""
_WORD: Final = re.compile(r"\w+")
_NO_ECHO: Final = Held(None, "not-found")


class Brief(NamedTuple):
    """What a call gave.

    Attributes:
        seen: the observation id; None where the server says that there is no such resource.
        text: of its blocks; of its structured content where it has no text.
        value: its structured content, or the value of the one text that is JSON itself; None for none.
    """

    seen: str | None
    text: str
    value: Any

    @property
    def size(self) -> int:
        """About how many bytes keeping it takes."""
        return 1000 + 6 * len(self.text)


NOTHING: Final = Brief(None, "", None)


def brief_of(result: CallToolResult, locator: Locator) -> Brief:
    """Id, text and value of a result.

    Raises:
        ObservationUnavailable: it is an error of the server's own, or has no canonical form.
    """
    form = result.model_dump(mode="json", by_alias=True, exclude_none=True)
    kept = {name: _bare(form[name]) for name in ("content", "structuredContent") if name in form}
    texts = list(_texts(kept.get("content", [])))
    if result.is_error:
        if says_missing("\n".join(texts)[:10_000], locator):
            return NOTHING
        raise ObservationUnavailable("the tool answers with an error")
    try:
        digest = hashlib.sha256(canonical_json(with_digits(kept))).hexdigest()
    except CanonicalError:
        raise ObservationUnavailable("the result has no canonical form") from None
    value = kept.get("structuredContent")
    if value is None:
        value = _json_in(texts)
    lines = [] if texts else [f"{name}: {leaf}" if name else leaf for name, leaf in _leaves(value)]
    return Brief(f"sha256:{digest}", APART.join(texts or ["\n".join(lines)]), value)


def with_digits(value: Any) -> Any:
    """A JSON value whose integers beyond 2^53 - 1 stand there as texts of their digits: RFC 8785, appendix D."""
    if is_object(value):
        return {name: with_digits(item) for name, item in value.items()}
    if is_array(value):
        return [with_digits(item) for item in value]
    return str(value) if isinstance(value, int) and abs(value) >= 1 << 53 else value


def _bare(value: Any, depth: int = 0) -> Any:
    """A value without the members `_meta` of the protocol: what differs from call to call."""
    if is_array(value):
        return [_bare(item, depth + 1) for item in value] if depth < 2 else value
    if is_object(value) and depth < 3:
        return {name: _bare(item, depth + 1) for name, item in value.items() if name != "_meta"}
    return value


def _texts(content: list[Any]) -> Iterator[str]:
    """The text of a result's blocks: plain, of an embedded resource, of a link to one."""
    for block in content:
        for where in (block, block.get("resource")) if is_object(block) else ():
            if is_object(where):
                found = (where.get(name) for name in ("text", "title", "name", "uri"))
                yield from (text for text in found if isinstance(text, str))


def _json_in(texts: list[str]) -> Any:
    """The value of the one text that is JSON; None where there are none or several."""
    values: list[Any] = []
    for text in texts:
        try:
            value = decode_any(text.encode("utf-8", "replace"))
        except (msgspec.DecodeError, RecursionError):
            continue
        if isinstance(value, dict | list):
            values.append(value)
    return values[0] if len(values) == 1 else None


def _leaves(value: Any) -> Iterator[tuple[str, str]]:
    """Every value that is no container, with the name of the member it stands under, as JSON writes it."""
    for name, leaf in _nodes(value):
        if leaf is not None and not isinstance(leaf, dict | list):
            yield name, leaf if isinstance(leaf, str) else msgspec.json.encode(leaf).decode()


def says_missing(error: str, locator: Locator) -> bool:
    """Whether a line of an error says that what the arguments name does not exist."""
    values = [value for _, value in _leaves(locator.get("arguments")) if value.strip()]
    for line in error.splitlines():
        if _MISSING.search(line.casefold()):
            content = Content(line)
            if any(content.holds(Term("quote", " ".join(nfkc(value).split()))) for value in values):
                return True
    return False


# ---------------------------------------------------------------- judging


def judge_brief(ask: Ask, brief: Brief, locator: Locator, at: int, owner: str | None = None) -> Finding:
    """The finding on a result; of a resource that is not there nothing is decided. It names the state's owner."""
    asked = Asked.of(locator)
    helds: list[Held] = []
    for check in ask.question.checks:
        ask.budget.remaining()
        helds.append(_held(check, brief, asked))
    words = None
    if ask.question.is_sentence and brief.seen is not None:
        words = presence(own_terms(ask, Content(asked.text)), brief.text)
    region = brief.text if ask.wants_region and brief.seen is not None else None
    return answer(
        ask,
        helds,
        brief.seen,
        words=words,
        missing=brief.seen is None,
        where=None if owner is None else lambda _: LookedAt(owner=owner),
        at=at,
        region=region,
    )


def _held(check: Check | Unknown, brief: Brief, asked: Asked) -> Held:
    if isinstance(check, Unknown):
        return UNKNOWN
    if not decides("substrate.mcp.brief", check) or check.path is not None:
        return OTHER
    if brief.seen is None:
        return Held(None, "path-missing")
    if check.name in ("contains", "count"):
        quote = check.text("quote" if check.name == "contains" else "pattern")
        return _NO_ECHO if asked.holds(quote) else verify_content(check, Source("", brief.text), BARE)
    held = asked.independent(check, brief.value)
    return opposite(held) if check.negated else held


def own_terms(ask: Ask, asked: Content) -> tuple[Term, ...]:
    """The assertion's words without what the locator says: those of its text where nothing else is left."""
    kept = tuple(term for term in ask.terms.terms if not asked.holds(term))
    if kept or all(term.kind == "word" for term in ask.terms.terms):
        return kept
    text = nfkc(ask.text)
    for term in ask.terms.terms:
        text = expression(term.kind, term.text).sub(" ", text)
    return tuple(term for term in terms_of(text, "", {}).terms if not asked.holds(term))


class Asked:
    """What a server was asked, and so may repeat.

    Attributes:
        text: the server's and the tool's name, and the arguments with the names of their members.
    """

    def __init__(self, text: str, leaves: list[tuple[str, Any]]) -> None:
        self.text = text
        self._flat = " ".join(nfkc(text).casefold().split())
        self._words = frozenset(_WORD.findall(self._flat))
        self._values = {_form(value) for _, value in leaves if not _is_constant(value)}
        self._constants = {(name.casefold(), _form(value)) for name, value in leaves if _is_constant(value)}

    @classmethod
    def of(cls, locator: Locator) -> Asked:
        """Of a locator that was admitted."""
        nodes = list(_nodes(locator.get("arguments") or {}))
        leaves = [(name, value) for name, value in nodes if not isinstance(value, dict | list)]
        names = [str(name) for _, value in nodes if is_object(value) for name in value]
        texts = [str(locator["server"]), str(locator["tool"]), *names, *(_form(value) for _, value in leaves)]
        return cls("\n".join(texts), leaves)

    def holds(self, quote: str) -> bool:
        """Whether a quote says nothing that was not asked: it stands there, or each of its words does."""
        flat = " ".join(nfkc(quote).casefold().split())
        return flat in self._flat or self._words.issuperset(_WORD.findall(flat))

    def repeats(self, name: str, value: Any) -> bool:
        """Whether a member only repeats an argument; true, false and null do where the argument has the same name."""
        if _is_constant(value):
            return (name.casefold(), _form(value)) in self._constants
        return _form(value) in self._values

    def independent(self, check: Check, value: Any) -> Held:
        """What a check on a value comes to where it does not depend on what was asked.

        It is decided on the value as it came, and as it would be if each member that repeats an argument were another,
        or were what the check wants: where that makes a difference, the emitter chose the answer.
        """
        plain = replace(check, negated=False)
        held = verify_json_value(plain, value)
        if held.holds is None:
            return held
        for other in ("\0", _json_of(check.value("value"))):
            if verify_json_value(plain, self._with(value, other)).holds is not held.holds:
                return _NO_ECHO
        return held

    def _with(self, value: Any, other: Any, name: str = "", depth: int = 0) -> Any:
        """The value with another one in place of each that repeats an argument."""
        if depth > MAX_DEPTH:
            return other
        if is_object(value):
            return {key: self._with(item, other, str(key), depth + 1) for key, item in value.items()}
        if is_array(value):
            return [self._with(item, other, name, depth + 1) for item in value]
        return other if self.repeats(name, value) else value


def _form(value: Any) -> str:
    """A value as text in which its repetition is recognised: letter case, white space and quotes do not matter."""
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return " ".join(nfkc(text).casefold().split())


def _is_constant(value: Any) -> bool:
    return value is None or isinstance(value, bool)


def _json_of(value: Value) -> Any:
    """The value of a check as a decoder of JSON gives it."""
    if isinstance(value, tuple):
        return [_json_of(item) for item in value]
    return value if value is None or isinstance(value, bool | int | str) else float(value)


def _nodes(value: Any, name: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Every value in a value, containers behind what they hold, each with the name of its member."""
    if depth > MAX_DEPTH:
        return
    if is_object(value):
        for key, item in value.items():
            yield from _nodes(item, str(key), depth + 1)
    elif is_array(value):
        for item in value:
            yield from _nodes(item, name, depth + 1)
    yield name, value


MAX_ARGUMENTS: Final = 16_384
"""Bytes of a locator's arguments."""
PART: Final = 0.95
"""Of a look's time, what a call gets: so that its end is the call's own, which knows what to leave alone."""


class McpBrief:
    """The observer of all listed servers.

    Args:
        servers: as the operator lists them, by name.
        seconds: for which a result holds: a tenth of W.
        size: bytes that a server may send for one call.
        connect: seconds to connect.
        background: where the sessions live.
        clock: the present time in Unix milliseconds.
    """

    def __init__(
        self,
        servers: Mapping[str, McpServer],
        background: Background,
        *,
        seconds: float,
        size: int,
        connect: float,
        clock: Callable[[], int],
    ) -> None:
        # The SDK takes a second to load, on a busy machine several: not out of the first look's time.
        from . import mcp_session as mcp_session

        self._servers, self._size, self._connect = servers, size, connect
        self._background, self._clock = background, clock
        self._memory: Memory[Brief] = Memory(seconds)
        self._rest = Rest()
        self._sessions: dict[str, Session] = {}
        self._under_way: dict[str, asyncio.Task[Kept[Brief]]] = {}

    def admit(self, locator: Locator) -> Locator:
        """Raises:
        ObservationUnavailable: server, tool or an argument is not on the operator's list.
        """
        server, tool, arguments = (locator.get(name) for name in ("server", "tool", "arguments"))
        if not isinstance(server, str) or server not in self._servers:
            raise ObservationUnavailable(
                "the server is not on the operator's list" if server else "the locator names no server"
            )
        if not isinstance(tool, str) or tool not in self._servers[server].tools:
            raise ObservationUnavailable(
                "the tool is not on the operator's list" if tool else "the locator names no tool"
            )
        if arguments is None:
            return {"server": server, "tool": tool}
        if not is_object(arguments) or len(msgspec.json.encode(arguments)) > MAX_ARGUMENTS:
            raise ObservationUnavailable(f"the locator's arguments are no object of at most {MAX_ARGUMENTS} bytes")
        why = self._servers[server].tools[tool].arguments.why_not(arguments)
        if why is not None:
            raise ObservationUnavailable(why)
        return {"server": server, "tool": tool, "arguments": arguments}

    def observe(self, ask: Ask) -> Finding:
        """Calls the tool, or recalls what it gave not long ago, and holds the checks against it.

        Raises:
            ObservationUnavailable: the server cannot be asked, fails, or sends more than it may.
        """
        locator = self.admit(ask.locator)
        try:
            place = canonical_json(with_digits(locator)).decode()
        except CanonicalError:
            raise ObservationUnavailable("the arguments have no canonical form") from None
        kept = self._memory.recall(place)
        if kept is None:
            self._rest.check(locator["server"])
            self._rest.check(place)
            kept = self._background.run(lambda: self._shared(place, locator, PART * ask.budget.remaining()), ask.budget)
        return judge_brief(ask, kept.value, locator, kept.at, self._servers[locator["server"]].owner)

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
        from .mcp_session import CallFailed, Session, SessionFailed

        name = locator["server"]
        began, at = time.monotonic(), self._clock()
        session = self._sessions.get(name)
        if session is None:
            session = self._sessions[name] = Session(self._servers[name], self._size, self._connect)
        try:
            async with asyncio.timeout(seconds):
                tool = locator["tool"]
                vouched = self._servers[name].tools[tool].read_only
                result = await session.call(tool, locator.get("arguments") or {}, vouched=vouched)
                # Not on the loop: the canonical form of 16 MB of small values takes seconds, and others wait there.
                brief = await asyncio.to_thread(brief_of, result, locator)
        except TimeoutError:
            # Arguments are strangers': one call that is slow must not keep others from the server.
            slow = "the server did not answer in time"
            self._rest.failed(place if session.agreed else name, slow)
            raise TooSlow(slow) from None
        except SessionFailed as error:
            self._rest.failed(place if session.agreed else name, str(error))
            raise ObservationUnavailable(str(error)) from None
        except (CallFailed, ObservationUnavailable) as error:
            self._rest.worked(name)
            if not (isinstance(error, CallFailed) and error.missing):
                self._rest.failed(place, str(error))
                raise ObservationUnavailable(str(error)) from None
            brief = NOTHING
        self._rest.worked(name)
        self._rest.worked(place)
        kept = Kept(at, brief)
        self._memory.keep(place, began, brief.size, kept)
        return kept


async def _close(sessions: list[Session]) -> None:
    await asyncio.gather(*(session.close() for session in sessions), return_exceptions=True)
