"""What an adapter says where its package is not installed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ...codecs.errors import UsageError


def module_of(name: str, package: str, extra: str) -> Any:
    """A module of this folder that imports its framework.

    Args:
        name: of the module.
        package: the framework's name, as people say it.
        extra: that brings it.

    Raises:
        UsageError: the framework is not installed.
    """
    try:
        return import_module(f".{name}", __package__)
    except ImportError as error:
        raise UsageError(
            f"{package} is not installed ({error.name or type(error).__name__})",
            hint=f"pip install 'sluice[{extra}]'",
        ) from None
