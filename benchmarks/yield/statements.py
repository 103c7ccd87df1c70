"""The corpus: statements about the packages, each true or false, in the words of a coding agent (README.md).

Read from `corpus/*.jsonl`; nothing is derived here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from sdists import HERE

CORPUS = HERE / "corpus"
KINDS = (
    *("definition", "value", "comparison", "call", "use", "import", "return", "count", "line", "order"),
    *("config key", "section", "history", "existence", "absence", "several clauses", "prose"),
)


class Statement(NamedTuple):
    """One statement.

    Attributes:
        id: unique in the corpus.
        package: what it is about, by the name of `packages.txt`.
        kind: of `KINDS`.
        language: of the file that it is about.
        label: true or false of the pinned sources.
        why: for a false one, what is true instead.
        wrong: the words of a false one that make it false.
        text: the statement.
        style: `hand`, or the turn of phrase by which it was made.
        path: the file that it is about.
        look: the lines that it is about, where it is about some.
        checks: those that a model would attach that believes it.
        beside: the checks are true although the statement is false.
        annotations: what an agent attaches that was told nothing: class and locator.
        recorded: what a recorder would make of the agent's calls, likewise.
        verified: how label and checks were held against the sources.
    """

    id: str
    package: str
    kind: str
    language: str
    label: bool
    why: str
    wrong: list[str]
    text: str
    style: str
    path: str
    look: list[int] | None
    checks: list[str]
    beside: bool
    annotations: list[dict[str, Any]]
    recorded: list[dict[str, Any]]
    verified: str

    @property
    def false_at(self) -> tuple[tuple[int, int], ...]:
        """Where the words stand that make it false: code points."""
        found: list[tuple[int, int]] = []
        for words in self.wrong:
            start = self.text.rindex(words) if words in self.text else -1
            while any(start < end and begin < start + len(words) for begin, end in found):
                start = self.text.rindex(words, 0, start)
            found.append((start, start + len(words)))
        return tuple(sorted(found))


def load(folder: Path = CORPUS) -> list[Statement]:
    """All statements, in the order of the files' names and lines."""
    return [
        Statement(**json.loads(line))
        for path in sorted(folder.glob("*.jsonl"))
        for line in path.read_text("utf-8").splitlines()
    ]


def write(path: Path, records: Iterable[dict[str, Any]]) -> None:
    """One file of the corpus, a statement a line."""
    lines = [json.dumps({key: record[key] for key in Statement._fields}, ensure_ascii=False) for record in records]
    path.write_text("\n".join(lines) + "\n", "utf-8")
