"""Workers of a benchmark: started, asked by their logs, and followed by what they tell their group.

For measurements of what happens between workers (`hand_over.py`) and of one that comes back (`restoring.py`).
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from confluent_kafka import Consumer, IsolationLevel, KafkaException, TopicPartition
from confluent_kafka.admin import OffsetSpec
from contestants import SLUICE, Course, environment_with, sluice_environment
from measuring import FailedError, last_line, stop
from workload import open_admin, servers

from sluice.topology.engine.folds import folds

FOLDS = len(folds())
LOOK_SECONDS = 0.2


class Workers:
    """`sluice worker` processes on one course, each with its log in the course's folder and a state folder of its own.

    Args:
        course: broker, topics and folder.
        settings: environment variables of every worker, beside those of the course.
    """

    def __init__(self, course: Course, settings: Mapping[str, str]) -> None:
        self._course, self._settings = course, settings
        self._running: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self, processes: int = 1) -> int:
        """Starts a worker; returns its number, by which the others ask for it."""
        number = len(self._running)
        state = {"SLUICE_STATE_DIR": str(self._course.folder / f"state-{number}")}
        environment = environment_with({**sluice_environment(self._course), **state, **self._settings})
        with self._log(number).open("wb") as log:
            command = [*SLUICE, "worker", "--log-level", "info", "--processes", str(processes)]
            self._running.append(
                subprocess.Popen(
                    command, env=environment, cwd=self._course.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log
                )
            )
        return number

    def stop(self) -> None:
        """Ends all that run, gently."""
        for process in self._running:
            if process.poll() is None:
                stop(process)

    def pid(self, number: int) -> int:
        """A worker's process id."""
        return self._running[number].pid

    def told(self, number: int, event: str) -> list[dict[str, Any]]:
        """The lines of a worker's log with that event."""
        return [line for line in self._lines(number) if line.get("event") == event]

    def await_lanes(self, number: int, lanes: int, seconds: float) -> list[dict[str, Any]]:
        """Waits until a worker has taken over the lanes of so many partition numbers; returns what it said of each.

        Raises:
            FailedError: it ended, or that took longer than `seconds`.
        """
        until = time.monotonic() + seconds
        while len(found := self.told(number, "lane taken over")) < lanes * FOLDS:
            self.demand_life()
            if time.monotonic() > until:
                raise FailedError(f"a worker has {len(found)} of {lanes * FOLDS} lanes after {seconds:g} s")
            time.sleep(LOOK_SECONDS)
        return found

    def await_inputs(self, seconds: float) -> int:
        """Waits until emissions and observations are read to their end, by what the group was told; returns how many.

        Raises:
            FailedError: a worker ended, or nothing was read for so many seconds.
        """
        admin = open_admin(self._course.address)
        topics = [self._course.prefix + name for name in ("emissions", "observations")]
        places = [TopicPartition(topic, one) for topic in topics for one in range(self._course.partitions)]
        latest = {place: OffsetSpec.latest() for place in places}
        # It joins nothing: the offsets of the group are asked for, and no more. (The administrator's call of
        # confluent-kafka 2.16 for that ends the process where the group has committed none yet.)
        group = Consumer(
            {
                "bootstrap.servers": servers(self._course.address),
                "group.id": self._course.prefix + "app",
                "log_level": 3,
            }
        )
        before, moved = -1, time.monotonic()
        try:
            while True:
                self.demand_life()
                with suppress(KafkaException):
                    ends = admin.list_offsets(latest, isolation_level=IsolationLevel.READ_COMMITTED)
                    wanted = sum(one.result().offset for one in ends.values())
                    read = sum(max(0, one.offset) for one in group.committed(places, 10))
                    if read >= wanted:
                        return read
                    if read != before:
                        before, moved = read, time.monotonic()
                if time.monotonic() - moved > seconds:
                    raise FailedError(f"the workers have read {before} inputs, and no more for {seconds:g} s")
                time.sleep(1)
        finally:
            group.close()

    def demand_life(self) -> None:
        """
        Raises:
            FailedError: a worker has ended by itself.
        """
        for number, process in enumerate(self._running):
            if process.poll() is not None:
                raise FailedError(f"worker {number} ended ({process.returncode}): {last_line(self._log(number))}")

    def _log(self, number: int) -> Path:
        return self._course.folder / f"worker-{number}.log"

    def _lines(self, number: int) -> Iterator[dict[str, Any]]:
        for line in self._log(number).read_text("utf-8", "replace").splitlines():
            with suppress(msgspec.DecodeError):
                if isinstance(found := msgspec.json.decode(line), dict):
                    yield found
