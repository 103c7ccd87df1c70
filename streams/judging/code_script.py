"""JavaScript and TypeScript, as checks on source code read them (docs/checks.md). Nothing is decided here."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

from .code_model import Code, Found, Grammar
from .code_script_rules import FUNCTIONS, RULES
from .code_strings import SCRIPT
from .code_values import arithmetic, constant, inside, listed, number, parts_of, quoted, read, signed
from .code_walk import ends_with

if TYPE_CHECKING:
    from tree_sitter import Node


def _call_hint(code: Code, node: Node, wanted: tuple[str, ...]) -> bool | None:
    """`<Panel/>`, `f.call(…)`: whether that calls `Panel` or `f` is for somebody else to say."""
    if node.type in ("jsx_opening_element", "jsx_self_closing_element"):
        name = node.child_by_field_name("name")
        return None if name is not None and ends_with(code, name, wanted) else False
    if node.type != "member_expression":
        return False
    holder, name = node.child_by_field_name("object"), node.child_by_field_name("property")
    if holder is None or name is None or code.text(name) not in ("call", "apply", "bind"):
        return False
    return None if ends_with(code, holder, wanted) else False


# ---------------------------------------------------------------- values


def _list(code: Code, node: Node, depth: int) -> Found | None:
    """An array; one with holes is none."""
    marks = [child.type for child in node.children if child.type != "comment"]
    holes = any(one in ("[", ",") and other == "," for one, other in pairwise(marks))
    return None if holes else listed(code, parts_of(node), depth)


def _wrapped(code: Code, node: Node, depth: int) -> Found | None:
    return read(code, node.named_children[0], depth + 1) if node.named_children else None


def _freeze(code: Code, node: Node, depth: int) -> Found | None:
    function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if function is None or arguments is None or code.text(function) != "Object.freeze":
        return None
    return inside()(code, arguments, depth)


SCRIPT_GRAMMAR: Final = Grammar(
    asks_around=True,
    sigils="#",
    rules=RULES,
    names=frozenset(
        (
            "identifier",
            "property_identifier",
            "private_property_identifier",
            "shorthand_property_identifier",
            "shorthand_property_identifier_pattern",
            "type_identifier",
            "predefined_type",
            "this",
            "super",
            "undefined",
            "import",
        )
    ),
    members={
        "member_expression": ("object", "property"),
        "nested_identifier": ("object", "property"),
        "nested_type_identifier": ("module", "name"),
    },
    wrappers={
        "parenthesized_expression": "-1",  # the last of a sequence
        "sequence_expression": "-1",
        "non_null_expression": "",
        "instantiation_expression": "",
        "as_expression": "",
        "await_expression": "",
        "generic_type": "name",
    },
    calls={"call_expression": "function", "new_expression": "constructor"},
    call_hint=_call_hint,
    nested=frozenset(
        (
            "function_declaration",
            "generator_function_declaration",
            "class_declaration",
            "abstract_class_declaration",
            "method_definition",
        )
    ),
    anonymous=frozenset((*FUNCTIONS, "class")),
    conditions=frozenset(
        (
            "if_statement",
            "switch_statement",
            "try_statement",
            "while_statement",
            "do_statement",
            "for_statement",
            "for_in_statement",
            "ternary_expression",
        )
    ),
    branches={"if_statement": ("condition", "consequence"), "while_statement": ("condition", "body")},
    never=frozenset(("false", "0", "null", "undefined", '""', "''")),
    blocks=frozenset(("program", "statement_block")),
    leaving=frozenset(("return_statement", "throw_statement", "break_statement", "continue_statement")),
    labels=frozenset(("labeled_statement",)),
    returns=frozenset(("return_statement",)),
    values={
        "number": number("n", radix_suffix="n", zero="octal"),
        "string": quoted(SCRIPT),
        "template_string": quoted(SCRIPT, "`", foreign=("template_substitution",)),
        "true": constant(True),
        "false": constant(False),
        "null": constant(None),
        "array": _list,
        "parenthesized_expression": inside(),
        "as_expression": _wrapped,
        "satisfies_expression": _wrapped,
        "non_null_expression": _wrapped,
        "unary_expression": signed,
        "binary_expression": arithmetic,
        "call_expression": _freeze,
    },
    import_form="path",
)
"""Both languages': what TypeScript has more, JavaScript's trees never have."""
