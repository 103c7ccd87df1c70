"""The history of a repository as the oracle reads it: by git's own log, diffs and dates."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from oracle_checks import OPERATORS, Parsed, stands
from sources import git


class History:
    """The commits of one repository."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def truth(self, check: Parsed) -> bool | None:
        """Whether a check on history is true; None where it is none, or nobody can tell."""
        decides = {
            "commit": self._commit,
            "changed": self._changed,
            "introduced": lambda check: self._diffed(check, 0),
            "removed": lambda check: self._diffed(check, 1),
            "last_changed": self._last_changed,
            "modified": self._modified,
        }.get(check.name)
        return None if decides is None else decides(check)

    @cached_property
    def commits(self) -> dict[str, dict[str, Any]]:
        """Every commit by its hash, the newest first: author, day and time, subject, paths, lines added and removed."""
        found: dict[str, dict[str, Any]] = {}
        for line in git(self.root, "log", "--format=%H%x1f%an%x1f%aI%x1f%s").splitlines():
            number, author, date, subject = line.split("\x1f")
            names = git(self.root, "diff-tree", "--root", "--no-commit-id", "--name-only", "-r", "-z", number)
            found[number] = {
                "author": author,
                "date": datetime.fromisoformat(date).astimezone(UTC),
                "subject": subject,
                "paths": set(names.split("\0")) - {""},
            }
        return found

    def commit(self, number: str) -> tuple[str, dict[str, Any]] | None:
        """The one commit whose hash begins so."""
        found = [(each, details) for each, details in self.commits.items() if each.startswith(number.lower())]
        return found[0] if len(found) == 1 else None

    @cache  # noqa: B019 - twelve packages, for the time of one run
    def _changes(self, number: str) -> dict[str, tuple[str, str]]:
        """The lines that a commit added and removed, by path."""
        diff = git(self.root, "show", "--root", "--format=", "--unified=0", "--no-color", "--text", number)
        found: dict[str, tuple[str, str]] = {}
        path, added, removed = "", [""], [""]
        for line in [*diff.splitlines(), "diff --git"]:
            if line.startswith("diff --git"):
                found[path] = "\n".join(added), "\n".join(removed)
                path, added, removed = line.rpartition(" b/")[2], [], []
            elif line.startswith("+") and not line.startswith("+++ "):
                added.append(line[1:])
            elif line.startswith("-") and not line.startswith("--- "):
                removed.append(line[1:])
        return found

    def _commit(self, check: Parsed) -> bool | None:
        found = self.commit(check.text(0))
        if found is None:
            return False
        details = found[1]
        for key, value in check.named.items():
            if key == "date" and not str(details["date"].isoformat()).startswith(str(value)[:10]):
                return False
            if key in ("author", "subject") and not stands(str(value), details[key]):
                return False
        return True

    def _changed(self, check: Parsed) -> bool | None:
        found = self.commit(check.text(1))
        return found is not None and check.text(0) in found[1]["paths"]

    def _diffed(self, check: Parsed, side: int) -> bool | None:
        found = self.commit(check.text(1))
        if found is None:
            return False
        changes = self._changes(found[0])
        path = check.named.get("path")
        there = [sides for name, sides in changes.items() if path is None or name == path]
        return any(stands(check.text(0), sides[side]) and not stands(check.text(0), sides[1 - side]) for sides in there)

    def _last_changed(self, check: Parsed) -> bool | None:
        path = check.text(0)
        dates = [details["date"] for details in self.commits.values() if path in details["paths"]]
        return self._timed(max(dates), check) if dates else None

    def _modified(self, check: Parsed) -> bool | None:
        path = check.text(0)
        if not (self.root / path).is_file():
            return None
        return self._timed(datetime.fromtimestamp((self.root / path).stat().st_mtime, UTC), check)

    @staticmethod
    def _timed(at: datetime, check: Parsed) -> bool:
        """Times at the precision of the one that is named, which is a day in this corpus."""
        return OPERATORS[check.text(1)](at.date().isoformat(), check.text(2)[:10])
