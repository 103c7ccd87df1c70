"""The distribution's name and version, and which of its extras a command needs (docs/installing.md).

`pip install sluice-verdicts` is the small client. A command that needs more imports it when it is called; where that is
not installed, the command line names the extra that has it in one sentence.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final

from ...codecs.errors import UsageError

DISTRIBUTION: Final = "sluice-verdicts"
"""The name on the package index, where `sluice` is another project's."""

EXTRAS: Final[dict[str, tuple[str, ...]]] = {
    "aiohttp": ("observe", "worker", "mcp"),
    "authlib": ("serve",),
    "confluent_kafka": ("demo",),
    "faust": ("worker",),
    "httptools": ("mcp", "serve"),
    "httpx2": ("observe", "mcp", "serve"),
    "jinja2": ("serve",),
    "joserfc": ("serve",),
    "mcp": ("mcp", "observe"),
    "mcp_types": ("mcp", "observe"),
    "opentelemetry": ("worker",),
    "prometheus_client": ("worker", "observe", "mcp", "serve"),
    "pydantic": ("mcp",),
    "starlette": ("serve", "mcp"),
    "uvicorn": ("mcp", "serve"),
    "uvloop": ("serve",),
}
"""The extras that bring a package that the small client does not; the first one where a command has none of its own."""

COMMANDS: Final = {
    "demo": "demo",
    "faust": "worker",
    "mcp": "mcp",
    "observe": "observe",
    "serve": "serve",
    "worker": "worker",
}
"""The extra of a command, where it has one."""


def version() -> str:
    """The installed version of the distribution."""
    from importlib import metadata  # every command imports this module, and few ask

    return metadata.version(DISTRIBUTION)


def needed(package: str, command: str | None = None) -> UsageError | None:
    """The error that says which extra to install; None where no extra of ours brings the package.

    Args:
        package: the module that was not found; of a dotted name the first part counts.
        command: the subcommand that needs it.
    """
    package = package.partition(".")[0]
    bringing = EXTRAS.get(package)
    if bringing is None:
        return None
    who = f"sluice {command}" if command else "this"
    return _error(who, package, COMMANDS.get(command or "", bringing[0]))


def require(package: str, extra: str, who: str) -> None:
    """Says early what would otherwise be missed late, in a thread or a task, where no command sees it.

    Args:
        package: the module that is needed.
        extra: the extra that brings it.
        who: what needs it, as the subject of the sentence.

    Raises:
        UsageError: it is not installed.
    """
    if not _installed(package):
        raise _error(who, package, extra)


def _installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ImportError:  # somebody's finder says no in its own way
        return False


def _error(who: str, package: str, extra: str) -> UsageError:
    what = f"{who} needs the package {package}, which is not installed"
    return UsageError(what, hint=f'run pip install "{DISTRIBUTION}[{extra}]"')
