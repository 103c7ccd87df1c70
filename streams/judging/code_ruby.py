"""Ruby, as checks on source code read it (docs/checks.md). Nothing is decided here.

A name alone calls a method unless it is a variable; where some variable of the file has that name, it is neither. The
blocks of the methods that iterate are part of the body; all others are functions without a name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .code_model import Code, Found, Grammar, Role
from .code_ruby_rules import RULES, VARIABLES
from .code_strings import QUOTED_ONCE, RUBY, decode
from .code_values import arithmetic, constant, inside, items, joined, number, read, signed, text_found
from .code_walk import ends_with

if TYPE_CHECKING:
    from tree_sitter import Node

_ITERATE: Final = frozenset(
    (
        "all?",
        "any?",
        "collect",
        "count",
        "downto",
        "each",
        "each_key",
        "each_pair",
        "each_slice",
        "each_value",
        "each_with_index",
        "each_with_object",
        "find",
        "flat_map",
        "inject",
        "loop",
        "map",
        "none?",
        "reduce",
        "reject",
        "select",
        "step",
        "sum",
        "tap",
        "times",
        "upto",
    )
)


# ---------------------------------------------------------------- calls and values


def _bare_call(code: Code, node: Node, wanted: tuple[str, ...]) -> bool | None:
    if not wanted:
        return False
    sort = node.type
    if sort == "identifier" and len(wanted) == 1 and code.name(node) == wanted[0]:
        places = code.by_name.get(wanted[0], ())
        variables = (Role.LOCAL, Role.PARAMETER, Role.VALUE, Role.WRITE)
        return None if any(code.definitions[place].role in variables for place in places) else True
    if sort == "simple_symbol":
        return None if code.text(node)[1:] == wanted[-1] else False
    if sort == "call":
        method, receiver = node.child_by_field_name("method"), node.child_by_field_name("receiver")
        if method is not None and receiver is not None and code.text(method) == "new":
            return ends_with(code, receiver, wanted)
    return False


def _is_loop(code: Code, parent: Node) -> bool:
    method = parent.child_by_field_name("method") if parent.type == "call" else None
    return method is not None and code.text(method) in _ITERATE


def _string(code: Code, node: Node, _: int) -> Found | None:
    children = node.children
    if len(children) < 2 or any(one.type == "interpolation" for one in children):
        return None
    opening = code.text(children[0])
    text = code.data[children[0].end_byte : children[-1].start_byte].decode("utf-8", "surrogatepass")
    once = opening == "'" or opening.startswith("%q")
    if once and opening != "'" and "\\" in text:
        return None
    return text_found(decode(text.replace("\r\n", "\n"), QUOTED_ONCE if once else RUBY))


def _symbol(code: Code, node: Node, _: int) -> Found | None:
    return text_found(code.text(node).lstrip(":"))


def _words(code: Code, node: Node, _: int) -> Found | None:
    """`%w[a b]` and `%i[a b]`."""
    texts = [code.text(one) for one in node.named_children]
    if any("\\" in text or "#{" in text for text in texts):
        return None
    return Found(tuple(texts))


def _frozen(code: Code, node: Node, depth: int) -> Found | None:
    method, receiver = node.child_by_field_name("method"), node.child_by_field_name("receiver")
    if method is None or receiver is None or code.text(method) != "freeze":
        return None
    return read(code, receiver, depth + 1)


RUBY_GRAMMAR: Final = Grammar(
    sigils="@$",
    rules=RULES,
    names=frozenset((*VARIABLES, "self", "super", "hash_key_symbol")),
    members={"call": ("receiver", "method"), "scope_resolution": ("scope", "name")},
    wrappers={"parenthesized_statements": ""},
    calls={"call": "", "super": ""},
    call_hint=_bare_call,
    nested=frozenset(("method", "singleton_method", "class", "module", "singleton_class")),
    anonymous=frozenset(("block", "do_block", "lambda")),
    inline=_is_loop,
    conditions=frozenset(
        (
            "if",
            "unless",
            "case",
            "case_match",
            "while",
            "until",
            "for",
            "rescue",
            "if_modifier",
            "unless_modifier",
            "while_modifier",
            "until_modifier",
            "rescue_modifier",
            "conditional",
        )
    ),
    branches={
        "if": ("condition", "consequence"),
        "if_modifier": ("condition", "body"),
        "while": ("condition", "body"),
    },
    never=frozenset(("false", "nil")),
    blocks=frozenset(("program", "body_statement", "then", "block_body", "else", "begin", "do")),
    leaving=frozenset(("return", "break", "next", "redo", "retry")),
    returns=frozenset(("return",)),
    tail=True,
    values={
        "integer": number(zero="octal"),
        "float": number(),
        "string": _string,
        "chained_string": joined,
        "simple_symbol": _symbol,
        "string_array": _words,
        "symbol_array": _words,
        "true": constant(True),
        "false": constant(False),
        "nil": constant(None),
        "array": items,
        "unary": signed,
        "binary": arithmetic,
        "parenthesized_statements": inside(),
        "call": _frozen,
    },
    import_form="path",
    folds_writes=False,
    bounded=False,
)
