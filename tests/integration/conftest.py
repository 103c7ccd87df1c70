"""One real Apache Kafka for all integration tests, started by the code of `sluice broker run`.

Where Java or Maven is missing these tests are deselected, and the summary says so; in CI, and with
SLUICE_REQUIRE_KAFKA=1, that is an error instead.
"""

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from sluice.topology.kafka import local_broker
from sluice.topology.kafka.local_broker import RealBroker
from sluice.topology.settings.settings import Settings

HERE = Path(__file__).parent

# A Kafka of a test lives for seconds to minutes, too short for the optimising compiler to earn what it costs: without
# it a start takes a third less of the processor. Java's note that it was told so goes to Kafka's log.
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1")
_count = pytest.StashKey[str]()

TOGETHER = {
    HERE / "browser" / "test_console.py",
    HERE / "browser" / "test_pages.py",
    HERE / "test_cluster.py",
    HERE / "test_fail_over.py",
    HERE / "test_mcp_inspector.py",
    HERE / "test_nothing_unsanitised.py",
    HERE / "test_privacy.py",
    HERE / "test_producers.py",
    HERE / "test_secured.py",
}
"""Files whose tests share what takes long to be made, and so stay in one worker of `--dist loadscope`."""


class OneByOne(LoadScopeScheduling):
    """Hands tests out one by one, in their order, to whoever is free: whole files end minutes after one another."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return file if self.config.rootpath / file in TOGETHER else nodeid


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> OneByOne | None:
    """For `--dist loadscope`, which would give a worker whole files."""
    return OneByOne(config, log) if config.getvalue("dist") == "loadscope" else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Marks what lies in this folder, puts the longest first, and deselects it where no Kafka can be started."""
    ours = [item for item in items if HERE in item.path.parents]
    items.sort(key=lambda item: item.get_closest_marker("long") is None)
    for item in ours:
        item.add_marker(pytest.mark.kafka)
    why_not = local_broker.missing() if ours else ""
    if why_not and not _is_required():
        items[:] = [item for item in items if item not in ours]
        config.hook.pytest_deselected(items=ours)
        config.stash[_count] = str(len(ours))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Says what was not run: a test that silently is not there looks like one that passes."""
    if why_not := "" if _is_required() else local_broker.missing():
        count = config.stash.get(_count, "the")
        terminalreporter.write_line(f"{count} integration tests were not run: {why_not}", yellow=True)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Where nothing but these tests was asked for, that none could be run is told, and is no failure."""
    if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and not _is_required() and local_broker.missing():
        session.exitstatus = pytest.ExitCode.OK


def _is_required() -> bool:
    # GitHub and most others set CI=true.
    return os.environ.get("CI", "").lower() not in ("", "0", "false") or os.environ.get("SLUICE_REQUIRE_KAFKA") == "1"


@pytest.fixture(scope="session")
def kafka() -> Iterator[str]:
    """The address of a Kafka that all tests share."""
    with RealBroker() as broker:
        yield broker.address


@pytest.fixture
def prefix() -> str:
    """A topic prefix that no other test has."""
    return f"t{uuid.uuid4().hex[:12]}."


@pytest.fixture
def settings(kafka: str, prefix: str) -> Settings:
    """Settings for the shared Kafka under a prefix of the test's own."""
    return Settings(broker=kafka, topic_prefix=prefix)
