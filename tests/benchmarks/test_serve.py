"""The parts of the service's benchmark that count and judge."""

import asyncio
import copy
import subprocess
import sys
from pathlib import Path

import pytest
from serve import Arrivals, Listener, faults, head_of, spread, table

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"

GOOD = {
    "clients": 1000,
    "of_them_hear_all": 2,
    "emissions_per_second": 500.0,
    "achieved_per_second": 499.0,
    "refused": 0,
    "streams_ended": 0,
    "post_ms": {"p50": 4.0, "p95": 9.0, "p99": 20.0, "most": 30.0},
    "delivery_ms": {"p50": 80.0, "p95": 120.0, "p99": 150.0, "most": 200.0, "samples": 90_000, "lost": 0},
    "first_page_ms": {"requests": 10_000, "p50": 40.0, "p95": 60.0, "p99": 70.0, "most": 80.0},
    "service": {"cores": 0.7, "peak_mb": 150},
    "worker": {"cores": 0.2, "peak_mb": 120},
    "broker": {"cores": 0.5},
}


def test_what_meets_every_goal_has_no_fault():
    """And its table says every figure."""
    assert faults(GOOD) == []
    for said in ("1,000, 2", "499", "80.0, 120.0, 150.0", "90,000, 0", "10,000 open requests", "0.7, 150"):
        assert said in table(GOOD)


@pytest.mark.parametrize(
    ("where", "value", "said"),
    [
        (("delivery_ms", "lost"), 3, "3 verdicts were lost"),
        (("refused",), 7, "7 emissions refused"),
        (("achieved_per_second",), 400.0, "400 emissions/s came in, not 500"),
        (("streams_ended",), 1, "1 streams ended"),
        (("first_page_ms", "p95"), 200.0, "the first page took 200 ms"),
    ],
)
def test_each_missed_goal_is_told(where, value, said):
    """By itself."""
    found = copy.deepcopy(GOOD)
    inside = found
    for name in where[:-1]:
        inside = inside[name]
    inside[where[-1]] = value

    (fault,) = faults(found)
    assert said in fault


@pytest.mark.parametrize("size", [1, 7, 64, 10_000])
def test_a_client_counts_each_verdict_once_however_it_is_cut(size):
    """Chunks of HTTP and of TCP end anywhere; a repeated verdict, and one of nobody's, is none."""

    async def heard():
        arrivals = Arrivals()
        arrivals.counts_from = 0.0
        arrivals.posted = {b"b-%09d" % number: 0.0 for number in range(3)}
        listener = Listener(head_of("GET", "/", 1, "t"), arrivals, lambda: None)
        record = b'1f\r\nid: 1\ndata: {"@type":"x","emission_id":"b-%09d","settled":true}\n\n\r\n'
        data = b"HTTP/1.1 200 OK\r\n\r\n" + b"".join(record % number for number in (0, 1, 1, 2, 9))
        listener.data_received(data[:40])
        for at in range(40, len(data), size):
            listener.data_received(data[at : at + size])
        return arrivals, await listener.status

    arrivals, status = asyncio.run(heard())
    assert (arrivals.count, len(arrivals.took), status) == (3, 3, 200)


def test_of_nothing_there_are_no_percentiles():
    """A run in which nothing came says so in its count."""
    assert spread([]) == {}
    assert spread([1.0, 2.0, 3.0]) == {"p50": 2.0, "p95": 3.0, "p99": 3.0, "most": 3.0}


@pytest.mark.parametrize("wrong", [("--clients", "0"), ("--rate", "0"), ("--clients", "9999"), ("--whole", "1000")])
def test_wrong_arguments_are_one_sentence(wrong):
    """Before anything is started."""
    done = subprocess.run(
        [sys.executable, "serve.py", *wrong], cwd=BENCHMARKS, capture_output=True, text=True, check=False
    )

    assert done.returncode == 2
    assert "expected" in done.stderr or "at most" in done.stderr
