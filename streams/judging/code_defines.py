"""`defines`: whether a file has a definition of a name, by syntax (docs/checks.md).

Local variables, parameters and imported names are no definitions. What is only declared, is a key of an object, or
belongs to an instance, may be called one: such a name is neither defined nor said not to be.
"""

from __future__ import annotations

from typing import Final

from .checks import Check
from .code_lookup import Scope, found, parts_of_symbol
from .code_model import DEFINING, Code, Definition, Role
from .code_values import read
from .results import Held, Source

NOT_FOUND: Final = Held(None, "not-found")
_NEAR: Final = frozenset((Role.KEY, Role.ATTRIBUTE, Role.DECLARED))
OTHER_KINDS: Final = frozenset(("target", "section"))


def verify_defines(check: Check, code: Code, source: Source, scope: Scope) -> Held:
    """Whether a definition of the symbol stands in the scope."""
    symbol, kind = check.text("symbol"), check.text("kind")
    if kind in OTHER_KINDS:
        return NOT_FOUND
    there = found(code, symbol, source.path)
    defined = [one for one in there if one.role in DEFINING and not one.dead]
    here = [one for one in defined if scope.has(one)]
    sound = [one for one in here if not code.touched(one.node.start_byte, one.node.end_byte)]
    for one in sound:
        if not kind or kind in one.kinds:
            return Held(True, lines=one.lines)
    if len(sound) < len(here):
        return Held(None, "syntax-error", here[0].lines)
    if not source.whole:
        return Held(None, "not-whole")
    if code.errors:
        return Held(None, "syntax-error")
    if here:
        unclear = any(kind in one.maybe for one in here)
        return Held(None, "not-found", here[0].lines) if unclear else Held(False, "differs", here[0].lines)
    if any(_is_near(one, there) for one in there) or (defined and scope.lines is not None):
        return NOT_FOUND
    parts = parts_of_symbol(symbol, code.grammar)
    if not parts or parts[-1] in code.hidden:
        return NOT_FOUND
    return NOT_FOUND if _elsewhere(code, parts) else Held(False, "differs")


def _is_near(one: Definition, there: list[Definition]) -> bool:
    """Whether somebody could call a place a definition, though it is none."""
    if one.role is Role.WRITE:  # of a name that nothing here introduces: a loop's, or a global one
        return not any(other.role in (Role.LOCAL, Role.PARAMETER, Role.IMPORTED) for other in there)
    return one.role in _NEAR or one.dead


def _elsewhere(code: Code, parts: tuple[str, ...]) -> bool:
    """Whether the last component is defined in what the others may well be another name of.

    It is not where what stands in front of it is a type of this file, which then has no such member.
    """
    alike = [code.definitions[place] for place in code.by_name.get(parts[-1], ())]
    alike = [one for one in alike if one.role in DEFINING or one.role in _NEAR]
    if len(parts) < 2:
        return False
    holders = [code.definitions[place] for place in code.by_name.get(parts[-2], ())]
    if any(one.role is Role.VALUE and one.value is not None and read(code, one.value) is None for one in holders):
        return True  # what is computed may have any members: `Point = namedtuple("Point", "x y")`
    if not alike:
        return False
    if any(parts[-2] in one.path[:-1] for one in alike):
        return True
    return not any(one.role is Role.TYPE and one.body is not None and not one.dead for one in holders)
