"""Names of files that are never looked at, since they are where credentials are kept (docs/observing.md).

A path is denied where any of its names is. What is denied is neither read nor said to be there or not; a search through
all files leaves it out, and so proves no absence. The operator's setting `denied_names` adds to the list.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable
from typing import Final

from ...codecs.errors import UsageError
from ..settings.settings import Settings

NAMES: Final = (
    ".env*",
    "*.pem",
    "*.key",
    "id_*",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "*.ppk",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".pgpass",
    ".htpasswd",
    ".git-credentials",
    ".vault-token",
    ".my.cnf",
    ".boto",
    ".s3cfg",
    ".dockercfg",
    ".dockerconfigjson",
    ".kube",
    "kubeconfig*",
    "*.tfstate*",
    "*.p8",
    "*.ovpn",
    ".*_history",
    ".ssh",
    ".aws",
    ".gnupg",
    "credentials*",
    "secrets.*",
)
"""Shell patterns of one name each; letter case does not matter."""
REASON: Final = "a file of that name is never looked at"


class Denied:
    """The names that are never looked at."""

    def __init__(self, patterns: Iterable[str] = NAMES) -> None:
        # The translation of a shell pattern lets `*` pass over a slash; here it stays within one name.
        names = "|".join(f"(?:{_translated(pattern)})" for pattern in patterns)
        self._search = re.compile(f"(?:^|/)(?:{names})(?:/|$)", re.IGNORECASE | re.DOTALL).search

    @classmethod
    def of(cls, settings: Settings) -> Denied:
        """The list with what the setting `denied_names` adds.

        Raises:
            UsageError: a pattern holds a slash: names are denied, not places.
        """
        given = [one.strip() for one in (settings.denied_names or "").split(",")]
        wrong = next((one for one in given if "/" in one), None)
        if wrong is not None:
            raise UsageError(
                "the setting denied_names holds a path", expected="patterns of names", got=repr(wrong)[:80]
            )
        return cls((*NAMES, *filter(None, given)))

    def holds(self, path: str) -> bool:
        """Whether any name on the path is denied."""
        return self._search(path) is not None


def _translated(pattern: str) -> str:
    pieces: list[str] = []
    for piece in re.split(r"(\*+|\?|\[[^\]/]+\])", pattern):
        if piece.startswith("*"):
            pieces.append("[^/]*")
        elif piece == "?":
            pieces.append("[^/]")
        elif len(piece) > 2 and piece.startswith("[") and piece.endswith("]"):
            inner = fnmatch.translate(piece).removeprefix("(?s:")
            pieces.append(inner[: inner.rindex(")")])
        else:
            pieces.append(re.escape(piece))
    return "".join(pieces)
