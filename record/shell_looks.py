"""The looks that a shell command takes at files: `cat`, `sed -n`, `grep`, `rg`, `ls`, `git show` and others.

For each program: its options, the files that it reads, the lines of them that it prints, and the search that it makes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from ..streams.judging.prose_literals import EXTENSIONS
from .looks import GREP, LOG, MTIME, NOWHERE, READ, Between, Form, Look, below, folder
from .shell import Pipeline, pipelines, program

MAX_PATTERN: Final = 1_000
"""Characters of a pattern, as for observers."""
_NO_PATTERN: Final = re.compile("[\n\0\ud800-\udfff]")
_SPECIAL: Final = re.compile(r"[\\^$.|?*+()\[\]{}]")
_SPECIAL_BASIC: Final = re.compile(r"[\\^$.*\[]")
_MARK: Final = re.compile(r"\\([^\w\s])")
"""A backslash before what is no letter: the character itself, but for those that mean more in a basic expression."""
_BASIC: Final = {"(": "(", ")": ")", "|": "|", "+": "+", "?": "?", "{": "{", "}": "}", "<": r"\b", ">": r"\b"}
"""What stands behind a backslash in a basic expression of GNU's, and what RE2 writes for it."""
_ESCAPED: Final = frozenset(".*[]\\$^/-\"'`bwWsSdD")
_NOT_RE2: Final = re.compile(r"\(\?(?:[=!>]|<[=!])|\\[1-9kGZKR]")


def pattern_locator(
    pattern: str, *, fixed: bool, basic: bool, word: bool = False, fold: bool = False
) -> dict[str, Any] | None:
    """The members of a locator; None where the pattern is none that RE2 reads alike.

    `fixed`: it stands for itself; `basic`: a POSIX basic expression, as grep reads without an option; `word`: whole
    words alone match; `fold`: letter case is ignored.
    """
    if not pattern or len(pattern) > MAX_PATTERN or _NO_PATTERN.search(pattern):
        return None
    plain = pattern if fixed else _plain(pattern, basic)
    if plain is not None:
        pattern = plain
        written = re.escape(pattern) if word or fold else pattern
        is_regex = word or fold
    else:
        found = _of_basic(pattern) if basic else pattern
        if found is None or _NOT_RE2.search(found):
            return None
        written, is_regex = found, True
    if word:
        written = rf"\b(?:{written})\b"
    if fold:
        written = f"(?i){written}"
    return {"pattern": written, "regex": True} if is_regex else {"pattern": written}


def _plain(pattern: str, basic: bool) -> str | None:
    """What an expression means that stands for one string; None where it does for more."""
    special = _SPECIAL_BASIC if basic else _SPECIAL
    if special.search(_MARK.sub("", pattern)) or (basic and any(one in _BASIC for one in _MARK.findall(pattern))):
        return None
    return _MARK.sub(r"\1", pattern)


def _of_basic(pattern: str) -> str | None:
    """A basic expression as an extended one."""
    pieces: list[str] = []
    at, inside = 0, False
    while at < len(pattern):
        one = pattern[at]
        if one == "\\":
            behind = pattern[at + 1 : at + 2]
            if behind in _BASIC and behind:
                pieces.append(_BASIC[behind])
            elif behind in _ESCAPED and behind:
                pieces.append(one + behind)
            else:
                return None
            at += 2
            continue
        if one == "[" and not inside:
            inside = True
        elif one == "]":
            inside = False
        pieces.append("\\" + one if one in "(){}|+?" and not inside else one)
        at += 1
    return "".join(pieces)


class Given(NamedTuple):
    """What a command was given.

    Attributes:
        options: each with its value, empty where it takes none; short ones by their letter, long ones by their name.
        operands: the other words, in order.
        behind: those of them that stand behind `--`.
    """

    options: tuple[tuple[str, str], ...]
    operands: tuple[str, ...]
    behind: tuple[str, ...]

    def has(self, *names: str) -> bool:
        """Whether one of these options was given."""
        return any(name in names for name, _ in self.options)

    def value(self, *names: str) -> str | None:
        """The value of the last of these options; None where none was given."""
        found = [value for name, value in self.options if name in names]
        return found[-1] if found else None

    def only(self, names: str, *long: str) -> bool:
        """Whether no other options than these letters and names were given."""
        return all(name in long if len(name) > 1 else name in names for name, _ in self.options)


def given(words: Sequence[str], valued: str = "", long: Sequence[str] = ()) -> Given:
    """The options and operands of a command, from the words behind its name.

    `valued`: letters of options that take a value, in the same word or the next; `long`: names of options whose value
    is the next word. With `=` every long option may have a value.
    """
    options: list[tuple[str, str]] = []
    operands: list[str] = []
    behind: list[str] = []
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if word == "--":
            behind = list(words[at:])
            break
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            if not equals and name in long and at < len(words):
                value, at = words[at], at + 1
            options.append((name, value))
        elif re.fullmatch(r"-\d+", word):
            options.append(("#", word[1:]))
        elif word.startswith("-") and len(word) > 1:
            at = _short(word[1:], words, at, valued, options)
        else:
            operands.append(word)
    return Given(tuple(options), (*operands, *behind), tuple(behind))


def _short(letters: str, words: Sequence[str], at: int, valued: str, options: list[tuple[str, str]]) -> int:
    for place, letter in enumerate(letters):
        if letter in valued:
            value = letters[place + 1 :]
            if not value and at < len(words):
                value, at = words[at], at + 1
            options.append((letter, value))
            return at
        options.append((letter, ""))
    return at


_VALUED: Final = {"grep": "ABCDdefm", "git grep": "ABCefmO", "rg": "ABCEefgjmMrtT"}
_LONG: Final = (
    "regexp",
    "file",
    "max-count",
    "context",
    "after-context",
    "before-context",
    "include",
    "exclude",
    "exclude-dir",
) + ("glob", "iglob", "type", "type-not", "max-depth", "max-columns", "threads", "sort", "encoding", "replace", "label")
_OTHER: Final = (
    # not the matching lines, or not those of the pattern
    ("v", "invert-match", "L", "files-without-match", "f", "file", "o", "only-matching", "r!", "replace", "files")
    + (
        "json",
        "vimgrep",
        "U",
        "multiline",
        "P",
        "perl-regexp",
        "passthru",
        "z",
        "null-data",
        "and",
        "or",
        "not",
        "stats",
    )
)
_UNORDERED: Final = ("q", "quiet", "silent", "c", "count", "count-matches")


def grep_looks(program: str, words: Sequence[str], cwd: str | None, root: str | None) -> list[Look]:
    """The look of a search by this program, one for all files that it was given; `words` stand behind its name."""
    kind = "grep" if program in ("grep", "egrep", "fgrep") else program
    arguments = given(words, _VALUED[kind], _LONG)
    patterns = [value for name, value in arguments.options if name in ("e", "regexp")]
    operands = list(arguments.operands)
    if not patterns and operands:
        patterns = [operands.pop(0)]
    if len(patterns) != 1 or _is_other(kind, arguments) or arguments.has(*_UNORDERED):
        return []
    locator = _pattern(program, kind, arguments, patterns[0])
    paths = [below(path, root, cwd) for path in operands]
    if not operands:
        if kind == "grep" and not arguments.has("r", "R", "recursive"):
            return []  # what comes through a pipe
        paths = [below(".", root, cwd)]
    if locator is None or None in paths:
        return []
    form = "files" if arguments.has("l", "files-with-matches") else "matches"
    within = tuple(path for path in paths if path is not None)
    return [Look(GREP, locator, form, None, () if within == (".",) else within, root, cwd)]


def _is_other(kind: str, arguments: Given) -> bool:
    others = [name for name in _OTHER if not (name == "r!" or (kind != "rg" and name == "replace"))]
    return arguments.has(*others) or (kind == "rg" and arguments.has("r"))


def _pattern(program: str, kind: str, arguments: Given, pattern: str) -> dict[str, Any] | None:
    fixed = program == "fgrep" or arguments.has("F", "fixed-strings")
    basic = kind != "rg" and program != "egrep" and not arguments.has("E", "extended-regexp")
    fold = arguments.has("i", "ignore-case") or (arguments.has("S", "smart-case") and pattern == pattern.lower())
    return (
        pattern_locator(pattern, fixed=fixed, basic=basic, word=arguments.has("w", "word-regexp"), fold=fold)
        if not arguments.has("x", "line-regexp")
        else None
    )


_HASH: Final = re.compile(r"[0-9a-f]{7,40}")
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._/-]{0,200}")
_HEAD: Final = re.compile(r"(?:HEAD|@)(?:[~^]\d*)*")
_LINE_RANGE: Final = re.compile(r"(\d{1,7}),(\d{1,7})")
_ELSEWHERE: Final = frozenset(
    ("all", "branches", "remotes", "tags", "reflog", "walk-reflogs", "glob", "stdin", "cherry-pick")
)
_LOG_VALUES: Final = "nSGLO"
_LOG_LONG: Final = (
    "max-count",
    "skip",
    "since",
    "after",
    "until",
    "before",
    "author",
    "committer",
    "grep",
    "format",
    "pretty",
    "date",
) + ("diff-filter", "encoding", "color", "word-diff-regex")


def git_looks(words: Sequence[str], cwd: str | None, root: str | None) -> list[Look]:
    """The looks of a git command, from the words behind `git`."""
    rest = list(words)
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if option == "-C" and rest:
            cwd = folder(rest.pop(0), cwd)
            if cwd is None:
                return []
        elif option == "-c" and rest:
            rest.pop(0)
        elif option not in ("--no-pager", "-P", "--literal-pathspecs"):
            return []
    if not rest or (below(".", root, cwd) is None):
        return []
    command, *rest = rest
    match command:
        case "log" | "shortlog" | "whatchanged":
            return _log(rest, cwd, root)
        case "show":
            return _show(rest, cwd, root)
        case "blame" | "annotate":
            return _blame(rest, cwd, root)
        case "grep":
            return grep_looks("git grep", rest, cwd, root)
        case _:
            return []


def _log(words: Sequence[str], cwd: str | None, root: str | None) -> list[Look]:
    arguments = given(words, _LOG_VALUES, _LOG_LONG)
    revisions = [
        word for word in arguments.operands[: len(arguments.operands) - len(arguments.behind)] if not _is_file(word)
    ]
    paths = [word for word in arguments.operands if word not in revisions]
    locator: dict[str, Any] = {}
    if len(revisions) > 1:
        return []
    if revisions and not _HEAD.fullmatch(revisions[0]):
        if ".." in revisions[0] or _HASH.fullmatch(revisions[0]) or not _NAME.fullmatch(revisions[0]):
            return []
        locator["ref"] = revisions[0]
    if len(paths) == 1:
        path = below(paths[0], root, cwd)
        if path is None:
            return []
        locator |= {} if path == "." else {"path": path}
    reachable = not locator.get("ref") and not arguments.has(*_ELSEWHERE, "g")
    return [Look(LOG, locator, "log", reachable=reachable)]


def _is_file(word: str) -> bool:
    """Whether a word that may be a revision or a path is a path: by its ending."""
    return ".." not in word and word.rpartition(".")[2].lower() in EXTENSIONS and "." in word.rpartition("/")[2]


def _show(words: Sequence[str], cwd: str | None, root: str | None) -> list[Look]:
    arguments = given(words, "n", _LOG_LONG)
    before = arguments.operands[: len(arguments.operands) - len(arguments.behind)]
    if len(before) > 1 or len(arguments.behind) > 1:
        return []
    named = before[0] if before else "HEAD"
    revision, colon, inside = named.partition(":")
    where: dict[str, Any] = {}
    if _HASH.fullmatch(revision):
        where["commit"] = revision
    elif not _HEAD.fullmatch(revision):
        if not _NAME.fullmatch(revision):
            return []
        where["ref"] = revision
    elif revision not in ("HEAD", "@"):
        return []  # `HEAD~3` is another commit by the time that somebody looks
    if colon:
        # A path behind a revision is one of the root, unless it begins with `./`.
        path = below(inside, root, cwd if inside.startswith("./") else root)
        ref = {} if where else {"ref": "HEAD"}
        return [] if path in (None, ".") else [Look(READ, {"path": path, **where, **ref}, "text")]
    if arguments.behind:
        path = below(arguments.behind[0], root, cwd)
        if path is None:
            return []
        where |= {"path": path}
    return [Look(LOG, where, "log", reachable=not where.get("ref") and "commit" not in where)]


def _blame(words: Sequence[str], cwd: str | None, root: str | None) -> list[Look]:
    arguments = given(words, "LCMS", ("since", "ignore-rev", "contents"))
    paths = arguments.behind or arguments.operands[-1:]
    if len(arguments.operands) != 1 or not arguments.only("LCMwlfnse", "date", "color-lines"):
        return []
    path = below(paths[0], root, cwd)
    if path in (None, "."):
        return []
    locator: dict[str, Any] = {"path": path}
    lines = arguments.value("L")
    found = None if lines is None else _LINE_RANGE.fullmatch(lines)
    if found is not None:
        locator["lines"] = [int(found[1]), int(found[2])]
    return [Look(LOG, {"path": path}, "blame"), Look(READ, locator, "blame")]


MOST_LOOKS: Final = 50
"""Looks of one command line."""
_SILENT: Final = re.compile(
    r"(?:true|:|sleep|unset)(?: .*)?|set .+|export(?: \w+(?:=.*)?)+|shopt -[su]( .+)|umask \d+|ulimit -\w \S+|"
    r"(?:mkdir|touch)(?: -[pma]+)?(?: [^-].*)?",
    re.DOTALL,
)
"""Commands that print nothing. Some of them would, with other words."""
_SED_RANGES: Final = re.compile(r"(?:\d{1,7}(?:,(?:\d{1,7}|\$))?p)(?:;\d{1,7}(?:,(?:\d{1,7}|\$))?p)*;?")
_SED_RANGE: Final = re.compile(r"(\d+)(?:,(\d+|\$))?p")
_PASSING: Final = frozenset(("cat", "less", "more"))
_ECHO_OPTION: Final = re.compile(r"-[neE]+")
UNNAMED: Final = "//unnamed"
"""Stands for a root that nobody named."""
_MOST_LINES: Final = 10_000_000


def shell_looks(line: str, cwd: str | None, root: str | None) -> list[Look]:
    """The looks of a command line, in order. Of `cwd` and `root`, one that is None is taken to be the other."""
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
        or not _SED_RANGES.fullmatch(script.replace(" ", ""))
    ):
        return []
    looks: list[Look] = []
    for first, last in _SED_RANGE.findall(script.replace(" ", "")):
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
