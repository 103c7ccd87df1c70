"""For all tests of the topology."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sluice.topology.kafka.local_broker import EmbeddedBroker


@pytest.fixture(scope="module")
def broker() -> Iterator[str]:
    """The address of one embedded broker for all tests of a module; each has topics of its own."""
    with EmbeddedBroker() as embedded:
        yield embedded.address


@pytest.fixture(scope="session", autouse=True)
def _cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test writes to the user's cache folder."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield
