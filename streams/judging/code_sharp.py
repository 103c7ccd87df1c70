"""C#, as checks on source code read it (docs/checks.md). Nothing is decided here."""

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
from .code_strings import SHARP
from .code_values import (
    arithmetic,
    constant,
    inside,
    items,
    number,
    parts_of,
    quoted,
    signed,
    text_found,
    words,
)
from .code_walk import ends_with

if TYPE_CHECKING:
    from tree_sitter import Node

_TYPES: Final = (
    "class_declaration",
    "struct_declaration",
    "interface_declaration",
    "enum_declaration",
    "record_declaration",
)
_METHODS: Final = (
    "method_declaration",
    "constructor_declaration",
    "destructor_declaration",
    "local_function_statement",
    "operator_declaration",
    "indexer_declaration",
    "conversion_operator_declaration",
)


def _using(builder: Builder, node: Node) -> None:
    """`using a.b;`, `using static a.b;`, `using x = a.b;`."""
    alias = node.child_by_field_name("name")
    parts = [one for one in node.named_children if alias is None or one.id != alias.id]
    if parts:
        builder.imports(node, ("".join(builder.code.text(parts[-1]).split()),))
    if alias is not None:
        builder.add(Role.IMPORTED, alias, node)


def _namespace(builder: Builder, node: Node) -> None:
    name = node.child_by_field_name("name")
    if name is None:
        return
    parts = ["".join(one.split()) for one in builder.code.text(name).split(".")]
    if node.type == "file_scoped_namespace_declaration":
        builder.code.package = tuple(parts)
        return
    builder.add(Role.SPACE, parts[-1], node, body=node.child_by_field_name("body"))
    builder.open("space", *parts)


def _type(builder: Builder, node: Node) -> None:
    name = node.child_by_field_name("name")
    if name is None:
        return
    builder.add(Role.TYPE, name, node, kinds=TYPE, body=node.child_by_field_name("body"))
    builder.open("type", builder.name(name))
    if node.type == "record_declaration":
        for one in node.named_children:
            if one.type == "parameter_list":
                _parameters(builder, one, Role.VALUE)


def _delegate(builder: Builder, node: Node) -> None:
    name = node.child_by_field_name("name")
    if name is not None:
        builder.add(Role.TYPE, name, node, kinds=TYPE)


def _parameters(builder: Builder, node: Node | None, role: Role = Role.PARAMETER) -> None:
    for one in node.named_children if node is not None else []:
        name = one.child_by_field_name("name")
        if one.type == "parameter" and name is not None:
            kinds = VARIABLE if role is Role.VALUE else NO_KINDS
            builder.add(role, name, one, kinds=kinds, value=_behind(one))


def _behind(node: Node) -> Node | None:
    """What stands behind the `=` of a declarator or parameter, which has no field of its own."""
    for place, child in enumerate(node.children):
        if child.type == "=" and place + 1 < len(node.children):
            return node.children[place + 1]
    return None


def _method(builder: Builder, node: Node) -> None:
    name = node.child_by_field_name("name")
    local = node.type == "local_function_statement"
    parameters = node.child_by_field_name("parameters")
    if name is None:
        builder.open("hidden")
    else:
        words_of = {builder.code.text(one) for one in node.children if one.type == "modifier"}
        body = node.child_by_field_name("body")
        role = Role.DECLARED if body is None and "partial" in words_of else Role.FUNCTION
        kinds, maybe = (FUNCTION, METHOD) if local else (METHOD, FUNCTION)
        own = builder.name(name)
        own = f"~{own}" if node.type == "destructor_declaration" else own
        builder.add(role, own, node, kinds=kinds, maybe=maybe, body=body)
        builder.open("function", own)
    _parameters(builder, parameters)


def _property(builder: Builder, node: Node) -> None:
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    if name is None:
        return
    # `=> expression` is both what it is worth and what it does; else its accessors are what it does.
    arrow = value is not None and value.type == "arrow_expression_clause"
    body = value if arrow else node.child_by_field_name("accessors")
    builder.add(Role.VALUE, name, node, kinds=VARIABLE, maybe=METHOD | FUNCTION | CONSTANT, body=body, value=value)
    builder.open("function", builder.name(name))


def _fields(builder: Builder, node: Node) -> None:
    modifiers = {builder.code.text(one) for one in node.children if one.type == "modifier"}
    if any(one.type == "const" for one in node.children):
        modifiers.add("const")
    declaration = next((one for one in node.named_children if one.type == "variable_declaration"), None)
    declarators = [] if declaration is None else declaration.named_children
    declarators = [one for one in declarators if one.type == "variable_declarator"]
    fixed = "const" in modifiers
    static = fixed or {"static", "readonly"} <= modifiers
    for one in declarators:
        name, value = one.child_by_field_name("name"), _behind(one)
        if name is None:
            continue
        whole = node if len(declarators) == 1 else one
        if node.type == "local_declaration_statement":
            builder.add(Role.LOCAL, name, whole, value=value, fixed=fixed)
            continue
        likely = static or "readonly" in modifiers or builder.name(name).isupper()
        builder.add(
            Role.VALUE,
            name,
            whole,
            kinds=CONSTANT if static else VARIABLE,
            maybe=NO_KINDS if fixed else NAMED_VALUE if likely else NO_KINDS,
            value=value,
            fixed=fixed,
        )


def _enum_member(builder: Builder, node: Node) -> None:
    name = node.child_by_field_name("name")
    if name is not None:
        value = node.child_by_field_name("value") or node
        builder.add(Role.VALUE, name, node, kinds=CONSTANT, maybe=VARIABLE, value=value, fixed=True)


def _assigned(builder: Builder, node: Node) -> None:
    if not node.type.endswith("unary_expression") or any(one.type in ("++", "--") for one in node.children):
        _writes(builder, node)


_writes: Final = assigned("member_access_expression", "expression", "name", operand="0")


def _implicit(code: Code, node: Node, wanted: tuple[str, ...]) -> bool | None:
    """`Foo f = new(2)`: the call of a constructor whose name stands elsewhere."""
    if node.type != "variable_declaration":
        return False
    sort = node.child_by_field_name("type")
    return None if sort is not None and ends_with(code, sort, wanted) else False


def _verbatim(code: Code, node: Node, _: int) -> Found | None:
    text = code.text(node)
    return text_found(text[2:-1].replace('""', '"')) if text.startswith('@"') else None


def _raw(code: Code, node: Node, _: int) -> Found | None:
    content = [one for one in node.children if one.type == "raw_string_content"]
    text = code.text(content[0]) if len(content) == 1 else ""
    return None if "\n" in text or len(content) != 1 or "$" in code.text(node)[:4] else text_found(text)


def _created(code: Code, node: Node, depth: int) -> Found | None:
    """`new[] { 1 }` and `new int[] { 1 }`."""
    parts = [one for one in parts_of(node) if one.type == "initializer_expression"]
    return items(code, parts[0], depth + 1) if len(parts) == 1 else None


_INTEGER: Final = number("[uUlL]{1,2}", radix_suffix="[uUlL]{1,2}", zero="decimal")

SHARP_GRAMMAR: Final = Grammar(
    sigils="@",
    rules={
        "using_directive": _using,
        "namespace_declaration": _namespace,
        "file_scoped_namespace_declaration": _namespace,
        **dict.fromkeys(_TYPES, _type),
        **dict.fromkeys(_METHODS, _method),
        "delegate_declaration": _delegate,
        "property_declaration": _property,
        "event_declaration": _property,
        "field_declaration": _fields,
        "event_field_declaration": _fields,
        "local_declaration_statement": _fields,
        "enum_member_declaration": _enum_member,
        "assignment_expression": _assigned,
        "postfix_unary_expression": _assigned,
        "prefix_unary_expression": _assigned,
        "lambda_expression": hidden,
        "anonymous_method_expression": hidden,
    },
    names=frozenset(("identifier", "predefined_type", "this", "base", "implicit_type")),
    members={
        "member_access_expression": ("expression", "name"),
        "conditional_access_expression": ("condition", "-1"),
        "qualified_name": ("qualifier", "name"),
        "alias_qualified_name": ("alias", "name"),
    },
    wrappers={
        "parenthesized_expression": "",
        "generic_name": "",
        "member_binding_expression": "name",
        "nullable_type": "",
    },
    calls={
        "invocation_expression": "function",
        "object_creation_expression": "type",
    },
    call_hint=_implicit,
    nested=frozenset((*_TYPES, *_METHODS)),
    anonymous=frozenset(("lambda_expression", "anonymous_method_expression")),
    conditions=frozenset(
        (
            "if_statement",
            "switch_statement",
            "switch_expression",
            "try_statement",
            "while_statement",
            "do_statement",
            "for_statement",
            "foreach_statement",
            "conditional_expression",
            "preproc_if",
        )
    ),
    branches={
        "if_statement": ("condition", "consequence"),
        "while_statement": ("condition", "body"),
        "preproc_if": ("condition", ""),
        "preproc_elif": ("condition", ""),
    },
    blocks=frozenset(("block", "compilation_unit")),
    leaving=frozenset(("return_statement", "throw_statement", "break_statement", "continue_statement")),
    labels=frozenset(("labeled_statement",)),
    returns=frozenset(("return_statement",)),
    values={
        "integer_literal": _INTEGER,
        "real_literal": number("[fFdDmM]"),
        "string_literal": quoted(SHARP, '"'),
        "verbatim_string_literal": _verbatim,
        "raw_string_literal": _raw,
        "boolean_literal": words(true=True, false=False),
        "null_literal": constant(None),
        "parenthesized_expression": inside(),
        "prefix_unary_expression": signed,
        "binary_expression": arithmetic,
        "initializer_expression": items,
        "array_creation_expression": _created,
        "implicit_array_creation_expression": _created,
        "collection_expression": items,
        "collection_element": inside(),
        "expression_element": inside(),
        "arrow_expression_clause": inside(),
    },
)
