"""What stands around a command and only passes it on: assignments, `env`, `timeout`, `command`, and `bash -c '…'`.

Taken off only where it is certain that the command prints the same without it. So a variable that a shell, the loader
or one of the commands of `shell_looks` reads is none of these, nor is any option that is not listed here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

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

    Args:
        words: of the command; it has some.
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
    """The command line that a shell is given, as in `bash -lc "…"`; None where the words are another command.

    Args:
        words: of the command.
    """
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
