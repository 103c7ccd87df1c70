"""The `Stop` hook of Claude Code: its JSON in, and out what the agent has to mend before it may stop.

    {"session_id": …, "transcript_path": …, "cwd": …, "stop_hook_active": false, "last_assistant_message": …}
    {"decision": "block", "reason": …}

The last message is vetted against the working tree, with the calls of the transcript, which may lag behind the message.
Whatever goes wrong lets the agent stop, with one sentence about why: a hook must not hold up anybody's work. The
reason repeats the agent's own words, names of checks, paths and lines; nothing of a file's text.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

import msgspec

from ...codecs.errors import SluiceError, UsageError
from ...record import Event, ToolCall
from ...record.transcripts import open_transcript
from ...streams.policy.policy import Policy
from ..observers.instruments import Instruments
from ..observers.roots import Roots
from ..observers.tracked import tracked
from ..settings.settings import Settings
from .sources import Source, folder_of, of_answer, of_events, roots_around
from .verdicts import CONTRADICTED, Verdict
from .vetting import VETTING_POLICY, Vetter
from .view import MOST_LINES, missing_line, one_line

BUDGET_SECONDS: Final = 8.0
MAX_INPUT: Final = 16_000_000
"""Bytes of the hook's JSON."""
MOST_LISTED: Final = 10
"""Statements in one reason."""
MAX_STATEMENT: Final = 400
"""Characters of a statement in a reason."""


class Asked(NamedTuple):
    """What the hook's JSON says, as far as it is used here.

    Attributes:
        message: the last one of the agent; None where the JSON has none.
        transcript: the path of the session's file.
        cwd: where the agent works.
        active: the agent goes on because of this hook already.
    """

    message: str | None
    transcript: str | None
    cwd: str
    active: bool


class Answer(NamedTuple):
    """What the hook answers.

    Attributes:
        document: the JSON for standard output; None where the agent may stop.
        sentence: for standard error; empty where there is nothing to say.
    """

    document: dict[str, str] | None = None
    sentence: str = ""


def asked_of(data: bytes) -> Asked | str:
    """The hook's JSON, or one sentence that says what is wrong with it.

    Args:
        data: of standard input.
    """
    if len(data) > MAX_INPUT:
        return f"the hook's input has more than {MAX_INPUT} bytes"
    try:
        value: Any = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return f"the hook's input is no JSON: {error}"
    if not isinstance(value, dict):
        return "the hook's input is no JSON object"
    members = cast("dict[str, Any]", value)
    message, transcript = _text(members, "last_assistant_message"), _text(members, "transcript_path")
    if message is None and transcript is None:
        return "the hook's input has neither last_assistant_message nor transcript_path"
    try:
        cwd = _text(members, "cwd") or os.getcwd()
    except OSError:
        return "the hook's input has no cwd, and the folder that it was called in is gone"
    return Asked(message, transcript, cwd, members.get("stop_hook_active") is True)


def _text(members: dict[str, Any], name: str) -> str | None:
    found = members.get(name)
    return found if isinstance(found, str) and found.strip() else None


def answer_to(
    data: bytes,
    settings: Settings | None = None,
    policy: Policy = VETTING_POLICY,
    *,
    budget: float = BUDGET_SECONDS,
    unsupported: bool = False,
) -> Answer:
    """What the hook answers to its JSON. Never raises for what the JSON, the transcript or the checkout hold.

    Args:
        data: of standard input.
        settings: with the root to look at; without them the git checkout that the agent works in.
        policy: decides.
        budget: seconds; over it the agent may stop.
        unsupported: whether statements that nothing bears out hold the agent up too.
    """
    asked = asked_of(data)
    if isinstance(asked, str):
        return Answer(None, asked)
    if asked.active:
        return Answer(None, "the agent was held up once in this turn already; it may stop")
    over, found = threading.Event(), _Found()

    def work() -> None:
        try:
            found.verdicts = _vetted(asked, settings, policy, over.is_set)
        except SluiceError as error:
            found.failure = str(error)
        except Exception as error:  # noqa: BLE001 - a defect of ours must not hold up the agent
            found.failure = f"the message could not be vetted: {type(error).__name__}"

    # A daemon's: a look that hangs ends with the process.
    thread = threading.Thread(target=work, name="sluice-hook", daemon=True)
    thread.start()
    thread.join(budget)
    if thread.is_alive():
        over.set()
        return Answer(None, f"the message was not vetted within {budget:g} s; the agent may stop")
    if found.failure:
        return Answer(None, found.failure)
    reason = reason_of(found.verdicts, unsupported)
    return Answer() if reason is None else Answer({"decision": "block", "reason": reason})


class _Found:
    """What the thread leaves."""

    def __init__(self) -> None:
        self.verdicts: Sequence[Verdict] = ()
        self.failure = ""


def _vetted(asked: Asked, settings: Settings | None, policy: Policy, stopped: Callable[[], bool]) -> list[Verdict]:
    if settings is None:
        settings = Settings(root=roots_around(Path(asked.cwd)))
    roots = Roots.of(settings.root)
    roots.check()
    folder = folder_of(roots)
    with closing(Instruments(settings)) as instruments:
        source = _source(asked, folder, settings, instruments)
        vetter = Vetter(settings, roots, instruments, policy, stopped=stopped)
        return [verdict for one in source.emissions for verdict in vetter.vet(one)]


def _source(asked: Asked, folder: str, settings: Settings, instruments: Instruments) -> Source:
    """The last message, annotated by the transcript's calls; by what it names, where there are none."""
    events: list[Event] = []
    if asked.transcript is not None:
        try:
            path = os.path.expanduser(asked.transcript)
            if os.path.exists(path) and not os.path.isfile(path):  # a pipe or a device may never end
                raise UsageError("the transcript is no file", path=path)
            events = list(open_transcript(path, "claude-code"))
        except SluiceError:
            if asked.message is None:
                raise
    if asked.message is not None and not any(isinstance(one, ToolCall) for one in events):
        return of_answer(asked.message, folder, tracked(folder, settings, instruments))
    return of_events(events, folder, conversation="hook", cwd=asked.cwd, message=asked.message)


def reason_of(verdicts: Sequence[Verdict], unsupported: bool = False) -> str | None:
    """What the agent is told; None where it may stop.

    Args:
        verdicts: about its last message.
        unsupported: whether statements that nothing bears out are told too.
    """
    wrong = [one for one in verdicts if one.status == CONTRADICTED]
    idle = [one for one in verdicts if unsupported and one.unsupported]
    if not wrong and not idle:
        return None
    parts: list[str] = []
    if wrong:
        parts.append(
            "The working tree contradicts these statements of your last message. Correct each one, or withdraw it:"
        )
        parts += _listed(wrong)
    if idle:
        parts.append(
            "Nothing that was looked at bears these statements out. Look for what is missing, or withdraw them:"
        )
        parts += _listed(idle)
    parts.append(
        "sluice compared your words with the tracked files of the checkout, which you can write to yourself: "
        "this checks what you said, nothing else."
    )
    return "\n".join(parts)


def _listed(verdicts: Sequence[Verdict]) -> list[str]:
    lines: list[str] = []
    for verdict in verdicts[:MOST_LISTED]:
        said = one_line(verdict.text)
        lines.append(f"- «{said[:MAX_STATEMENT]}{'…' if len(said) > MAX_STATEMENT else ''}»")
        lines += [f"  - missing: {missing_line(one)}" for one in verdict.missing[:MOST_LINES]]
    more = len(verdicts) - MOST_LISTED
    return lines if more <= 0 else [*lines, f"- and {more} more"]
