"""C and C++, as checks on source code read them (docs/checks.md). Nothing is decided here.

Macros are not expanded. What stands between `#if` and `#endif` is there under a condition, but for the guard around a
whole header; what stands under `#if 0` is not there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .code_c_rules import RULES, TYPES
from .code_model import Code, Found, Grammar
from .code_parsing import parse_bytes
from .code_strings import C, decode
from .code_values import arithmetic, constant, inside, items, joined, number, read, signed, text_found
from .code_walk import ends_with

if TYPE_CHECKING:
    from tree_sitter import Node

_MAX_MACRO: Final = 2_000
"""Characters of what a macro stands for."""


def _call_hint(code: Code, node: Node, wanted: tuple[str, ...]) -> bool | None:
    """`Foo x(1);`, `Foo{1}` and `MACRO(f)`: whether they call `Foo` or `f` is not told by syntax."""
    if node.type in ("declaration", "compound_literal_expression"):
        sort = node.child_by_field_name("type")
        return None if sort is not None and ends_with(code, sort, wanted) else False
    if node.type != "call_expression":
        return False
    function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if function is None or arguments is None or function.type != "identifier" or not code.text(function).isupper():
        return False
    given = (one for one in arguments.named_children[:64] if one.type in ("identifier", "qualified_identifier"))
    return None if any(ends_with(code, one, wanted) for one in given) else False


# ---------------------------------------------------------------- values


def _string(code: Code, node: Node, _: int) -> Found | None:
    text = code.text(node)
    opening = text.find('"')
    if text[:opening] not in ("", "u8", "u", "U", "L") or len(text) < opening + 2 or not text.endswith('"'):
        return None
    return text_found(decode(text[opening + 1 : -1].replace("\r\n", "\n"), C))


def _raw_string(code: Code, node: Node, _: int) -> Found | None:
    content = [one for one in node.named_children if one.type == "raw_string_content"]
    text = code.text(node)
    return text_found(code.text(content[0])) if len(content) == 1 and text[:2] == 'R"' else None


def _macro(code: Code, node: Node, depth: int) -> Found | None:
    """What a macro stands for, read as the expression that it is; operators only in brackets."""
    text = code.text(node).replace("\\\r\n", " ").replace("\\\n", " ").strip()
    if not text or len(text) > _MAX_MACRO or code.tree is None:
        return None
    data = f"int x = {text}\n;".encode("utf-8", "surrogatepass")
    tree = parse_bytes(code.tree.language, data)
    root = None if tree is None else tree.root_node
    if root is None or root.has_error or root.named_child_count != 1 + _comments(root):
        return None
    declarator = root.named_children[0].child_by_field_name("declarator")
    value = None if declarator is None else declarator.child_by_field_name("value")
    if value is None or value.type in ("binary_expression", "comma_expression"):
        return None
    written = Code(code.language, code.grammar, data)
    return read(written, value, depth + 1)


def _comments(node: Node) -> int:
    return sum(one.type == "comment" for one in node.named_children)


C_GRAMMAR: Final = Grammar(
    asks_around=True,
    rules=RULES,
    names=frozenset(
        (
            "identifier",
            "type_identifier",
            "field_identifier",
            "namespace_identifier",
            "primitive_type",
            "this",
            "destructor_name",
            "operator_name",
        )
    ),
    members={"field_expression": ("argument", "field"), "qualified_identifier": ("scope", "name")},
    wrappers={
        "parenthesized_expression": "",
        "pointer_expression": "argument",
        "template_function": "name",
        "template_method": "name",
        "template_type": "name",
        "dependent_name": "",
        "type_descriptor": "type",
    },
    calls={"call_expression": "function", "new_expression": "type"},
    call_hint=_call_hint,
    nested=frozenset(("function_definition", *TYPES)),
    anonymous=frozenset(("lambda_expression",)),
    conditions=frozenset(
        (
            "if_statement",
            "switch_statement",
            "while_statement",
            "do_statement",
            "for_statement",
            "for_range_loop",
            "try_statement",
            "conditional_expression",
            "preproc_if",
            "preproc_elif",
            "preproc_elifdef",
            "preproc_else",
        )
    ),
    branches={
        "if_statement": ("condition", "consequence"),
        "while_statement": ("condition", "body"),
        "preproc_if": ("condition", ""),
        "preproc_elif": ("condition", ""),
    },
    never=frozenset(("0", "false", "FALSE")),
    blocks=frozenset(("compound_statement",)),
    leaving=frozenset(
        ("return_statement", "break_statement", "continue_statement", "goto_statement", "throw_statement")
    ),
    labels=frozenset(("labeled_statement", "case_statement")),
    returns=frozenset(("return_statement",)),
    values={
        "number_literal": number(
            "(?:[uU](?:[lL]{1,2}|[zZ])?|[lL]{1,2}[uU]?|[zZ][uU]?|[fF])",
            radix_suffix="(?:[uU](?:[lL]{1,2}|[zZ])?|[lL]{1,2}[uU]?|[zZ][uU]?)",
            zero="octal",
            separator="'",
        ),
        "string_literal": _string,
        "raw_string_literal": _raw_string,
        "concatenated_string": joined,
        "true": constant(True),
        "false": constant(False),
        "null": constant(None),
        "nullptr": constant(None),
        "parenthesized_expression": inside(),
        "unary_expression": signed,
        "binary_expression": arithmetic,
        "initializer_list": items,
        "preproc_arg": _macro,
    },
    import_form="path",
)
