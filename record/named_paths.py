"""Names that a sentence gives files, looked up among the paths of a repository."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Final

from ..streams.judging.lexicon import EXTENSIONS

_PLACE: Final = re.compile(r":\d+(?:-\d+)?$")
_RELATIVE: Final = re.compile(r"[\w.@+-]+(?:/[\w.@+-]+)*")


def is_file(name: str, listing: Collection[str]) -> bool:
    return listed(name, listing) is not None or "/" in name or name.rpartition(".")[2].lower() in EXTENSIONS


def listed(name: str, listing: Collection[str]) -> str | None:
    """The tracked file that a name names: itself, or the only one that ends with it."""
    name = _without_place(name)
    if name in listing:
        return name
    if "." not in name and "/" not in name:
        return None
    found = [path for path in _of_same_name(name, listing) if path.endswith("/" + name)]
    return found[0] if len(found) == 1 else None


def unlisted(name: str, listing: Collection[str]) -> str | None:
    """The file below the root that a name names, of which the repository has none, in no folder. Else None."""
    name = _without_place(name)
    if name.rpartition(".")[2].lower() not in EXTENSIONS or not _RELATIVE.fullmatch(name) or ".." in name.split("/"):
        return None
    return None if _of_same_name(name, listing) else name


def _without_place(name: str) -> str:
    """The name without the lines behind it, and without `./` before it."""
    return _PLACE.sub("", name).removeprefix("./")


def _of_same_name(name: str, listing: Collection[str]) -> Sequence[str]:
    """The tracked files, in any folder, whose own name is that of this path."""
    by_name = _by_name(listing if isinstance(listing, frozenset) else frozenset(listing))
    return by_name.get(name.rpartition("/")[2], ())


@lru_cache(maxsize=2)
def _by_name(listing: frozenset[str]) -> dict[str, list[str]]:
    """The paths by the name of their file: a listing may have 100,000, and every word of an answer is looked for."""
    found: dict[str, list[str]] = {}
    for path in listing:
        found.setdefault(path.rpartition("/")[2], []).append(path)
    return found
