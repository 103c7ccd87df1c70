"""Java, as checks on source code read it (docs/checks.md). Nothing is decided here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .code_building import Builder
from .code_model import (
    CONSTANT,
    FUNCTION,
    METHOD,
    NAMED_VALUE,
    NO_KINDS,
    TYPE,
    VARIABLE,
    Code,
    Found,
    Grammar,
    Role,
)
from .code_rules import assigned, hidden
from .code_strings import JAVA
from .code_values import arithmetic, constant, inside, items, number, quoted, signed
from .code_walk import ends_with

if TYPE_CHECKING:
    from tree_sitter import Node


def _package(builder: Builder, node: Node) -> None:
    if node.named_children:
        builder.code.package = tuple(builder.code.text(node.named_children[-1]).split("."))


def _import(builder: Builder, node: Node) -> None:
    path = next((one for one in node.named_children if one.type in ("scoped_identifier", "identifier")), None)
    if path is None:
        return
    name = "".join(builder.code.text(path).split())
    parts = name.split(".")
    every = any(one.type == "asterisk" for one in node.named_children)
    names = [name, f"{name}.*"] if every else [name, ".".join(parts[:-1])]
    builder.imports(node, [one for one in names if one])
    if not every:
        builder.add(Role.IMPORTED, parts[-1], node)


def _type(builder: Builder, node: Node) -> None:
    name = node.child_by_field_name("name")
    if name is None:
        return
    builder.add(Role.TYPE, name, node, kinds=TYPE, body=node.child_by_field_name("body"))
    builder.open("type", builder.name(name))
    if node.type == "record_declaration":
        parameters = node.child_by_field_name("parameters")
        for one in parameters.named_children if parameters is not None else []:
            field = one.child_by_field_name("name")
            if field is not None:
                builder.add(Role.VALUE, field, one, kinds=VARIABLE, maybe=CONSTANT | METHOD)


def _method(builder: Builder, node: Node) -> None:
    name = node.child_by_field_name("name")
    if name is None:
        return
    builder.add(Role.FUNCTION, name, node, kinds=METHOD, maybe=FUNCTION, body=node.child_by_field_name("body"))
    builder.open("function", builder.name(name))
    parameters = node.child_by_field_name("parameters")
    for one in parameters.named_children if parameters is not None else []:
        own = one.child_by_field_name("name")
        declarator = next((child for child in one.named_children if child.type == "variable_declarator"), None)
        own = own or (declarator.child_by_field_name("name") if declarator is not None else None)
        if own is not None:
            builder.add(Role.PARAMETER, own, one)


def _element(builder: Builder, node: Node) -> None:
    """A member of an annotation, with its default."""
    name = node.child_by_field_name("name")
    if name is not None:
        value = node.child_by_field_name("value")
        builder.add(Role.FUNCTION if value is None else Role.VALUE, name, node, kinds=METHOD, value=value, fixed=True)


def _fields(builder: Builder, node: Node) -> None:
    modifiers = " ".join(builder.code.text(one) for one in node.named_children if one.type == "modifiers").split()
    final = "final" in modifiers or node.type == "constant_declaration"
    static = "static" in modifiers or node.type == "constant_declaration"
    declarators = node.children_by_field_name("declarator")
    for one in declarators:
        name, value = one.child_by_field_name("name"), one.child_by_field_name("value")
        if name is None:
            continue
        whole = node if len(declarators) == 1 else one
        if node.type == "local_variable_declaration" or builder.in_function:
            builder.add(Role.LOCAL, name, whole, value=value, fixed=final)
            continue
        kinds = CONSTANT if final and static else VARIABLE
        maybe = NAMED_VALUE if final or builder.name(name).isupper() else NO_KINDS
        builder.add(Role.VALUE, name, whole, kinds=kinds, maybe=maybe, value=value, fixed=final and value is not None)


def _enum_constant(builder: Builder, node: Node) -> None:
    name = node.child_by_field_name("name")
    if name is not None:
        builder.add(Role.VALUE, name, node, kinds=CONSTANT, maybe=VARIABLE, value=node, fixed=True)
        builder.open("type", builder.name(name))


def _loop(builder: Builder, node: Node) -> None:
    name = node.child_by_field_name("name")
    if name is not None:
        builder.add(Role.LOCAL, name, node, value=node)


def _body(builder: Builder, _: Node) -> None:
    """The body of an anonymous class is a scope without a name."""
    around = builder.parent
    if around is not None and around.type == "object_creation_expression":
        builder.open("hidden")


def _reference(code: Code, node: Node, wanted: tuple[str, ...]) -> bool | None:
    """`this::bar` is called by whoever gets it."""
    return None if node.type == "method_reference" and ends_with(code, node, wanted) else False


def _string(code: Code, node: Node, depth: int) -> Found | None:
    if code.data[node.start_byte : node.start_byte + 3] == b'"""':
        return None  # how much white space of a text block belongs to it is computed
    return _QUOTED(code, node, depth)


_WRITES: Final = assigned("field_access", "object", "field", operand="0")
_QUOTED: Final = quoted(JAVA, '"')
_TYPES: Final = (
    "class_declaration",
    "interface_declaration",
    "enum_declaration",
    "record_declaration",
    "annotation_type_declaration",
)
_METHODS: Final = ("method_declaration", "constructor_declaration", "compact_constructor_declaration")

JAVA_GRAMMAR: Final = Grammar(
    asks_around=True,
    rules={
        "package_declaration": _package,
        "import_declaration": _import,
        **dict.fromkeys(_TYPES, _type),
        **dict.fromkeys(_METHODS, _method),
        "annotation_type_element_declaration": _element,
        "field_declaration": _fields,
        "constant_declaration": _fields,
        "local_variable_declaration": _fields,
        "enum_constant": _enum_constant,
        "assignment_expression": _WRITES,
        "update_expression": _WRITES,
        "enhanced_for_statement": _loop,
        "lambda_expression": hidden,
        "class_body": _body,
    },
    names=frozenset(
        (
            "identifier",
            "type_identifier",
            "this",
            "super",
            "integral_type",
            "floating_point_type",
            "boolean_type",
            "void_type",
        )
    ),
    members={
        "field_access": ("object", "field"),
        "method_invocation": ("object", "name"),
        "scoped_identifier": ("scope", "name"),
        "scoped_type_identifier": ("0", "-1"),
        "method_reference": ("0", "-1"),
    },
    wrappers={"parenthesized_expression": "", "generic_type": ""},
    calls={
        "method_invocation": "",
        "object_creation_expression": "type",
        "explicit_constructor_invocation": "constructor",
    },
    call_hint=_reference,
    nested=frozenset((*_TYPES, *_METHODS)),
    anonymous=frozenset(("lambda_expression", "class_body")),
    conditions=frozenset(
        (
            "if_statement",
            "switch_expression",
            "switch_statement",
            "try_statement",
            "try_with_resources_statement",
            "while_statement",
            "do_statement",
            "for_statement",
            "enhanced_for_statement",
            "ternary_expression",
        )
    ),
    branches={"if_statement": ("condition", "consequence"), "while_statement": ("condition", "body")},
    blocks=frozenset(("block", "constructor_body", "program")),
    leaving=frozenset(("return_statement", "throw_statement", "break_statement", "continue_statement")),
    returns=frozenset(("return_statement",)),
    values={
        "decimal_integer_literal": number("[lL]", zero="octal"),
        "octal_integer_literal": number("[lL]", zero="octal"),
        "hex_integer_literal": number(radix_suffix="[lL]"),
        "binary_integer_literal": number(radix_suffix="[lL]"),
        "decimal_floating_point_literal": number("[fFdD]"),
        "string_literal": _string,
        "true": constant(True),
        "false": constant(False),
        "null_literal": constant(None),
        "parenthesized_expression": inside(),
        "unary_expression": signed,
        "binary_expression": arithmetic,
        "array_initializer": items,
        "array_creation_expression": inside("value"),
    },
)
