"""Fuzzes the sanitiser: `python fuzz/sanitise.py --seconds 60 [--seed N]`, or with files to replay them.

The grammar (grammar.py) makes subjects of libFuzzer's bytes, and the laws (laws.py, uris.py, envelope.py) judge what
becomes of them. libFuzzer ends its process when it is done or has found something, so it runs in a second process, and
this one reads what it says. Exit status: 0 no finding, 1 a finding or a fuzzer that did not run, 2 wrong usage, 3 no
atheris.
"""

from __future__ import annotations

import argparse
import json
import re
import runpy
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Final
from zlib import crc32

HERE: Final = Path(__file__).resolve().parent
ROOT: Final = HERE.parent
CORPUS: Final = ROOT / "tests" / "conformance" / "corpus"
FOUND: Final = ROOT / "var" / "fuzz"
ORACLES: Final = ROOT / "tests" / "support" / "oracles.py"
MAX_LENGTH: Final = 4096
FRESH: Final = 0.5
COST_SHARE: Final = 0.25
"""So much of the time again goes to the law of cost, before the fuzzer begins."""
SLOW_ONE_IN: Final = 3
"""The slow oracles look at every third input, chosen by its bytes: a replay sees what the run saw, or more. At every
input they would cost a third of the speed (1,600 to 1,100 texts/s)."""
SEEDS_A_FILE: Final = 250
"""Public lists are long, and every run reads its seeds first: a spread of each list does."""
NO_ATHERIS: Final = (
    "atheris cannot be imported here, so nothing was fuzzed: it has wheels for CPython 3.11 to 3.13 on Linux, and its "
    "locked version comes with the development requirements"
)
_BORING = re.compile(
    r"^#\d+\s+(NEW|REDUCE|RELOAD)|^INFO: (Instrumenting|Loaded|seed corpus)|^WARNING: Failed to find function"
    r'|^Loaded \d+/|^".*" # Uses|^#+ (End of r|R)ecommended dictionary'
)
_EXECUTED = re.compile(r"^#(\d+)\s.*?\bcov: (\d+) ft: (\d+)")


def seeds() -> Iterator[bytes]:
    """The conformance corpus and the few inputs beside this file, as the bytes that stand for them."""
    import grammar

    for path in sorted(CORPUS.rglob("*.json")):
        listed = json.loads(path.read_text("utf-8"))
        texts = [text for text in listed.get("texts", ()) if isinstance(text, str)]
        for text in texts[:: len(texts) // SEEDS_A_FILE + 1]:
            yield grammar.seed("text", text[:MAX_LENGTH])
        for case in listed.get("cases", ()):
            for kind in ("uri", "text"):
                if isinstance(case.get(kind), str):  # some cases are about what is no text
                    yield grammar.seed(kind, (case[kind] * case.get("times", 1))[:MAX_LENGTH])
    for path in sorted((HERE / "seeds").iterdir()):
        yield grammar.seed("octets" if path.suffix == ".json" else "text", path.read_text("utf-8"))


def judge(data: bytes, slow: bool) -> None:
    """One input: what it stands for, under the laws of its kind.

    Raises:
        Finding: a law does not hold. Any other exception is a finding as well.
    """
    import envelope
    import grammar
    import laws
    import uris

    oracles = laws.Oracles(*(_oracles[name] for name in laws.Oracles._fields)) if slow else None
    subject = grammar.subject_of(data)
    if subject.kind == "uri":
        uris.check_uri(subject.payload)
    elif subject.kind == "text":
        laws.check_text(subject.payload, subject.cap, subject.confusables, subject.typing, oracles)
    else:
        envelope.check_attestation(subject.payload, subject.confusables, subject.typing, oracles)


_oracles = runpy.run_path(str(ORACLES))


def run_target(options: list[str]) -> None:
    """The second process: libFuzzer, on instrumented code. Does not return."""
    import atheris
    import grammar

    with atheris.instrument_imports(include=["sluice"]):
        import sluice.codecs.canonical
        import sluice.codecs.unicode_text
        import sluice.streams.sanitise  # noqa: F401

    def target(data: bytes) -> None:
        judge(data, slow=crc32(data) % SLOW_ONE_IN == 0)

    def mutate(data: bytes, longest: int, seed: int) -> bytes:
        # What the regular expressions do is no coverage to libFuzzer, so its corpus soon stands still: every other
        # input is made anew instead.
        random = Random(seed)
        return grammar.fresh(random)[:longest] if random.random() < FRESH else atheris.Mutate(data, longest)

    atheris.Setup([sys.argv[0], *options], target, custom_mutator=mutate)
    atheris.Fuzz()


def fuzz(seconds: int, seed: int) -> int:
    """Runs the second process on a fresh copy of the seeds, and says in one sentence how it ended."""
    FOUND.mkdir(parents=True, exist_ok=True)
    before = set(FOUND.iterdir())
    with tempfile.TemporaryDirectory() as folder:
        texts = Path(folder, "corpus")
        texts.mkdir()
        for number, data in enumerate(seeds()):
            (texts / f"{number:04d}").write_bytes(data)
        words = Path(folder, "words.dict")
        words.write_text("".join(_dictionary()), "ascii")
        options = [f"-max_total_time={seconds}", f"-seed={seed}", f"-max_len={MAX_LENGTH}", "-len_control=100"]
        options += [f"-artifact_prefix={FOUND}/", f"-dict={words}", "-timeout=10", "-print_final_stats=1", str(texts)]
        started = time.monotonic()
        command = [sys.executable, str(HERE / "sanitise.py"), "--target", *options]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, errors="replace") as process:
            executed, coverage, features = _listen(process)
    taken = max(time.monotonic() - started, 1e-9)
    figures = f"{executed} executions in {taken:.0f} s ({executed / taken:.0f}/s), coverage {coverage}, seed {seed}"
    found = sorted(set(FOUND.iterdir()) - before)
    if found:
        shown = found[0].relative_to(ROOT)
        print(f"Found: {shown} breaks a law ({figures}); replay it with `python fuzz/sanitise.py {shown}`.")
        return 1
    if process.returncode or not executed or not features:
        print(f"The fuzzer itself did not run to its end (status {process.returncode}; {figures}); see what it said.")
        return 1
    print(f"Nothing found: {figures}, {features} features.")
    return 0


def _listen(process: subprocess.Popen[str]) -> tuple[int, int, int]:
    """Passes on what is worth reading; the executions, edges and features of the last line that told them."""
    counts = (0, 0, 0)
    for line in process.stderr or ():
        if match := _EXECUTED.match(line):
            counts = (int(match[1]), int(match[2]), int(match[3]))
        if not _BORING.match(line):
            sys.stderr.write(line)
    return counts


def _dictionary() -> Iterator[str]:
    """The grammar's pieces in libFuzzer's notation, for its own mutations of plain payloads."""
    import grammar

    for piece in grammar.DICTIONARY:
        if len(raw := piece.encode()) <= 64:
            yield '"' + "".join(f"\\x{byte:02x}" for byte in raw) + '"\n'


def check_cost(seconds: float, seed: int) -> int:
    """Times every step on texts of two lengths (cost.py), and says in one sentence how it ended."""
    import cost
    from laws import Finding

    try:
        families = cost.check_all(seconds, seed)
    except Finding as finding:
        print(f"Found: {finding}.")
        return 1
    print(f"Every step is linear in {families} families of texts, seed {seed}.")
    return 0


def replay(paths: list[Path]) -> int:
    """Judges files as the target does, with the slow oracles; the first that breaks a law ends in its traceback."""
    import grammar

    for path in paths:
        data = path.read_bytes()
        print(f"{path}: {ascii(grammar.subject_of(data))[:2000]}")
        judge(data, slow=True)
        print(f"{path}: every law holds.")
    return 0


def main() -> int:
    """Reads the arguments; see the top of this file."""
    if sys.argv[1:2] == ["--target"]:
        run_target(sys.argv[2:])
    parser = argparse.ArgumentParser(description="Fuzz the sanitiser, or replay what was found.")
    parser.add_argument("--seconds", type=int, default=60, help="how long (default: 60)")
    parser.add_argument("--seed", type=int, help="libFuzzer's seed, above 0 (default: the time)")
    parser.add_argument("files", nargs="*", type=Path, help="inputs to replay instead")
    given = parser.parse_args()
    if given.seconds < 1 or (given.seed is not None and not 0 < given.seed < 2**32):
        parser.error("--seconds is at least 1, and --seed from 1 to 4294967295")
    try:
        import atheris  # noqa: F401
    except ImportError:
        print(NO_ATHERIS, file=sys.stderr)
        return 3
    if given.files:
        return replay(given.files)
    seed = given.seed or int(time.time())
    return check_cost(given.seconds * COST_SHARE, seed) or fuzz(given.seconds, seed)


if __name__ == "__main__":
    sys.exit(main())
