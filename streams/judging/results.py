"""What one check comes to over one scope, and the file or region that it is held against.

A verifier is a pure function `(Check, scope) -> Held`. It never guesses: what it cannot decide exactly stays undecided.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

HeldReason = Literal[
    "not-found",  # nothing there makes it hold, and nothing is exactly against it
    "differs",  # exactly false: what was found is something else
    "ambiguous",  # several definitions of one name, or several occurrences where one is wanted
    "computed",  # the name is there, but what it is worth is not written down as a literal
    "incomparable",  # two values that have no order, or of two kinds
    "syntax-error",  # the file has one where the check would be decided
    "unlisted-language",  # the file's language is not one that checks by syntax speak of
    "no-grammar",  # the parser for it is not installed
    "too-large",  # the scope is beyond a bound
    "not-whole",  # the scope was not read whole, or its encoding had to be guessed
    "other-substrate",  # not decided by the class that looked
    "unknown-check",  # malformed, or of a list of checks that this version does not know
    "path-missing",  # the file is not in the tree that was looked at
    "changed-since",  # false here, but the file has changed since the time that the annotation speaks of
    "denial",  # it holds, but a denial is not borne out by it
    "moved",  # the quote stands elsewhere in the file than the check says
    "assigned-elsewhere",  # an occurrence of the name that is not provably a read may change the value
    "outside-locator",  # it is decided by what the annotation does not say was looked at
    "not-committed",  # history says nothing of it: what stands is not what was committed, if anything was
]


class Held(NamedTuple):
    """What came of one check.

    Attributes:
        holds: True where it holds, False where it is exactly false in a scope that was read whole, else None.
        reason: why it does not hold; None where it does.
        lines: where it holds or is refuted: first and last line of the file, from 1.
        path: the file, where a verifier looked at several.
        commit: the commit that decided it, where one did.
        found: for a check that does not hold, the text of the line that stands there instead; at most 200 characters.
        under: the texts of the enclosing conditions, attributes or preprocessor lines, the outermost first.
        narrowed: what `under` says makes the check say less than a sentence without a condition (coverage is lowered).
        candidates: for `ambiguous`, what the name could mean: qualified names or paths, at most 5.
        chain: for `reaches`, every call on the way, with its line.
    """

    holds: bool | None
    reason: HeldReason | None = None
    lines: tuple[int, int] | None = None
    path: str | None = None
    commit: str | None = None
    found: str | None = None
    under: tuple[str, ...] = ()
    narrowed: bool = False
    candidates: tuple[str, ...] = ()
    chain: tuple[str, ...] = ()


class Source(NamedTuple):
    """The text of one file, with the region of it that is looked at.

    Attributes:
        path: below the root, with slashes; its ending tells the language. Empty for text that is no file.
        text: the whole file's text; line ends as they stand there.
        lines: first and last line of the region, from 1; None for the whole file.
        whole: the file was read uncut and its encoding is known, so that not finding something is exact.
        digest: of the file's bytes (`sha256:…`), by which what was parsed can be kept; empty where nobody knows it.
    """

    path: str
    text: str
    lines: tuple[int, int] | None = None
    whole: bool = True
    digest: str = ""


def opposite(held: Held) -> Held:
    """What `not` makes of it: it holds where the check is exactly false; what is undecided stays so."""
    if held.holds is None:
        return held
    return held._replace(holds=not held.holds, reason="differs" if held.holds else None)
