"""Go, as checks on source code read it (docs/checks.md). Nothing is decided here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .code_building import Builder
from .code_model import (
    CONSTANT,
    FUNCTION,
    METHOD,
    NO_KINDS,
    TYPE,
    VARIABLE,
    Code,
    Found,
    Grammar,
    Role,
)
from .code_rules import hidden
from .code_strings import GO
from .code_values import (
    arithmetic,
    constant,
    inside,
    listed,
    number,
    parts_of,
    quoted,
    read,
    signed,
    text_found,
)

if TYPE_CHECKING:
    from tree_sitter import Node


def _package(builder: Builder, node: Node) -> None:
    if node.named_children:
        builder.code.package = (builder.name(node.named_children[0]),)


def _import(builder: Builder, node: Node) -> None:
    path = node.child_by_field_name("path")
    found = None if path is None else read(builder.code, path)
    if found is None or not isinstance(found.value, str):
        builder.code.opaque_imports = True
    else:
        builder.imports(node, (found.value,))


def _function(builder: Builder, node: Node) -> None:
    name = node.child_by_field_name("name")
    if name is not None:
        builder.add(Role.FUNCTION, name, node, kinds=FUNCTION, body=node.child_by_field_name("body"))
        builder.open("function", builder.name(name))
        _parameters(builder, node)


def _method(builder: Builder, node: Node) -> None:
    name, receiver = node.child_by_field_name("name"), node.child_by_field_name("receiver")
    if name is None:
        return
    around = _receiver(builder, receiver)
    body = node.child_by_field_name("body")
    builder.add(Role.FUNCTION, name, node, kinds=METHOD, maybe=FUNCTION, body=body, inside=around)
    builder.open("function", builder.name(name), inside=around)
    _parameters(builder, node)


def _receiver(builder: Builder, node: Node | None) -> tuple[str, ...]:
    """The type of a method's receiver, as the component in front of the method's name."""
    if node is None or not node.named_children:
        return ()
    sort = node.named_children[0].child_by_field_name("type")
    while sort is not None and sort.type != "type_identifier":
        sort = sort.child_by_field_name("type") or (sort.named_children[0] if sort.named_children else None)
    return () if sort is None else (builder.name(sort),)


def _parameters(builder: Builder, node: Node) -> None:
    parameters = node.child_by_field_name("parameters")
    for one in parameters.named_children if parameters is not None else []:
        for name in one.children_by_field_name("name"):
            builder.add(Role.PARAMETER, name, one)


def _interface_method(builder: Builder, node: Node) -> None:
    name = node.child_by_field_name("name")
    if name is not None:
        builder.add(Role.FUNCTION, name, node, kinds=METHOD, maybe=FUNCTION)


def _type(builder: Builder, node: Node) -> None:
    name, written = node.child_by_field_name("name"), node.child_by_field_name("type")
    if name is not None:
        builder.add(Role.TYPE, name, node, kinds=TYPE, body=written)
        builder.open("type", builder.name(name))


def _field(builder: Builder, node: Node) -> None:
    if builder.scope.sort != "type":
        return
    names = node.children_by_field_name("name")
    for name in names:
        builder.add(Role.VALUE, name, node, kinds=VARIABLE)
    sort = node.child_by_field_name("type")
    if not names and sort is not None:  # an embedded type is a field of its own name
        builder.add(
            Role.VALUE, builder.code.text(sort).lstrip("*").rsplit(".", 1)[-1].split("[")[0], node, maybe=VARIABLE
        )


def _spec(builder: Builder, node: Node) -> None:
    """One line of `const` or `var`."""
    names = [one for one in node.children_by_field_name("name") if one.type == "identifier"]
    value = node.child_by_field_name("value")
    values = [] if value is None else parts_of(value)
    is_constant = node.type == "const_spec"
    for place, name in enumerate(names):
        # Without a value of its own a constant repeats the line above it, and a variable is zero: neither is written.
        own = values[place] if len(values) == len(names) else (node if is_constant or value is not None else None)
        _named(builder, node, name, own, is_constant)


def _named(builder: Builder, node: Node, name: Node, value: Node | None, is_constant: bool) -> None:
    text = builder.name(name)
    if text == "_":
        return
    if value is not None and value.type == "composite_literal":
        body = value.child_by_field_name("body")
        if body is not None:
            builder.object(body, text)
    if value is not None and value.type == "func_literal":
        builder.code.bodies.add((value.start_byte, value.end_byte))
        body = value.child_by_field_name("body")
        builder.add(Role.FUNCTION, name, node, kinds=FUNCTION | VARIABLE, body=body)
    elif builder.in_function:
        builder.add(Role.LOCAL, name, node, value=value, fixed=is_constant)
    else:
        kinds = CONSTANT if is_constant else VARIABLE
        maybe = NO_KINDS if is_constant or value is None or value.type != "call_expression" else FUNCTION
        builder.add(Role.VALUE, name, node, kinds=kinds, maybe=maybe, value=value, fixed=is_constant)


def _short(builder: Builder, node: Node) -> None:
    """`x := 1`."""
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    names = [] if left is None else left.named_children
    values = [] if right is None else parts_of(right)
    for place, name in enumerate(names):
        if name.type == "identifier":
            _named(builder, node, name, values[place] if len(values) == len(names) else node, False)


def _written(builder: Builder, node: Node) -> None:
    """What an assignment changes."""
    left = node.child_by_field_name("left") or (node.named_children[0] if node.named_children else None)
    targets = [] if left is None else (left.named_children if left.type == "expression_list" else [left])
    for one in targets:
        if one.type == "identifier":
            builder.add(Role.WRITE, one, node)
        elif one.type == "selector_expression":
            holder, name = one.child_by_field_name("operand"), one.child_by_field_name("field")
            if holder is not None and name is not None:
                builder.add(Role.WRITE, name, node, receiver=builder.code.text(holder).rsplit(".", 1)[-1])


def _address(builder: Builder, node: Node) -> None:
    """`&x`: whoever gets it may change `x`."""
    operand = node.child_by_field_name("operand")
    if operand is not None and operand.type == "identifier" and node.child_count and node.children[0].type == "&":
        builder.add(Role.WRITE, operand, node)


def _literal(builder: Builder, node: Node) -> None:
    builder.open_object(node)


def _keyed(builder: Builder, node: Node) -> None:
    key, value = node.child_by_field_name("key"), node.child_by_field_name("value")
    if builder.scope.sort != "object" or key is None or value is None or not (key.named_children):
        return
    inner, worth = key.named_children[0], value.named_children[0] if value.named_children else value
    found = read(builder.code, inner) if inner.type != "identifier" else None
    name = builder.name(inner) if inner.type == "identifier" else found.value if found is not None else None
    if not isinstance(name, str):
        return
    body = worth.child_by_field_name("body") if worth.type == "composite_literal" else worth
    if body is not None and body.type == "literal_value":
        builder.object(body, name)
    builder.add(Role.KEY, name, node, value=worth)


def _raw(code: Code, node: Node, _: int) -> Found | None:
    return text_found(code.text(node)[1:-1].replace("\r", ""))


def _list(code: Code, node: Node, depth: int) -> Found | None:
    """`[]string{"a", "b"}`; with keys it is none."""
    sort, body = node.child_by_field_name("type"), node.child_by_field_name("body")
    if sort is None or body is None or sort.type not in ("slice_type", "array_type", "implicit_length_array_type"):
        return None
    if sort.type == "array_type":
        return None  # its length may be more than what is written
    parts = parts_of(body)
    if any(one.type != "literal_element" or len(one.named_children) != 1 for one in parts):
        return None
    return listed(code, [one.named_children[0] for one in parts], depth)


GO_GRAMMAR: Final = Grammar(
    rules={
        "package_clause": _package,
        "import_spec": _import,
        "function_declaration": _function,
        "method_declaration": _method,
        "method_elem": _interface_method,
        "type_spec": _type,
        "type_alias": _type,
        "field_declaration": _field,
        "const_spec": _spec,
        "var_spec": _spec,
        "short_var_declaration": _short,
        "assignment_statement": _written,
        "inc_statement": _written,
        "dec_statement": _written,
        "range_clause": _written,
        "unary_expression": _address,
        "literal_value": _literal,
        "keyed_element": _keyed,
        "func_literal": hidden,
    },
    names=frozenset(("identifier", "type_identifier", "field_identifier", "package_identifier", "nil", "iota")),
    members={"selector_expression": ("operand", "field"), "qualified_type": ("package", "name")},
    wrappers={
        "parenthesized_expression": "",
        "generic_type": "type",
        "type_instantiation_expression": "type",
        "pointer_type": "",
        "unary_expression": "operand",
    },
    calls={"call_expression": "function", "type_conversion_expression": "type"},
    anonymous=frozenset(("func_literal",)),
    conditions=frozenset(
        (
            "if_statement",
            "for_statement",
            "expression_switch_statement",
            "type_switch_statement",
            "select_statement",
        )
    ),
    branches={"if_statement": ("condition", "consequence")},
    blocks=frozenset(("statement_list",)),
    leaving=frozenset(("return_statement", "break_statement", "continue_statement", "goto_statement")),
    labels=frozenset(("labeled_statement",)),
    returns=frozenset(("return_statement",)),
    values={
        "int_literal": number(zero="octal"),
        "float_literal": number(),
        "interpreted_string_literal": quoted(GO, '"'),
        "raw_string_literal": _raw,
        "true": constant(True),
        "false": constant(False),
        "nil": constant(None),
        "parenthesized_expression": inside(),
        "unary_expression": signed,
        "binary_expression": arithmetic,
        "composite_literal": _list,
        "expression_list": inside(),
    },
    import_form="path",
)
