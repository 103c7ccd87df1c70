"""The kinds of what commands run: test, lint, build, format, type check, something else, or unknown.

Told from the words alone, by the table `data/commands.toml` and by the project's own files, which say what stands
behind the name of a task (`npm test`, `make check`). Nothing is executed. What is on no list is of unknown kind.
"""

from __future__ import annotations

import configparser
import json
import posixpath
import re
import shlex
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final, Literal, NamedTuple, cast, get_args

import msgspec
import yaml

from ..codecs.records import SessionKind
from .looks import below, packaged_data
from .shell import UNCLEAR, Pipeline, assigned, pipelines, program, script_in

RunKind = SessionKind | Literal["edit", "unknown"]
RESULT_KINDS: Final = tuple(kind for kind in get_args(SessionKind) if kind != "other")
MAX_DEPTH: Final = 4
"""Tasks that run other tasks."""
MAX_YAML: Final = 50_000
"""Characters of a file in YAML that are read."""
MAX_STEPS: Final = 200
"""Commands that are looked at for one command."""
MAX_FILE: Final = 200_000
"""Characters of a file of the project that are read."""
MAX_RUNS: Final = 50
"""Runs of one command line."""
MAX_SCOPE: Final = 20
"""What one run selects, at most; more are left out."""
ELSEWHERE: Final = "…"
"""Stands in a scope for what is not known."""

_PARTS: Final = ("-w", "--workspace", "--filter", "-F", "--prefix")
"""Options that name a part of a project of several packages."""
_WORKFLOWS: Final = ("ci", "test", "tests", "build", "lint", "main", "check", "checks", "python", "node", "rust", "go")
_BROKEN: Final = (ValueError, TypeError, AttributeError, KeyError, RecursionError, yaml.YAMLError, configparser.Error)
"""What a file of a project raises that is not as it should be."""
Patterns = str | list[str]


class Runner(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A row of the table (`data/commands.toml` says what the members mean)."""

    name: str
    kind: SessionKind
    commands: list[str]
    narrowing: list[str] = []
    valued: list[str] = []
    everything: list[str] = []
    writes: list[str] | None = None
    passed: Patterns = []
    failed: Patterns = []
    errors: Patterns = []
    names: str = ""
    total: bool = False
    sum: bool = False


class Tasks(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A program that runs the tasks of a project, and the files that have these."""

    commands: list[str]
    files: list[str]
    form: str
    kind: SessionKind | None = None
    only: list[str] = []
    valued: list[str] = []


class Tools(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Tools of agents that run no command line."""

    looking: frozenset[str]
    editing: frozenset[str]
    paths: list[str]


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole table."""

    everything: frozenset[str]
    writing: frozenset[str]
    passing: list[str]
    passing_options: frozenset[str]
    passing_valued: frozenset[str]
    looking: list[str]
    editing: list[str]
    tools: Tools
    names: dict[SessionKind, frozenset[str]]
    tasks: list[Tasks]
    runner: list[Runner]

    @property
    def by_words(self) -> dict[tuple[str, ...], Runner | Tasks | RunKind]:
        """Runners, tasks and other programs, by the words that they begin with."""
        found: dict[tuple[str, ...], Runner | Tasks | RunKind] = {}
        for kind, programs in (("other", self.looking), ("edit", self.editing)):
            found |= dict.fromkeys((tuple(one.split()) for one in programs), cast("RunKind", kind))
        for several in (self.tasks, self.runner):
            for row in several:
                found |= dict.fromkeys((tuple(one.split()) for one in row.commands), row)
        return found


@cache
def table() -> Table:
    """The table, read once."""
    return packaged_data("commands.toml", Table)


@cache
def _by_words() -> tuple[dict[tuple[str, ...], Runner | Tasks | RunKind], frozenset[tuple[str, ...]], int]:
    found, passing = table().by_words, frozenset(tuple(one.split()) for one in table().passing)
    return found, passing, max(map(len, (*found, *passing)))


@cache
def _programs() -> frozenset[str]:
    """The programs of the table: another one is called by its whole path."""
    rows, passing, _ = _by_words()
    return frozenset(words[0] for words in (*rows, *passing))


class Run(NamedTuple):
    """One thing that a command runs.

    Attributes:
        kind: of it.
        scope: what it was narrowed to; empty: it is of everything.
        runner: whose summary it prints, where that is known.
        edits: it changes files.
        words: of the command, as it was given.
    """

    kind: RunKind
    scope: tuple[str, ...] = ()
    runner: Runner | None = None
    edits: bool = False
    words: tuple[str, ...] = ()


UNKNOWN: Final = Run("unknown")


class CommandKinds:
    """Tells what commands run in one project.

    Args:
        read_file: gives the text of the project's own files, by their paths below its root; None: none is at hand.
    """

    def __init__(self, read_file: Callable[[str], str | None] | None = None) -> None:
        self._read_file = read_file
        self._steps = 0
        self._scripts: dict[tuple[str, str], Mapping[str, str]] = {}
        self._ci: Mapping[str, SessionKind] | None = None

    def runs(self, words: Sequence[str], cwd: str | None, root: str | None, depth: int = 0) -> list[Run]:
        """What one command runs. `cwd` and `root` are absolute; `depth` is the number of tasks that it stands in."""
        self._steps = self._steps + 1 if depth else 0
        if self._steps > MAX_STEPS:
            return [UNKNOWN]
        words = _plain(words)
        folder = below(cwd, root, None) if cwd is not None else None
        script = script_in(words)
        if script is not None and depth < MAX_DEPTH:
            return self._of_script(script, cwd, root, depth) or [UNKNOWN]
        if not words or UNCLEAR in words[0] or (cwd is None and root is not None):
            return [UNKNOWN]
        if root is not None and folder is None:
            return [Run("other", words=tuple(words))]  # it runs in another project
        row, behind = _matched(words)
        if isinstance(row, Tasks):
            return self._of_task(row, words, behind, cwd, root, depth)
        if isinstance(row, Runner):
            return [_of_runner(row, words, behind, folder or ".", cwd, root)]
        if row is None:
            return self._of_file(words, folder or ".", cwd, root, depth)
        in_place = words[0] in ("sed", "perl") and any(one.startswith(("-i", "--in-place")) for one in words)
        if words[0] == "find" and not {"-exec", "-execdir", "-delete", "-ok"}.isdisjoint(words):
            return [UNKNOWN]
        return [Run("edit" if in_place else row, edits=in_place or row == "edit", words=tuple(words))]

    def _of_script(self, script: str, cwd: str | None, root: str | None, depth: int) -> list[Run]:
        """What the lines of a script run."""
        found: list[Run] = []
        for one in pipelines(script[:MAX_FILE], cwd):
            found += self.runs(one.written[0], one.cwd, root, depth + 1) if one.written else [UNKNOWN]
            if len(found) >= MAX_RUNS:
                break
        return found[:MAX_RUNS]

    def _of_task(
        self, tasks: Tasks, words: Sequence[str], behind: Sequence[str], cwd: str | None, root: str | None, depth: int
    ) -> list[Run]:
        """What the tasks run that a command names; by their names where no file says it."""
        folder = (below(cwd, root, None) if cwd is not None else None) or "."
        given = behind[: behind.index("--")] if "--" in behind else behind
        names, narrowed = _operands(given, (*tasks.valued, *_PARTS))
        elsewhere = [
            one
            for one in narrowed
            if re.split("[ =]", one)[0] in ("-w", "--workspace", "--filter", "-F", "-C", "--prefix")
        ]
        several = tasks.form in ("rules", "tox", "nox", "hooks")
        names = [one for one in names if "=" not in one and UNCLEAR not in one]
        names = [part for one in (names if several else names[:1]) for part in one.split(",")]
        if tasks.only and (not names or names[0] not in tasks.only):
            return [UNKNOWN]
        more = [] if several or not names else [one for one in behind[behind.index(names[0]) + 1 :] if one != "--"]
        scripts = self._scripts_of(tasks, folder)
        found: list[Run] = []
        for name in names or [""]:
            called = "test" if name == "t" and tasks.form == "package" else name
            script, guess = scripts.get(called), kind_of_name(called) or tasks.kind
            line = script if script is None or not more else f"{script} {shlex.join(more)}"
            runs: list[Run] = []
            if depth < MAX_DEPTH and line is not None:
                runs = self._of_script(line, cwd, root, depth)
            elif depth < MAX_DEPTH and tasks.form in ("package", "pyproject") and called not in ("", "test"):
                runs = self.runs([called, *more], cwd, root, depth + 1)
            known = [one for one in runs if one.kind in RESULT_KINDS]
            if not known and guess is not None:
                runs = [Run(guess), *(one for one in runs if one.kind == "edit")]
            whole = called in ("", *(table().names.get(guess, ()) if guess is not None else ()), "check", "ci", "all")
            at = () if folder == "." or known else (folder,)
            narrow = (*elsewhere, *(() if whole or known else (called,)), *at)
            found += [
                one._replace(scope=(*one.scope, *narrow)[:MAX_SCOPE]) if one.kind in RESULT_KINDS else one
                for one in runs or [UNKNOWN]
            ]
        return [one._replace(words=tuple(words)) for one in found[:MAX_RUNS]]

    def _of_file(self, words: Sequence[str], folder: str, cwd: str | None, root: str | None, depth: int) -> list[Run]:
        """What a program of the project's own runs: a script, or what the workflows of its CI call by a name."""
        path = words[1] if words[0] in ("bash", "sh", "zsh", "dash") and len(words) > 1 else words[0]
        named = below(path, root, cwd) if "/" in path or path.endswith(".sh") else None
        text = None if named is None or self._read_file is None else self._read_file(named)
        if text is not None and text.startswith("#!") and "sh" in text.partition("\n")[0] and depth < MAX_DEPTH:
            found = [one for one in self._of_script(text, cwd, root, depth) if one.kind not in ("other",)]
            if any(one.kind in RESULT_KINDS for one in found):
                return [one._replace(words=tuple(words)) for one in found]
        kind = self._kinds_of_ci.get(" ".join(words)) if folder == "." else None
        kind = kind or (None if named is None else kind_of_name(posixpath.basename(named).rpartition(".sh")[0]))
        return [UNKNOWN._replace(words=tuple(words)) if kind is None else Run(kind, words=tuple(words))]

    def _scripts_of(self, tasks: Tasks, folder: str) -> Mapping[str, str]:
        """The scripts of the tasks that a folder's file has, by their names."""
        for file in tasks.files:
            path = posixpath.normpath(posixpath.join(folder, file))
            if (path, tasks.form) not in self._scripts:
                text = None if self._read_file is None else self._read_file(path)
                try:
                    read = {} if text is None else dict(_READERS[tasks.form](text[:MAX_FILE]))
                except _BROKEN:
                    read = {}
                self._scripts[path, tasks.form] = read
            if self._scripts[path, tasks.form]:
                return self._scripts[path, tasks.form]
        return {}

    @property
    def _kinds_of_ci(self) -> Mapping[str, SessionKind]:
        """The command lines of the project's workflows whose step or job has the name of a kind."""
        if self._ci is None:
            found: dict[str, SessionKind] = {}
            for name in _WORKFLOWS:
                text = None if self._read_file is None else self._read_file(f".github/workflows/{name}.yml")
                try:
                    found |= {} if text is None else dict(_steps(text[:MAX_FILE]))
                except _BROKEN:
                    continue
            self._ci = found
        return self._ci


def kind_of_name(name: str) -> SessionKind | None:
    """The kind that the name of a task, a step or a script tells: by the whole name, or by its first word."""
    lower = name.lower().strip()
    for wanted in (lower, re.split(r"[\s:\-_./]", lower)[0]):
        for kind, names in table().names.items():
            if wanted in names:
                return kind
    return None


def _plain(words: Sequence[str]) -> list[str]:
    """The words without assignments, and without what only passes the command on; the program by its own name."""
    rest = list(words)
    _, passing, longest = _by_words()
    for _ in range(MAX_DEPTH * 2):
        while rest and assigned(rest[0]) is not None:
            rest = rest[1:]
        if rest and program(rest[0]) == "timeout":
            rest = rest[1:]
            while rest and (rest[0].startswith("-") or re.fullmatch(r"[\d.]+[smhd]?|[A-Z]+", rest[0])):
                rest = rest[1:]
            continue
        if not rest:
            break
        rest = [_name(rest[0]), *rest[1:]]
        taken = next((n for n in range(min(longest, len(rest)), 0, -1) if tuple(rest[:n]) in passing), 0)
        if not taken or _is_longer(rest, taken):
            break
        rest = rest[taken:]
        while rest and (rest[0] in table().passing_options or rest[0].split("=")[0] in table().passing_valued):
            if rest[0] == "-m":
                rest = ["python", *rest]
                break
            rest = rest[2 if rest[0] in table().passing_valued else 1 :]
    return rest


def _is_longer(words: Sequence[str], taken: int) -> bool:
    """Whether a row of the table begins with these words, or with more of them."""
    rows, _, longest = _by_words()
    return any(tuple(words[:n]) in rows for n in range(taken, min(longest, len(words)) + 1))


def _name(word: str) -> str:
    name = re.sub(r"\.(?:exe|cmd|bat)$", "", posixpath.basename(word))
    name = "python" if re.fullmatch(r"python[\d.]*|py|pypy\d?", name) else re.sub(r"^pip3$", "pip", name)
    return name if name in _programs() else word


def _matched(words: Sequence[str]) -> tuple[Runner | Tasks | RunKind | None, Sequence[str]]:
    """The row that the most of these words begin, and the words behind; options between them are passed over."""
    rows, _, longest = _by_words()
    bare = [place for place, one in enumerate(words) if place == 0 or not one.startswith("-")]
    for number in range(longest, 0, -1):
        for places in (list(range(number)), bare[:number]):  # `cargo --quiet test`, `mvn -B test`
            row = rows.get(tuple(words[place] for place in places)) if len(places) == number <= len(words) else None
            if row is not None:
                return row, [one for place, one in enumerate(words) if place not in places]
    return None, ()


def _operands(words: Sequence[str], valued: Sequence[str]) -> tuple[list[str], list[str]]:
    """The operands of a command, and its options, each with its value where that is the next word."""
    operands: list[str] = []
    options: list[str] = []
    rest = list(words)
    while rest:
        one = rest.pop(0)
        if not one.startswith("-") or one == "-":
            operands.append(one)
        elif one in valued and rest:
            options.append(f"{one} {rest.pop(0)}")
        elif one != "--":
            options.append(one)
    return operands, options


def _of_runner(
    runner: Runner, words: Sequence[str], behind: Sequence[str], folder: str, cwd: str | None, root: str | None
) -> Run:
    everything, options = (*table().everything, *runner.everything), _operands(behind, runner.valued)
    operands, given = options
    names = [re.split(r"[ =]", one)[0] for one in given]
    narrowed = [one for one, name in zip(given, names, strict=True) if name in runner.narrowing]
    narrowed += [one for one in operands if one in runner.narrowing]
    edits = (
        not table().writing.isdisjoint(names) if runner.writes is None else not _says(runner.writes, given, operands)
    )
    scope: list[str] = []
    outside = 0
    for one in operands:
        path, mark, rest = one.partition("::")
        plain = path.rstrip("/").removeprefix("./") or "."
        if UNCLEAR in one:
            scope.append(ELSEWHERE)
        elif one in runner.narrowing or ((path in everything or plain in everything) and not rest and folder == "."):
            continue
        elif path.startswith(("/", "..")):
            named = below(path, root, cwd)
            if named is None:
                outside += 1
                continue
            scope += [] if named in everything and not rest else [named + mark + rest]
        elif folder != ".":
            scope.append(folder if plain in everything else posixpath.join(folder, plain) + mark + rest)
        else:
            scope.append(plain + mark + rest)
    if outside and outside == len(operands):
        return Run("other", words=tuple(words))
    if folder != "." and not scope:
        scope = [folder]
    return Run(runner.kind, (*scope, *narrowed)[:MAX_SCOPE], runner, edits, tuple(words))


def _says(options: Sequence[str], given: Sequence[str], operands: Sequence[str]) -> bool:
    return any(one.split("=")[0].split(" ")[0] in options or one in options for one in (*given, *operands))


def _yaml(text: str) -> Any:
    """A document of YAML; one that is long, deep or refers to itself is too much work, and says nothing."""
    if len(text) > MAX_YAML or len(re.findall(r"[\[{]", text)) > MAX_YAML // 100 or re.search(r"(?:^|\s)&\w", text):
        return {}
    return yaml.safe_load(text)


def _package(text: str) -> Iterator[tuple[str, str]]:
    scripts: Any = json.loads(text).get("scripts", {})
    for name, script in scripts.items():
        yield str(name), "\n".join(map(str, cast("list[Any]", script))) if isinstance(script, list) else str(script)


_RULE: Final = re.compile(r"^([\w.%/@][^\n:=#]{0,200}?)[ \t]*:(?![=:])([^\n=#]*)(?:#[^\n]*)?$", re.MULTILINE)
_VARIABLE: Final = re.compile(r"^([A-Z_a-z]\w{0,60})[ \t]*[:?]?=[ \t]*([^\n#]{0,400})$", re.MULTILINE)


def _rules(text: str) -> Iterator[tuple[str, str]]:
    """The targets of a Makefile or a justfile: what they need, then their lines."""
    values = {name: value.strip() for name, value in _VARIABLE.findall(text)}

    def meant(match: re.Match[str]) -> str:
        name = match[1] or match[2] or match[3]
        value = values.get(name, "")
        return value if value and not re.search(r"[$`{]", value) else "python" if name.upper().startswith("PY") else ""

    rules = list(_RULE.finditer(text))
    targets = {one[1].split()[0].lstrip("@"): one for one in reversed(rules)}
    for place, rule in enumerate(rules):
        end = rules[place + 1].start() if place + 1 < len(rules) else len(text)
        lines: list[str] = []
        for line in text[rule.end() : end].split("\n")[1:]:
            if line.strip() and not line.startswith(("\t", " ")):
                break
            lines.append(line.strip().lstrip("@-+ "))
        body = re.sub(r"\$\((\w+)\)|\$\{(\w+)\}|\{\{\s*(\w+)[^}]*\}\}", meant, "\n".join(lines)).replace("$$", "$")
        needed = "\n".join(f"make {one}" for one in rule[2].split() if one in targets)
        for name in rule[1].split():
            yield name.lstrip("@"), f"{needed}\n{body}".strip()
    first = next((one for one in rules if not one[1].startswith(".")), None)
    if first is not None:
        yield "", f"make {first[1].split()[0]}"


def _tox(text: str) -> Iterator[tuple[str, str]]:
    """The commands of tox's environments; those of `[testenv]` for every other name."""
    if text.lstrip().startswith("[tool.") or "\n[tool." in text:
        tool: Any = tomllib.loads(text).get("tool", {}).get("tox", {})
        text = str(tool.get("legacy_tox_ini", ""))
        for name, given in {"": tool.get("env_run_base", {}), **tool.get("env", {})}.items():
            commands = given.get("commands", [])
            yield str(name), "\n".join(shlex.join(map(str, one)) for one in commands)
    reader = configparser.RawConfigParser(strict=False)
    reader.read_string(text)
    for section in reader.sections():
        if section.removeprefix("tox:") == "testenv" or section.startswith("testenv:"):
            lines = reader.get(section, "commands", fallback="")
            yield section.partition("testenv:")[2], re.sub(r"\{[^{}]*\}", "", lines).strip()


def _nox(text: str) -> Iterator[tuple[str, str]]:
    blocks = re.split(r"^(?=def \w+\(\s*session)", text, flags=re.MULTILINE)
    found: list[tuple[str, str]] = []
    for block in blocks[1:]:
        calls = re.findall(r"session\.run\(([^()]{0,2000})\)", block)
        words = ([a or b for a, b in re.findall(r"\"([^\"\n]*)\"|'([^'\n]*)'", call)] for call in calls)
        found.append((block[4:].partition("(")[0], "\n".join(shlex.join(one) for one in words if one)))
    yield from found
    yield "", "\n".join(script for _, script in found)


def _line_of(task: Any) -> str:
    """The script of a task that is a text, a list, or a table with one of them."""
    if isinstance(task, list):
        return "\n".join(_line_of(one) for one in cast("list[Any]", task))
    if isinstance(task, dict):
        members = cast("dict[str, Any]", task)
        return _line_of(
            next((members[one] for one in ("cmd", "cmds", "shell", "run", "sequence", "script") if one in members), "")
        )
    return task if isinstance(task, str) else ""


def _pyproject(text: str) -> Iterator[tuple[str, str]]:
    if text.lstrip().startswith(("version:", "#", "tasks:")) and "\ntasks:" in f"\n{text}":
        tables: list[Any] = [_yaml(text).get("tasks", {})]
    else:
        tool: Any = tomllib.loads(text).get("tool", {})
        tables = [tool.get("poe", {}).get("tasks", {}), tool.get("taskipy", {}).get("tasks", {})]
        tables += [tool.get(name, {}).get("scripts", {}) for name in ("pdm", "rye")]
        tables += [one.get("scripts", {}) for one in tool.get("hatch", {}).get("envs", {}).values()]
    for tasks in tables:
        yield from ((str(name), _line_of(task)) for name, task in tasks.items())


def _mise(text: str) -> Iterator[tuple[str, str]]:
    yield from ((str(name), _line_of(task)) for name, task in tomllib.loads(text).get("tasks", {}).items())


def _cargo(text: str) -> Iterator[tuple[str, str]]:
    for name, words in tomllib.loads(text).get("alias", {}).items():
        line = " ".join(map(str, cast("list[Any]", words))) if isinstance(words, list) else str(words)
        yield str(name), f"cargo {line}"


def _names(text: str) -> Iterator[tuple[str, str]]:
    for name in re.findall(r"^\s*task\s*\(?:?[\"']?(\w+)", text, re.MULTILINE):
        yield name, ""


def _hooks(text: str) -> Iterator[tuple[str, str]]:
    """The hooks of pre-commit: their entries, or the commands that they are called by."""
    hooks = [hook for repo in _yaml(text).get("repos", []) for hook in repo.get("hooks", [])]
    found = [
        (str(one["id"]), str(one.get("entry", "") or str(one["id"]).replace("ruff-format", "ruff format --check")))
        for one in hooks
    ]
    yield from found
    yield "", "\n".join(script for _, script in found)


_READERS: Final[Mapping[str, Callable[[str], Iterator[tuple[str, str]]]]] = {
    "package": _package,
    "rules": _rules,
    "tox": _tox,
    "nox": _nox,
    "pyproject": _pyproject,
    "mise": _mise,
    "cargo": _cargo,
    "names": _names,
    "hooks": _hooks,
}


def _steps(text: str) -> Iterator[tuple[str, SessionKind]]:
    for job, content in _yaml(text).get("jobs", {}).items():
        for step in content.get("steps", []):
            line = str(step.get("run", "")).strip()
            kind = kind_of_name(str(step.get("name", "")).removeprefix("Run ")) or kind_of_name(str(job))
            if line and "\n" not in line and kind is not None:
                yield " ".join(line.split()), kind


__all__ = ["ELSEWHERE", "RESULT_KINDS", "CommandKinds", "Pipeline", "Run", "Runner", "kind_of_name", "table"]
