"""Judges what models said about real packages with `sluice vet`, and counts: `make yield` (README.md).

Exit status 1 where a bound is missed: on true statements that are called false, or on false ones that are admitted.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import figures
import msgspec
from figures import Judged
from soundness import fetching
from statements import CORPUS, HERE, PARTS, PROPOSERS, Statement, everything, input_hash, readers, repositories

from sluice.codecs.records import Emission, Observation
from sluice.codecs.times import format_time
from sluice.record import Recorded
from sluice.record.proposing import FileProposer
from sluice.topology.observers.observer_registry import ObserverRegistry, now
from sluice.topology.observers.roots import Roots
from sluice.topology.settings.settings import Settings
from sluice.topology.vet.at_hand import AtHand
from sluice.topology.vet.sources import of_answer
from sluice.topology.vet.vetted_assertions import Verdict
from sluice.topology.vet.vetting import VETTING_POLICY, ProposedChecks, Vetter

ROOT = HERE.parents[1]
RESULTS = ROOT / "benchmarks/results/yield.json"
SHIPPED = ROOT / "topology/cli/data/measured.json"
_WORDS = re.compile(r"\w+")
_EMPTY = frozenset(
    ("a", "an", "and", "are", "as", "at", "be", "by", "does", "for", "in", "is", "it", "not", "of", "the")
)


class Watching(Vetter):
    """A vetter that keeps the observations of the last emission."""

    seen: Sequence[Observation] = ()

    def vet(self, recorded: Recorded) -> list[Verdict]:
        self.seen = ()
        return super().vet(recorded)

    def _looked(self, emission: Emission) -> list[Observation]:
        found = super()._looked(emission)
        self.seen = found
        return found


def answers(statement: Statement, at_hand: AtHand) -> list[Recorded]:
    """The emissions of a statement: with the annotations that `vet` proposes, behind what stood before it."""
    before = f"{statement.before} " if statement.before else ""
    made: list[Recorded] = []
    for recorded in of_answer(statement.text, at_hand).emissions:
        record = msgspec.json.decode(recorded.value)
        record["text"] = before + record["text"]
        for assertion in record["assertions"]:
            assertion["span"]["chars"] = [place + len(before) for place in assertion["span"]["chars"]]
        made.append(recorded._replace(value=msgspec.json.encode(record)))
    return made


def judged(package: tuple[Path, Sequence[Statement], str, Path]) -> list[Judged]:
    """The verdicts about the statements of a package in one setting.

    Args:
        package: its repository, the statements, the setting (`forms`, or the name of a proposer), and where proposals
            are kept.
    """
    folder, statements, setting, kept = package
    settings = Settings(root=str(folder))
    with closing(ObserverRegistry(settings)) as instruments:
        at_hand = AtHand(str(folder), settings, instruments, VETTING_POLICY)
        proposed = None
        if setting != figures.FORMS:
            proposed = ProposedChecks(FileProposer(str(_proposals(setting, kept)), now), at_hand)
        vetter = Watching(settings, Roots.of(settings.root), instruments, VETTING_POLICY, proposed=proposed)
        made: list[Judged] = []
        for statement in statements:
            verdicts, checks = list[Verdict](), list[dict[str, Any]]()
            for recorded in answers(statement, at_hand):
                verdicts += vetter.vet(recorded)
                checks += [check for one in vetter.seen for check in (one.detail or {}).get("checks", ())]
            made.append(verdict(setting, statement, verdicts, checks))
        return made


def verdict(
    setting: str, statement: Statement, verdicts: Sequence[Verdict], checks: Sequence[dict[str, Any]]
) -> Judged:
    """One verdict of what came of the assertions of a statement.

    Args:
        setting: in which it was judged.
        statement: as it was said.
        verdicts: about its assertions, mostly one.
        checks: that observers told.
    """
    statuses = [one.status for one in verdicts] or ["no statement"]
    status = next((each for each in ("contradicted", "admitted") if each in statuses), statuses[0])
    whole = set(statuses) == {"admitted"} and all(
        one.record is not None and one.record.get("coverage") == "whole" for one in verdicts
    )
    wrong = {word.casefold() for words in statement.wrong for word in _WORDS.findall(words)} - _EMPTY
    decided = [check for check in checks if check["holds"] is not None]
    decidable = any(wrong & _names(str(check.get("check", ""))) for check in decided)
    told = [
        " ".join(str(check.get(name, "")) for name in ("check", "holds", "reason", "path", "lines")) for check in checks
    ]
    return Judged(setting, statement, status, whole, decidable, tuple(dict.fromkeys(told)))


def _names(check: str) -> set[str]:
    """The words of a check's arguments."""
    return {word.casefold() for word in _WORDS.findall(check.partition("(")[2])} - _EMPTY


def _proposals(setting: str, folder: Path) -> Path:
    return folder / f"proposals-{setting}.jsonl"


def forced(folder: Path, kept: Path = CORPUS) -> Path:
    """Writes the proposals of an attack: each says that its checks say all of the sentence, and a mutation has the
    checks of the statement that it was made of, which hold.

    Args:
        folder: where they are written; returned.
        kept: where those of the corpus are.
    """
    statements = everything()
    origins = {one.id: one.key for one in statements if not one.mutation}
    folder.mkdir(parents=True, exist_ok=True)
    for name in (name for name in PROPOSERS if _proposals(name, kept).exists()):
        lines = map(msgspec.json.decode, _proposals(name, kept).read_bytes().splitlines())
        known: dict[str, Any] = {line["key"]: line["proposal"] for line in lines}
        made = [
            {"key": key, "proposal": {**known[source], "whole": bool(known[source]["checks"]), "left": ""}}
            for key, source in ((one.key, origins.get(one.id.partition("~")[0], one.key)) for one in statements)
            if source in known
        ]
        _proposals(name, folder).write_bytes(b"".join(msgspec.json.encode(one) + b"\n" for one in made))
    return folder


def _work(
    statements: Iterable[Statement], held: dict[str, tuple[Path, list[str]]], kept: Path
) -> Iterator[tuple[Path, list[Statement], str, Path]]:
    by_package: dict[str, list[Statement]] = {}
    for one in statements:
        by_package.setdefault(one.package, []).append(one)
    for setting in (figures.FORMS, *(name for name in PROPOSERS if _proposals(name, kept).exists())):
        for package, several in sorted(by_package.items()):
            yield held[package][0], several, setting, kept


def main(arguments: list[str] | None = None) -> int:
    """Fetches, judges, prints and writes.

    Returns:
        The exit status.
    """
    parser = argparse.ArgumentParser(prog="make yield", description=__doc__)
    parser.add_argument("--cache", type=Path, default=ROOT / "build/yield")
    parser.add_argument("--jobs", type=int, default=2, help="processes that judge")
    parser.add_argument("--package", action="append", help="the statements about this package; writes no results")
    parser.add_argument("--part", type=int, choices=PARTS, help="the statements of one part; writes no results")
    parser.add_argument("--forced", action="store_true", help="proposals that lie; writes no results")
    parser.add_argument("--findings", type=Path, help="a file for every wrong verdict")
    given = parser.parse_args(arguments)
    try:
        held = repositories(given.cache)
    except (fetching.Missing, fetching.FetchingError) as error:
        print(f"a package cannot be had: {error}")
        return 1
    statements = [
        one for one in everything()
        if one.package in (given.package or [one.package]) and one.part == (given.part or one.part)
    ]  # fmt: skip
    kept = forced(given.cache / "forced") if given.forced else CORPUS
    with multiprocessing.Pool(given.jobs) as pool:
        made = [one for several in pool.imap_unordered(judged, _work(statements, held, kept)) for one in several]
    told = figures.figures(sorted(made, key=lambda one: [figures.FORMS, *PROPOSERS].index(one.setting)))
    wrong = [figures.described(one) for one in figures.worst(made)]
    print("\n".join([*figures.table(told), "", *figures.by_kind(made, list(told)[-1])]))
    print("\n".join([f"\n{len(wrong)} wrong verdicts, the worst first:", *wrong[: figures.WORST]]))
    if given.findings:
        given.findings.write_text("".join(f"{line}\n" for line in wrong), "utf-8")
    missed = figures.missed(told)
    print("\n".join(missed))
    if not (given.package or given.part or given.forced):
        _write(told)
    return int(bool(missed))


def _write(told: dict[str, dict[str, figures.Rate]]) -> None:
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    at = format_time(now())
    stored = {"at": at, "commit": commit, "input": input_hash(), "readers": readers(), "figures": figures.stored(told)}
    RESULTS.write_text(json.dumps(stored, indent=2) + "\n", "utf-8")
    SHIPPED.write_text(json.dumps(figures.shipped(stored), indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    sys.exit(main())
