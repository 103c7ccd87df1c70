"""Coding agents whose stop hook calls sluice: what their hooks send, and how each agent is answered.

Also what is kept of a session between two calls of its hook: the last message, and the work tree as it stood when the
session began (a tree object of Git under `refs/sluice/base/`, which no push or fetch takes along).
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

import msgspec
from msgspec.structs import replace

from ...codecs.decode import assertion_text
from ...codecs.records import Annotation, Assertion, Emission
from ...record.looks import GREP, READ
from ...record.transcripts import Format
from ...streams.judging.checks import Check, canonical, parse_check
from ...streams.judging.claim_forms import claim

MAX_KEPT: Final = 16_000_000
"""Bytes of a file."""
KEPT_SECONDS: Final = 86_400
WAITED_SECONDS: Final = 2.0
"""How long the second hook waits for the first one: Cursor starts both, and does not say that one ends before."""
_PAUSE: Final = 0.05
"""Seconds between two looks."""


def folder() -> Path:
    """Where messages are kept: `sluice/hooks` in the user's cache folder."""
    cache = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(cache) if os.path.isabs(cache) else Path.home() / ".cache") / "sluice" / "hooks"


def _path(conversation: str) -> Path:
    return folder() / f"{sha256(conversation.encode('utf-8', 'replace')).hexdigest()[:32]}.json"


def keep(conversation: str, generation: str, message: str) -> str | None:
    """Keeps the last message of a conversation, of this generation (turn); returns one sentence where it cannot."""
    path = _path(conversation)
    data = msgspec.json.encode({"generation": generation, "message": message.encode("utf-8", "replace").decode()})
    if len(data) > MAX_KEPT:
        return f"the message has more than {MAX_KEPT} bytes; it is not vetted"
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _forget(path.parent)
        number, name = tempfile.mkstemp(dir=path.parent, prefix=".kept-")  # with the mode 0600
        try:
            with os.fdopen(number, "wb") as file:
                file.write(data)
            os.replace(name, path)
        except OSError:
            os.unlink(name)
            raise
    except (OSError, RuntimeError) as error:
        return f"the message cannot be kept in {path.parent}: {getattr(error, 'strerror', None) or error}"
    return None


def taken(conversation: str, generation: str, *, wait: bool = True) -> str | None:
    """Takes the message that was kept last of a conversation, if it is of this generation (turn; empty: of any).

    With `wait` a message that is not there yet is waited for, at most `WAITED_SECONDS`.
    """
    end = time.monotonic() + (WAITED_SECONDS if wait else 0)
    while (found := _read(_path(conversation))) is None or (generation and found[0] not in ("", generation)):
        if time.monotonic() >= end:
            return None
        time.sleep(_PAUSE)
    _path(conversation).unlink(missing_ok=True)
    return found[1]


def _read(path: Path) -> tuple[str, str] | None:
    try:
        if not path.is_file() or path.stat().st_size > MAX_KEPT:
            return None
        value: Any = msgspec.json.decode(path.read_bytes())
        return str(value["generation"]), str(value["message"])
    except (OSError, RuntimeError, msgspec.DecodeError, UnicodeError, KeyError, TypeError):
        return None


def _forget(folder: Path) -> None:
    """Deletes what nobody took."""
    for one in folder.iterdir():
        try:
            if one.name.endswith(".json") and time.time() - one.stat().st_mtime > KEPT_SECONDS:
                one.unlink()
        except OSError:  # another hook was first
            continue


BASE_EVENTS: Final = ("SessionStart", "UserPromptSubmit", "PreToolUse")
"""Events of hooks at which the tree is kept."""
GIT_SECONDS: Final = 5.0
"""How long one call of git may take."""
_REFS: Final = "refs/sluice/base/"
_SINCE: Final = frozenset(("added", "deleted", "renamed", "touched", "unchanged"))
_ONLY: Final = re.compile(
    r"(?:i |i've |i have )?(?:only|just) (?:changed|modified|touched|edited|updated) "
    r"((?:`[^`\s]{1,400}`(?:, and |, | and )?){1,40})\.?",
    re.IGNORECASE,
)


def keep_base(cwd: str, session: str) -> str | None:
    """Keeps the tree of a folder's checkout, unless that session has one; one sentence where it cannot be kept."""
    if base_of(cwd, session) is not None:
        return None
    try:
        with tempfile.TemporaryDirectory(prefix="sluice-index-") as folder:
            index = os.path.join(folder, "index")
            top = _git(cwd, None, "rev-parse", "--show-toplevel")
            if _git(top, None, "rev-parse", "--verify", "--quiet", "HEAD^{tree}", fails=True):
                _git(top, index, "read-tree", "HEAD")
            _git(top, index, "add", "--update", ".")
            tree = _git(top, index, "write-tree")
            _git(top, None, "update-ref", _ref(session), tree, "0" * len(tree), fails=True)
    except (OSError, subprocess.SubprocessError):
        return f"the work tree of {cwd} could not be kept as it stands; changes are held against HEAD"
    return None


def base_of(cwd: str, session: str) -> str | None:
    """The name of the tree that is kept for a session; None where none is."""
    try:
        tree = _git(cwd, None, "rev-parse", "--verify", "--quiet", f"{_ref(session)}^{{tree}}", fails=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return tree or None


def _ref(session: str) -> str:
    return _REFS + sha256(session.encode("utf-8", "replace")).hexdigest()[:32]


def _git(cwd: str, index: str | None, *arguments: str, fails: bool = False) -> str:
    """What git prints; nothing of its hooks runs. `fails`: it may, and then prints nothing."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= {"GIT_OPTIONAL_LOCKS": "0"} | ({} if index is None else {"GIT_INDEX_FILE": index})
    quiet = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.safecrlf=false")
    done = subprocess.run(
        ["git", *quiet, *arguments],
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=GIT_SECONDS,
        check=not fails,
    )
    return done.stdout.decode("utf-8", "replace").strip() if done.returncode == 0 else ""


def held_since(emission: Emission, base: str) -> Emission:
    """The emission with the checks of what its assertions say was changed, against the kept tree of this name."""
    return replace(emission, assertions=[_since(emission, one, base) for one in emission.assertions or ()])


def _since(emission: Emission, assertion: Assertion, base: str) -> Assertion:
    if assertion.checks:
        return assertion
    text = assertion_text(emission, assertion)
    checks = [_named(check, base) for check in _changes_in(text) if check.name in _SINCE and not check.negated]
    if not checks:
        return assertion
    looks = assertion.annotations
    have = {one.substrate_class for one in looks}
    more = [Annotation(name, None, None, None) for name in (READ, GREP) if name not in have]
    return replace(assertion, checks=list(map(canonical, checks)), provenance=[*looks, *more])


def _changes_in(text: str) -> Sequence[Check]:
    only = _ONLY.fullmatch(text.strip())
    claimed = None if only is not None else claim(text)
    written: Sequence[str] = () if claimed is None else claimed.checks
    if only is not None:
        written = [f"touched([{', '.join(re.findall(r'`([^`]+)`', only[1]))}])"]
    return [check for check in map(parse_check, written) if isinstance(check, Check)]


def _named(check: Check, base: str) -> Check:
    """A check with the tree that it is held against."""
    return replace(check, named=(*(one for one in check.named if one[0] != "since"), ("since", base)))


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
        refusal: the answer that holds the agent up, without the reason.
        entries: what to add to the settings, by event, from the command and the seconds that it may take.
        versioned: its settings begin with `"version": 1`.
        afterwards: what its user has to do besides, in one sentence.
    """

    name: str
    settings: Path
    transcript: Format | None
    asked: Callable[[dict[str, Any]], Asked | str | None]
    refusal: dict[str, str]
    entries: Callable[[str, int], Mapping[str, Entry]]
    versioned: bool = False
    afterwards: str = ""

    def held_up(self, reason: str) -> dict[str, str]:
        """The answer that holds the agent up."""
        return {**self.refusal, "reason": reason} if self.refusal else {"followup_message": reason}


def text_of(members: Mapping[str, Any], name: str) -> str | None:
    """A member of the hook's JSON that is a text and not blank."""
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
    if members.get("hook_event_name") in BASE_EVENTS:
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


def _group(command: str, seconds: int, **more: str) -> Entry:
    return {"hooks": [{"type": "command", **more, "command": command, "timeout": seconds}]}


def _at_stop(command: str, seconds: int) -> Mapping[str, Entry]:
    return {"Stop": _group(command, seconds)}


def _at_agent_end(command: str, seconds: int) -> Mapping[str, Entry]:
    return {"AfterAgent": _group(command, seconds * 1000, name="sluice")}


def _for_cursor(command: str, seconds: int) -> Mapping[str, Entry]:
    stop: Entry = {"command": command, "timeout": seconds, "loop_limit": 1}
    return {"afterAgentResponse": {"command": command}, "stop": stop}


_BLOCK: Final = {"decision": "block"}
_TRUST: Final = "Codex runs it once you have trusted it: see `/hooks` in Codex"
AGENTS: Final[Mapping[str, Agent]] = {
    agent.name: agent
    for agent in (
        Agent("claude-code", Path(".claude", "settings.json"), "claude-code", _of_stop, _BLOCK, _at_stop),
        Agent("codex", Path(".codex", "hooks.json"), "codex", _of_stop, _BLOCK, _at_stop, afterwards=_TRUST),
        Agent(
            "gemini-cli", Path(".gemini", "settings.json"), None, _of_after_agent, {"decision": "deny"}, _at_agent_end
        ),
        Agent("cursor", Path(".cursor", "hooks.json"), None, _of_cursor, {}, _for_cursor, versioned=True),
    )
}
"""The agents, by their names."""
