"""A real git repository in a temporary folder, and one-line questions to the observers (see conftest.py)."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from sluice.codecs.decode import normalise_emission
from sluice.codecs.errors import Fault
from sluice.codecs.records import Annotation, Assertion, Emission, Observation
from sluice.topology.observers.look import look
from sluice.topology.observers.observer_registry import ObserverRegistry
from sluice.topology.settings.settings import Settings

TS = "2026-11-21T08:59:40Z"
EMITTED = "2026-11-21T09:00:00Z"


ABOUT = "It is as the checks say."
"""An assertion that no check is bound to: what holds of it is `absent`, reason `check-not-bound`."""


class Held(NamedTuple):
    """What came of one check."""

    outcome: str
    holds: bool | None
    reason: str | None
    where: dict[str, Any]


class Repository:
    """A git work tree (or, after `bare`, a bare one) and what a test does with it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def git(self, *arguments: str, **environment: str) -> str:
        """Runs git as any user would, with dates from `environment`."""
        variables = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.path),
            "GIT_CONFIG_NOSYSTEM": "1",
            **{
                f"GIT_{who}_{what}": f"{who.lower()}@example.org"
                for who in ("AUTHOR", "COMMITTER")
                for what in ("NAME", "EMAIL")
            },
            **environment,
        }
        done = subprocess.run(
            ["git", *arguments], cwd=self.path, env=variables, capture_output=True, check=True, errors="surrogateescape"
        )
        return done.stdout.strip()

    def write(self, name: str | bytes, content: str | bytes, time: str | None = None) -> Path:
        """Writes a file, and sets its modification time where one is given."""
        path = self.path / os.fsdecode(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        if time is not None:
            self.touch(name, time)
        return path

    def touch(self, name: str | bytes, time: str) -> None:
        seconds = datetime.fromisoformat(time).replace(tzinfo=UTC).timestamp()
        os.utime(self.path / os.fsdecode(name), ns=(round(seconds * 1e6) * 1000,) * 2)

    def commit(self, message: str, date: str = "2026-05-25T10:00:00+0200", committed: str | None = None) -> str:
        """Commits everything there is; returns the hash."""
        self.git("add", "--all")
        dates = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": committed or date}
        self.git("commit", "--quiet", "--allow-empty", "--message", message, **dates)
        return self.git("rev-parse", "HEAD")

    def bare(self, name: str = "bare.git", *, mirror: bool = False) -> Repository:
        """A bare copy beside this one: a mirror that knows where it came from, or a repository of its own."""
        target = self.path.parent / name
        self.git("clone", "--quiet", "--mirror" if mirror else "--bare", str(self.path), str(target))
        copy = Repository(target)
        if not mirror:
            copy.git("remote", "remove", "origin")
        return copy


def parsed_emission(
    text: str,
    *annotations: dict[str, Any] | Annotation,
    kind: Any = "assertion",
    emitted_at: str = EMITTED,
    checks: Sequence[str] | None = None,
) -> Emission:
    """An emission of one assertion, as `decode_emission` returns it."""
    made = [one if isinstance(one, Annotation) else Annotation(**one) for one in annotations]
    declared = None if checks is None else list(checks)
    assertion = Assertion(assertion=text, kind=kind, provenance=made, checks=declared)
    found = normalise_emission(Emission("em-1", emitted_at, assertions=[assertion]))
    assert not isinstance(found, Fault), found.detail
    return found


def ask(
    root: Repository | Path | str | Mapping[str, Path],
    substrate_class: str,
    text: str,
    *,
    declared: str | None = None,
    ts: str | None = TS,
    kind: str = "assertion",
    bounds: dict[str, Any] | None = None,
    emitted_at: str = EMITTED,
    checks: Sequence[str] | None = None,
    instruments: ObserverRegistry | None = None,
    computed: bool = False,
    **locator: Any,
) -> Observation:
    """Looks at one annotation of one assertion."""
    place = root.path if isinstance(root, Repository) else root
    annotation = Annotation(f"substrate.{substrate_class}", declared, ts, locator or None, computed=computed)
    asked = parsed_emission(text, annotation, kind=kind, emitted_at=emitted_at, checks=checks)
    (found,) = look(asked, Settings(**(bounds or {})), place, instruments=instruments)
    return found


def try_check(root: Repository | Path | Mapping[str, Path], substrate_class: str, check: str, **options: Any) -> Held:
    """What one declared check comes to: whether it holds, why not, and where."""
    found = ask(root, substrate_class, ABOUT, checks=[check], **options)
    detail = found.detail or {}
    (entry,) = detail.get("checks") or [{}]
    return Held(found.outcome, entry.get("holds"), entry.get("reason", detail.get("reason")), entry)


def holds(root: Repository | Path | Mapping[str, Path], substrate_class: str, check: str, **options: Any) -> Any:
    """Whether one declared check holds; the outcome of the look where nothing was decided at all."""
    found = try_check(root, substrate_class, check, **options)
    return found.holds if found.where else found.outcome


def outcome(*arguments: Any, **options: Any) -> str:
    """The outcome of `ask`."""
    return ask(*arguments, **options).outcome


def reason(*arguments: Any, **options: Any) -> str:
    """The reason of a look that has to be `unavailable`."""
    found = ask(*arguments, **options)
    assert found.outcome == "unavailable", found
    return (found.detail or {})["reason"]


def sole(found: list[Observation]) -> Observation:
    """The one observation there is."""
    (one,) = found
    return one
