"""What the commands of a shell line looked at: files that were printed, searches, history, times of files.

A closed list of commands with their options, and the programs that SWE-agent puts beside them. What prints something
else than what stands in a file (transformed, counted, sorted) gives no look; neither does whatever is not on the list.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from .call_paths import NOWHERE, below
from .command_options import given
from .git_commands import git_looks
from .looks import GREP, LOG, MTIME, READ, Between, Form, Look
from .search_patterns import pattern_locator
from .searches import grep_looks
from .shell import Pipeline, pipelines
from .shell_wrappers import program

MOST_LOOKS: Final = 50
"""Looks of one command line."""
_SILENT: Final = re.compile(
    r"(?:true|:|sleep|unset)(?: .*)?|set .+|export(?: \w+(?:=.*)?)+|shopt -[su]( .+)|umask \d+|ulimit -\w \S+|"
    r"(?:mkdir|touch)(?: -[pma]+)?(?: [^-].*)?",
    re.DOTALL,
)
"""Commands that print nothing. Some of them would, with other words."""
_RANGES: Final = re.compile(r"(?:\d{1,7}(?:,(?:\d{1,7}|\$))?p)(?:;\d{1,7}(?:,(?:\d{1,7}|\$))?p)*;?")
_RANGE: Final = re.compile(r"(\d+)(?:,(\d+|\$))?p")
_PASSING: Final = frozenset(("cat", "less", "more"))
_ECHO_OPTION: Final = re.compile(r"-[neE]+")
UNNAMED: Final = "//unnamed"
"""Stands for a root that nobody named."""
_MOST_LINES: Final = 10_000_000


def shell_looks(line: str, cwd: str | None, root: str | None) -> list[Look]:
    """The looks of a command line, in order.

    Args:
        line: as the agent gave it.
        cwd: where it starts, absolute; None takes the root for it.
        root: of the repository, absolute; None takes `cwd` for it.
    """
    if cwd is None and root is None:
        cwd = root = UNNAMED  # relative paths are those of wherever it is, absolute ones are unknown
    found = pipelines(line, cwd or root)
    printing = [one for one in found if len(one.commands) != 1 or not _SILENT.fullmatch(" ".join(one.commands[0]))]
    marks = tuple(mark for one in printing if (mark := _printed(one)) is not None)
    stretches: list[list[Pipeline]] = [[]]  # between the lines that are known beforehand
    for one in printing:
        if _printed(one) is None:
            stretches[-1].append(one)
        else:
            stretches.append([])
    together = any(one.background for one in printing)
    looks: list[Look] = []
    for place, several in enumerate(stretches):
        here = [look for one in several if one.commands for look in _of_pipeline(one, root)]
        single = not together and len(several) == 1 and len({look.substrate_class for look in here}) == len(here)
        between = Between(marks, place) if single and marks else None
        looks += [look._replace(alone=single and not marks, between=between) for look in here]
    return looks[:MOST_LOOKS]


def _printed(pipeline: Pipeline) -> str | None:
    """The one line that is certain to be printed; None where nobody knows that beforehand."""
    match pipeline.commands:
        case [["echo", *words]] if (
            pipeline.certain and words and not (_ECHO_OPTION.fullmatch(words[0]) or any("\\" in word for word in words))
        ):
            line = " ".join(words)
            return line if line.strip() and "\n" not in line else None
        case _:
            return None


def _of_pipeline(pipeline: Pipeline, root: str | None) -> list[Look]:
    first, *rest = pipeline.commands
    looks = _of_command(first, pipeline.cwd or NOWHERE, root)
    for filtering in rest:
        looks = [kept for look in looks if (kept := _filtered(look, filtering)) is not None]
    return looks


def _of_command(words: Sequence[str], cwd: str | None, root: str | None) -> list[Look]:
    name, rest = program(words[0]), words[1:]
    match name:
        case "cat":
            arguments = given(rest)
            form: Form = "numbered" if arguments.has("n", "number") else "text"
            return (
                _files(arguments.operands, cwd, root, form) if arguments.only("nsu", "number", "squeeze-blank") else []
            )
        case "nl":
            arguments = given(rest, "bdfhilnsvw")
            return _files(arguments.operands, cwd, root, "numbered" if arguments.value("b") == "a" else "unnumbered")
        case "head" | "tail":
            return _ends(name, rest, cwd, root)
        case "sed":
            return _sed(rest, cwd, root)
        case "grep" | "egrep" | "fgrep" | "rg":
            return grep_looks(name, rest, cwd, root)
        case "git":
            return git_looks(rest, cwd, root)
        case "stat":
            arguments = given(rest, "cft", ("format", "printf"))
            return [
                look._replace(substrate_class=MTIME, first=None)
                for look in _files(arguments.operands, cwd, root, "stat")
            ]
        case "ls":
            arguments = given(rest, "IwT", ("ignore", "width", "sort", "time"))
            if not arguments.has("l", "g", "o") or arguments.has("u", "c", "time", "R"):
                return []
            return [
                look._replace(substrate_class=MTIME, first=None)
                for look in _files(arguments.operands, cwd, root, "stat")
            ]
        case _:
            return _of_swe_agent(name, rest, cwd, root)


def _of_swe_agent(name: str, rest: Sequence[str], cwd: str | None, root: str | None) -> list[Look]:
    """The programs of SWE-agent. Which file a window shows, its result says; another `open` shows none."""
    match [name, *rest]:
        case ["open", path] | ["open", path, _]:
            named = below(path, root, cwd)
            return [] if named in (None, ".") else [Look(READ, {"path": named}, "window", None, (), root, cwd)]
        case ["goto", _] | ["scroll_up"] | ["scroll_down"]:
            return [Look(READ, {}, "window", None, (), root, cwd)]
        case ["search_file", pattern]:
            return _of_search(pattern, (), "found", cwd, root)
        case ["search_file", pattern, path]:
            return _of_search(pattern, (path,), "found", cwd, root)
        case ["search_dir", pattern]:
            return _of_search(pattern, (".",), "counted", cwd, root)
        case ["search_dir", pattern, path]:
            return _of_search(pattern, (path,), "counted", cwd, root)
        case ["find_file", _]:
            return _of_names(".", cwd, root)
        case ["find_file", _, path]:
            return _of_names(path, cwd, root)
        case ["str_replace_editor", "view", path, *more]:
            return _of_view(path, more, cwd, root)
        case _:
            return []


def _of_search(pattern: str, paths: Sequence[str], form: Form, cwd: str | None, root: str | None) -> list[Look]:
    """A search by `grep`, whose expressions are basic ones."""
    locator = pattern_locator(pattern, fixed=False, basic=True)
    within = [below(path, root, cwd) for path in paths]
    if locator is None or None in within:
        return []
    return [Look(GREP, locator, form, None, tuple(one for one in within if one not in (None, ".")), root, cwd)]


def _of_names(path: str, cwd: str | None, root: str | None) -> list[Look]:
    within = below(path, root, cwd)
    if within is None:
        return []
    return [Look(READ, {}, "paths", None, () if within == "." else (within,), root, cwd)]


def _of_view(path: str, more: Sequence[str], cwd: str | None, root: str | None) -> list[Look]:
    looks = _files([path], cwd, root, "numbered")
    match list(more):
        case []:
            return looks
        case ["--view_range", first, last] if first.isdecimal() and len(first) < 8:
            end = int(last) if last.isdecimal() and len(last) < 8 else None
            return [kept for look in looks if (kept := _lines(look, max(1, int(first)), end)) is not None]
        case _:
            return []


def _files(operands: Sequence[str], cwd: str | None, root: str | None, form: Form, first: int | None = 1) -> list[Look]:
    paths = [below(path, root, cwd) for path in operands if path != "-"]
    return [Look(READ, {"path": path}, form, first) for path in paths if path is not None and path != "."]


def _ends(name: str, rest: Sequence[str], cwd: str | None, root: str | None) -> list[Look]:
    arguments = given(rest, "nc", ("lines", "bytes"))
    if arguments.has("c", "bytes", "f", "follow", "F"):
        return []
    count = arguments.value("n", "lines", "#") or "10"
    looks = _files(arguments.operands, cwd, root, "text")
    return [kept for look in looks if (kept := _end_of(name, count, look)) is not None]


def _end_of(name: str, count: str, look: Look) -> Look | None:
    """What `head` and `tail` leave of a file that is printed from its first line."""
    match = re.fullmatch(r"([+-]?)(\d{1,7})", count)
    if match is None:
        return None
    sign, number = match[1], int(match[2])
    if name == "head":
        lines = [1, number] if not sign and number else None
        return look if sign == "-" else None if lines is None else _lines(look, 1, number)
    if sign == "+":
        return _lines(look, max(1, number), None)
    return look._replace(first=None)


def _lines(look: Look, first: int, last: int | None) -> Look | None:
    """The look at these of its lines; None where it is not known which those are."""
    if look.first is None:
        return None
    begin = look.first + first - 1
    known = look.locator.get("lines")
    end = None if last is None else look.first + last - 1
    if known is not None:
        end = known[1] if end is None else min(end, known[1])
    if (end is not None and end < begin) or begin > _MOST_LINES:
        return None
    locator = {**look.locator, **({} if end is None else {"lines": [begin, end]})}
    return look._replace(locator=locator, first=begin)


def _sed(rest: Sequence[str], cwd: str | None, root: str | None) -> list[Look]:
    arguments = given(rest, "e")
    script = arguments.value("e")
    operands = list(arguments.operands)
    if script is None and operands:
        script = operands.pop(0)
    if (
        script is None
        or not arguments.has("n")
        or not arguments.only("ne")
        or not _RANGES.fullmatch(script.replace(" ", ""))
    ):
        return []
    looks: list[Look] = []
    for first, last in _RANGE.findall(script.replace(" ", "")):
        for look in _files(operands, cwd, root, "text"):
            end = None if last == "$" else int(last or first)
            kept = _lines(look, int(first), end) if int(first) else None
            looks += [] if kept is None else [kept]
    return looks


def _filtered(look: Look, words: Sequence[str]) -> Look | None:
    """What a command behind a pipe leaves of a look; None where nobody can tell."""
    name, rest = program(words[0]), words[1:]
    if name in _PASSING and not given(rest).operands:
        return look
    if name in ("head", "tail"):
        arguments = given(rest, "nc", ("lines", "bytes"))
        if arguments.operands or arguments.has("c", "bytes", "f", "F"):
            return None
        if look.substrate_class != READ:
            return look if look.substrate_class in (GREP, LOG) else None
        return _end_of(name, arguments.value("n", "lines", "#") or "10", look)
    if name in ("grep", "egrep", "fgrep", "rg") and look.substrate_class in (GREP, LOG, READ):
        found = grep_looks(name, [*rest, "-r"] if name != "rg" else rest, None, None)
        if not found or found[0].within or found[0].form != "matches" or given(rest, "ABCefm").has("n", "line-number"):
            return None
        if look.substrate_class == READ:
            return look._replace(first=None) if look.form == "text" else look
        return look
    if name == "sed" and look.substrate_class == READ:
        sliced = _sed([*rest, "x"], "/", "/")
        if len(sliced) == 1 and sliced[0].locator.get("path") == "x":
            lines = sliced[0].locator.get("lines")
            return _lines(look, sliced[0].first or 1, None if lines is None else lines[1])
    if name == "nl" and look.form == "text" and look.substrate_class == READ:
        if look.first != 1:
            return look._replace(form="unnumbered")
        return look._replace(form="numbered" if given(rest, "bdfhilnsvw").value("b") == "a" else "unnumbered")
    return None
