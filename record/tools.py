"""Tools of coding agents: which call is a look, a search, a run or a change, by built-in rules and those of users."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple, Self, cast, get_args

import msgspec

from ..codecs.errors import UsageError
from .events import ToolCall
from .looks import BRIEF, GREP, LOG, MTIME, READ, Form, Look, below, folder
from .shell import script_of
from .shell_looks import pattern_locator, shell_looks

MAX_RULES: Final = 500
MAX_ARGUMENTS: Final = 16_384
"""Bytes of the arguments of an MCP tool that a locator repeats, as for observers."""
_CLASSES: Final = (READ, GREP, LOG, MTIME, BRIEF)
_MEMBERS: Final[Mapping[str, type]] = {
    "name": str,
    "class": str,
    "path": str,
    "lines": list,
    "pattern": str,
    "regex": bool,
    "shell": str,
    "server": str,
    "form": str,
}
_NEEDED: Final[Mapping[str, str]] = {READ: "path", MTIME: "path", GREP: "pattern", BRIEF: "server"}


class Rule(NamedTuple):
    """One tool of a user's.

    Attributes:
        tool: its name.
        substrate_class: what it looks at; empty for a shell.
        form: how its result is laid out.
        path, lines, pattern, shell: the arguments that name these.
        regex: whether the pattern is a regular expression.
        server: the MCP server that the tool is one of.
    """

    tool: str
    substrate_class: str = ""
    form: Form = "text"
    path: str | None = None
    lines: tuple[str, ...] = ()
    pattern: str | None = None
    regex: bool = False
    shell: str | None = None
    server: str | None = None

    def looks(self, arguments: Mapping[str, Any], root: str | None, cwd: str | None) -> list[Look]:
        """The looks of a call with these arguments."""
        if self.shell is not None:
            line = arguments.get(self.shell)
            return shell_looks(line, cwd or root, root) if isinstance(line, str) else []
        if self.server is not None:
            return brief_looks(self.server, self.tool, arguments)
        locator: dict[str, Any] = {}
        path = None
        if self.path is not None and (given := arguments.get(self.path)) is not None:
            path = below(given, root, cwd) if isinstance(given, str) else None
            if path is None:
                return []
        if self.pattern is not None:
            given = arguments.get(self.pattern)
            found = pattern_locator(given, fixed=not self.regex, basic=False) if isinstance(given, str) else None
            if found is None:
                return []
            within = () if path in (None, ".") else (path,)
            return [Look(self.substrate_class, found, self.form, None, within, root, cwd)]
        if path in (None, "."):
            return [Look(self.substrate_class, {}, self.form)] if self.substrate_class == LOG else []
        locator["path"] = path
        first = 1
        numbers = [arguments.get(name) for name in self.lines]
        if numbers and type(numbers[0]) is int and numbers[0] > 0:
            first = numbers[0]
            if type(numbers[-1]) is int and numbers[-1] >= first:
                locator["lines"] = [first, numbers[-1]]
        return [Look(self.substrate_class, locator, self.form, first, root=root, cwd=cwd)]


def brief_looks(server: str, tool: str, arguments: Mapping[str, Any]) -> list[Look]:
    """The look of an MCP tool; none where its arguments are more than an observer takes, or no JSON."""
    locator: dict[str, Any] = {"server": server, "tool": tool}
    if arguments:
        try:
            written = msgspec.json.encode(arguments)
        except (TypeError, ValueError, RecursionError):
            return []
        if len(written) > MAX_ARGUMENTS:
            return []
        locator["arguments"] = msgspec.json.decode(written)
    return [Look(BRIEF, locator, "other")]


def rules_of(text: str, name: str) -> list[Rule]:
    """The rules of a TOML document; `name` is the document's, for messages.

    Raises:
        UsageError: it is no TOML, or a rule is wrong.
    """
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"the rules for tools are no TOML: {error}", path=name) from None
    others = sorted(set(document) - {"tool"})
    if others:
        raise UsageError("an unknown table", path=name, expected="tables `[[tool]]`", got=others[0])
    tables: Any = document.get("tool", [])
    if not isinstance(tables, list) or len(cast(list[Any], tables)) > MAX_RULES:
        raise UsageError(
            "`tool` is not what it should be", path=name, expected=f"at most {MAX_RULES} tables `[[tool]]`"
        )
    rules = [_rule(table, f"{name}: tool {place}") for place, table in enumerate(cast(list[Any], tables), 1)]
    names = [rule.tool for rule in rules]
    double = next((one for one in names if names.count(one) > 1), None)
    if double is not None:
        raise UsageError("two rules for one tool", path=name, got=double)
    return rules


def _rule(table: Any, where: str) -> Rule:
    if not isinstance(table, dict):
        raise UsageError("a rule is no table", path=where, expected="`[[tool]]`")
    given = cast(dict[str, Any], table)
    for key in given:
        value: object = given[key]
        wanted = _MEMBERS.get(key)
        if wanted is None:
            raise UsageError("a rule has no such member", path=where, expected=", ".join(_MEMBERS), got=key)
        if not isinstance(value, wanted) or value in ("", []):
            shown = f"{value!r}"[:80]
            raise UsageError(f"`{key}` is not what it should be", path=where, expected=_WORDS[wanted], got=shown)
    if "name" not in given:
        raise UsageError("a rule names no tool", path=where, expected="`name`")
    lines = given.get("lines", [])
    if len(lines) > 2 or not all(isinstance(one, str) and one for one in lines):
        raise UsageError("`lines` is not what it should be", path=where, expected="the names of one or two arguments")
    form = given.get("form", "text")
    if form not in get_args(Form):
        raise UsageError("there is no such form", path=where, expected=", ".join(get_args(Form)), got=form)
    if "shell" in given:
        if "class" in given:
            raise UsageError("a rule has both `shell` and `class`", path=where, hint="the command line tells the class")
        return Rule(given["name"], shell=given["shell"])
    chosen = given.get("class")
    if chosen not in _CLASSES:
        raise UsageError("a rule names no class", path=where, expected=", ".join(_CLASSES), got=str(chosen))
    needed = _NEEDED.get(chosen)
    if needed is not None and needed not in given:
        raise UsageError(f"a rule for {chosen} needs `{needed}`", path=where)
    return Rule(
        given["name"],
        chosen,
        form,
        given.get("path"),
        tuple(lines),
        given.get("pattern") if chosen == GREP else None,
        given.get("regex", False),
        None,
        given.get("server") if chosen == BRIEF else None,
    )


_WORDS: Final[Mapping[type, str]] = {str: "a text", list: "a list of names", bool: "true or false"}


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
        """The command line that a call ran, and the folder that it began in; None where the tool runs none."""
        rule = self._rules.get(call.name)
        if rule is not None and rule.shell is not None:
            line = call.arguments.get(rule.shell)
            return (line, call.cwd or root) if isinstance(line, str) else None
        return _line(call, root) if rule is None and self._mappers.get(call.name) is _shell else None

    def looks(self, call: ToolCall, root: str | None) -> list[Look]:
        """The looks of a call; none where it failed, has no result, or looked at nothing that is known."""
        if not call.ok or call.result is None:
            return []
        rule = self._rules.get(call.name)
        if rule is not None:
            return rule.looks(call.arguments, root, call.cwd)
        mapper = self._mappers.get(call.name)
        return _mcp(call) if mapper is None else mapper(call, root)


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


def _file(call: ToolCall, root: str | None, *names: str) -> str | None:
    """The file that the first of these arguments names, relative to the root; None for the root itself."""
    path = below(_text(call, *names) or "", root, call.cwd)
    return None if path == "." else path


def _read(call: ToolCall, root: str | None) -> list[Look]:
    """Claude Code's Read, from `offset` on: numbered lines, or plain ones where another program runs the tool."""
    path = _file(call, root, "file_path", "path")
    first, most = _number(call, "offset") or 1, _number(call, "limit")
    lines = {} if most is None else {"lines": [first, first + most - 1]}
    return [] if path is None else [Look(READ, {"path": path, **lines}, "file", first)]


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
    path = _file(call, root, "path")
    first, last = _range(call.arguments.get("view_range")) or (1, None)
    lines = {} if last is None else {"lines": [first, last]}
    return [] if path is None else [Look(READ, {"path": path, **lines}, "numbered", first)]


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
    path = _file(call, root, "path")
    start, end = call.arguments.get("start", 0), call.arguments.get("end", -1)
    if path is None or type(start) is not int or type(end) is not int or not 0 <= start < 10_000_000:
        return []
    lines = {"lines": [start + 1, end]} if start < end < 10_000_000 else {}
    return [Look(READ, {"path": path, **lines}, "text", start + 1)]


def _open(call: ToolCall, root: str | None) -> list[Look]:
    """SWE-agent's `open`: a window of numbered lines."""
    path = _file(call, root, "path", "file_name", "file", "filename")
    return [] if path is None else [Look(READ, {"path": path}, "numbered")]


def _view(call: ToolCall, root: str | None) -> list[Look]:
    return _open(call, root) if "command" not in call.arguments else _editor(call, root)


def _mcp(call: ToolCall) -> list[Look]:
    """A tool of an MCP server, as Claude Code names it."""
    match = _MCP.fullmatch(call.name)
    return [] if match is None else brief_looks(match[1], match[2], call.arguments)


_CODEX: Final = frozenset(("shell", "exec_command", "local_shell", "container.exec", "shell_command"))
DEFAULTS: Final[Mapping[str, Mapper]] = {
    # Claude Code
    "Read": _read,
    "Grep": _grep,
    "Glob": _glob,
    "Bash": _shell,
    # Codex
    **dict.fromkeys(_CODEX, _shell),
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
