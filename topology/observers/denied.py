"""Files that are never looked at: by their names, since that is where credentials are kept, and what is being vetted
(docs/observing.md).

A path is denied where any of its names is. What is denied is neither read nor said to be there or not; a search through
all files leaves it out, and so proves no absence. The operator's setting `denied_names` adds to the list.
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Iterable, Sequence
from copy import copy
from typing import Final

from ...codecs.errors import UsageError
from ..settings.settings import Settings
from .ask import CannotLook

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
VETTED: Final = "this file is what is being vetted, and no evidence for itself"


class Denied:
    """What is never looked at: names and, below one root, the files that are being vetted."""

    def __init__(self, patterns: Iterable[str] = NAMES) -> None:
        # The translation of a shell pattern lets `*` pass over a slash; here it stays within one name.
        names = "|".join(f"(?:{_translated(pattern)})" for pattern in patterns)
        self._search = re.compile(f"(?:^|/)(?:{names})(?:/|$)", re.IGNORECASE | re.DOTALL).search
        self._vetted = frozenset[str]()  # paths from the root

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

    def of_root(self, root: str, vetted: Sequence[str]) -> Denied:
        """This list with those of the vetted files that lie below a root.

        Args:
            root: its path on this host.
            vetted: paths on this host, resolved.
        """
        if not vetted:
            return self  # as in every service, at each look
        above = os.path.join(os.path.realpath(root), "")
        made = copy(self)
        made._vetted = frozenset(path.removeprefix(above) for path in vetted if path.startswith(above))
        return made

    def holds(self, path: str) -> bool:
        """Whether any name on the path is denied, or the file is being vetted."""
        return path in self._vetted or self._search(path) is not None

    def refuse(self, path: str) -> None:
        """Raises:
        CannotLook: it is denied; the message says why.
        """
        if self.holds(path):
            raise CannotLook(VETTED if path in self._vetted else REASON)


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
