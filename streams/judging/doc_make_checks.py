"""Checks on Makefiles: `defines` of targets and variables, `equals` and `compare` of what a variable is set to.

A variable that is set twice, added to, set under a condition or for one target alone is ambiguous; one with a reference
in its value is computed. That a target is not there is exact only where every line was understood, no name of a target
is computed, and no pattern covers it.
"""

from __future__ import annotations

import re
from typing import Final, cast

from .checks import Check, Operator
from .doc_make import Definition, Makefile
from .results import Held
from .values import compare, value_of_text

_REFERENCE: Final = re.compile(r"\$\(([^()$]+)\)|\$\{([^{}$]+)\}")


def verify_make(check: Check, make: Makefile, lines: tuple[int, int] | None) -> Held:
    """Whether a check holds in a Makefile.

    Args:
        check: `defines`, `equals` or `compare`; its `not` is left to the caller. `in` names a target, whose own
            variables alone are meant.
        make: the Makefile.
        lines: first and last line of the region, from 1; what begins outside does not count. None for all.
    """
    owner = check.text("in")
    if owner and not _is_target(make, owner):
        return Held(None, "not-found")
    if check.name == "defines":
        return _defines(check, make, owner, lines)
    name = _bare(check.text("name"))
    found = [one for one in _named(make, name) if one.kind == "variable" and _counts(one, owner, lines)]
    if not found:
        return Held(None, "not-found")
    if len(found) > 1 or found[0].owner != owner or name in make.evaluated:
        return Held(None, "ambiguous")
    return _equals(check, found[0])


def _equals(check: Check, found: Definition) -> Held:
    op = cast("Operator", check.text("op") or "=")
    declared = check.value("value")
    if found.doubt == "computed" and op in ("=", "!=") and declared == found.value:
        holds = op == "="
    elif found.doubt is not None:
        return Held(None, found.doubt)
    else:
        answer = compare(op, declared, value_of_text(found.value))
        if answer is None:
            return Held(None, "incomparable")
        holds = answer
    return Held(holds, None if holds else "differs", (found.first, found.last))


def _defines(check: Check, make: Makefile, owner: str, lines: tuple[int, int] | None) -> Held:
    kind = check.text("kind")
    if kind not in ("", "target", "variable"):
        return Held(None, "unlisted-language")
    name = check.text("symbol")
    known = [*_named(make, name), *(_named(make, _bare(name)) if _bare(name) != name else ())]
    for one in known:
        if kind in ("", one.kind) and _counts(one, owner, lines):
            return Held(True, None, (one.first, one.last))
    if not make.complete:
        return Held(None, "syntax-error")
    kinds = (kind,) if kind else ("target", "variable")
    covered = "target" in kinds and any(_covers(pattern, name) for pattern in make.patterns)
    if covered or not make.computed.isdisjoint(kinds):
        return Held(None, "computed")
    return Held(False, "differs")


def _is_target(make: Makefile, name: str) -> bool:
    """Whether a rule, or a variable for it alone, says that a target is there."""
    if any(one.kind == "target" for one in _named(make, name)):
        return True
    return any(one.owner == name for known in make.definitions.values() for one in known)


def _counts(one: Definition, owner: str, lines: tuple[int, int] | None) -> bool:
    if owner and one.owner != owner:
        return False
    return lines is None or lines[0] <= one.first <= lines[1]


def _named(make: Makefile, name: str) -> list[Definition]:
    return make.definitions.get(name, [])


def _bare(name: str) -> str:
    """The name of a variable that is written as a reference to it."""
    found = _REFERENCE.fullmatch(name)
    return name if found is None else found[1] or found[2]


def _covers(pattern: str, name: str) -> bool:
    """Whether a rule for a pattern makes such a target; one without a directory does in every directory."""
    before, _, behind = pattern.partition("%")
    names = (name,) if "/" in pattern else (name, name.rpartition("/")[2])
    least = len(before) + len(behind) + 1
    return any(len(one) >= least and one.startswith(before) and one.endswith(behind) for one in names)


def make_extents(make: Makefile, name: str) -> list[tuple[int, int]]:
    """First and last line of each rule for a target, recipe included; of a variable of that name where none is."""
    known = _named(make, name)
    rules = [one for one in known if one.kind == "target"]
    return [(one.first, one.last) for one in rules or _named(make, _bare(name))]
