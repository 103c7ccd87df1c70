"""Lines of the log: whose they are, what they carry, and how often they come."""

from __future__ import annotations

import io
import json
import logging
import re
from collections.abc import Iterator

import pytest
import structlog

from sluice.topology.settings import logs
from sluice.topology.settings.late_logs import late_logger


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    """A pipe that everything is logged to; the process's own logging comes back afterwards."""
    root, names = logging.getLogger(), list(logs.NOISY)
    before = (root.handlers[:], root.level, [logging.getLogger(name).level for name in names])
    stream = io.StringIO()
    logs.configure("info", stream)
    yield stream
    root.handlers[:], level, levels = before
    root.setLevel(level)
    for name, one in zip(names, levels, strict=True):
        logging.getLogger(name).setLevel(one)
    structlog.reset_defaults()


def lines(stream: io.StringIO) -> list[dict[str, object]]:
    """What was logged."""
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_pipe_gets_json(stream: io.StringIO):
    """One object a line, with time, level and logger."""
    structlog.get_logger("sluice.x").info("it happens", offset=3)

    (line,) = lines(stream)
    assert {"event": "it happens", "offset": 3, "level": "info", "logger": "sluice.x"}.items() <= line.items()
    assert str(line["timestamp"]).endswith("Z")


def test_what_is_bound_is_in_every_line(stream: io.StringIO):
    """Lane and emission id, in other libraries' lines as well."""
    with structlog.contextvars.bound_contextvars(lane=2), logs.about("em-1"):
        structlog.get_logger("sluice.x").info("ours")
        logging.getLogger("other").warning("theirs")

    assert [(line["lane"], line["emission_id"]) for line in lines(stream)] == [(2, "em-1")] * 2


def test_other_libraries_repeat_themselves_rarely(stream: io.StringIO):
    """A broker that is away is tried for twice a second, and told once."""
    for port in range(5):
        logging.getLogger("aiokafka").error("Unable connect to %s", port)
        structlog.get_logger("sluice.x").error("ours")

    assert [line["event"] for line in lines(stream)].count("ours") == 5
    assert len(lines(stream)) == 6


def test_a_traceback_has_no_variables_in_it(stream: io.StringIO):
    """Local variables hold records, and those are not for logs."""
    secret = "what the emission said"
    try:
        raise ValueError(len(secret))
    except ValueError:
        structlog.get_logger("sluice.x").exception("failed")

    assert "ValueError: 22" in stream.getvalue()
    assert secret not in stream.getvalue()


def test_hushed_says_nothing_of_aiokafka(stream: io.StringIO):
    """What we try and tell ourselves is not told twice; afterwards it speaks again."""
    with logs.hushed():
        logging.getLogger("aiokafka.cluster").error("no such topic")
    logging.getLogger("aiokafka.cluster").error("no such topic")

    assert len(lines(stream)) == 1


def test_people_get_lines(monkeypatch: pytest.MonkeyPatch):
    """On a terminal nobody has to read JSON."""

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    handlers = logging.getLogger().handlers[:]
    terminal = Terminal()
    logs.configure("info", terminal)
    structlog.get_logger("sluice.x").info("it happens", lane=1)
    logging.getLogger().handlers[:] = handlers
    structlog.reset_defaults()

    assert "it happens" in terminal.getvalue()
    assert not terminal.getvalue().startswith("{")


def test_a_late_logger_leaves_standard_output_alone(capsys: pytest.CaptureFixture[str]):
    """Logging may not be set up in a command that answers there, as a hook does."""
    structlog.reset_defaults()
    late_logger("late").warning("told", size=7)
    printed = capsys.readouterr()
    assert (printed.out, "size=7" in re.sub("\x1b[^m]*m", "", printed.err)) == ("", True)
