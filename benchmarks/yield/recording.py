"""The checks that a recorder derives: the product's own `Deriver`, given what the calls of a statement returned.

The corpus says which calls were made; what they returned is read from the package here. Nothing is derived here.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from annotating import LOG
from oracle import Package

from sluice.codecs.records import Kind
from sluice.record.deriving import Deriver
from sluice.record.looks import Commit, Line, Look, LookResult


def derive(text: str, kind: Kind, annotations: list[dict[str, Any]], package: Package) -> list[str]:
    """The checks of a sentence, the most exact first; none where nothing that was read names what it names.

    Args:
        text: the sentence.
        kind: of the assertion.
        annotations: of the calls that were made; what they returned is read from the package.
        package: the repository.
    """
    return _deriver(package).derive(text, kind, [_seen(one, package) for one in annotations])


@lru_cache(maxsize=1)  # one package after the other
def _deriver(package: Package) -> Deriver:
    return Deriver(package.text)


def _seen(annotation: dict[str, Any], package: Package) -> LookResult:
    """What a call returned: the lines that were read, of a search the file's, of a log its commits."""
    look = Look(annotation["substrate_class"], annotation["locator"])
    path, lines = look.path or "", annotation["locator"].get("lines")
    if look.substrate_class == LOG:
        touching = [(name, one) for name, one in package.commits.items() if path in one["paths"]]
        return LookResult(look, commits=tuple(Commit(name, one["author"], one["date"]) for name, one in touching))
    first, last = lines or (1, None)
    shown = enumerate((package.text(path) or "").split("\n")[first - 1 : last], first)
    return LookResult(look, lines=tuple(Line(path, number, line) for number, line in shown))
