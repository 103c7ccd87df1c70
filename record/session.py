"""A session's calls in their order, and the statements about them that a recorder can check: runs, results, changes."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections import deque
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, Final, NamedTuple, cast

import msgspec

from ..codecs.records import MAX_COMMAND, SessionCounts, SessionKind
from ..codecs.records import Session as Shown
from ..codecs.times import format_time
from ..codecs.unicode_text import nfkc
from ..streams.adjudication.grounding import ALL_TESTS, covers, is_within, session_reason
from ..streams.judging.prose_literals import code_spans
from .command_kinds import ELSEWHERE, RESULT_KINDS, CommandKinds, Patterns, Run, Runner, table
from .events import ToolCall
from .looks import below, packaged_data
from .shell import UNCLEAR, Pipeline, pipelines
from .tools import ToolMap, output_of
from .workspaces import is_secret_line

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


@cache
def _words() -> tuple[_Words, re.Pattern[str], re.Pattern[str], re.Pattern[str], dict[SessionKind, re.Pattern[str]]]:
    words = packaged_data("results.toml", _Words)
    other = re.compile(r"\b(?:" + "|".join(map(re.escape, sorted(words.other, key=len, reverse=True))) + r")\b")
    nouns: dict[SessionKind, re.Pattern[str]] = {kind: re.compile(one) for kind, one in words.nouns.items()}
    return words, other, re.compile(words.none_failed), re.compile(words.good), nouns


def results_of(sentence: str, kinds: CommandKinds | None = None, root: str | None = None) -> list[Result]:
    """The results that a sentence in Markdown states, one of each kind; none where it states something else."""
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
    kinds_run = {one.kind for one in runs}
    kind = next((kind for kind in RESULT_KINDS if kinds_run == {kind}), None)
    return None if kind is None else (code, Result(kind, runs[0].scope))


MOST_COMMANDS: Final = 500
"""Commands of a session that are kept; the oldest go first."""
MOST_EDITS: Final = 500
MOST_READ: Final = 400_000
"""Characters at the end of an output that are read for its summary."""
MOST_LINE: Final = 500
"""Characters of a line of a summary."""
MOST_NAMES: Final = 500
_ANSI: Final = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_FILTERS: Final = frozenset(("head", "tail", "cat", "tee", "less", "more", "grep", "egrep", "rg"))
"""Commands that leave lines as they are."""
_QUIET: Final = frozenset(
    ["cd", "export", "source", ".", "true", ":", "set", "unset", "mkdir", "sleep", "exit", "ulimit"]
)
_TELLING: Final = re.compile(r"pass|fail|error|ok\b|found|tests?\b", re.IGNORECASE)
"""What stands in a summary, whoever prints it."""
_HEREDOC: Final = re.compile(
    r"<<-?[ \t]*(?P<mark>['\"]?)(?P<end>\w+)(?P=mark)(?P<rest>[^\n]*)\n(?P<body>.*?)^[ \t]*(?P=end)[ \t]*$",
    re.DOTALL | re.MULTILINE,
)
_MESSAGE: Final = re.compile(r"\"\$\(cat[ \t]*\s*\)\"")
_PATCHED: Final = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.{1,4096})$", re.MULTILINE)


class Edit(NamedTuple):
    """A change of files: the path below the root, empty where it is not known, and when, Unix ms."""

    path: str
    at: int | None


class Command(NamedTuple):
    """A command of a session.

    Attributes:
        kind: what it ran.
        line: its words.
        scope: what it was narrowed to; empty: it was of everything.
        exit: its exit status; None where the session does not tell, or something hides it.
        masked: a pipe or another command hides its exit status.
        counts: what it counted; None where that cannot be told.
        failed: names of what failed.
        at: when it ended, Unix ms.
        edits, unknown: how many edits, and commands of unknown kind, came before it.
    """

    kind: SessionKind
    line: str
    scope: tuple[str, ...]
    exit: int | None
    masked: bool
    counts: SessionCounts | None
    failed: tuple[str, ...]
    at: int | None
    edits: int
    unknown: int


class SessionView(NamedTuple):
    """What a session showed up to a moment.

    Attributes:
        commands: the newest, in order.
        edits: how many changes of files there were.
        unknown: how many commands of unknown kind.
        is_told: all calls are, so that what is not there was not run.
        kinds: of the project's commands.
        root: of the project.
    """

    commands: Sequence[Command]
    edits: int
    unknown: int
    is_told: bool
    kinds: CommandKinds
    root: str | None

    def about(self, sentence: str) -> Shown | None:
        """What the session shows of a sentence that states a result; None where it states none, or nothing is known.

        Of several results the one that failed.
        """
        shown = [self._of(result) for result in results_of(sentence, self.kinds, self.root)]
        several = [one for one in shown if one is not None]
        return next(
            (one for one in several if session_reason(one) == "session-failed"), several[0] if several else None
        )

    def _of(self, result: Result) -> Shown | None:
        stated = list(result.scope) or ALL_TESTS
        runs = [one for one in self.commands if one.kind == result.kind]
        if not runs:
            return None if not self.is_told else Shown(kind=result.kind, stated=stated)
        covering = [place for place, one in enumerate(runs) if covers(_scope(one), _named(stated, one))]
        place = covering[-1] if covering else len(runs) - 1
        run = runs[place]
        return Shown(
            kind=result.kind,
            scope=_scope(run),
            exit=run.exit,
            counts=_counts(run, result),
            at=None if run.at is None else format_time(run.at),
            edits_after=self.edits - run.edits,
            runs_after=len(runs) - place - 1 + self.unknown - run.unknown,
            stated=_named(stated, run),
            command="" if is_secret_line(run.line) else run.line,
        )


class Session:
    """Takes the calls of one session, in order. One thread uses it at a time.

    Args:
        tools: which call is a command line.
        kinds: of the project's commands.

    Attributes:
        changes: the newest changes of files.
        is_told: whether all calls are told, also where there is none: of a transcript, not of an answer alone.
    """

    def __init__(self, tools: ToolMap, kinds: CommandKinds) -> None:
        self._tools, self._kinds = tools, kinds
        self._commands: deque[Command] = deque()
        self.changes: deque[Edit] = deque(maxlen=MOST_EDITS)
        self._edits = self._unknown = self._calls = 0
        self._is_cut = False
        self.is_told = False
        self._first: str | None = None
        self._root: str | None = None

    def cut(self) -> None:
        """Calls were made that are not told."""
        self._is_cut = True

    def view(self) -> SessionView:
        """What it showed so far."""
        is_told = not self._is_cut and (self.is_told or self._calls > 0)
        return SessionView(tuple(self._commands), self._edits, self._unknown, is_told, self._kinds, self._root)

    def take(self, call: ToolCall, at: int | None, root: str | None) -> None:
        """Takes a call; `at` is when its result was there (Unix ms), `root` the project's (else the first folder)."""
        self._calls += 1
        self._first = self._first or call.cwd
        self._root = root = root or self._first
        tools = table().tools
        line = self._tools.line_of(call, root)
        if line is not None:
            self._shell(call, *line, at, root)
        elif call.name in tools.editing and call.arguments.get("command", "create") not in ("view", "find"):
            if call.ok or call.result is None:
                self._edit(_paths(call, tools.paths), call.cwd or root, root, at)
        elif call.name not in (*tools.looking, *tools.editing):
            self._unknown += 1  # a subagent, a tool of a server: whatever they ran

    def _edit(self, paths: Iterable[str], cwd: str | None, root: str | None, at: int | None) -> None:
        for path in paths:
            named = below(path, root, cwd) if path else ""
            if named is not None:
                self._edits += 1
                self.changes.append(Edit(named, at))

    def _shell(self, call: ToolCall, line: str, cwd: str | None, at: int | None, root: str | None) -> None:
        if _PATCHED.search(line):
            self._edit(_PATCHED.findall(line), cwd, root, at)
            return
        several = pipelines(_without_documents(line), cwd or root)
        if not several:
            self._unknown += 1
        runs = [self._runs(one, root) for one in several]
        for place, (one, found) in enumerate(zip(several, runs, strict=True)):
            for target in one.stored:
                if not any(run.kind in RESULT_KINDS for run in found) and not target.startswith("/dev/"):
                    self._edit([target if UNCLEAR not in target else ""], one.cwd, root, at)
            for run in found:
                self._unknown += run.kind == "unknown"
                if run.edits:
                    self._edit(_changed(run) or [""], one.cwd, root, at)
                if run.kind in RESULT_KINDS:
                    self._add(self._command(call, run, several, runs, place, at))

    def _runs(self, one: Pipeline, root: str | None) -> list[Run]:
        """What a pipeline runs: its first command, and what the others change."""
        if not one.written:
            return [Run("unknown")]
        found = self._kinds.runs(one.written[0], one.cwd, root)
        for words in one.written[1:]:
            if words[:1] != ("tee",):
                found += [run for run in self._kinds.runs(words, one.cwd, root) if run.kind != "other"]
        return found

    def _command(
        self,
        call: ToolCall,
        run: Run,
        several: Sequence[Pipeline],
        runs: Sequence[Sequence[Run]],
        place: int,
        at: int | None,
    ) -> Command:
        one = several[place]
        is_background = one.background or bool(call.arguments.get("run_in_background"))
        masked = len(one.written) > 1 or is_background or any(each.joined != "&&" for each in several[place + 1 :])
        masked = masked or len(runs[place]) > 1
        code = call.exit
        if code is None or masked or (code and (place + 1 < len(several) or one.joined == "&&")):
            code = None  # another command of the line may have given it
        reads = not is_background and not one.stored and _is_alone(run, several, runs, place)
        counts, names = _summary(run.runner, output_of(call)) if reads and run.runner is not None else (None, ())
        if counts is not None and code == 0 and counts.failed + counts.errors:
            counts, names = None, ()  # the summary is of something else: what failed does not end with 0
        line = " ".join(" ".join(run.words).replace(UNCLEAR, ELSEWHERE).split())
        kind = next(kind for kind in RESULT_KINDS if kind == run.kind)
        line = line if len(line) <= MAX_COMMAND else line[: MAX_COMMAND - 1] + ELSEWHERE
        return Command(kind, line, run.scope, code, masked, counts, names, at, self._edits, self._unknown)

    def _add(self, command: Command) -> None:
        self._commands.append(command)
        if len(self._commands) > MOST_COMMANDS:
            self._commands.popleft()
            self._is_cut = True


def _paths(call: ToolCall, members: Sequence[str]) -> list[str]:
    given: Any = next((call.arguments[name] for name in members if name in call.arguments), None)
    patch: Any = call.arguments.get("input", call.arguments.get("patch"))
    found = _PATCHED.findall(patch) if isinstance(patch, str) else []
    return found or [given if isinstance(given, str) else ""]


def _changed(run: Run) -> list[str]:
    """The files that a command names which changes some."""
    return [one for one in run.words[1:] if "/" in one or "." in one][-5:] if run.kind == "edit" else []


def _without_documents(line: str) -> str:
    """A command line without its here documents; one whose document runs commands stays as it is, and is unclear."""

    def taken(match: re.Match[str]) -> str:
        runs_some = not match["mark"] and ("$(" in match["body"] or "`" in match["body"])
        return match[0] if runs_some else f" {match['rest']}"

    return _MESSAGE.sub("_", _HEREDOC.sub(taken, line)) if "<<" in line else line


def _is_alone(run: Run, several: Sequence[Pipeline], runs: Sequence[Sequence[Run]], place: int) -> bool:
    """Whether a summary in the output of a command line can only be that of one run: the others print none."""
    one = several[place]
    if any(words and posixpath.basename(words[0]) not in _FILTERS for words in one.written[1:]):
        return False
    if sum(each.runner is run.runner for each in runs[place]) > 1:
        return False
    for other, each in enumerate(several):
        if other == place:
            continue
        words = each.written[0] if each.written else ("",)
        says = words[0] in ("echo", "printf") and not _TELLING.search(" ".join(words[1:]))
        is_other = all(found.runner is not None and found.runner is not run.runner for found in runs[other])
        if not (words[0] in _QUIET or says or (is_other and runs[other]) or each.stored):
            return False
    return True


def _summary(runner: Runner, output: str) -> tuple[SessionCounts | None, tuple[str, ...]]:
    """What a runner counted, and the names of what failed; None where its output has no summary."""
    text = _ANSI.sub("", output[-MOST_READ:]).replace("\r\n", "\n")
    text = "\n".join(line for line in text.split("\n") if len(line) <= MOST_LINE)
    passed, failed, errors = (_number(one, text, runner.sum) for one in (runner.passed, runner.failed, runner.errors))
    if passed is None and failed is None and errors is None:
        return None, ()
    wrong = (failed or 0) + (errors or 0)
    right = max((passed or 0) - wrong, 0) if runner.total else passed or 0
    names: list[str] = []
    if runner.names and wrong:
        found = re.findall(runner.names, text, re.MULTILINE)
        flat = ("".join(cast("tuple[str, ...]", one)) if isinstance(one, tuple) else str(one) for one in found)
        names = list(dict.fromkeys(name.strip() for name in flat))[:MOST_NAMES]
    return SessionCounts(passed=right, failed=failed or 0, errors=errors or 0), tuple(names)


def _number(patterns: Patterns, text: str, is_sum: bool) -> int | None:
    """The number that the first of these expressions finds which matches."""
    for pattern in [patterns] if isinstance(patterns, str) else patterns:
        expression = re.compile(pattern, re.MULTILINE)
        matches = list(expression.finditer(text))
        if matches and not expression.groups:
            return len(matches)
        numbers = [int(one[1][:9]) for one in matches if one[1]]
        if numbers:
            return sum(numbers) if is_sum else numbers[-1]
    return None


def _scope(run: Command) -> str | list[str]:
    return list(run.scope) or ALL_TESTS


def _named(stated: str | list[str], run: Command) -> str | list[str]:
    """What is stated, with the whole names of tests that failed in the place of their short ones."""
    if isinstance(stated, str):
        return stated
    return [next((name for name in run.failed if "/" not in one and _concerns(name, one)), one) for one in stated]


def _concerns(name: str, part: str) -> bool:
    """Whether a test's whole name is of what is stated: in that file or folder, or of that name."""
    return is_within(name, part) or part in re.split(r"::|[\[\](). >/]+", name)


def _counts(run: Command, result: Result) -> SessionCounts | None:
    """What a run counted of what is stated; None where that cannot be told."""
    counts = run.counts
    if counts is None or not counts.failed + counts.errors:
        return counts
    if result.number is not None and result.kind == "test":
        return SessionCounts(passed=counts.passed) if counts.passed >= result.number else None
    if not result.scope or result.scope == run.scope:
        return counts
    if len(run.failed) < counts.failed + counts.errors:
        return None
    wrong = sum(any(_concerns(name, part) for part in result.scope) for name in run.failed)
    return SessionCounts(failed=wrong) if ELSEWHERE not in result.scope else None
