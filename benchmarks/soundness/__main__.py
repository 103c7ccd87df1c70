"""Holds the judge against the oracles: `python -m benchmarks.soundness --help` (README.md).

Exit status 0 where no true fact was refuted and no false one verified, 1 where one was, where the judge does not know a
check, or where in CI a program is missing that an oracle needs.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from sluice.streams.judging.checks import Source

from . import fetching
from .facts import sample
from .outlines import LANGUAGES, outlines
from .verdicts import Judged, described, judge, table

ROOT = Path(__file__).parents[2]
GATE, LONG = 20, 100
SHOWN = 40
"""Unsound answers that are printed; `--findings` keeps all."""


def commit_seed() -> int:
    """A seed that changes with every commit."""
    told = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    return int(told.stdout.strip()[:8] or "0", 16)


def main(arguments: list[str] | None = None) -> int:
    """Fetches, outlines, judges and prints.

    Returns:
        The exit status.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soundness", description=__doc__)
    parser.add_argument("--facts", type=int, help=f"true and false facts a kind and language (default {LONG})")
    parser.add_argument("--gate", action="store_true", help=f"{GATE} of each, as the gate wants them")
    parser.add_argument("--languages", nargs="+", choices=LANGUAGES, default=LANGUAGES)
    parser.add_argument("--seed", type=int, help="which facts are chosen (default: from the commit)")
    parser.add_argument("--cache", type=Path, default=ROOT / "build/soundness")
    parser.add_argument("--findings", type=Path, help="a file for every unsound answer")
    given = parser.parse_args(arguments)
    seed = commit_seed() if given.seed is None else given.seed
    most = given.facts or (GATE if given.gate else LONG)
    judged, problems = list[Judged](), list[str]()
    for language in given.languages:
        try:
            files = outlines(language, given.cache)
        except fetching.Missing as missing:
            print(f"{language}: skipped, {missing} is not installed")
            problems += [f"{language}: {missing} is missing"] if os.environ.get("CI") else []
            continue
        except fetching.FetchingError as error:
            problems.append(f"{language}: {error}")
            continue
        chosen = sample(files, most, seed)
        judged += judge((Source(file.path, file.text), fact) for file, fact in chosen)
    print("\n".join(table(judged)))
    unread = sorted({f"{one.fact.kind}: {one.reason}" for one in judged if one.reason.startswith("unread")})
    unsound = [described(one) for one in judged if one.unsound]
    if given.findings:
        given.findings.write_text("".join(f"{line}\n" for line in unsound), "utf-8")
    for line in [*unsound[:SHOWN], *unread, *problems]:
        print(line)
    print(f"seed {seed}: {len(judged):,} answers, {len(unsound):,} unsound, {len(unread)} kinds not read")
    return int(bool(unsound or unread or problems or not judged))


if __name__ == "__main__":
    sys.exit(main())
