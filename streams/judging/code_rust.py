"""Rust, as checks on source code read it (docs/checks.md). Nothing is decided here.

What a macro makes of its arguments is not known by syntax: names in them are neither defined nor said not to be. In the
arguments of the macros of the standard library that evaluate them, `name(…)` is a call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .code_model import Code, Found, Grammar
from .code_rust_rules import MAX_TOKENS, RULES, TYPES
from .code_strings import RUST
from .code_values import arithmetic, inside, items, number, quoted, signed, text_found, words

if TYPE_CHECKING:
    from tree_sitter import Node

_ASSERTS: Final = ("assert", "assert_eq", "assert_ne", "debug_assert", "debug_assert_eq", "debug_assert_ne")
_PRINTS: Final = ("dbg", "eprint", "eprintln", "format", "panic", "print", "println", "unreachable", "write", "writeln")
_EVALUATE: Final = frozenset((*_ASSERTS, *_PRINTS, "vec"))


# ---------------------------------------------------------------- calls and values


def _token_call(code: Code, node: Node, wanted: tuple[str, ...]) -> bool | None:
    """`name` in the arguments of a macro: a call where brackets follow and the macro evaluates what it is given."""
    if node.type != "macro_invocation" or not wanted:
        return False
    macro = node.child_by_field_name("macro")
    evaluates = macro is not None and code.text(macro) in _EVALUATE
    cursor, left, seen = node.walk(), MAX_TOKENS, False
    waiting: tuple[str, ...] = ()
    while left:
        left -= 1
        here = cursor.node
        assert here is not None, "a cursor stands at a node"
        sort = here.type
        if sort in ("identifier", "type_identifier", "self"):
            waiting = (*waiting, code.name(here))[-len(wanted) :]
            seen = seen or waiting[-1] == wanted[-1]
        elif sort == "token_tree":
            if evaluates and waiting == wanted and code.data[here.start_byte : here.start_byte + 1] == b"(":
                return True
            waiting = ()
        elif sort not in (".", "::", "macro_invocation"):
            waiting = ()
        if cursor.goto_first_child():
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return None if seen and (macro is None or code.name(macro) != wanted[-1]) else False
    return None


def _format_use(code: Code, node: Node, wanted: tuple[str, ...]) -> bool | None:
    """`println!("{name}")` mentions a name in a string."""
    if node.type != "string_literal" or not wanted or "{" + wanted[-1] not in code.text(node):
        return False
    return None


def _raw(code: Code, node: Node, _: int) -> Found | None:
    text = code.text(node)
    if not text.startswith("r"):
        return None
    marks = len(text) - len(text[1:].lstrip("#")) - 1
    return text_found(text[2 + marks : -1 - marks])


_SUFFIX: Final = "_*(?:[iu](?:8|16|32|64|128|size)|f32|f64)"

RUST_GRAMMAR: Final = Grammar(
    rules=RULES,
    names=frozenset(
        (
            "identifier",
            "type_identifier",
            "field_identifier",
            "shorthand_field_identifier",
            "primitive_type",
            "self",
            "super",
            "crate",
            "metavariable",
            "integer_literal",  # behind a dot: `pair.0`
        )
    ),
    members={
        "field_expression": ("value", "field"),
        "scoped_identifier": ("path", "name"),
        "scoped_type_identifier": ("path", "name"),
    },
    wrappers={
        "parenthesized_expression": "",
        "generic_function": "function",
        "generic_type": "type",
        "generic_type_with_turbofish": "type",
        "bracketed_type": "",
        "qualified_type": "type",
        "reference_type": "type",
        "await_expression": "",
        "try_expression": "",
        "reference_expression": "value",
    },
    calls={"call_expression": "function", "macro_invocation": "macro"},
    call_hint=_token_call,
    use_hint=_format_use,
    nested=frozenset(("function_item", "impl_item", "mod_item", "trait_item", "macro_definition", *TYPES[:3])),
    anonymous=frozenset(("closure_expression",)),
    conditions=frozenset(
        ("if_expression", "match_expression", "while_expression", "for_expression", "loop_expression")
    ),
    branches={"if_expression": ("condition", "consequence"), "while_expression": ("condition", "body")},
    blocks=frozenset(("block", "source_file")),
    leaving=frozenset(("return_expression", "break_expression", "continue_expression")),
    returns=frozenset(("return_expression",)),
    tail=True,
    no_tail=frozenset(("let_declaration", "empty_statement", "function_item", "const_item", "use_declaration")),
    values={
        "integer_literal": number(_SUFFIX, radix_suffix="_*[iu](?:8|16|32|64|128|size)", zero="decimal"),
        "float_literal": number(_SUFFIX),
        "string_literal": quoted(RUST, '"'),
        "raw_string_literal": _raw,
        "boolean_literal": words(true=True, false=False),
        "identifier": words(**{"None": None}),
        "parenthesized_expression": inside(),
        "reference_expression": inside("value"),
        "unary_expression": signed,
        "binary_expression": arithmetic,
        "array_expression": items,
        "tuple_expression": items,
    },
)
