"""Shell command lines taken apart, never executed: which commands they are, in which folder, behind which pipe.

`shlex` splits words; before it a scan over the characters finds what a shell would replace. Substitutions, here
documents, compound commands and control characters make the whole line unclear; a variable or a glob makes its word
unclear. What is unclear gives no command, and nobody guesses.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Final, NamedTuple

from .call_paths import folder

MAX_LINE: Final = 20_000
"""Characters of a command line."""
MAX_WORDS: Final = 2_000
UNCLEAR: Final = "\ue000"
"""Stands in a word where a shell would put something that nobody knows."""

_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ue000-\ue1ff]")
_EXPANDS: Final = re.compile(r"\$[A-Za-z0-9_{@*#?$!\-]")
_ERRORS: Final = re.compile(r"2>(?:&1|\s*/dev/null)(?=[\s;|&]|\Z)")
_COMPOUND: Final = frozenset(
    ("if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "function", "select")
    + ("{", "}", "!", "[[", "coproc", "time")
)
_QUOTED: Final = {ord(one): chr(0xE100 + ord(one)) for one in "();<>|&{}!"}
"""Operators that are quoted: words like any other, until they are told apart."""
_PLAIN: Final = {ord(other): chr(one) for one, other in _QUOTED.items()}
_CHANGES_ALL: Final = frozenset(("pushd", "popd", "source", ".", "eval", "exec", "alias", "trap", "unalias", "exit"))
"""Commands behind which nothing is known any more."""
_STOPPING: Final = _COMPOUND | _CHANGES_ALL | {"("}
_BETWEEN: Final = frozenset((";", "&&", "||", "|", "|&"))
_SHELLS: Final = frozenset(("bash", "sh", "zsh", "/bin/bash", "/bin/sh", "/usr/bin/bash", "/bin/zsh"))


class Pipeline(NamedTuple):
    """Commands that are joined by pipes.

    Attributes:
        commands: each its words, the command's name first; none where they are unclear.
        cwd: the folder in which it runs; None where that is not known.
    """

    commands: tuple[tuple[str, ...], ...]
    cwd: str | None


def pipelines(line: str, cwd: str | None) -> list[Pipeline]:
    """The pipelines of a command line in order, those that are unclear without commands; `cd` is followed, not given.

    Args:
        line: as the agent gave it; a script of several lines is one as well.
        cwd: where it starts, absolute; None where that is not known.
    """
    words = _words(line)
    return [] if words is None else list(_pipelines(words, cwd))


def script_of(words: list[str]) -> str | None:
    """The command line in `bash -lc "…"` given as a list of words; of other lists the line that means the same."""
    if len(words) == 3 and words[0] in _SHELLS and re.fullmatch(r"-[lie]*c", words[1]):
        return words[2]
    return shlex.join(words) if words else None


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
    return words if len(words) <= MAX_WORDS else None


def _scanned(line: str) -> str | None:
    """The line with `UNCLEAR` where a shell would replace something, line ends as `;`, and comments left out."""
    pieces: list[str] = []
    quote, at, begins = "", 0, True
    while at < len(line):
        one = line[at]
        if quote == "'":
            quote = "" if one == "'" else quote
        elif one == "\\" and at + 1 < len(line):
            pieces.append(" " if line[at + 1] == "\n" else line[at : at + 2].translate(_QUOTED))
            at, begins = at + 2, False
            continue
        elif one == "`" or line.startswith(("$(", "<(", ">(", "<<"), at):
            if one in "`$" or not quote:
                return None
        elif one == "$" and (_EXPANDS.match(line, at) or (not quote and line[at + 1 : at + 2] in ("'", '"'))):
            one = UNCLEAR
        elif one == '"':
            quote = "" if quote else one
        elif not quote:
            if one == "'":
                quote = one
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


def _pipelines(words: list[str], cwd: str | None) -> Iterator[Pipeline]:
    for commands, clear in _split(words):
        names = [command[0] if command else "" for command in commands]
        if not _STOPPING.isdisjoint(names):
            yield Pipeline((), None)
            return
        if names == ["cd"]:
            cwd = folder(commands[0][1], cwd) if clear and len(commands[0]) == 2 else None
        else:
            fine = clear and all(names)
            yield Pipeline(tuple(tuple(command) for command in commands) if fine else (), cwd)


def _split(words: list[str]) -> Iterator[tuple[list[list[str]], bool]]:
    """Pipelines with whether they are clear: nothing unknown in them, no redirection, not in the background."""
    commands: list[list[str]] = [[]]
    none: list[str] = []
    clear = True
    for word in (*words, ";"):
        if word in ("|", "|&"):
            commands.append([])
        elif word in _BETWEEN or (word and set(word) <= set(";")):
            if any(commands):
                yield commands, clear
            commands, clear = [none.copy()], True
        elif word and set(word) <= set("<>&|;()"):
            clear = False
            if "(" in word or ")" in word:
                stopped: list[list[str]] = [["("]]
                yield stopped, False
        else:
            clear = clear and UNCLEAR not in word
            commands[-1].append(word.translate(_PLAIN))
