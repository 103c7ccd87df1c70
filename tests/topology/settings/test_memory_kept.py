"""Large blocks that were let go of stay with the process."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from sluice.topology.settings import process

FAULTS = """
import resource
from sluice.topology.settings.process import keep_freed
{first}
def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
def use():
    for _ in range(5):
        several = [b"x" * 4_000_000 for _ in range(5)]
        del several
use()
before = faults()
use()
print(faults() - before)
"""
IS_GLIBC = os.name == "posix" and "CS_GNU_LIBC_VERSION" in os.confstr_names


def faults(first: str, **environment: str) -> int:
    """Pages that a process touched for the first time, of a hundred megabytes, of which twenty were in use at once."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")} | environment
    done = subprocess.run(
        [sys.executable, "-c", FAULTS.format(first=first)], env=environment, capture_output=True, text=True, check=True
    )
    return int(done.stdout)


@pytest.mark.skipif(not IS_GLIBC, reason="another C library's allocator is left alone")
def test_blocks_are_used_again_without_the_kernel():
    """What is asked for again and again is cleared once: 100 MB would be 24,000 pages."""
    assert faults("assert keep_freed()") < 500
    assert faults("") > 5000


@pytest.mark.parametrize(
    "said", [{"MALLOC_TRIM_THRESHOLD_": "131072"}, {"GLIBC_TUNABLES": "glibc.malloc.trim_threshold=131072"}]
)
def test_what_an_operator_says_of_the_allocator_stands(said: dict[str, str]):
    """Nothing is set over it."""
    assert faults("assert not keep_freed()", **said) > 5000


def test_another_c_library_is_left_alone(monkeypatch: pytest.MonkeyPatch):
    """Without glibc's door there is nothing to do, and nothing fails."""
    monkeypatch.setattr(process.ctypes, "CDLL", lambda name: object())
    assert not process.keep_freed()
