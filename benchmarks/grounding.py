"""How long `ground` takes at 100,000 attestations: the view alone, and through the SDK's client and the protocol.

`.venv/bin/python benchmarks/grounding.py [--attestations N] [--queries N] [--json]`. The texts have words as common as
those of a natural language (the n-th most common one in n-th part as many places, 20,000 in all, inflected), 80 each;
queries have 1 to 5 words, drawn in the same way, so that most hold very common ones. Each claim has some eight
validators. The budget is p95 of `ground` at most 20 ms. Beside the time that passed stands the processor's: where
others use the machine, the former is also theirs.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import platform
import random
import sqlite3
import statistics
import sys
import tempfile
import time
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
from mcp.client.client import Client

from sluice.codecs.errors import Fault
from sluice.streams.sanitise import AttestationRules, frame_attestation
from sluice.topology.http.adapter import Adapter
from sluice.topology.http.adapter_view import AdapterView, Arrived, Batch
from sluice.topology.http.kept_view import Readers
from sluice.topology.http.mcp_server import create_server
from sluice.topology.http.tool_answers import AskGround, ground

BUDGET_MS = 20.0
VOCABULARY = 20_000
VALIDATORS = 8
DOMAIN = "scientific-default"
VERDICTS = ("VERIFIED", "SUPPORTED", "DISPUTED", "FALSE")
NOW = 1_795_250_000_000
ENDINGS = ("", "s", "ed", "ing", "ation", "er")


class Language:
    """Words by how common they are."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        letters = "abcdefghiklmnoprstuv"
        self._words = [
            "".join(self.random.choices(letters, k=self.random.randint(3, 9))) + self.random.choice(ENDINGS)
            for _ in range(VOCABULARY)
        ]
        self._weights = list(itertools.accumulate(1 / (place + 1) for place in range(VOCABULARY)))

    def text(self, words: int) -> str:
        """So many words."""
        return " ".join(self.random.choices(self._words, cum_weights=self._weights, k=words))


def fill(path: Path, count: int, language: Language) -> float:
    """Writes so many attestations into a view, as following does; returns how many a second."""
    view, rules = AdapterView(path, "benchmark"), AttestationRules()
    spent, batch = 0.0, []
    for number in range(count):
        body = {
            "claim_hash": "0x" + sha256(b"%d" % language.random.randrange(count // VALIDATORS)).hexdigest(),
            "validator_did": f"did:web:validator-{number}.example",
            "verdict": language.random.choice(VERDICTS),
            "consensus_domain": DOMAIN,
            "rationale": language.text(50),
            "evidence": [{"quote": language.text(30), "uri": "https://example.org/record"}],
        }
        framed = frame_attestation(body, rules, source=f"attestations/0/{number}")
        assert not isinstance(framed, Fault)
        batch.append(Arrived(number, None, msgspec.json.encode(framed)))
        if len(batch) == 2000 or number == count - 1:
            began = time.perf_counter()
            view.take({("grounded", 0): Batch(batch, number + 1)}, caught_up_at=str(NOW))
            spent += time.perf_counter() - began
            batch = []
    view.close()
    return count / spent


def percentiles(seconds: list[float]) -> dict[str, float]:
    """In milliseconds."""
    cuts = statistics.quantiles(seconds, n=100)
    return {
        "p50": round(1e3 * cuts[49], 2),
        "p95": round(1e3 * cuts[94], 2),
        "p99": round(1e3 * cuts[98], 2),
        "max": round(1e3 * max(seconds), 2),
    }


async def measure(path: Path, queries: list[str]) -> dict[str, Any]:
    """Each query once, one after the other."""
    results: dict[str, Any] = {}
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True, isolation_level=None)
    times, busy, found = [], [], 0
    for query in queries:
        began, worked = time.perf_counter(), time.thread_time()
        answer = ground(db, query, DOMAIN, 10, None, NOW)
        times.append(time.perf_counter() - began)
        busy.append(time.thread_time() - worked)
        found += bool(answer.attestations)
    db.close()
    results["view, processor time"] = {**percentiles(busy), "answered": found}
    results["view"] = percentiles(times)
    readers = Readers(path)
    adapter = Adapter(readers, now=lambda: NOW)
    times = []
    for query in queries:
        began = time.perf_counter()
        await adapter.ground(AskGround(query=query))
        times.append(time.perf_counter() - began)
    results["ground"] = percentiles(times)
    async with Client(create_server(adapter)) as client:
        times = []
        for query in queries:
            began = time.perf_counter()
            result = await client.call_tool("ground", {"query": query})
            times.append(time.perf_counter() - began)
            assert not result.is_error
    results["client and protocol"] = percentiles(times)
    readers.close()
    return results


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--attestations", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--json", action="store_true")
    parsed = parser.parse_args()
    language = Language(1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "view.sqlite"
        rate = fill(path, parsed.attestations, language)
        queries = [language.text(language.random.randint(1, 5)) for _ in range(parsed.queries)]
        results = asyncio.run(measure(path, queries))
        size = path.stat().st_size
    report = {
        "attestations": parsed.attestations,
        "queries": parsed.queries,
        "taken in, a second": round(rate),
        "bytes of the view": size,
        "milliseconds": results,
        "budget": BUDGET_MS,
        "held": results["ground"]["p95"] <= BUDGET_MS,
        "machine": f"{platform.machine()}, Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}",
    }
    if parsed.json:
        print(json.dumps(report))
    else:
        print(f"{report['attestations']:,} attestations, {size / 1e6:.0f} MB, taken in at {rate:,.0f}/s")
        for name, row in results.items():
            print(f"  {name:24}" + "  ".join(f"{key} {value:7}" for key, value in row.items()))
        print(f"  p95 of ground: {results['ground']['p95']} ms, budget {BUDGET_MS} ms")
    return 0 if report["held"] else 1


if __name__ == "__main__":
    sys.exit(main())
