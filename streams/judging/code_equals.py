"""`equals` and `compare`: what a constant, default, field or member of an enumeration is worth (docs/checks.md).

A name counts once: where it is assigned several times, or in several places, the check is undecided, unless `in` or
`lines` tells which is meant. A value under a condition is undecided likewise. Only literals have a value.
"""

from __future__ import annotations

import re
from typing import Final

from .checks import Check, Operator, Value
from .code_lookup import Scope, found, parts_of_symbol
from .code_model import EVERYTHING, Code, Definition, Role
from .code_values import read
from .results import Held, Source
from .values import compare, same

_VALUES: Final = frozenset((Role.VALUE,))
_KEYS: Final = frozenset((Role.KEY,))
_INNER: Final = frozenset((Role.PARAMETER, Role.LOCAL, Role.ATTRIBUTE))
_OTHER: Final = frozenset((Role.FUNCTION, Role.TYPE, Role.SPACE, Role.IMPORTED))
_OWN: Final = frozenset(("self", "this", "cls", "Self", "@"))
_MUTATES: Final = (
    r"(?<![\w.]){name}\s{0,40}(?:(?:\[[^\]\n]{0,200}\]\s{0,40}){1,4}(?:[-+*/|&^]|\*\*|<<|>>|\|\||&&|\?\?)?=(?![=~>])"
    r"|\.\s{0,40}(?:append|extend|insert|remove|pop|popitem|clear|sort|sort_by|sort!|reverse|reverse!|map!|push|push_back"
    r"|unshift|shift|splice|fill|delete|delete_at|concat|concat!|add|addAll|Add|AddRange|Remove|Clear|update|setdefault"
    r"|merge!|store|replace|put)(?!\w)"
    r"|<<|\+=|\|=)|\bdel\s+{name}\b|\b(?:append|copy|sort|delete|assign)\w*\(\s{0,40}&?{name}\b"
)
"""How a text changes what is in a list or map, in any of the languages."""


def verify_equals(check: Check, code: Code, source: Source, scope: Scope) -> Held:
    """Whether the name has that value, or stands in that relation to it."""
    name = check.text("name")
    there = [one for one in found(code, name, source.path) if not one.dead]
    candidates = _candidates(code, there, scope)
    if not candidates:
        return Held(None, "computed" if _named(there, scope) else "not-found")
    one = candidates[0]
    if any(code.touched(other.node.start_byte, other.node.end_byte) for other in candidates):
        return Held(None, "syntax-error", one.lines)
    if not source.whole:
        return Held(None, "not-whole", one.lines)
    if len(candidates) > 1 or _uncertain(code, one, scope):
        return Held(None, "ambiguous", one.lines)
    worth = read(code, one.value) if one.value is not None else None
    if worth is None:
        return Held(None, "computed", one.lines)
    if _may_be_mutated(code, one, worth.value):
        return Held(None, "ambiguous", one.lines)
    declared = check.value("value")
    holds = same(declared, worth.value) if check.name == "equals" else compare(_operator(check), declared, worth.value)
    if holds is None:
        return Held(None, "incomparable", one.lines)
    if not holds and _inner_twin([other for other in there if scope.has(other)], one, name, code):
        return Held(None, "ambiguous", one.lines)
    return Held(holds, None if holds else "differs", one.lines)


def _operator(check: Check) -> Operator:
    operator = check.text("op")
    assert operator in ("=", "!=", "<", "<=", ">", ">="), "a check that was read has one of the operators"
    return operator


def _candidates(code: Code, there: list[Definition], scope: Scope) -> list[Definition]:
    """Those that have a value: constants, variables and fields before keys, and those before what is in functions."""
    here = [one for one in there if scope.has(one) and one.value is not None]
    for roles in (_VALUES, _KEYS, _INNER):
        candidates = [one for one in here if one.role in roles]
        if candidates:
            return _defaults_first(candidates, code)
    return []


def _defaults_first(candidates: list[Definition], code: Code) -> list[Definition]:
    """A parameter's default before what its function does with it under a condition (`if x is None: x = []`)."""
    parameters = [one for one in candidates if one.role is Role.PARAMETER]
    if not parameters:
        return candidates
    others = [one for one in candidates if one.role is not Role.PARAMETER]
    own = {one.path for one in parameters}
    return parameters + [one for one in others if one.path not in own or not one.conditional]


def _named(there: list[Definition], scope: Scope) -> bool:
    """Whether the name is there, without a value that is written down."""
    return any(scope.has(one) and one.role is not Role.WRITE for one in there)


def _uncertain(code: Code, one: Definition, scope: Scope) -> bool:
    """Whether the name may be worth something else at another time, or under another condition."""
    if one.conditional and scope.lines is None:
        return True
    if len(one.path) == 1 and _taken_over(code, one):
        return True
    others = [code.definitions[place] for place in code.by_name.get(one.name, ())]
    others = [other for other in others if not other.dead and other.node.start_byte != one.node.start_byte]
    local = {other.path[:-1] for other in others if other.role in (Role.PARAMETER, Role.LOCAL)}
    return any(
        _rebinds(other, one, code, local) for other in others if scope.lines is None or scope.has_line(other.line)
    )


def _taken_over(code: Code, one: Definition) -> bool:
    """Whether `from … import *` stands behind a name of the module, and may bring another one."""
    stars = (code.definitions[place] for place in code.by_name.get(EVERYTHING, ()))
    return any(star.node.start_byte > one.node.start_byte for star in stars)


def _rebinds(other: Definition, one: Definition, code: Code, local: set[tuple[str, ...]]) -> bool:
    """Whether another place may change what the name is worth in the one.

    Args:
        local: where the name is that of a parameter or a local variable.
    """
    if other.role in _OTHER:
        return other.path == one.path
    if one.fixed:
        return False
    around = one.path[:-1]
    default = one.role is Role.PARAMETER
    if other.role is not Role.WRITE:
        return other.path == one.path and other.value is not None and not (default and other.conditional)
    if other.receiver:
        if one.role in (Role.PARAMETER, Role.LOCAL):
            return False
        own = other.receiver in _OWN and around == other.path[: len(around)]
        return bool(around) and (other.receiver == around[-1] or own)
    if one.role is Role.KEY or (default and other.conditional):
        return False
    if not code.grammar.folds_writes:
        return other.path == one.path
    inner = (other.path[:place] for place in range(len(around) + 1, len(other.path)))
    return other.path[: len(around)] == around and not any(path in local for path in inner)


def _inner_twin(there: list[Definition], one: Definition, name: str, code: Code) -> bool:
    """Whether an unqualified name is that of something lesser as well: then nobody is refuted by it."""
    if one.role in _INNER or len(parts_of_symbol(name, code.grammar)) > 1:
        return False
    lesser = _INNER if one.role is Role.KEY else _INNER | _KEYS
    return any(other.role in lesser and other.value is not None for other in there)


def _may_be_mutated(code: Code, one: Definition, value: Value) -> bool:
    """Whether the file may change what is in a list, or in what a key is in, as far as its text tells."""
    names = set(one.path[:-1]) if one.role is Role.KEY else set[str]()
    if isinstance(value, tuple) and not (one.value is not None and one.value.type in ("tuple", "expression_list")):
        names.add(one.name)
    if isinstance(value, str) and code.language == "ruby":
        names.add(one.name)
    start, end = one.node.start_byte, one.node.end_byte
    return any(
        not start <= match.start() < end
        for name in sorted(names)
        for match in re.finditer(_MUTATES.replace("{name}", re.escape(name)).encode(), code.data)
    )
