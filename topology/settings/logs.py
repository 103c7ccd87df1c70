"""Logging: structlog over the standard library, to standard error; lines for people on a terminal, JSON otherwise.

`lane` and `emission_id` are bound as context variables, so every line that is logged while a lane runs, or while an
observer looks at one emission, carries them, third-party lines included.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Generator
from contextlib import contextmanager
from time import monotonic
from typing import Any, TextIO

import structlog

NOISY = {
    # Retried by aiokafka: the broker answers NOT_ENOUGH_REPLICAS while it verifies a producer's first transactions.
    "aiokafka.producer.sender": logging.ERROR,
    # Retried as well: a broker's first group waits until its coordinator is there. Lanes tell what they lose and gain.
    "aiokafka.consumer.group_coordinator": logging.CRITICAL,
    "aiokafka": logging.WARNING,
    # Warns of sensor states at every second rebalance.
    "faust": logging.ERROR,
    "mode": logging.WARNING,
    "asyncio": logging.WARNING,
}
"""The least severity of other libraries' loggers, unless ours is set to debug."""
REPEAT_SECONDS = 10.0
"""Other libraries say the same again only after so long: a broker that is away is tried for twice a second."""


class _OncePerWhile(logging.Filter):
    """Lets a line of another library pass once per `REPEAT_SECONDS`, by logger and wording; ours always."""

    def __init__(self) -> None:
        super().__init__()
        self._said: dict[tuple[str, str], float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if record.name.startswith("sluice") or record.levelno < logging.INFO:
            return True
        said, now = (record.name, str(record.msg)), monotonic()
        if now - self._said.get(said, -REPEAT_SECONDS) < REPEAT_SECONDS:
            return False
        if len(self._said) > 1000:
            self._said.clear()
        self._said[said] = now
        return True


def configure(level: str = "info", stream: TextIO | None = None) -> None:
    """Sets up logging for the process.

    Args:
        level: least severity: debug, info, warning or error.
        stream: where lines go; standard error by default.
    """
    timestamper = structlog.processors.TimeStamper(fmt="iso", utc=True)
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        timestamper,
        structlog.processors.StackInfoRenderer(),
    ]
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.PositionalArgumentsFormatter(),
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,  # a second call, in tests say, must reach loggers that exist
    )
    to: TextIO = sys.stderr if stream is None else stream
    people = to.isatty()
    last: list[Any] = (
        [structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)]
        if people
        # A traceback as text, never with local variables: those hold records, which are not for logs.
        else [structlog.processors.format_exc_info, structlog.processors.JSONRenderer(ensure_ascii=True)]
    )
    handler = logging.StreamHandler(to)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *last],
        )
    )
    handler.addFilter(_OncePerWhile())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for name, least in NOISY.items():
        logging.getLogger(name).setLevel(logging.NOTSET if level == "debug" else least)


@contextmanager
def hushed() -> Generator[None]:
    """Silences aiokafka while we try what may fail, and tell what came of it ourselves, in one sentence."""
    logger = logging.getLogger("aiokafka")
    before = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(before)


@contextmanager
def about(emission_id: str) -> Generator[None]:
    """Binds an emission's id to every line that is logged inside."""
    with structlog.contextvars.bound_contextvars(emission_id=emission_id):
        yield
