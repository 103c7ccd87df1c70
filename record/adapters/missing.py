"""What an adapter says where its package is not installed."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import packages_distributions
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
        raise missing(package, extra, error) from None


def missing(package: str, extra: str, error: ImportError) -> UsageError:
    """One sentence with the command that installs a framework.

    Args:
        package: the framework's name, as people say it.
        extra: that brings it.
        error: of its import.
    """
    ours = next(iter(packages_distributions().get("sluice", ())), "sluice-verdicts")
    return UsageError(f"{package} is not installed ({error.name or error})", hint=f"pip install '{ours}[{extra}]'")
