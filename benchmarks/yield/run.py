"""How often is an admission right (`make yield`): statements about real packages, true and false, judged end to end.

    python benchmarks/yield/run.py [--markdown FILE] [--quick] [--update]

The packages are brought by pip (`packages.txt`), the corpus is ours (README.md). Everything goes through the real
observers and the real fold in this process. Prints what is admitted of true statements by kind, of false prose by type
with its 95 % bound (Clopper and Pearson, one-sided), and beside it the rule of before; writes `yield.json` and
`yield.svg` into `benchmarks/results/`. Exit status: 0 all goals of docs/checks.md are met and no recall is below what
is stored, 1 that does not hold, 2 wrong usage, 3 the packages are not to be had.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # also where another folder's modules were imported before

import msgspec
from bounds import percentile
from cases import Case, attached, cases
from choosing import number
from figures import Figures, document, fallen, figures, goals, shipped
from judge import Judge, Verdict, decoded
from oracle import package
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from sdists import HERE, SourcesError
from showing import markdown, svg, tables
from sources import CACHE, forest, roots
from statements import Statement, load

MOST_OF_A_TYPE = 150
"""Mutations of one type in a full run; there are more, and they would say the same more slowly."""
QUICK_SHARE, QUICK_MOST = 12, 3
CHUNK = 150
"""Cases that a process is given at once."""
FOREST_FILES = 5000
FOREST_LOOKS = 150
"""Statements whose looks are timed in the large repository; each is looked at by three classes."""
STORED = HERE.parent / "results" / "yield.json"
SHIPPED = HERE.parents[1] / "topology" / "cli" / "data" / "measured.json"
"""What `sluice prompt` tells of it."""
console = Console(stderr=True)


def judged(root: Path, chunk: Sequence[Case]) -> list[Verdict]:
    """The verdicts on some cases about one repository; what the observers parsed is kept from chunk to chunk."""
    judge = _JUDGES.get(root)
    if judge is None:
        judge = _JUDGES[root] = Judge(root)
    return [judge.verdict(case) for case in chunk]


_JUDGES: dict[Path, Judge] = {}


def verdicts(found: dict[str, Path], chosen: Sequence[Case], processes: int) -> list[Verdict]:
    """All verdicts, in the order of the cases."""
    chunks = list(_chunks(chosen))
    made: dict[str, Verdict] = {}
    with progress("judging", len(chosen)) as tell, ProcessPoolExecutor(processes) as pool:
        waiting = [pool.submit(judged, found[chunk[0].statement.package], chunk) for chunk in chunks]
        for one in as_completed(waiting):
            for verdict in one.result():
                made[verdict.case.id] = verdict
            tell(len(made))
    return [made[case.id] for case in chosen]


def _chunks(chosen: Sequence[Case]) -> Iterator[list[Case]]:
    by_package: dict[str, list[Case]] = {}
    for case in chosen:
        by_package.setdefault(case.statement.package, []).append(case)
    for ones in by_package.values():
        for start in range(0, len(ones), CHUNK):
            yield ones[start : start + CHUNK]


def looks(found: dict[str, Path], statements: Sequence[Statement]) -> list[float]:
    """What single looks with checks take in a repository of 5,000 files, in milliseconds."""
    root = forest(found, FOREST_FILES)
    chosen = [one for one in statements if one.label and one.kind != "history"]
    chosen = sorted(chosen, key=lambda one: number("forest", one.id))[:FOREST_LOOKS]
    judge = Judge(root)
    taken: list[float] = []
    try:
        with progress("looking", len(chosen)) as tell:
            for place, one in enumerate(chosen, 1):
                moved = _below(one)
                case = Case(
                    f"{one.id}:forest", moved, "attached", "", one.text, "assertion", attached(moved), moved.checks
                )
                emission = decoded(case)
                for name in dict.fromkeys(each["substrate_class"] for each in case.annotations):
                    began = time.perf_counter()
                    judge.observe(emission, name)
                    taken.append((time.perf_counter() - began) * 1000)
                tell(place)
    finally:
        judge.close()
    return taken


def _below(one: Statement) -> Statement:
    """The statement about a package that lies in a folder of its name."""
    checks = [
        check.replace("path=", f"path={one.package}/").replace("line(", f"line({one.package}/") for check in one.checks
    ]
    checks = [
        check.replace("exists(", f"exists({one.package}/").replace("missing(", f"missing({one.package}/")
        for check in checks
    ]
    annotations = [
        {**each, "locator": {**each["locator"], "path": f"{one.package}/{each['locator'].get('path', '')}"}}
        for each in one.recorded
    ]
    return one._replace(path=f"{one.package}/{one.path}", checks=checks, recorded=annotations)


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """A bar on a terminal, nothing in a pipe; takes how many are done."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.update(task, completed=done)


def sample(statements: Sequence[Statement]) -> list[Statement]:
    """A twelfth of the corpus, the same each time."""
    return [one for one in statements if number("quick", one.id) % QUICK_SHARE == 0]


def run(arguments: argparse.Namespace) -> int:
    """The whole run; returns the exit status."""
    began = time.monotonic()
    found = roots(arguments.cache)
    packages = {name: package(root) for name, root in found.items()}
    statements = load()
    if arguments.quick:
        statements = sample(statements)
    console.print("making the cases", highlight=False)
    chosen = list(cases(statements, packages, QUICK_MOST if arguments.quick else MOST_OF_A_TYPE))
    console.print(f"{len(statements)} statements, {len(chosen):,} cases", highlight=False)
    results = figures(verdicts(found, chosen, arguments.processes))
    taken = [] if arguments.quick else looks(found, statements)
    p95 = percentile(taken, 0.95) if taken else None
    held = goals(results, arguments.quick, p95)
    true = sum(one.label for one in statements)
    subtitle = (
        f"{datetime.now(UTC).date().isoformat()}: {true} true and {len(statements) - true} false statements about "
        f"{len(found)} packages, {len(chosen):,} cases, {time.monotonic() - began:.0f} s."
    )
    shown = Console(highlight=False) if sys.stdout.isatty() else Console(highlight=False, width=180)
    for table in tables(results, held):
        shown.print(table)
    if p95 is not None:
        shown.print(
            f"a look in {FOREST_FILES:,} files: p50 {percentile(taken, 0.5):.1f} ms, p95 {p95:.1f} ms, of {len(taken)}"
        )
    if arguments.markdown is not None:
        arguments.markdown.write_text(markdown(results, held, subtitle) + "\n", "utf-8")
    worse = [] if arguments.quick else _store(arguments, results, subtitle, taken)
    for name in worse:
        shown.print(f"{name} is below what is stored; --update stores it nevertheless")
    return int(bool(worse) or not all(one.met for one in held))


def _store(arguments: argparse.Namespace, results: Figures, subtitle: str, taken: Sequence[float]) -> list[str]:
    """Writes what was found, unless a recall fell; returns those that did."""
    path = arguments.results / "yield.json"
    worse = fallen(results, msgspec.json.decode(path.read_bytes())) if path.exists() else []
    if worse and not arguments.update:
        return worse
    arguments.results.mkdir(parents=True, exist_ok=True)
    p50, p95 = (round(percentile(list(taken), share), 2) for share in (0.5, 0.95))
    content = {
        "at": datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        **document(results),
        "look_ms": {"value": p95, "cases": len(taken), "bound": 20.0, "p50": p50},
    }
    path.write_bytes(msgspec.json.format(msgspec.json.encode(content)) + b"\n")
    if path == STORED:
        SHIPPED.write_bytes(msgspec.json.format(msgspec.json.encode(shipped(content))) + b"\n")
    (arguments.results / "yield.svg").write_text(svg(results, subtitle), "utf-8")
    return []


def parse(given: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a sample: only what no sample excuses is held to")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the tables as Markdown")
    parser.add_argument("--update", action="store_true", help="store the figures although a recall fell")
    parser.add_argument("--processes", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--results", type=Path, default=HERE.parent / "results", metavar="DIR", help="where to write")
    parser.add_argument("--cache", type=Path, default=CACHE, metavar="DIR", help="where the packages are kept")
    arguments = parser.parse_args(given)
    if arguments.processes < 1:
        parser.error("--processes is from 1 on")
    if arguments.quick and arguments.update:
        parser.error("a sample is not stored")
    return arguments


def main() -> int:
    """Does what the command line says."""
    arguments = parse()
    try:
        return run(arguments)
    except SourcesError as error:
        console.print(f"the packages are not to be had: {error}", highlight=False)
        return 3


if __name__ == "__main__":
    sys.exit(main())
