"""The names in a tree: its listing, and which of the names are never looked at."""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from typing import Final, NamedTuple

from ...codecs.errors import UsageError
from ...codecs.unicode_text import nfkc
from ..settings.settings import Settings
from .ask import ObservationUnavailable

NAMES: Final = (
    ".env*", "*.pem", "*.key", "id_*", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk", ".netrc", ".npmrc",
    ".pypirc", ".pgpass", ".htpasswd", ".git-credentials", ".vault-token", ".my.cnf", ".boto", ".s3cfg", ".dockercfg",
    ".dockerconfigjson", ".kube", "kubeconfig*", "*.tfstate*", "*.p8", "*.ovpn", ".*_history", ".ssh", ".aws",
    ".gnupg", "credentials*", "secrets.*",
)  # fmt: skip
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
        ObservationUnavailable: it is denied; the message says why.
        """
        if self.holds(path):
            raise ObservationUnavailable(VETTED if path in self._vetted else REASON)


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


FILE, LINK, FOLDER, SUBMODULE = "file", "link", "folder", "submodule"
KINDS: Final[Mapping[bytes, str]] = {
    b"100644": FILE,
    b"100664": FILE,  # of git's first years
    b"100755": FILE,
    b"120000": LINK,
    b"40000": FOLDER,
    b"040000": FOLDER,
    b"160000": SUBMODULE,
}


class Entry(NamedTuple):
    """What stands at a path of a tree or of the index.

    Attributes:
        kind: a file, a link, a folder or a submodule.
        name: the hash of the object.
        path: as it is written there, which may differ from how it was asked for by its Unicode form alone.
        checked_out: False for a file of the index that a sparse checkout leaves out.
    """

    kind: str
    name: str
    path: str
    checked_out: bool = True


def by_folder(paths: Iterable[str]) -> dict[str, list[str]]:
    """Paths by the folder that holds them."""
    folders: dict[str, list[str]] = {}
    for path in paths:
        folders.setdefault(path.rpartition("/")[0], []).append(path)
    return folders


class Listing:
    """Every entry of an index or of a whole tree that is no folder, by path.

    Attributes:
        files: the paths of those files that may be looked at, in the order of their bytes.
        by_folder: the same, by the folder that holds them.
        whole: no file is left out of them, and no submodule holds others.
    """

    def __init__(self, entries: dict[str, Entry], denied: Denied) -> None:
        self.entries = entries
        there = [path for path, one in entries.items() if one.kind == FILE]
        submodules = any(one.kind == SUBMODULE for one in entries.values())
        self.files = sorted((path for path in there if not denied.holds(path)), key=os.fsencode)
        self.whole = (
            not submodules and len(self.files) == len(there) and all(entries[path].checked_out for path in there)
        )
        self.by_folder = by_folder(self.files)
        self._folders: frozenset[str] | None = None
        self._aliases: dict[str, str] | None = None

    def at(self, path: str) -> Entry | None:
        """What stands at a path, a folder included."""
        found = self.entries.get(path)
        if found is None and not path.isascii():
            found = self.entries.get(self._known_as(path))
        if found is None and path in self._above():
            return Entry(FOLDER, "", path)
        return found

    def _known_as(self, path: str) -> str:
        if self._aliases is None:
            self._aliases = {}
            for one in self.entries:
                if not one.isascii():
                    form = nfkc(one)
                    self._aliases[form] = "" if form in self._aliases else one  # of two with one form neither is meant
        return self._aliases.get(nfkc(path), "")

    def _above(self) -> frozenset[str]:
        if self._folders is None:
            found: set[str] = set()
            for path in self.entries:
                while (path := path.rpartition("/")[0]) and path not in found:
                    found.add(path)
            self._folders = frozenset(found)
        return self._folders


def parse_tree(data: bytes, size: int) -> dict[bytes, Entry]:
    """The entries of a tree object by name; `size` is that of a hash in bytes."""
    found: dict[bytes, Entry] = {}
    at = 0
    while at < len(data):
        space = data.find(b" ", at)
        end = data.find(b"\0", space)
        if space < 0 or end < 0 or len(data) < end + 1 + size:
            raise ObservationUnavailable("a tree of this history is none")
        name = data[space + 1 : end]
        hashed = data[end + 1 : end + 1 + size].hex()
        found[name] = Entry(KINDS.get(data[at:space], SUBMODULE), hashed, os.fsdecode(name))
        at = end + 1 + size
    return found
