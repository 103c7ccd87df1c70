"""Vets answers while a program waits: within a time limit, and with refuted sentences withheld from a reply."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import closing
from pathlib import Path
from time import monotonic
from typing import Any, Final, Literal, NamedTuple, cast, get_args

from ...codecs.errors import SluiceError, UsageError
from ...record import ToolCall, ToolMap
from ...streams.policy.policy import Policy
from ..observers.observer_registry import ObserverRegistry
from ..observers.roots import Roots
from ..settings.settings import Settings
from .at_hand import AtHand
from .sources import MAX_ANSWER, folder_of, of_answer, of_events, roots_around
from .vetted_assertions import CONTRADICTED, Verdict
from .vetting import VETTING_POLICY, Vetter

BUDGET_SECONDS: Final = 8.0
LOOKING: Final = 0.8
"""Which part of the budget looks may take: what was looked at is told, and what is late is late alone."""
AT_ONCE: Final = 2
"""Answers that are looked at at the same time."""
MOST_WAITING: Final = 200
"""Answers that are being vetted, or wait for it."""
LATE: Final = "it could not be vetted in time"
FAILED: Final = "it could not be vetted"

Calls = Callable[[], Sequence[ToolCall]]

_log = logging.getLogger("sluice.vet")


class Vetted(NamedTuple):
    """What came of an answer.

    Attributes:
        verdicts: about its statements, in their order.
        failure: why there are none, in half a sentence for whoever gets the answer; empty where it was vetted.
    """

    verdicts: Sequence[Verdict]
    failure: str = ""


class AnswerVetter:
    """Vets answers against the tracked files of a checkout. Any thread and any event loop may call.

    Args:
        root: the checkout; that of the current directory where it is left out.
        policy: decides.
        tools: which call looked where; the defaults where it is left out.
        budget: seconds for one answer.

    Raises:
        UsageError: the budget is none.
        UnreachableError: the root is not there.
    """

    def __init__(
        self,
        root: str | Path | None = None,
        policy: Policy = VETTING_POLICY,
        tools: ToolMap | None = None,
        *,
        budget: float = BUDGET_SECONDS,
    ) -> None:
        if not 0 < budget <= 300:
            raise UsageError("the budget is none", expected="more than 0 and at most 300 seconds", got=str(budget))
        self.budget = budget
        self._settings = Settings(root=roots_around(Path.cwd()) if root is None else str(root))
        self._roots = Roots.of(self._settings.root)
        self._roots.check()
        self._policy, self._tools = policy, ToolMap.default() if tools is None else tools
        self._places = threading.BoundedSemaphore(AT_ONCE)
        self._lock, self._waiting = threading.Lock(), 0

    def vet(self, text: str, calls: Calls = tuple) -> Vetted:
        """Vets an answer; takes as long as the budget at most. Never raises for what it says.

        Args:
            text: Markdown.
            calls: gives those that were made for it; asked in the thread that vets. What the text names is looked up
                whatever they looked at.
        """
        begun = self._begin(text, calls)
        if isinstance(begun, Vetted):
            return begun
        future, over = begun
        try:
            return future.result(self.budget)
        except TimeoutError:
            return self._late(over)

    async def avet(self, text: str, calls: Calls = tuple) -> Vetted:
        """As `vet`; other tasks run meanwhile."""
        begun = self._begin(text, calls)
        if isinstance(begun, Vetted):
            return begun
        future, over = begun
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), self.budget)
        except TimeoutError:
            return self._late(over)
        except asyncio.CancelledError:
            over.set()
            raise

    def _late(self, over: threading.Event) -> Vetted:
        over.set()
        _log.warning("sluice: an answer was not vetted within %g s", self.budget)
        return Vetted((), LATE)

    def _begin(self, text: str, calls: Calls) -> tuple[Future[Vetted], threading.Event] | Vetted:
        with self._lock:
            if len(text) > MAX_ANSWER or self._waiting >= MOST_WAITING:
                _log.warning("sluice: an answer was not vetted: it is too long, or too many wait")
                return Vetted((), FAILED)
            self._waiting += 1
        future: Future[Vetted] = Future()
        over, until = threading.Event(), monotonic() + self.budget
        looking = until - (1 - LOOKING) * self.budget

        def work() -> None:
            found = Vetted((), LATE)
            try:
                if self._places.acquire(timeout=max(0.0, until - monotonic())):
                    try:
                        found = Vetted((), LATE) if over.is_set() else self._vetted(text, calls, over, looking)
                    finally:
                        self._places.release()
            except SluiceError as error:
                _log.warning("sluice: an answer was not vetted: %s", error)
                found = Vetted((), FAILED)
            except Exception as error:  # noqa: BLE001 - a defect of ours must not break the program that waits
                _log.warning("sluice: an answer was not vetted: %s", type(error).__name__)
                found = Vetted((), FAILED)
            finally:
                with self._lock:
                    self._waiting -= 1
            if future.set_running_or_notify_cancel():
                future.set_result(found)

        # A daemon's: a look that hangs ends with the process.
        threading.Thread(target=work, name="sluice-vet", daemon=True).start()
        return future, over

    def _vetted(self, text: str, calls: Calls, over: threading.Event, until: float) -> Vetted:
        folder = os.path.realpath(folder_of(self._roots))
        with closing(ObserverRegistry(self._settings, on_disk=True)) as instruments:
            made, at_hand = calls(), AtHand(folder, self._settings, instruments, self._policy, until)
            if any(self._tools.looks(call, folder) for call in made):
                source = of_events(
                    made, folder, conversation="answer", message=text, tools=self._tools, at_hand=at_hand
                )
            else:
                source = of_answer(text, at_hand)
            for sentence in source.left_out:
                _log.info("sluice: %s", sentence)
            vetter = Vetter(self._settings, self._roots, instruments, self._policy, stopped=over.is_set, until=until)
            verdicts = [verdict for one in source.emissions for verdict in vetter.vet(one)]
            unseen = sum(one.not_looked_at for one in verdicts)
            if unseen:
                _log.warning("sluice: observers could not look at %d of %d statements", unseen, len(verdicts))
            return Vetted(verdicts)


_BESIDE: Final = (
    "reasoning_content", "reasoning", "reasoning_items", "thinking_blocks", "annotations", "audio", "refusal", "images",
    "provider_specific_fields",
)  # fmt: skip
"""Members of a chat message that may repeat its text."""
_THOUGHTS: Final = ("reasoning", "thinking", "redacted_thinking")
_TEXTS: Final = ("text", "output_text")
_KNOWN: Final = ("choices", "output", "content", "data", "results")
"""Members of responses; the last two are of embeddings, images and rankings, which say nothing."""


class Reply(NamedTuple):
    """One answer.

    Attributes:
        text: its text.
        write: puts another text into its place; with `alone`, takes everything away that may repeat it.
    """

    text: str
    write: Callable[[str, bool], None]


def replies_of(response: object) -> list[Reply]:
    """The answers of a response that have a text."""
    choices = _list(_get(response, "choices"))
    if choices:
        found = [_of_choice(choice) for choice in choices]
    elif _get(response, "output") is not None:
        found = [_of_items(response)]
    else:
        found = [_of_blocks(response)]
    return [one for one in found if one is not None and one.text.strip()]


def is_unread(response: object) -> bool:
    """Whether a response has a form that is not read here: none of its members is known, or a block that is neither an
    answer nor a thought holds a text."""
    known = [name for name in _KNOWN if _get(response, name) is not None]
    holders = [_get(choice, "message") for choice in _list(_get(response, "choices"))]
    holders += [one for one in _list(_get(response, "output")) if _get(one, "type") == "message"]
    blocks = [block for one in (response, *holders) for block in _list(_get(one, "content"))]
    return not known or any(
        _text(block).strip() and _get(block, "type") not in (*_TEXTS, *_THOUGHTS) for block in blocks
    )


def _of_choice(choice: object) -> Reply | None:
    message = _get(choice, "message")
    holder, name = (choice, "text") if isinstance(_get(choice, "text"), str) else (message, "content")
    content = _get(holder, name)
    if isinstance(content, str):
        text = content
    else:
        blocks = [one for one in _list(content) if _get(one, "type") in _TEXTS]
        text = "".join(_text(one) for one in blocks)
        if not blocks:
            return None

    def write(new: str, alone: bool) -> None:
        _set(holder, name, new)
        if alone:
            for other in _BESIDE:
                _clear(message, other)
            _clear(choice, "logprobs")
            _clear(choice, "provider_specific_fields")

    return Reply(text, write)


def _of_items(response: object) -> Reply | None:
    """Of the Responses API: messages with blocks of text, beside calls and reasoning."""
    several = _list(_get(response, "output"))
    messages = [one for one in several if _get(one, "type") == "message"]
    blocks = [block for one in messages for block in _list(_get(one, "content")) if _get(block, "type") in _TEXTS]
    if not blocks:
        return None

    def write(new: str, alone: bool) -> None:
        _put(blocks, new, alone)
        if alone:
            first = next(one for one in messages if blocks[0] in _list(_get(one, "content")))
            _set(first, "content", [blocks[0]])
            kept = [one for one in several if one is first or _get(one, "type") not in ("message", *_THOUGHTS)]
            _set(response, "output", kept)

    return Reply("".join(map(_text, blocks)), write)


def _of_blocks(response: object) -> Reply | None:
    """Of the Messages API: blocks of text, beside calls and thoughts."""
    several = _list(_get(response, "content"))
    blocks = [one for one in several if _get(one, "type") in _TEXTS]
    if not blocks:
        return None

    def write(new: str, alone: bool) -> None:
        _put(blocks, new, alone)
        if alone:
            gone = (*_TEXTS, *_THOUGHTS)
            kept = [one for one in several if one is blocks[0] or _get(one, "type") not in gone]
            _set(response, "content", kept)

    return Reply("".join(map(_text, blocks)), write)


def _put(blocks: Sequence[object], new: str, alone: bool) -> None:
    """The new text into the first block where it stands alone; else what it adds into the last one."""
    if alone:
        _set(blocks[0], "text", new)
        for name in ("annotations", "logprobs", "citations"):
            if _get(blocks[0], name):
                _set(blocks[0], name, [])
        return
    before = "".join(map(_text, blocks))
    if new.startswith(before):
        _set(blocks[-1], "text", _text(blocks[-1]) + new[len(before) :])
        return
    _set(blocks[0], "text", new)
    for one in blocks[1:]:
        _set(one, "text", "")


def _text(block: object) -> str:
    found = _get(block, "text")
    return found if isinstance(found, str) else ""


def _get(holder: object, name: str) -> Any:
    if isinstance(holder, dict):
        return cast("dict[str, Any]", holder).get(name)
    return getattr(holder, name, None)


def _set(holder: object, name: str, value: object) -> None:
    if isinstance(holder, dict):
        cast("dict[str, Any]", holder)[name] = value
    else:
        setattr(holder, name, value)


def _clear(holder: object, name: str) -> None:
    if holder is not None and _get(holder, name) is not None:
        _set(holder, name, None)


def _list(value: object) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


Action = Literal["pass", "mark", "withhold"]
MOST_NUMBERS: Final = 10
"""Statements that a sentence names by their numbers."""
_ORDER: Final = get_args(Action)
_FORGED: Final = re.compile(r"([\[［【〔⁅]\W{0,20})(s\W{0,3}l\W{0,3}u\W{0,3}i\W{0,3}c\W{0,3}e)\b", re.IGNORECASE)


class Rules(NamedTuple):
    """What is done with answers.

    Attributes:
        contradicted: with one that observers contradict in a statement.
        unsupported: with one in which nothing bears out a statement.
        late: with one that was not vetted, in time or at all, or in which a statement could not be looked at.
    """

    contradicted: Action = "withhold"
    unsupported: Action = "pass"
    late: Action = "pass"


class Outcome(NamedTuple):
    """What becomes of one answer.

    Attributes:
        action: what is done.
        sentence: what its reader sees; empty where it passes.
        statements: how many it has.
        contradicted: the numbers of those that observers contradict, from 1.
        unsupported: the numbers of those that nothing bears out.
        unseen: the numbers of those that no observer could look at.
        vetted: whether it was vetted at all.
    """

    action: Action
    sentence: str
    statements: int
    contradicted: Sequence[int]
    unsupported: Sequence[int]
    vetted: bool
    unseen: Sequence[int] = ()


def rules_of(contradicted: object, unsupported: object, late: object) -> Rules:
    """Rules of a configuration. UsageError: one is no action."""
    return Rules(_action("contradicted", contradicted), _action("unsupported", unsupported), _action("late", late))


def _action(name: str, value: object) -> Action:
    found = next((one for one in _ORDER if one == value), None)
    if found is None:
        raise UsageError(f"`{name}` is no action", expected="pass, mark or withhold", got=repr(value))
    return found


def outcome_of(vetted: Vetted, rules: Rules) -> Outcome:
    """What becomes of an answer: the strictest of what its statements ask for."""
    if vetted.failure:
        return Outcome(rules.late, _framed(rules.late, vetted.failure), 0, (), (), False)
    numbered = list(enumerate(vetted.verdicts, 1))
    wrong = [number for number, one in numbered if one.status == CONTRADICTED]
    unseen = [number for number, one in numbered if one.not_looked_at]
    idle = [number for number, one in numbered if one.unsupported and not one.not_looked_at]
    action: Action = "pass"
    findings: list[str] = []
    asks: list[tuple[Action, list[int], str]] = [
        (rules.contradicted, wrong, "observers contradict {}"),
        (rules.unsupported, idle, "nothing that was looked at bears out {}"),
        (rules.late, unseen, "observers could not look at {}"),
    ]
    for asked, numbers, words in asks:
        if numbers and asked != "pass":
            action = asked if _ORDER.index(asked) > _ORDER.index(action) else action
            findings.append(words.format(_numbers(numbers)))
    if findings:
        findings[-1] += f", of {len(numbered)} in this answer" if len(numbered) > 1 else ", the only one in this answer"
    return Outcome(action, _framed(action, ", and ".join(findings)), len(numbered), wrong, idle, True, unseen)


def marked(text: str, outcome: Outcome) -> str:
    """The text as its reader sees it."""
    if outcome.action == "withhold":
        return outcome.sentence
    text = disarmed(text)
    return f"{text}\n\n{outcome.sentence}" if outcome.action == "mark" else text


def disarmed(text: str) -> str:
    """The text without what looks like a sentence of ours."""
    return _FORGED.sub(r"\1not \2", text)


def _framed(action: Action, findings: str) -> str:
    if action == "pass":
        return ""
    return f"[sluice withheld this answer: {findings}.]" if action == "withhold" else f"[sluice: {findings}.]"


def _numbers(numbers: Sequence[int]) -> str:
    if len(numbers) == 1:
        return f"statement {numbers[0]}"
    if len(numbers) > MOST_NUMBERS:
        return f"{len(numbers)} statements"
    return f"statements {', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"
