"""SHA-256 as a processor without instructions for it computes it: built here, since most machines have them."""

from __future__ import annotations

import ctypes
import os
import shlex
import subprocess
import sysconfig
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.codecs import compiled_core

NATIVE = Path(__file__).parents[2] / "native"
EXPORTED = b"""
#include "hashes.c"
__attribute__((visibility("default"))) void plain(const void *data, size_t length, uint8_t out[SHA256_BYTES])
{
    sha256_of(data, length, out);
}
"""
COMPILER = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")[0]
Hash = Callable[[bytes], bytes]


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Hash:
    """The core's SHA-256, built without the processor's instructions."""
    if compiled_core.codecs is None:  # in CI the core has to be there (test_compiled.py)
        pytest.skip("no compiler built the core here")
    built = tmp_path_factory.mktemp("plain") / "plain.so"
    options = ["-O2", "-shared", "-fPIC", "-DSLUICE_PLAIN_HASHES", f"-I{NATIVE}", "-x", "c", "-", "-o", str(built)]
    subprocess.run([COMPILER, *options], input=EXPORTED, check=True)
    library = ctypes.CDLL(str(built))

    def hashed(data: bytes) -> bytes:
        out = ctypes.create_string_buffer(32)
        library.plain(data, ctypes.c_size_t(len(data)), out)
        return out.raw

    return hashed


@pytest.mark.parametrize("length", [0, 1, 55, 56, 63, 64, 65, 119, 120, 128, 1000, 100_000])
def test_a_plain_hash_is_sha_256(plain: Hash, length: int) -> None:
    """At every edge of a block and its padding."""
    data = bytes(number * 7 % 256 for number in range(length))

    assert plain(data) == sha256(data).digest()


@given(data=st.binary(max_size=400))
def test_every_plain_hash_is_sha_256(plain: Hash, data: bytes) -> None:
    assert plain(data) == sha256(data).digest()
