"""Sentences that state a result of a command: «All tests pass.», «Lint is clean.», «the build succeeds», «38 passed».

Closed lists (`data/results.toml`), no model. What plans, limits, denies, or speaks of another time or place is none of
them. What a sentence speaks of is told only where it says so plainly: else it is something that is not known.
"""

from __future__ import annotations

import re
import shlex
import tomllib
from functools import lru_cache
from importlib import resources
from typing import Final, NamedTuple

import msgspec

from ..codecs.records import SessionKind
from ..codecs.unicode_text import nfkc
from ..streams.judging.quotes import code_spans
from .command_kinds import ELSEWHERE, RESULT_KINDS, CommandKinds

MAX_SENTENCE: Final = 600
"""Characters of a sentence; a longer one says more than a result."""
_MARKS: Final = re.compile(r"[*_~]{1,3}(?=\S)|(?<=\S)[*_~]{1,3}|^[\s>#\-–—•✅✓✔☑️🎉]+|[✅✓✔☑️🎉]")
_TESTS: Final = re.compile(
    r"(?:\w+(?:::|/|\.))*(?:test_\w+|\w+_(?:test|spec)|Test\w+|\w+Tests?)(?:\.\w{1,5})?(?:::\S+)?"
)
_PATH: Final = re.compile(
    r"[\w.@+-]*/[\w./@+:\[\]-]*|[\w.+-]+\.(?:py|[jt]sx?|mjs|rs|go|rb|java|kt|cs|c|cc|cpp|php|sh|ex|exs)(?:::\S+)?"
)
_COUNT: Final = re.compile(r"\b(\d{1,7})(?:/(\d{1,7}))?(?: of (\d{1,7}))?")
_WORD: Final = re.compile(r"[a-z][\w'’-]*")
_DENIES: Final = re.compile(r"n['’]t\b")


class _Words(msgspec.Struct, frozen=True):
    other: frozenset[str]
    none_failed: str
    good: str
    whole: frozenset[str]
    nouns: dict[SessionKind, str]


class Result(NamedTuple):
    """A result that a sentence states.

    Attributes:
        kind: of the command.
        scope: what it speaks of; empty: everything.
        number: that it says so many passed, and no more than that; None where it says all did.
    """

    kind: SessionKind
    scope: tuple[str, ...] = ()
    number: int | None = None


@lru_cache(maxsize=1)
def _words() -> tuple[_Words, re.Pattern[str], re.Pattern[str], re.Pattern[str], dict[SessionKind, re.Pattern[str]]]:
    text = resources.files("sluice.record").joinpath("data", "results.toml").read_text("utf-8")
    words = msgspec.convert(tomllib.loads(text), _Words)
    other = re.compile(r"\b(?:" + "|".join(map(re.escape, sorted(words.other, key=len, reverse=True))) + r")\b")
    nouns: dict[SessionKind, re.Pattern[str]] = {kind: re.compile(one) for kind, one in words.nouns.items()}
    return words, other, re.compile(words.none_failed), re.compile(words.good), nouns


def results_of(sentence: str, kinds: CommandKinds | None = None, root: str | None = None) -> list[Result]:
    """The results that a sentence states, one of each kind; none where it states something else.

    Args:
        sentence: Markdown.
        kinds: of the project's commands, for those that the sentence sets off as code.
        root: of the project.
    """
    if len(sentence) > MAX_SENTENCE or sentence.rstrip().endswith(("?", ":")):
        return []
    _, other, none_failed, good, nouns = _words()
    codes = [sentence[start:end].strip("` ") for start, end in code_spans(sentence)]
    plain = sentence
    for start, end in reversed(code_spans(sentence)):
        plain = plain[:start] + " \x00 " + plain[end:]
    plain = _MARKS.sub(" ", nfkc(plain)).lower()
    rest, none = none_failed.subn(" ", plain)
    if _DENIES.search(rest) or other.search(rest) or not (none or good.search(rest)):
        return []
    run = next((made for one in codes if (made := _of_command(one, kinds or CommandKinds(), root))), None)
    if run is not None and not (set(codes) - {run[0]}):
        return [run[1]]
    found: list[SessionKind] = [kind for kind, noun in nouns.items() if noun.search(plain)]
    tests = [one for one in codes if _TESTS.fullmatch(one) or _PATH.fullmatch(one)]
    if not found and codes and any(map(_TESTS.fullmatch, codes)) and len(tests) == len(codes):
        found = ["test"]
    scope, number = _spoken_of(rest, tests, len(tests) != len(codes), nouns)
    return [Result(kind, scope, number if kind == "test" else None) for kind in found]


def _spoken_of(
    rest: str, tests: list[str], is_unclear: bool, nouns: dict[SessionKind, re.Pattern[str]]
) -> tuple[tuple[str, ...], int | None]:
    """What a sentence speaks of, and how many it says passed where it does not say that all did."""
    words, _, _, good, _ = _words()
    count = _COUNT.search(rest)
    part = None if count is None else int(count[1])
    whole = None if count is None else count[2] or count[3]
    if part is not None and whole is not None and int(whole) != part:
        return (ELSEWHERE,), part
    is_all = re.search(r"\b(?:all|every|entire|whole|full)\b", rest) is not None or whole is not None
    number = None if is_all or tests else part
    for noun in nouns.values():
        rest = noun.sub(" ", rest)
    left = [one for one in _WORD.findall(good.sub(" ", rest)) if one not in words.whole]
    if tests and not is_unclear:
        return tuple(one.removeprefix("./").removesuffix("()") for one in tests), number
    return (((ELSEWHERE,) if left or is_unclear else ()), number)


def _of_command(code: str, kinds: CommandKinds, root: str | None) -> tuple[str, Result] | None:
    """The result that a command has which is set off as code; None where it is none, or runs several kinds."""
    if not re.search(r"\s", code) and _TESTS.fullmatch(code):
        return None
    try:
        words = shlex.split(code)
    except ValueError:
        return None
    runs = [one for one in kinds.runs(words, root, root) if one.kind in RESULT_KINDS] if words else []
    if len({one.kind for one in runs}) != 1:
        return None
    kind = next(kind for kind in RESULT_KINDS if kind == runs[0].kind)
    return code, Result(kind, runs[0].scope)
