"""What sanitation costs for one attestation of three fields and 900 octets, beside its peers, in one run.

`.venv/bin/python benchmarks/sanitise.py [--json]`. Peers do less: nh3 only takes tags out (and decodes character
references), `glyphguard.sanitize` only does Unicode; `naive` is the contract written down step by step, once through,
without positions or cheap exits. The budgets are sanitation.md's: 10 us for plain ASCII, 60 us where every step has
work in one text.
"""

from __future__ import annotations

import html
import json
import re
import sys
import timeit
from collections.abc import Callable
from typing import Any

import glyphguard
import nh3
import unicodedata2

from sluice.codecs import unicode_text
from sluice.streams.sanitise import AttestationRules, Trace, clean, frame_attestation
from sluice.streams.sanitise._typing import problem_of

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
TEXTS = {
    "plain ASCII": (PLAIN, PLAIN, PLAIN),
    "accented Latin": (ACCENTED, ACCENTED, ACCENTED),
    "work in one": (BUSY, PLAIN, PLAIN),
    "work in all": (BUSY, BUSY, BUSY),
    "Russian": (RUSSIAN, RUSSIAN, RUSSIAN),
}
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


def ours_typed(texts: tuple[str, ...]) -> None:
    """Strict typing of each field, then the pipeline."""
    for text in texts:
        problem_of(text, "strict")
    ours(texts)


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
    return {
        "clean, three fields": lambda: ours(texts),
        "strict typing + clean": lambda: ours_typed(texts),
        "frame_attestation, object": lambda: frame_attestation(one, RULES),
        "frame_attestation, bytes": lambda: frame_attestation(line, RULES),
        "frame_attestation, strict": lambda: frame_attestation(line, STRICT),
        "nh3.clean alone": lambda: [nh3.clean(text) for text in texts],
        "glyphguard.sanitize": lambda: [glyphguard.sanitize(text) for text in texts],
        "naive, step by step": lambda: naive(texts),
    }


def measure(call: Callable[[], object]) -> float:
    """Microseconds a call: the best of five runs of 40 ms."""
    timer = timeit.Timer(call)
    number = max(1, int(0.04 / max(timer.timeit(20) / 20, 1e-7)))
    return min(timer.repeat(5, number)) / number * 1e6


def main() -> None:
    figures = {text: {name: measure(call) for name, call in rows(texts).items()} for text, texts in TEXTS.items()}
    if "--json" in sys.argv[1:]:
        print(json.dumps(figures))
        return
    names = list(next(iter(figures.values())))
    print(f"{'us an attestation':28}" + "".join(f"{text:>16}" for text in figures))
    for name in names:
        print(f"{name:28}" + "".join(f"{column[name]:16.1f}" for column in figures.values()))


if __name__ == "__main__":
    main()
