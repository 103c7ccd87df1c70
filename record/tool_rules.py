"""Rules of a user's own: which tool of theirs looked where, as a table of TOML.

    [[tool]]
    name = "read_source"
    class = "substrate.code.read"
    path = "file"              # which argument names the file; first and last line likewise
    lines = ["from", "to"]
    form = "numbered"          # text (default), numbered, matches, files, log, other

    [[tool]]
    name = "find_text"
    class = "substrate.grep"
    pattern = "needle"
    regex = true
    form = "matches"

    [[tool]]
    name = "run"
    shell = "script"           # the argument is a command line

Whatever is wrong with the document is one `UsageError` with one sentence.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, cast, get_args

import msgspec

from ..codecs.errors import UsageError
from .call_paths import below
from .looks import BRIEF, GREP, LOG, MTIME, READ, Form, Look
from .search_patterns import pattern_locator
from .shell_looks import shell_looks

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
    """The rules of a document.

    Args:
        text: TOML.
        name: of the document, for messages.

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
