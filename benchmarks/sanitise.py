"""What sanitation costs for one attestation of three fields and 900 bytes, beside its peers, in one run.

`.venv/bin/python benchmarks/sanitise.py [--json]`. Peers do less: nh3 only takes tags out (and decodes character
references), `glyphguard.sanitize` and `stegdetect.analyze` (where it is installed) only do Unicode, InvisibleText only
takes characters out; `naive` is the contract written down step by step, once through, without positions or cheap
exits. The budgets are [V §4]'s: 10 us for plain ASCII, 60 us where every step has work in each text.

All calls take turns, 30 times 5 ms of processor time each, so that whatever else the machine does falls on all of them;
the best turn is what the work costs, the median what it cost here. As always with `timeit`, without the cyclic garbage
collector. The three texts of an attestation differ, so that nothing remembered of one serves another.
"""

from __future__ import annotations

import html
import importlib.metadata
import importlib.util
import json
import platform
import re
import statistics
import sys
import time
import timeit
import unicodedata
from collections.abc import Callable
from typing import Any

import glyphguard
import nh3
import unicodedata2

from sluice.codecs import unicode_text
from sluice.streams.sanitise import AttestationRules, Trace, clean, frame_attestation
from sluice.streams.sanitise._typing import Typing, problem_of

PLAIN = (
    "The release job wrote the entry of 2026-05-25 into CHANGELOG.md; we compared it with the tag of that day. " * 3
)[:300]
ACCENTED = (
    "Der Eintrag vom 25. Mai steht im Änderungsprotokoll; wir haben ihn mit der Marke des Tages verglichen. " * 3
)[:290]
# Each step of the pipeline has one thing to do.
WORK = (
    "The <b>release</b> job ﬁrst wrote the\u200d entry; see [the log](https://example.org/log). It’s p\u0430rt of it. "
)
BUSY = WORK + PLAIN[: 300 - len(WORK.encode())]
RUSSIAN = ("Запись в журнале изменений сделана в тот же день. " * 4)[:165]
PLAIN_3, ACCENTED_3, BUSY_3, RUSSIAN_3 = (
    tuple(f"{number}{text[1:]}" for number in (1, 2, 3)) for text in (PLAIN, ACCENTED, BUSY, RUSSIAN)
)
TEXTS = {
    "plain ASCII": PLAIN_3,
    "accented Latin": ACCENTED_3,
    "work in one": (BUSY_3[0], *PLAIN_3[1:]),
    "work in all": BUSY_3,
    "Russian": RUSSIAN_3,
}
BUDGET = {"plain ASCII": 10.0, "work in all": 60.0}
PACKAGES = ("msgspec", "unicodedata2", "nh3", "rfc3986", "rfc8785", "glyphguard", "stegdetect")
ROUNDS, SLOT = 30, 0.005
RULES = AttestationRules(typing="lenient")
STRICT = AttestationRules()
_LINK = re.compile(r"\[([^\[\]]*)\]\(([^()\s]*)\)")
_LOOKALIKES = {chr(p): found[0][2] for p in range(0x80, 0x20000) if (found := unicode_text.find_confusables(chr(p)))}
_STRIPPED = {chr(point) for first, last in unicode_text.STRIPPED for point in range(first, last + 1)}


def ours(texts: tuple[str, ...]) -> None:
    """The pipeline alone."""
    trace = Trace()
    for text in texts:
        clean(text, "rationale", 2000, "replace", trace)
    trace.meta()


def ours_typed(texts: tuple[str, ...], typing: Typing) -> None:
    """Typing of each field, then the pipeline."""
    for text in texts:
        problem_of(text, typing)
    ours(texts)


def invisible_text(texts: tuple[str, ...]) -> None:
    """What llm-guard documents of its scanner InvisibleText: characters of the categories Cf, Co and Cn go."""
    for text in texts:
        if not text.isascii():
            "".join(character for character in text if unicodedata.category(character) not in ("Cf", "Co", "Cn"))


def naive(texts: tuple[str, ...]) -> None:
    """[V §4] step by step."""
    for text in texts:
        text = text.encode()[:2000].decode(errors="ignore")
        text = unicodedata2.normalize("NFKC", text)
        text = "".join(_LOOKALIKES.get(character, character) for character in text)
        text = "".join(character for character in text if character not in _STRIPPED)
        text = html.unescape(nh3.clean(text, tags=set(), clean_content_tags=set()))
        _LINK.sub(r"\1 — \2", text)


def body(texts: tuple[str, ...]) -> dict[str, Any]:
    return {
        "claim_hash": "0x" + "ab" * 32,
        "validator_did": "did:web:university.example",
        "verdict": "VERIFIED",
        "consensus_domain": "scientific-default",
        "rationale": texts[0],
        "qualifications": texts[1],
        "evidence": [{"quote": texts[2], "uri": "https://example.org/log"}],
    }


def rows(texts: tuple[str, ...]) -> dict[str, Callable[[], object]]:
    """What is measured, by name."""
    one = body(texts)
    line = json.dumps(one, ensure_ascii=False).encode()
    calls: dict[str, Callable[[], object]] = {
        "clean, three fields": lambda: ours(texts),
        "lenient typing + clean": lambda: ours_typed(texts, "lenient"),
        "strict typing + clean": lambda: ours_typed(texts, "strict"),
        "frame_attestation, object": lambda: frame_attestation(one, RULES),
        "frame_attestation, bytes": lambda: frame_attestation(line, RULES),
        "frame_attestation, strict": lambda: frame_attestation(line, STRICT),
        "nh3.clean alone": lambda: [nh3.clean(text) for text in texts],
        "glyphguard.sanitize": lambda: [glyphguard.sanitize(text) for text in texts],
        "InvisibleText, as documented": lambda: invisible_text(texts),
        "naive, step by step": lambda: naive(texts),
    }
    if importlib.util.find_spec("stegdetect"):
        analyze = importlib.import_module("stegdetect").analyze
        calls["stegdetect.analyze"] = lambda: [analyze(text) for text in texts]
    return calls


def measure(calls: dict[str, Callable[[], object]]) -> dict[str, dict[str, float]]:
    """Microseconds of processor time a call, best and median, of calls that take turns."""
    timers = {name: timeit.Timer(call, timer=time.process_time) for name, call in calls.items()}
    numbers = {name: max(1, int(SLOT / (timer.timeit(50) / 50))) for name, timer in timers.items()}
    turns: dict[str, list[float]] = {name: [] for name in timers}
    for _ in range(ROUNDS):
        for name, timer in timers.items():
            turns[name].append(timer.timeit(numbers[name]) / numbers[name] * 1e6)
    return {
        name: {"best": round(min(taken), 2), "median": round(statistics.median(taken), 2)}
        for name, taken in turns.items()
    }


def versions() -> dict[str, str]:
    """What was measured, and on what."""
    found = {"python": platform.python_version(), "machine": platform.machine()}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def main() -> None:
    figures = {text: measure(rows(texts)) for text, texts in TEXTS.items()}
    if "--json" in sys.argv[1:]:
        print(json.dumps({"versions": versions(), "unit": "us", "budget": BUDGET, "figures": figures}))
        return
    print(", ".join(f"{name} {version}" for name, version in versions().items()))
    print(f"{'us an attestation, best / median':34}" + "".join(f"{text:>16}" for text in figures))
    print(f"{'budget':34}" + "".join(f"{BUDGET.get(text, ''):>16}" for text in figures))
    for name in next(iter(figures.values())):
        cells = (f"{column[name]['best']:.1f} / {column[name]['median']:.1f}" for column in figures.values())
        print(f"{name:34}" + "".join(f"{cell:>16}" for cell in cells))


if __name__ == "__main__":
    main()
