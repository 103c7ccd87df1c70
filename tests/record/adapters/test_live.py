"""What adapters hand over is recorded in one thread; nobody waits, and nobody fails."""

from __future__ import annotations

import gc
import logging
import re
import subprocess
import sys
import threading
import weakref

import pytest

from sluice.codecs.errors import UnreachableError, UsageError
from sluice.record import MemorySink, Recorder
from sluice.record.adapters import langchain, litellm, live, openai_agents, otel


def test_jobs_run_in_their_order_in_another_thread() -> None:
    one, seen = live.Live(), []
    for number in range(100):
        assert one.do(lambda number: seen.append((number, threading.current_thread().name)), number)
    assert one.flush()
    assert seen == [(number, "sluice-record") for number in range(100)]


def test_several_adapters_share_the_thread_of_their_recorder() -> None:
    recorder = Recorder("agent", MemorySink())
    assert live.live(recorder) is live.live(recorder)
    assert live.live(recorder) is not live.live(Recorder("agent", MemorySink()))


def test_a_recorder_that_nobody_uses_is_let_go() -> None:
    recorder = Recorder("agent", MemorySink())
    kept = weakref.ref(live.live(recorder))
    del recorder
    gc.collect()
    assert kept() is None


def test_a_job_that_fails_is_one_sentence_and_the_next_one_runs(caplog: pytest.LogCaptureFixture) -> None:
    """The sentence has no text that strangers wrote; our own errors say what they are about."""
    one, seen = live.Live(), []

    def raises(error: Exception) -> None:
        raise error

    with caplog.at_level(logging.WARNING):
        one.do(raises, ValueError("what a stranger wrote"))
        one.do(raises, UnreachableError("the endpoint answers 500"))
        one.do(seen.append, 1)
        assert one.flush()
    assert seen == [1]
    assert one.failures == 2
    first, second = (record.getMessage() for record in caplog.records)
    assert "ValueError" in first
    assert "stranger" not in first
    assert "the endpoint answers 500" in second


def test_what_finds_no_room_is_left_out_and_counted(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(live, "MOST_JOBS", 3)
    one, go, seen = live.Live(), threading.Event(), []
    with caplog.at_level(logging.WARNING):
        one.do(go.wait)
        reported = [one.do(seen.append, number) for number in range(5)]
        go.set()
        while not one.flush():
            pass
    assert reported == [True, True, False, False, False]
    assert seen == [0, 1]
    assert one.failures >= 3
    assert sum("wait to be recorded" in record.getMessage() for record in caplog.records) == 1


def test_characters_are_bounded_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "MOST_CHARACTERS", 100)
    one, go = live.Live(), threading.Event()
    assert one.do(go.wait, size=1)
    assert one.do(int, size=99)
    assert not one.do(int, size=1)
    go.set()
    assert one.flush()
    assert one.do(int, size=1_000), "what is too large alone is taken where nothing waits"


def test_an_idle_thread_ends_and_the_next_job_starts_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "IDLE_SECONDS", 0.01)
    one, seen = live.Live(), []
    one.do(seen.append, 1)
    first = one._thread
    assert first is not None
    first.join(10)
    assert not first.is_alive()
    one.do(seen.append, 2)
    assert one.flush()
    assert seen == [1, 2]


def test_what_is_not_recorded_yet_is_recorded_when_the_process_ends() -> None:
    program = (
        "import time\n"
        "from sluice.record.adapters.live import Live\n"
        "one = Live()\n"
        "one.do(time.sleep, 0.2)\n"
        "one.do(print, 'recorded', )\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "recorded\n"


def test_a_job_that_flushes_does_not_wait_for_itself() -> None:
    one, seen = live.Live(), []
    one.do(lambda: seen.append(one.flush()))
    assert one.flush()
    assert seen == [False]


@pytest.mark.parametrize(
    ("make", "module", "extra"),
    [
        (litellm.logger, "litellm", "litellm"),
        (openai_agents.tracing_processor, "agents", "openai-agents"),
        (langchain.callback_handler, "langchain_core", "langchain"),
        (langchain.middleware, "langchain", "langchain"),
        (otel.span_processor, "opentelemetry.sdk.trace", "otel"),
    ],
)
def test_without_its_package_an_adapter_says_what_to_install(
    make: object, module: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [one for one in sys.modules if one.startswith("sluice.record.adapters.") and one.count("_")]:
        monkeypatch.delitem(sys.modules, name)
    for name in (module, f"{module}.integrations", f"{module}.tracing", f"{module}.callbacks", f"{module}.agents"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(UsageError) as caught:
        make(Recorder("agent", MemorySink()))  # type: ignore[operator]
    assert "is not installed" in str(caught.value)
    assert re.search(rf"pip install 'sluice[a-z-]*\[{extra}\]'", str(caught.value))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("said", "level"), [("`a.py` defines `f`.", "INFO"), ("", "WARNING")])
def test_at_the_end_it_is_logged_what_was_read(said: str, level: str, caplog: pytest.LogCaptureFixture) -> None:
    """As a warning where nothing was."""
    recorder = Recorder("agent", MemorySink())
    one = live.live(recorder)
    with recorder.turn("c-1") as turn:
        turn.said(said)
    with caplog.at_level("INFO", "sluice.record"):
        one.tell()
    assert [(found.levelname, found.getMessage()) for found in caplog.records] == [
        (level, f"sluice: {recorder.reading}")
    ]
    assert recorder.reading.messages == bool(said)
