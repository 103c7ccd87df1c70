"""Which call of a tool looked at which substrate-class with which locator (recording.md, «Recorder»).

`ToolMap.default()` knows the tools of Claude Code, Codex, OpenHands, SWE-agent and MCP servers; what of them is
documented stands in docs/transcripts.md. Rules of the user's own come from a table of TOML and go first. A call that
failed, that has no result, or that looks outside the root gives no look. Nothing is executed or opened here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Self

import msgspec

from .call_paths import below, folder
from .events import ToolCall
from .looks import GREP, READ, Look
from .search_patterns import pattern_locator
from .shell import script_of
from .shell_looks import shell_looks
from .tool_rules import Rule, brief_looks, rules_of

Mapper = Callable[[ToolCall, str | None], list[Look]]
"""From a call and the root to the looks of that call."""
_MCP: Final = re.compile(r"mcp__([A-Za-z0-9_.-]{1,128}?)__([A-Za-z0-9_.-]{1,128})")
_OUTPUT: Final = re.compile(r"(?:[A-Z][A-Za-z ]{1,40}(?:: [^\n]{0,200}| with code \d{1,3})\n){1,8}Output:\n")


class ToolMap:
    """Which tools look where.

    Args:
        mappers: by the tool's name.
        rules: the user's own, which go before the mappers.
    """

    def __init__(self, mappers: Mapping[str, Mapper], rules: Iterable[Rule] = ()) -> None:
        self._mappers, self._rules = dict(mappers), {rule.tool: rule for rule in rules}

    @classmethod
    def default(cls) -> Self:
        """The tools of Claude Code, Codex, OpenHands, SWE-agent, and of MCP servers."""
        return cls(DEFAULTS)

    @classmethod
    def from_toml(cls, text: str, name: str = "tools.toml") -> Self:
        """The defaults, and the rules of a TOML document (`tool_rules`).

        Raises:
            UsageError: the document is wrong; one sentence says where and what.
        """
        return cls(DEFAULTS, rules_of(text, name))

    def line_of(self, call: ToolCall, root: str | None) -> tuple[str, str | None] | None:
        """The command line that a call ran, and the folder that it began in; None where the tool runs none.

        Args:
            call: as the session has it.
            root: of the repository, absolute; None takes the call's own folder for it.
        """
        rule = self._rules.get(call.name)
        if rule is not None and rule.shell is not None:
            line = call.arguments.get(rule.shell)
            return (line, call.cwd or root) if isinstance(line, str) else None
        return _line(call, root) if rule is None and self._mappers.get(call.name) is _shell else None

    def looks(self, call: ToolCall, root: str | None) -> list[Look]:
        """The looks of a call; none where it failed, has no result, or looked at nothing that is known.

        Args:
            call: as the session has it.
            root: of the repository, absolute; None takes the call's own folder for it.
        """
        if not call.ok or call.result is None:
            return []
        rule = self._rules.get(call.name)
        if rule is not None:
            return rule.looks(call.arguments, root, call.cwd)
        mapper = self._mappers.get(call.name)
        if mapper is not None:
            return mapper(call, root)
        return _mcp(call)


def output_of(call: ToolCall) -> str:
    """What a call printed, without what its tool put around it."""
    result = call.result or ""
    if result.startswith('{"') and call.name in _CODEX:
        try:
            answer: Any = msgspec.json.decode(result)
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            return result
        output = answer.get("output") if isinstance(answer, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        return output if isinstance(output, str) else result
    match = _OUTPUT.match(result) if call.name in _CODEX else None
    return result if match is None else result[match.end() :]


def _text(call: ToolCall, *names: str) -> str | None:
    """The first of these arguments that is a text and not empty."""
    found = (call.arguments.get(name) for name in names)
    return next((value for value in found if isinstance(value, str) and value), None)


def _number(call: ToolCall, name: str) -> int | None:
    value = call.arguments.get(name)
    return value if type(value) is int and 0 < value < 10_000_000 else None


def _read(call: ToolCall, root: str | None) -> list[Look]:
    """Claude Code's Read, from `offset` on: numbered lines, or plain ones where another program runs the tool."""
    path = below(_text(call, "file_path", "path") or "", root, call.cwd)
    if path in (None, "."):
        return []
    first, most = _number(call, "offset") or 1, _number(call, "limit")
    lines = {} if most is None else {"lines": [first, first + most - 1]}
    return [Look(READ, {"path": path, **lines}, "file", first)]


def _grep(call: ToolCall, root: str | None) -> list[Look]:
    """Claude Code's Grep, which is ripgrep."""
    listed = "content" if _SHOWN.search(call.result or "", 0, 10_000) else "files_with_matches"
    mode = call.arguments.get("output_mode", listed)
    pattern, within = _text(call, "pattern"), below(_text(call, "path") or ".", root, call.cwd)
    if pattern is None or within is None or call.arguments.get("multiline") or mode not in _MODES:
        return []
    locator = pattern_locator(pattern, fixed=False, basic=False, fold=call.arguments.get("-i") is True)
    paths = () if within == "." else (within,)
    return [] if locator is None else [Look(GREP, locator, _MODES[mode], None, paths, root, call.cwd)]


_MODES: Final[Mapping[str, Any]] = {"content": "matches", "files_with_matches": "files"}
_SHOWN: Final = re.compile(r"^(?:[^:\n]{1,400}:)?\d{1,8}:", re.MULTILINE)
"""A line that was found, behind its number: what Claude Code shows only when it is asked for content."""


def _glob(call: ToolCall, root: str | None) -> list[Look]:
    """The names of files that are there. None of them was read, so they bear out nothing else."""
    within = below(_text(call, "path") or ".", root, call.cwd)
    if _text(call, "pattern") is None or within is None:
        return []
    return [Look(READ, {}, "paths", None, () if within == "." else (within,), root, call.cwd)]


def _search(call: ToolCall, root: str | None) -> list[Look]:
    """The `grep` of OpenHands' SDK: the files that have an expression, in whatever case."""
    pattern, within = _text(call, "pattern"), below(_text(call, "path") or ".", root, call.cwd)
    locator = None if pattern is None else pattern_locator(pattern, fixed=False, basic=False, fold=True)
    if locator is None or within is None:
        return []
    return [Look(GREP, locator, "files", None, () if within == "." else (within,), root, call.cwd)]


def _nothing(call: ToolCall, root: str | None) -> list[Look]:
    """What changes files says nothing of what stands in them."""
    return []


def _line(call: ToolCall, root: str | None) -> tuple[str, str | None] | None:
    """A command line, given as a text or as a list of words, and its folder; None where the call gives none."""
    given: Any = call.arguments.get("command", call.arguments.get("cmd"))
    cwd = _text(call, "workdir", "cwd") or call.cwd or root
    if cwd is not None and root is not None and not cwd.startswith("/"):
        cwd = folder(cwd, call.cwd or root)
    if isinstance(given, list) and given and all(isinstance(word, str) for word in given):  # pyright: ignore[reportUnknownVariableType]
        given = script_of(given)  # pyright: ignore[reportUnknownArgumentType]
    return (given, cwd) if isinstance(given, str) and not call.arguments.get("is_input") else None


def _shell(call: ToolCall, root: str | None) -> list[Look]:
    """A command line."""
    line = _line(call, root)
    return [] if line is None or call.arguments.get("run_in_background") else shell_looks(*line, root)


def _editor(call: ToolCall, root: str | None) -> list[Look]:
    """OpenHands' and Anthropic's editor: only its `view` looks, and only at files."""
    return [] if call.arguments.get("command") != "view" else _viewed(call, root)


def _viewed(call: ToolCall, root: str | None) -> list[Look]:
    path = below(_text(call, "path") or "", root, call.cwd)
    if path in (None, "."):
        return []
    first, last = _range(call.arguments.get("view_range")) or (1, None)
    lines = {} if last is None else {"lines": [first, last]}
    return [Look(READ, {"path": path, **lines}, "numbered", first)]


def _range(given: Any) -> tuple[int, int | None] | None:
    """First and last line of a view; the last one is None where it is that of the file."""
    match given:
        case [int(first), int(last)] if 0 < first <= last < 10_000_000:
            return first, last
        case [int(first), -1] if 0 < first < 10_000_000:
            return first, None
        case _:
            return None


def _read_action(call: ToolCall, root: str | None) -> list[Look]:
    """The `read` of OpenHands 0.x: by its editor with numbers, else lines as they are, counted from 0."""
    if call.arguments.get("impl_source") == "oh_aci":
        return _viewed(call, root)
    path = below(_text(call, "path") or "", root, call.cwd)
    start, end = call.arguments.get("start", 0), call.arguments.get("end", -1)
    if path in (None, ".") or type(start) is not int or type(end) is not int or not 0 <= start < 10_000_000:
        return []
    lines = {"lines": [start + 1, end]} if start < end < 10_000_000 else {}
    return [Look(READ, {"path": path, **lines}, "text", start + 1)]


def _open(call: ToolCall, root: str | None) -> list[Look]:
    """SWE-agent's `open`: a window of numbered lines."""
    path = below(_text(call, "path", "file_name", "file", "filename") or "", root, call.cwd)
    return [] if path in (None, ".") else [Look(READ, {"path": path}, "numbered")]


def _view(call: ToolCall, root: str | None) -> list[Look]:
    return _open(call, root) if "command" not in call.arguments else _editor(call, root)


def _mcp(call: ToolCall) -> list[Look]:
    """A tool of an MCP server, as Claude Code names it."""
    match = _MCP.fullmatch(call.name)
    if match is None:
        return []
    return brief_looks(match[1], match[2], call.arguments)


_CODEX: Final = frozenset(("shell", "exec_command", "local_shell", "container.exec", "shell_command"))
DEFAULTS: Final[Mapping[str, Mapper]] = {
    # Claude Code
    "Read": _read,
    "Grep": _grep,
    "Glob": _glob,
    "Bash": _shell,
    "Edit": _nothing,
    "Write": _nothing,
    # Codex
    **dict.fromkeys(_CODEX, _shell),
    "apply_patch": _nothing,
    # OpenHands: as the model calls them, as events of 0.x name the action, and as the SDK does
    "execute_bash": _shell,
    "run": _shell,
    "terminal": _shell,
    "str_replace_editor": _editor,
    "file_editor": _editor,
    "read": _read_action,
    "glob": _glob,
    "grep": _search,
    # Anthropic's text editor tool, since 2025
    "str_replace_based_edit_tool": _editor,
    # SWE-agent, where something else tells its tools as calls; its trajectories have command lines
    "open": _open,
    "view": _view,
    "bash": _shell,
}
"""Tools by their names, with what they look at."""
