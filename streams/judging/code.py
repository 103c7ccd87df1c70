"""Checks on source code, by syntax (docs/checks.md): the door to the index of a file and to what is decided on it.

A file is parsed whole, once for its content: `parse_code` makes a `FileIndex` that can be kept by the content's hash
and the language, and `verify_code` decides any check on it. Text of a file is data: none of it is run, and no text
makes anything here fail. Nothing is read here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from .checks import Check
from .code_calls import has_body, is_function, verify_calls, verify_reaches, verify_uses
from .code_flow import verify_before, verify_raises, verify_returns, verify_when
from .code_values import (
    Verifier,
    is_made,
    verify_defines,
    verify_equals,
    verify_extends,
    verify_field,
    verify_imports,
    verify_members,
    verify_parameter,
    verify_result,
)
from .code_view import NOT_FOUND, View, holders_of, scoped
from .index import Definition, FileIndex
from .index_building import MAX_BYTES, build_index
from .languages import languages_of
from .lexicon import SYMBOLIC
from .results import Held, Source

__all__ = ["CODE_CHECKS", "code_extents", "is_broken", "parse_code", "symbol_kinds", "verify_code"]

_ON_BODIES: Final[Mapping[str, Callable[[View, Definition], Held]]] = {
    "calls": verify_calls,
    "uses": verify_uses,
    "reaches": verify_reaches,
    "returns": verify_returns,
    "raises": verify_raises,
    "when": verify_when,
    "unless": verify_when,
    "before": verify_before,
}
"""Checks on what stands in the body of the one definition that their first argument names."""
_VERIFIERS: Final[Mapping[str, Verifier]] = {
    "defines": verify_defines,
    "equals": verify_equals,
    "compare": verify_equals,
    "members": verify_members,
    "imports": verify_imports,
    "extends": verify_extends,
    "parameter": verify_parameter,
    "field": verify_field,
    "result": verify_result,
}
CODE_CHECKS: Final = _VERIFIERS.keys() | _ON_BODIES.keys()


def parse_code(source: Source) -> FileIndex | None:
    """The index of a file of a listed language.

    Args:
        source: the file; its lines do not matter here, and of its path only the name.

    Returns:
        None where its name tells no listed language. Else what checks are decided on; its `problem` says why they
        cannot be, its `weight` how many bytes of memory it takes.
    """
    best: FileIndex | None = None
    for language in languages_of(source.path):
        index = build_index(language.name, source.text.removeprefix("\ufeff").encode("utf-8", "surrogatepass"))
        if best is None or _faults(index) < _faults(best):
            best = index
        if not _faults(best):
            break
    return best


def _faults(index: FileIndex) -> int:
    """How badly a file fits a language: nothing for one without errors, most for one that cannot be read."""
    return MAX_BYTES if index.problem else sum(end - start + 1 for start, end in index.errors)


_NEVER: Final = frozenset(("reaches", "when", "unless"))
"""Checks that are never false."""


def verify_code(check: Check, index: FileIndex, source: Source) -> Held:
    """Whether a check on source code holds; its `not` is left aside.

    Args:
        check: one of `CODE_CHECKS`.
        index: what `parse_code` made of the file.
        source: the file: its path, its lines where only those count, and whether it was read whole.

    Returns:
        What it comes to, with the lines that decide it. Never raises.
    """
    if index.problem is not None:
        return Held(None, index.problem)
    view = scoped(check, index, source)
    if isinstance(view, Held):
        return view
    if check.name in _ON_BODIES:
        one = view.only(str(check.arguments[0]), has_body if check.name == "uses" else is_function)
        held = one if isinstance(one, Held) else _ON_BODIES[check.name](view, one)
    else:
        held = _VERIFIERS[check.name](view)
    if held == NOT_FOUND and _is_elsewhere(view):
        held = Held(False, "differs")
    return held._replace(holds=None, reason="not-found") if held.holds is False and not view.language.refutes else held


def _is_elsewhere(view: View) -> bool:
    """Whether the file that a check names does not even have the name of the check's subject."""
    check = view.check
    if check.negated or check.path is None or check.name not in SYMBOLIC - _NEVER or view.whole is not None:
        return False
    parts = view.language.parts(str(check.arguments[0]))
    return bool(parts) and view.is_absent(parts[-1]) and not is_made(view, parts)


def code_extents(index: FileIndex, name: str) -> list[tuple[int, int]]:
    """First and last line of each definition that a symbol means, in the order of the file."""
    if index.problem is not None:
        return []
    return [one.lines for one in holders_of(_named(index, name))]


def is_broken(index: FileIndex, name: str) -> bool:
    """Whether something in a definition that a symbol means does not parse."""
    return any(index.broken(one.extent) for one in holders_of(_named(index, name)))


def symbol_kinds(index: FileIndex, name: str) -> frozenset[str]:
    """What a name may be called (function, method, type, constant, variable, …), of all its definitions in the file."""
    there = [] if index.problem is not None else _named(index, name)
    return frozenset(kind for one in there for kind in one.kinds)


def _named(index: FileIndex, name: str) -> list[Definition]:
    return View(Check("defines", (name,)), index, Source("", "")).found(name)
