"""A logger that is made when something is logged: to import structlog takes a tenth of the time in which `sluice vet`
starts, which hardly ever logs anything."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from structlog.stdlib import BoundLogger


class _Late:
    """Stands for a logger, and becomes one.

    Args:
        name: of the logger.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, member: str) -> Any:
        import structlog

        if structlog.is_configured():
            return getattr(structlog.get_logger(self._name), member)
        # A command's standard output is what it answers.
        return getattr(structlog.wrap_logger(structlog.PrintLogger(sys.stderr)), member)


def late_logger(name: str) -> BoundLogger:
    """A logger for a module that seldom logs.

    Args:
        name: of the module.
    """
    logger: Any = _Late(name)
    return logger
