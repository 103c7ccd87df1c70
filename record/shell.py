"""Shell command lines taken apart, never executed: the commands, their folder, and the pipe that they read.

Substitutions, here documents, compound commands and control characters make the whole line unclear; a variable or a
glob makes its word unclear. Subshells and `bash -c '…'` are taken apart as well; a wrapper (`timeout 5`, `env X=1`,
`X=1`) is removed. What is unclear gives no command.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Final, NamedTuple

from .looks import folder

_ASSIGNMENT: Final = re.compile(r"([A-Za-z_]\w*)\+?=(.*)", re.ASCII | re.DOTALL)
_FELT: Final = re.compile(
    r"PATH|HOME|PWD|OLDPWD|CDPATH|FPATH|ZDOTDIR|IFS|ENV|SHELL|SHELLOPTS|PROMPT_COMMAND|PS4|POSIXLY_CORRECT|_POSIX2_VERSION|"
    r"PAGER|LINES|TABSIZE|(?:LD|DYLD|LOC|NLS|GLIBC|GCONV|MALLOC|GIT|GREP|RIPGREP|LESS|LS|QUOTING|TIME|BLOCK|BLOCKSIZE|"
    r"DF|DU|TZ|XDG|BASH|ZSH|SWE|WINDOW|CURRENT)(?![a-z])\w*",
    re.ASCII,
)
"""Names of variables that change what the commands print, or which programs they are."""
_NO_PAGER: Final = frozenset(("PAGER=cat", "GIT_PAGER=cat", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0"))
"""Assignments to such variables that change nothing of that."""
_FOLDERS: Final = frozenset(("/bin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"))
"""Where a program is what its name says. Whoever names it by another path may have made it."""
_SHELLS: Final = frozenset(("bash", "sh", "zsh", "dash"))
_FLAGS: Final = re.compile(r"-[leu]+|--login|--norc|--noprofile")
_SCRIPT: Final = re.compile(r"-[leu]*c")
_WITH_OPTION: Final = re.compile(r"-[leu]*o")
_OPTIONS: Final = frozenset(("pipefail", "errexit", "nounset"))
_DURATION: Final = re.compile(r"\d{1,9}(?:\.\d{1,9})?[smhd]?")
_SIGNAL: Final = re.compile(r"[A-Z0-9]{1,10}")
PROGRAMS: Final = frozenset(
    ("cat", "less", "more", "nl", "head", "tail", "sed", "grep", "egrep", "fgrep", "rg", "git", "stat", "ls", "echo")
)
"""Programs of which it is known which variables they read."""


def program(word: str) -> str:
    """The name of the program that a command begins with; of one in a folder of its own all of the path."""
    folder, slash, name = word.rpartition("/")
    return name if not slash or folder in _FOLDERS else word


def assigned(word: str) -> str | None:
    """The name of the variable that a word in front of a command assigns to; None where it is another word."""
    match = _ASSIGNMENT.fullmatch(word)
    return None if match is None else match[1]


def is_felt(word: str) -> bool:
    """Whether an assignment, or the name of a variable, may change what commands print."""
    name = assigned(word) or word
    return word not in _NO_PAGER and _FELT.fullmatch(name) is not None


def is_run(words: Sequence[str]) -> bool:
    """Whether a command is one that may be given an environment, and through other programs."""
    return bool(words) and (program(words[0]) in PROGRAMS or script_in(words) is not None)


def passed_on(words: Sequence[str]) -> Sequence[str] | None:
    """The command that `env` and `timeout` run, through each other as well; None where it is not certain to print the
    same without them. Any other command is itself.
    """
    rest = list(words)
    while (name := program(rest[0])) in ("env", "timeout"):
        behind = _of_env(rest[1:]) if name == "env" else _of_timeout(rest[1:])
        if not behind:
            return None
        rest = behind
    return rest if len(rest) == len(words) or is_run(rest) else None


def _of_env(words: list[str]) -> list[str]:
    """What stands behind its assignments; nothing where one is felt, or where there are options."""
    while words and "=" in words[0]:
        if assigned(words[0]) is None or is_felt(words[0]):
            return []
        words = words[1:]
    return [] if words and words[0].startswith("-") else words


def _of_timeout(words: list[str]) -> list[str]:
    while words and words[0].startswith("-"):
        match words:
            case ["--foreground" | "--preserve-status", *rest]:
                words = rest
            case ["-k", duration, *rest] if _DURATION.fullmatch(duration):
                words = rest
            case ["-s", signal, *rest] if _SIGNAL.fullmatch(signal):
                words = rest
            case _:
                return []
    return words[1:] if words and _DURATION.fullmatch(words[0]) else []


def script_in(words: Sequence[str]) -> str | None:
    """The command line that a shell is given, as in `bash -lc "…"`; None where the words are another command."""
    if not words or program(words[0]) not in _SHELLS:
        return None
    rest = list(words[1:])
    while rest and not _SCRIPT.fullmatch(rest[0]):
        if _FLAGS.fullmatch(rest[0]):
            rest = rest[1:]
        elif len(rest) > 1 and _WITH_OPTION.fullmatch(rest[0]) and rest[1] in _OPTIONS:
            rest = rest[2:]
        else:
            return None
    return rest[1] if len(rest) == 2 else None


MAX_LINE: Final = 20_000
"""Characters of a command line."""
MAX_WORDS: Final = 2_000
MAX_DEPTH: Final = 4
"""Subshells and scripts inside one another."""
UNCLEAR: Final = "\ue000"
"""Stands in a word where a shell would put something that nobody knows."""
QUOTED: Final = "\ue001"
"""Stands in a word where a quotation begins: what is quoted is no assignment."""

_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ue000-\ue1ff]")
_EXPANDS: Final = re.compile(r"\$[A-Za-z0-9_{@*#?$!\-]")
_ERRORS: Final = re.compile(r"2>(?:&1|\s*/dev/null)(?=[\s;|&)]|\Z)")
_OPERATORS: Final = re.compile(r"&&|\|\||\|&|&>>?|[<>]&|>>|>\||<>|[()<>;|&]")
_COMPOUND: Final = frozenset(
    ("if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "function", "select")
    + ("{", "}", "!", "[[", "coproc")
)
_OPERATOR: Final = "();<>|&"
_QUOTED: Final = {ord(one): chr(0xE100 + ord(one)) for one in (*_OPERATOR, *"{}!")}
"""Operators that are quoted: words like any other, until they are told apart."""
_PLAIN: Final[dict[int, str | None]] = {ord(other): chr(one) for one, other in _QUOTED.items()} | {ord(QUOTED): None}
_CHANGES_ALL: Final = frozenset(
    ("pushd", "popd", "source", ".", "eval", "exec", "alias", "trap", "unalias", "exit", "return", "logout", "hash")
    + ("enable", "builtin", "read", "mapfile", "readarray", "getopts", "let")
)
"""Commands behind which nothing is known any more."""
_ENDS_EARLY: Final = re.compile(r"-\w*e\w*|errexit")
_SET: Final = re.compile(r"(?:[-+][eufE]*(?:[eufE]|o (?:pipefail|errexit|nounset|noglob|errtrace))(?: |\Z))+")
"""What `set` may be told: anything else prints more, or has nothing printed any more."""
_STOPPING: Final = _COMPOUND | _CHANGES_ALL
_SETTING: Final = frozenset(("export", "declare", "typeset", "local", "readonly", "unset"))
_SOURCING: Final = frozenset(("source", "."))
_SETS_UP: Final = re.compile(r"(?:^|/)(?:activate|nvm\.sh|env)$")
"""Scripts that only say which programs are meant."""
_STORING: Final = frozenset((">", ">>", "&>", "&>>", ">|", "<>"))
_SEPARATORS: Final = frozenset((";", "&&", "||"))
_PIPES: Final = frozenset(("|", "|&"))


class Pipeline(NamedTuple):
    """Commands that are joined by pipes.

    Attributes:
        commands: each its words, the command's name first; none where they are unclear.
        cwd: the folder in which it runs; None where that is not known.
        background: it runs beside those that follow, and may print at any time.
        certain: it is run to its end whenever all of the line succeeds.
        written: the words of each command as they are written, also where it is unclear what they print; `UNCLEAR`
            stands for what a shell would replace. Files that the output goes to are left out.
        stored: files that its output goes to.
        joined: what stands before it: `;`, `&&` or `||`.
    """

    commands: tuple[tuple[str, ...], ...]
    cwd: str | None
    background: bool = False
    certain: bool = True
    written: tuple[tuple[str, ...], ...] = ()
    stored: tuple[str, ...] = ()
    joined: str = ";"


def pipelines(line: str, cwd: str | None, depth: int = 0) -> list[Pipeline]:
    """The pipelines of a command line or script in order, those that are unclear without commands. `cd` is followed,
    not given; assignments are not given either. `depth` is the number of scripts that it stands in.
    """
    words = _words(line)
    if words is None:
        return []
    found = _Reading(words, depth).all(cwd)
    ends_early = depth > 0 or any(one.commands and one.commands[0][0] == "set" for one in found)  # as after `set -e`
    if ends_early or not {";", "||"}.isdisjoint(words):
        return [one._replace(certain=one.certain and not ends_early) for one in found]
    return [one._replace(certain=True) for one in found]  # had one not succeeded, no later one had been run


def script_of(words: list[str]) -> str | None:
    """The command line in `bash -lc "…"` given as a list of words; of other lists the line that means the same."""
    script = script_in(words)
    if script is None:
        return shlex.join(words) if words else None
    return script if not any(_ENDS_EARLY.fullmatch(word) for word in words[1:-1]) else f"set -e\n{script}"


def _words(line: str) -> list[str] | None:
    """The words and operators of a line; None where it is unclear as a whole."""
    if len(line) > MAX_LINE or _CONTROL.search(line):
        return None
    scanned = _scanned(line)
    if scanned is None:
        return None
    lexer = shlex.shlex(scanned, posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        words = list(lexer)
    except ValueError:  # a quotation does not end
        return None
    if len(words) > MAX_WORDS or any("((" in word for word in words):
        return None  # `((` is arithmetic, unless it is not
    return [part for word in words for part in (_OPERATORS.findall(word) if _is_operator(word) else (word,))]


def _is_operator(word: str) -> bool:
    return bool(word) and set(word) <= set(_OPERATOR)


def _scanned(line: str) -> str | None:
    """The line with `UNCLEAR` where a shell would replace something, `QUOTED` where a quotation begins, line ends as
    `;`, and comments left out."""
    pieces: list[str] = []
    quote, at, begins = "", 0, True
    while at < len(line):
        one = line[at]
        if quote == "'":
            quote = "" if one == "'" else quote
        elif one == "\\" and at + 1 < len(line):
            escaped = line[at + 1]
            if escaped != "\n":  # else the line goes on, and so does its word
                pieces.append(_escaped(escaped, quote))
                begins = False
            at += 2
            continue
        elif one == "`" or line.startswith(("$(", "<(", ">(", "<<"), at):
            if one in "`$" or not quote:
                return None
        elif one == "$" and (_EXPANDS.match(line, at) or (not quote and line[at + 1 : at + 2] in ("'", '"'))):
            one = UNCLEAR
        elif one == '"':
            quote = "" if quote else one
            pieces.append(QUOTED if quote else "")
        elif not quote:
            if one == "'":
                quote = one
                pieces.append(QUOTED)
            elif one in "*?[{" or (one == "~" and begins):
                one = UNCLEAR
            elif one == "\n":
                one = ";"
            elif one == "#" and begins:
                end = line.find("\n", at)
                at = len(line) if end < 0 else end
                continue
            elif one == "2" and begins and (match := _ERRORS.match(line, at)) is not None:
                at = match.end()
                continue
        begins = not quote and (one.isspace() or one in ";&|()")
        pieces.append(one.translate(_QUOTED) if quote else one)
        at += 1
    return "".join(pieces)


def _escaped(one: str, quote: str) -> str:
    """What a backslash and a character are to `shlex`, so that it reads of them what a shell does."""
    if quote and one in "$`":
        return one  # between double quotes it takes the backslash for one of the text
    return ("" if quote else QUOTED) + ("\\" + one).translate(_QUOTED)


class _Reading:
    """Reads words and operators once, from the first to the last.

    Args:
        words: what there is.
        depth: how many scripts and subshells they stand in.
    """

    def __init__(self, words: list[str], depth: int) -> None:
        self._words, self._at, self._depth = words, 0, depth
        self._stopped = depth > MAX_DEPTH
        self._changed = False  # commands may be other programs than their names say, or print something else

    def all(self, cwd: str | None) -> list[Pipeline]:
        """Every pipeline, up to where nothing is known any more."""
        found = self._list(cwd)
        return found if self._at >= len(self._words) and not self._stopped else [*found, Pipeline((), None)]

    @property
    def _next(self) -> str:
        return self._words[self._at] if self._at < len(self._words) else ""

    def _list(self, cwd: str | None) -> list[Pipeline]:
        """The pipelines up to the parenthesis that ends this subshell, or the end."""
        found: list[Pipeline] = []
        before, moved, perhaps = ";", False, False  # whether `cd` was met since the last `;`, and it may not be run
        while not self._stopped and self._next not in ("", ")"):
            if self._next in _SEPARATORS:
                before = self._next
                self._at += 1
                if (before == "||" and moved) or (before == ";" and perhaps):
                    cwd = None
                moved, perhaps = (moved and before != ";"), (perhaps and before != ";")
                continue
            some, behind = self._pipeline(cwd)
            if moved and some and some[-1].background:
                behind = None  # so does what stands before it, `cd` too
            if behind != cwd or behind is None:
                moved, perhaps = True, perhaps or before != ";"
                behind = None if before == "||" else behind
            found += some if before == ";" else [one._replace(certain=False) for one in some]
            if some:
                found[-len(some)] = found[-len(some)]._replace(joined=before)
            cwd, before = behind, ";"
        return found

    def _subshell(self, cwd: str | None) -> list[Pipeline]:
        """What stands between this parenthesis and the one that ends it."""
        self._depth += 1
        self._stopped = self._stopped or self._depth > MAX_DEPTH
        self._at += 1
        found = self._list(cwd)
        self._stopped = self._stopped or self._next != ")"
        self._at += 1
        self._depth -= 1
        return found

    def _pipeline(self, cwd: str | None) -> tuple[list[Pipeline], str | None]:
        """The next pipeline, as several where it is a list of its own; and the folder behind it."""
        inner = self._subshell(cwd) if self._next == "(" else None
        commands: list[list[str]] = [[]]
        clear, background, target_of, stored = True, False, "", list[str]()
        while not self._stopped and not background and self._next not in ("", ")", *_SEPARATORS):
            word = self._next
            self._at += 1
            if word in _PIPES:
                commands.append([])
            elif word == "(":
                self._stopped = True  # a function, an array, or whatever else
            elif _is_operator(word):
                clear, background = False, word == "&"  # else a redirection
                target_of = "" if background else word
                if target_of and commands[-1][-1:] in (["1"], ["2"]):
                    commands[-1].pop()  # which of its outputs
            elif target_of:
                stored += [word.translate(_PLAIN)] if target_of in _STORING else []
                target_of = ""
            else:
                commands[-1].append(word)
        if inner is None and len(commands) == 1 and commands[0] and all(map(assigned, commands[0])):
            self._changed = self._changed or any(is_felt(word.translate(_PLAIN)) for word in commands[0])
            return [], cwd  # nothing is run, and nothing printed
        taken = [self._taken_off(command) for command in (commands if inner is None else commands[1:])]
        if self._stopped:
            return [], None
        written = tuple(tuple(word.translate(_PLAIN) for word in command) for command in commands if command)
        ran = Pipeline((), cwd, background, True, written if inner is None else (), tuple(stored))
        if background or (inner is not None and commands[0]):
            return [ran], cwd
        if inner is None and len(taken) == 1 and taken[0][:1] == ("cd",):
            there = clear and len(taken[0]) == 2 and UNCLEAR not in taken[0][1]
            return [], folder(taken[0][1], cwd) if there else None
        if self._changed or not clear or not all(taken) or any(UNCLEAR in word for words in taken for word in words):
            return [*(one._replace(commands=()) for one in inner or ()), ran], cwd
        script = script_in(taken[0]) if inner is None else None
        if script is not None:
            inner, taken = pipelines(script, cwd, self._depth + 1), taken[1:]
        if inner is None:
            return [ran._replace(commands=tuple(taken))], cwd
        if not taken:
            return inner, cwd
        one = inner[0] if len(inner) == 1 and inner[0].commands else ran
        return [one._replace(commands=(*one.commands, *taken), written=()) if one.commands else one], cwd

    def _taken_off(self, given: list[str]) -> tuple[str, ...]:
        """The words of a command without what only passes it on; none where they are unclear. Ends the reading where
        nothing is known behind the command."""
        rest = given
        while rest and assigned(rest[0]) is not None:
            self._changed = self._changed or is_felt(rest[0].translate(_PLAIN))
            rest = rest[1:]
        words = tuple(word.translate(_PLAIN) for word in rest)
        while words[:1] == ("command",) and words[1:2] not in ((), ("-v",), ("-V",)):
            words = words[1:]
        name = words[0] if words else ""
        setting = name in _SETTING and any(map(is_felt, words[1:]))
        setting = setting or (name == "set" and _SET.fullmatch(" ".join(words[1:])) is None)
        is_source = name in _SOURCING and _SETS_UP.search(words[-1]) is not None
        self._changed = self._changed or setting or is_source
        if UNCLEAR in name or (name in _STOPPING and not is_source) or words[:2] == ("printf", "-v") or name[:1] == "-":
            self._stopped = True
        if not words or self._stopped:
            return ()
        passed = passed_on(words)
        if passed is None or (len(passed) != len(words) and any(UNCLEAR in word for word in words)):
            return ()  # what stands for a word that nobody knows may be several, and the command among them
        given_some = len(rest) != len(given)
        return tuple(passed) if not given_some or name == "cd" or is_run(passed) else ()
