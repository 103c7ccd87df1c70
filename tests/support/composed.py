"""The Compose file without an engine: each service's own command and variables, its volumes as folders.

What a container would see is all that a command is given: a path that nothing mounts ends the test.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import manifests
from commands import SLUICE

_VARIABLE = re.compile(r"\$\{(\w+)(?::-([^${}]*))?\}")
"""The innermost one: a default may hold another."""


class Mount(NamedTuple):
    """A folder or file of this machine, and where a container sees it."""

    source: Path
    target: str
    read_only: bool


class Composed:
    """The services of the Compose file, whose volumes lie below a folder.

    Args:
        folder: for the volumes.
        chosen: variables that the file asks for (`${NAME:-default}`).
        given: variables for every command beside its own, such as the broker's address.
    """

    def __init__(self, folder: Path, chosen: Mapping[str, str] = {}, given: Mapping[str, str] = {}) -> None:
        self._folder, self._chosen, self._given = folder, chosen, given
        self.services: dict[str, dict[str, Any]] = self._filled(manifests.compose()["services"])

    def mounts(self, service: str) -> list[Mount]:
        """What a service sees of volumes and of this machine."""
        return [self._mount(one) for one in self.services[service].get("volumes", ())]

    def keys(self, service: str) -> list[Path]:
        """Every private key that a service could read."""
        return sorted(file for mount in self.mounts(service) for file in mount.source.rglob("private.key"))

    def run(self, service: str, *arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
        """Runs a service to its end: its own command, or these arguments in its place."""
        command, environment = self._line(service, arguments)
        return subprocess.run(
            command, cwd=self._folder, env=environment, input=text, capture_output=True, text=True, timeout=180
        )

    def start(self, service: str, log: Path) -> subprocess.Popen[bytes]:
        """Starts a service, which says what it has to say in a file."""
        command, environment = self._line(service, ())
        with open(log, "wb") as file:
            return subprocess.Popen(command, cwd=self._folder, env=environment, stdout=file, stderr=file)

    def _line(self, service: str, arguments: tuple[str, ...]) -> tuple[list[str], dict[str, str]]:
        one, mounts = self.services[service], self.mounts(service)
        for mount in mounts:
            if not mount.read_only:
                mount.source.mkdir(parents=True, exist_ok=True)
        own = {name: str(value) for name, value in one.get("environment", {}).items()}
        own = {
            name: value for name, value in own.items() if not name.startswith("SLUICE_WEB_")
        }  # ports of this machine
        image = {"SLUICE_STATE_DIR": "/var/lib/sluice/state"} if not one["image"].startswith("sluice-observer") else {}
        found = {name: _seen(value, mounts) for name, value in (own if not _writes(mounts) else image | own).items()}
        outside = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        words = [_seen(word, mounts) for word in (arguments or one["command"])]
        return [*SLUICE, *words], outside | found | self._given

    def _mount(self, given: str | dict[str, Any]) -> Mount:
        if isinstance(given, dict):
            source = self._folder / given["source"] / given.get("volume", {}).get("subpath", ".")
            return Mount(source, given["target"], given.get("read_only", False))
        source, target, *how = given.split(":")
        is_here = source.startswith((".", "/"))
        return Mount((manifests.ROOT if is_here else self._folder) / source, target, how == ["ro"])

    def _filled(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {name: self._filled(one) for name, one in value.items()}
        if isinstance(value, list):
            return [self._filled(one) for one in value]
        if isinstance(value, str):
            while (filled := _VARIABLE.sub(lambda match: self._chosen.get(match[1]) or match[2] or "", value)) != value:
                value = filled
        return value


def _writes(mounts: list[Mount]) -> bool:
    return any(not mount.read_only for mount in mounts)


def _seen(word: str, mounts: list[Mount]) -> str:
    """A word of a command in which a container's path is this machine's."""
    head, equals, path = word.partition("=") if word.startswith("--") else ("", "", word)
    if not path.startswith("/"):
        return word
    for mount in mounts:
        if path == mount.target or path.startswith(f"{mount.target}/"):
            return f"{head}{equals}{mount.source}{path[len(mount.target) :]}"
    raise AssertionError(f"{word} is of no volume that is mounted")
