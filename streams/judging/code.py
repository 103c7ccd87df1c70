"""Checks on source code, by syntax: `defines`, `equals`, `compare`, `calls`, `uses`, `imports`, `returns`
(docs/checks.md).

The door to the modules `code_*.py`. A file is parsed whole, once for its content: `parse_code` makes a `Code` that can
be kept by the content's hash and the language, and `verify_code` decides any check on it. Text of a file is data: none
of it is run, and no text makes anything here fail. Nothing is read here.
"""

from __future__ import annotations

from collections.abc import Set
from typing import Final

from .checks import Check
from .code_building import TooMuch, index
from .code_defines import verify_defines
from .code_equals import verify_equals
from .code_imports import verify_imports
from .code_lookup import found, holders_of, scope_of
from .code_model import Code
from .code_parsing import MAX_BYTES, errors_of, parse_bytes
from .code_relations import verify_calls, verify_returns, verify_uses
from .code_values import read
from .languages import Language, languages_of, loaded
from .results import Held, Source

__all__ = ["CODE_CHECKS", "ON_SYMBOLS", "Code", "code_extents", "parse_code", "possible_checks", "verify_code"]

_VERIFIERS: Final = {
    "defines": verify_defines,
    "equals": verify_equals,
    "compare": verify_equals,
    "calls": verify_calls,
    "uses": verify_uses,
    "imports": verify_imports,
    "returns": verify_returns,
}
CODE_CHECKS: Final = frozenset(_VERIFIERS)
ON_SYMBOLS: Final = CODE_CHECKS - {"imports"}
"""Checks whose first argument is a name that the file defines."""


def parse_code(source: Source) -> Code | None:
    """Parses a file of a listed language. Linear in its text, and bounded.

    Args:
        source: the file; its lines do not matter here, and of its path only the name.

    Returns:
        None where its name tells no listed language. Else what checks are decided on; its `problem` says why they
        cannot be, its `weight` how many bytes of memory it takes.
    """
    best: Code | None = None
    for language in languages_of(source.path):
        code = _parsed(language, source.text)
        if best is None or _faults(code) < _faults(best):
            best = code
        if not _faults(best):
            break
    return best


def _faults(code: Code) -> int:
    """How badly a file fits a language: nothing for one without errors, most for one that cannot be read."""
    return MAX_BYTES if code.problem else sum(end - start + 1 for start, end in code.errors)


def _parsed(language: Language, text: str) -> Code:
    # What is no text, such as half a character of a file that was read leniently, stays what it is: an error, if that.
    data = text.removeprefix("\ufeff").encode("utf-8", "surrogatepass")
    grammar = loaded(language.package, language.entry)
    if grammar is None:
        return Code(language.name, language.grammar, b"", "no-grammar")
    tree = parse_bytes(grammar, data)
    if tree is None:
        return Code(language.name, language.grammar, b"", "too-large")
    code = Code(language.name, language.grammar, data)
    code.tree, code.errors = tree, errors_of(tree.root_node)
    try:
        index(code, tree.root_node)
    except TooMuch:
        return Code(language.name, language.grammar, b"", "too-large")
    code.weigh()
    return code


def verify_code(check: Check, code: Code, source: Source) -> Held:
    """Whether a check on source code holds; its `not` is left aside.

    Args:
        check: one of `CODE_CHECKS`.
        code: what `parse_code` made of the file.
        source: the file: its path, its lines where only those count, and whether it was read whole.

    Returns:
        What it comes to, with the lines that decide it. Never raises.
    """
    if code.problem is not None:
        return Held(None, code.problem)
    scope = scope_of(check, code, source)
    return scope if isinstance(scope, Held) else _VERIFIERS[check.name](check, code, source, scope)


def possible_checks(code: Code, symbol: str, path: str) -> Set[str]:
    """Which checks on a symbol might hold in a file, whatever else they name: asked where many are to be tried.

    Args:
        code: what `parse_code` made of the file.
        symbol: the first argument of a check that names neither `in` nor `lines`.
        path: of the file.

    Returns:
        Names of checks. One of `ON_SYMBOLS` that is left out does not hold; one that is there need not.
    """
    there = [] if code.problem else [one for one in found(code, symbol, path) if not one.dead]
    names = {"defines"} if there else set[str]()
    if any(one.body is not None or one.value is not None for one in there):
        names |= {"calls", "uses", "returns"}
    if any(one.value is not None and read(code, one.value) is not None for one in there):
        names |= {"equals", "compare"}
    return names


def code_extents(code: Code, name: str) -> list[tuple[int, int]]:
    """First and last line of each definition that a symbol means, in the order of the file."""
    return [one.lines for one in holders_of(found(code, name, ""))]
