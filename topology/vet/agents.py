"""The coding agents whose stop hook sluice answers: what each sends, what it takes for an answer, how it is set up.

| agent | event | what it sends | what holds it up | set up in |
| --- | --- | --- | --- | --- |
| Claude Code | `Stop` | `last_assistant_message`, `transcript_path`, `cwd`, `stop_hook_active` | `decision: block`, `reason` | `.claude/settings.json` |
| Codex | `Stop` | the same | the same | `.codex/hooks.json` |
| Gemini CLI | `AfterAgent` | `prompt_response`, `cwd`, `stop_hook_active` | `decision: deny`, `reason` | `.gemini/settings.json` |
| Cursor | `afterAgentResponse`, then `stop` | `text`; `status`, `loop_count`, `workspace_roots` | `followup_message` | `.cursor/hooks.json` |

All four are documented by who makes the agent (docs/vetting.md names the pages). The transcripts that Gemini CLI and
Cursor name are not, so they are not read.
"""  # noqa: E501

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

from ...record.transcripts import Format
from .last_messages import keep, taken
from .session_base import EVENTS
from .session_base import keep as keep_base


class Asked(NamedTuple):
    """What a hook's JSON says, as far as it is used here.

    Attributes:
        message: the last one of the agent; None where the JSON has none.
        transcript: the path of the session's file.
        cwd: where the agent works.
        active: the agent goes on because of this hook already.
        session: what the agent calls the session; empty where the JSON does not tell.
    """

    message: str | None
    transcript: str | None
    cwd: str
    active: bool
    session: str = ""


Entry = dict[str, Any]
"""One command, as an agent's settings have it."""


class Agent(NamedTuple):
    """A coding agent.

    Attributes:
        name: the argument of `sluice hook`.
        settings: the file that its hooks stand in, relative to the project.
        transcript: the format of its sessions; None where it is not documented.
        asked: reads the hook's JSON. A text is one sentence about what is wrong with it; None asks for nothing.
        held_up: the answer that holds the agent up, from the reason.
        entries: what to add to the settings, by event, from the command and the seconds that it may take.
        versioned: its settings begin with `"version": 1`.
        afterwards: what its user has to do besides, in one sentence.
    """

    name: str
    settings: Path
    transcript: Format | None
    asked: Callable[[dict[str, Any]], Asked | str | None]
    held_up: Callable[[str], dict[str, str]]
    entries: Callable[[str, int], Mapping[str, Entry]]
    versioned: bool = False
    afterwards: str = ""


def text_of(members: Mapping[str, Any], name: str) -> str | None:
    """A member that is a text and not blank.

    Args:
        members: of the hook's JSON.
        name: of the member.
    """
    found = members.get(name)
    return found if isinstance(found, str) and found.strip() else None


def _here(given: str | None) -> str | None:
    """The folder that the agent works in; None where nobody can tell."""
    try:
        return given or os.getcwd()
    except OSError:
        return None


_GONE: Final = "the hook's input has no cwd, and the folder that it was called in is gone"


def _of_stop(members: dict[str, Any]) -> Asked | str | None:
    cwd, session = _here(text_of(members, "cwd")), text_of(members, "session_id") or ""
    if members.get("hook_event_name") in EVENTS:
        return keep_base(cwd, session) if cwd is not None and session else None
    message, transcript = text_of(members, "last_assistant_message"), text_of(members, "transcript_path")
    if message is None and transcript is None:
        return "the hook's input has neither last_assistant_message nor transcript_path"
    if cwd is None:
        return _GONE
    path = None if transcript is None else os.path.expanduser(transcript)
    return Asked(message, path, cwd, members.get("stop_hook_active") is True, session)


def _of_after_agent(members: dict[str, Any]) -> Asked | str:
    message = text_of(members, "prompt_response")
    if message is None:
        return "the hook's input has no prompt_response"
    cwd = _here(text_of(members, "cwd"))
    return _GONE if cwd is None else Asked(message, None, cwd, members.get("stop_hook_active") is True)


def _of_cursor(members: dict[str, Any]) -> Asked | str | None:
    """Cursor tells the text when it is written, and asks when it stops: the text is kept in between."""
    event, conversation = text_of(members, "hook_event_name"), text_of(members, "conversation_id")
    if conversation is None:
        return "the hook's input has no conversation_id"
    generation = text_of(members, "generation_id") or ""
    if event == "afterAgentResponse":
        message = text_of(members, "text")
        return None if message is None else keep(conversation, generation, message)
    if event != "stop":
        return f"the hook's input is of the event {str(event)[:40]!r}; expected `afterAgentResponse` or `stop`"
    count = members.get("loop_count")
    active = isinstance(count, int) and count > 0
    message = taken(conversation, generation, wait=not active)
    if members.get("status", "completed") != "completed":
        return None  # its user ended it, or it failed
    if message is None and not active:
        return "no message of this turn was kept; is `sluice hook cursor` in afterAgentResponse as well?"
    roots = members.get("workspace_roots")
    first = cast("list[Any]", roots)[0] if isinstance(roots, list) and roots else None
    cwd = _here(first if isinstance(first, str) else None)
    return _GONE if cwd is None else Asked(message, None, cwd, active)


def _group(command: str, seconds: int) -> Entry:
    return {"hooks": [{"type": "command", "command": command, "timeout": seconds}]}


AGENTS: Final[Mapping[str, Agent]] = {
    one.name: one
    for one in (
        Agent(
            "claude-code",
            Path(".claude", "settings.json"),
            "claude-code",
            _of_stop,
            lambda reason: {"decision": "block", "reason": reason},
            lambda command, seconds: {"Stop": _group(command, seconds)},
        ),
        Agent(
            "codex",
            Path(".codex", "hooks.json"),
            "codex",
            _of_stop,
            lambda reason: {"decision": "block", "reason": reason},
            lambda command, seconds: {"Stop": _group(command, seconds)},
            afterwards="Codex runs it once you have trusted it: see `/hooks` in Codex",
        ),
        Agent(
            "gemini-cli",
            Path(".gemini", "settings.json"),
            None,
            _of_after_agent,
            lambda reason: {"decision": "deny", "reason": reason},
            lambda command, seconds: {
                "AfterAgent": {
                    "hooks": [{"type": "command", "name": "sluice", "command": command, "timeout": seconds * 1000}]
                }
            },
        ),
        Agent(
            "cursor",
            Path(".cursor", "hooks.json"),
            None,
            _of_cursor,
            lambda reason: {"followup_message": reason},
            lambda command, seconds: {
                "afterAgentResponse": {"command": command},
                "stop": {"command": command, "timeout": seconds, "loop_limit": 1},
            },
            versioned=True,
        ),
    )
}
"""The agents, by their names."""
