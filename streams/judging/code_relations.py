"""`calls`, `uses` and `returns`: what is in the body of one definition, by syntax (docs/checks.md).

It holds where the body itself has it. It is exactly false where the definition has it nowhere and the file has no
errors. What only a decorator, a default, an anonymous function or a branch that is never met has is neither.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from ...codecs.unicode_text import nfkc
from .checks import Check
from .code_lookup import Scope, found, parts_of_symbol
from .code_model import Code, Definition, Role, lines_of, no_hint
from .code_walk import Part, ends_with, nodes_of
from .results import Held, Source

if TYPE_CHECKING:
    from tree_sitter import Node

NOT_FOUND: Final = Held(None, "not-found")


def verify_calls(check: Check, code: Code, source: Source, scope: Scope) -> Held:
    """Whether the body of the caller calls the callee."""
    wanted = parts_of_symbol(check.text("callee"), code.grammar)
    grammar, calls, hint = code.grammar, code.grammar.calls, code.grammar.call_hint

    def is_call(node: Node) -> bool | None:
        field = calls.get(node.type)
        if field is not None:
            called = node if not field else node.child_by_field_name(field)
            if called is not None and ends_with(code, called, wanted):
                return True
            if called is not None and _is_item(code, called, wanted):
                return None
        return hint(code, node, wanted)

    spelled = grammar.call_hint is no_hint or grammar.hinted_is_written
    return _verify(check.text("caller"), wanted, is_call, code, source, scope, spelled)


def _is_item(code: Code, called: Node, wanted: tuple[str, ...]) -> bool:
    """`a[b](…)`: whether that calls what is in `a`, or an `a` with types, is not told by syntax."""
    for _ in range(8):
        if called.type not in _ITEMS or not called.named_children:
            return False
        called = called.named_children[0]
        if ends_with(code, called, wanted):
            return True
    return False


_ITEMS: Final = frozenset(
    (
        "array_access",
        "element_access_expression",
        "element_reference",
        "index_expression",
        "subscript",
        "subscript_expression",
    )
)


def verify_uses(check: Check, code: Code, source: Source, scope: Scope) -> Held:
    """Whether the body of the user mentions the name."""
    wanted = parts_of_symbol(check.text("used"), code.grammar)
    grammar, hint = code.grammar, code.grammar.use_hint

    def is_mention(node: Node) -> bool | None:
        named = node.type in grammar.members or (node.type in grammar.names and len(wanted) == 1)
        return True if named and ends_with(code, node, wanted) else hint(code, node, wanted)

    return _verify(check.text("user"), wanted, is_mention, code, source, scope, hint is no_hint)


def _verify(
    symbol: str,
    wanted: tuple[str, ...],
    matches: Callable[[Node], bool | None],
    code: Code,
    source: Source,
    scope: Scope,
    spelled: bool,
) -> Held:
    """As `verify_calls`; `spelled` says that whatever matches has every component of `wanted` written in it."""
    one = body_of(symbol, code, source, scope)
    if isinstance(one, Held):
        return one
    if not wanted:
        return NOT_FOUND
    unclear = outside = False
    near = _places(code, one, wanted) if spelled else None
    for node, part in nodes_of(code, one, near) if near is None or near else ():
        hit = matches(node)
        if hit is False:
            continue
        if hit and part is Part.BODY:
            if scope.has_line(node.start_point.row + 1):
                return Held(True, lines=lines_of(node))
            outside = True
        elif part is not Part.NESTED or one.role is not Role.FUNCTION:
            unclear = True
    if unclear or outside:
        return NOT_FOUND
    return Held(None, "syntax-error", one.lines) if code.errors else Held(False, "differs", one.lines)


def _places(code: Code, one: Definition, words: Sequence[str]) -> list[int] | None:
    """The bytes of a definition at which the last of these texts stands; none where one of them does not stand in it.

    Found without a walk, and of ASCII alone, since other characters are compared in NFKC: None for any other.
    """
    begin = one.node.start_byte
    written = code.data[begin : one.node.end_byte]
    if not written.isascii() or not words:
        return None
    encoded = [word.encode("utf-8", "surrogatepass") for word in words]
    if any(word not in written for word in encoded):
        return []
    found: list[int] = []
    at = written.find(encoded[-1])
    while at >= 0:
        found.append(begin + at)
        at = written.find(encoded[-1], at + 1)
    return found


def body_of(symbol: str, code: Code, source: Source, scope: Scope) -> Definition | Held:
    """The one definition with a body that a symbol means, or why there is none."""
    there = [one for one in found(code, symbol, source.path) if not one.dead]
    types = {one.path for one in there if one.role is Role.TYPE}
    with_body = [one for one in there if one.body is not None and one.role is Role.FUNCTION]
    with_body = [one for one in with_body if one.path[:-1] not in types]  # a constructor is not all of its type
    with_body = with_body or [one for one in there if one.body is not None and one.role is Role.TYPE]
    values = [one for one in there if one.role is Role.VALUE]
    with_body = with_body or [one for one in values if one.value is not None or one.body is not None]
    here = [one for one in with_body if scope.touches(one)]
    if len(here) > 1 and scope.lines is not None:
        here = [one for one in here if scope.has(one)] or here
    if not here:
        return NOT_FOUND
    one = here[0]
    if len(here) > 1:
        return Held(None, "ambiguous", one.lines)
    if code.touched(one.node.start_byte, one.node.end_byte):
        return Held(None, "syntax-error", one.lines)
    return one if source.whole else Held(None, "not-whole", one.lines)


def verify_returns(check: Check, code: Code, source: Source, scope: Scope) -> Held:
    """Whether every `return` of the definition returns that expression; never exactly false."""
    one = body_of(check.text("symbol"), code, source, scope)
    if isinstance(one, Held):
        return one
    if one.role is Role.TYPE or one.body is None:
        return NOT_FOUND
    quote, hits, others = check.text("quote"), list[tuple[int, int]](), 0
    near = _places(code, one, quote.split())
    if near is not None and not any(
        node is not None and quote in _written(code, node) for node in _returned(code, one, near)
    ):
        return NOT_FOUND
    for node in _returned(code, one):
        if node is not None and quote in _written(code, node):
            hits.append(lines_of(node))
        else:
            others += 1
    if not hits:
        return NOT_FOUND
    if others or not all(scope.has_line(line) for hit in hits for line in hit):
        return Held(None, "ambiguous", hits[0])
    return Held(True, lines=hits[0])


def _written(code: Code, node: Node) -> tuple[str, ...]:
    """The text of an expression with its white space folded, and that without brackets around all of it."""
    text = " ".join(nfkc(code.text(node)).split())
    if node.type.startswith("parenthesized"):
        return text, text.strip("()").strip()
    return (text,)


def _returned(code: Code, one: Definition, near: Sequence[int] | None = None) -> list[Node | None]:
    """The expressions that a definition returns; None for what returns none of them, or is never reached.

    With `near`, see `nodes_of`, those in which none of these bytes stands may be left out.
    """
    grammar = code.grammar
    found_here: list[Node | None] = []
    for node, part in nodes_of(code, one, near):
        if part not in (Part.BODY, Part.DEAD):
            continue
        if node.type in grammar.returns:
            parts = [child for child in node.named_children if "comment" not in child.type]
            found_here.append(parts[0] if len(parts) == 1 and part is Part.BODY else None)
        elif node.type in _YIELDS:
            found_here.append(None)
        elif grammar.return_command and node.type == "command":
            name, arguments = node.child_by_field_name("name"), node.children_by_field_name("argument")
            if name is not None and code.text(name) == grammar.return_command:
                found_here.append(arguments[0] if len(arguments) == 1 and part is Part.BODY else None)
    tail = _tail(code, one)
    if tail is not None and tail.type not in grammar.returns:
        found_here.append(tail)
    return found_here


_BODIES: Final = frozenset(
    (
        "accessor_list",
        "block",
        "block_body",
        "body_statement",
        "class_body",
        "compound_statement",
        "constructor_body",
        "if_statement",
        "statement_block",
        "subshell",
    )
)
"""What a body of statements is called; any other body is one expression."""
_YIELDS: Final = frozenset(("yield", "yield_expression", "yield_statement"))


def _tail(code: Code, one: Definition) -> Node | None:
    """The expression that a body is, or ends with where its language returns that."""
    body, grammar = one.body, code.grammar
    if body is None:
        return None
    if body.type not in _BODIES:
        return body.named_children[0] if body.type == "arrow_expression_clause" and body.named_children else body
    if not grammar.tail:
        return None
    last = next((child for child in reversed(body.named_children) if "comment" not in child.type), None)
    if last is None or last.type not in ("expression_statement", *grammar.returns):
        return None if last is None or last.type in grammar.no_tail else last
    return None if last.type in grammar.returns or last.children[-1].type == ";" else last.children[0]
