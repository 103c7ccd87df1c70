"""What the index takes from Rust's syntax trees: items, fields, `use` (docs/checks.md).

Nothing is decided here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from .code_building import Builder
from .code_model import CONSTANT, FUNCTION, METHOD, NO_KINDS, TYPE, VARIABLE, Role, Rule
from .code_rules import assigned, hidden
from .code_values import parts_of

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_TOKENS: Final = 20_000
"""Of the arguments of one macro that are looked at."""


def _name(builder: Builder, node: Node) -> Node | None:
    return node.child_by_field_name("name")


def _attribute(builder: Builder, node: Node) -> None:
    """`#[cfg(…)]` makes the next item conditional."""
    if builder.code.text(node).replace(" ", "").startswith("#[cfg("):
        builder.flag = True


def _conditional(builder: Builder) -> bool:
    flag, builder.flag = builder.flag, False
    return flag


def _function(builder: Builder, node: Node) -> None:
    name = _name(builder, node)
    conditional = _conditional(builder)
    if name is None:
        return
    parameters = node.child_by_field_name("parameters")
    own = [] if parameters is None else parameters.named_children
    in_type = builder.scope.sort == "type"
    method = in_type and any(one.type == "self_parameter" for one in own)
    kinds = METHOD if method else (METHOD | FUNCTION) if in_type else FUNCTION
    body = node.child_by_field_name("body")
    maybe = FUNCTION if in_type else NO_KINDS
    builder.add(Role.FUNCTION, name, node, kinds=kinds, maybe=maybe, body=body, conditional=conditional)
    builder.open("function", builder.name(name))
    for one in own:
        pattern = one.child_by_field_name("pattern")
        if pattern is not None and pattern.type == "identifier":
            builder.add(Role.PARAMETER, pattern, one)


def _type(builder: Builder, node: Node) -> None:
    name = _name(builder, node)
    conditional = _conditional(builder)
    if name is not None:
        body = node.child_by_field_name("body")
        builder.add(Role.TYPE, name, node, kinds=TYPE, body=body, conditional=conditional)
        builder.open("type", builder.name(name))


def _impl(builder: Builder, node: Node) -> None:
    sort = node.child_by_field_name("type")
    builder.flag = False
    while sort is not None and sort.type not in ("type_identifier", "primitive_type"):
        sort = sort.child_by_field_name("name") or sort.child_by_field_name("type") or _first(sort)
    if sort is None:
        builder.open("hidden")
    else:
        # An item of an impl stands in its type; where the impl itself is written does not matter to its name.
        builder.open("type", builder.name(sort))


def _first(node: Node) -> Node | None:
    return node.named_children[0] if node.named_children else None


def _module(builder: Builder, node: Node) -> None:
    name, body = _name(builder, node), node.child_by_field_name("body")
    conditional = _conditional(builder)
    if name is None:
        return
    if body is None:  # `mod x;` takes the file in; some say that it is imported
        builder.add(Role.SPACE, name, node)
        builder.imports(node, ())
        return
    builder.add(Role.SPACE, name, node, body=body)
    builder.open("space", builder.name(name))
    builder.scope.conditional = builder.scope.conditional or conditional


def _constant(builder: Builder, node: Node) -> None:
    name, value = _name(builder, node), node.child_by_field_name("value")
    conditional = _conditional(builder)
    if name is None:
        return
    mutable = any(one.type == "mutable_specifier" for one in node.named_children)
    static = node.type == "static_item"
    kinds = VARIABLE if mutable else CONSTANT | VARIABLE if static else CONSTANT
    role = Role.LOCAL if builder.in_function else Role.VALUE
    builder.add(role, name, node, kinds=kinds, value=value, fixed=not mutable, conditional=conditional)


def _member(builder: Builder, node: Node) -> None:
    """A field of a structure, or a variant of an enumeration."""
    name = _name(builder, node)
    builder.flag = False
    if name is None or builder.scope.sort != "type":
        return
    if node.type == "enum_variant":
        value = node.child_by_field_name("value") or node
        builder.add(Role.VALUE, name, node, kinds=CONSTANT, maybe=TYPE | VARIABLE, value=value, fixed=True)
        builder.open("type", builder.name(name))
    else:
        builder.add(Role.VALUE, name, node, kinds=VARIABLE)


def _macro(builder: Builder, node: Node) -> None:
    name = _name(builder, node)
    if name is not None:
        builder.add(Role.FUNCTION, name, node, maybe=FUNCTION)
        builder.open("hidden")


def _invocation(builder: Builder, node: Node) -> None:
    """Names in the arguments of a macro outside of functions may be defined by it."""
    if builder.in_function:
        return
    cursor = node.walk()
    left = MAX_TOKENS
    while left:
        left -= 1
        here = cursor.node
        assert here is not None, "a cursor stands at a node"
        if here.type in ("identifier", "type_identifier"):
            builder.code.hidden.add(builder.name(here))
        if cursor.goto_first_child():
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return


def _let(builder: Builder, node: Node) -> None:
    pattern, value = node.child_by_field_name("pattern"), node.child_by_field_name("value")
    conditional = _conditional(builder)
    if pattern is None:
        return
    if pattern.type == "identifier":
        builder.add(Role.LOCAL, pattern, node, value=value, conditional=conditional)
        return
    names = pattern.named_children if pattern.type == "tuple_pattern" else [pattern]
    values = parts_of(value) if value is not None and value.type == "tuple_expression" else []
    for place, name in enumerate(names):
        inner = name.named_children[-1] if name.type == "mut_pattern" and name.named_children else name
        if inner.type == "identifier":
            builder.add(Role.LOCAL, inner, node, value=values[place] if len(values) == len(names) else node)


def _borrowed(builder: Builder, node: Node) -> None:
    """`&mut x`: whoever gets it may change `x`."""
    value = node.child_by_field_name("value")
    if value is not None and value.type == "identifier" and node.named_children[0].type == "mutable_specifier":
        builder.add(Role.WRITE, value, node)


# ---------------------------------------------------------------- imports


def _use(builder: Builder, node: Node) -> None:
    argument = node.child_by_field_name("argument")
    builder.flag = False
    if argument is None:
        return
    names: set[str] = set()
    waiting: list[tuple[tuple[str, ...], Node]] = [((), argument)]
    while waiting and len(names) < 2_000:
        around, one = waiting.pop()
        path, inner = _used(builder, one)
        whole = (around + path)[:32]
        names.update(".".join(whole[: place + 1]) for place in range(len(whole)))
        waiting.extend((whole, child) for child in inner)
        if not inner and whole and one.type not in ("use_wildcard", "self"):
            alias = one.child_by_field_name("alias")
            builder.add(Role.IMPORTED, builder.name(alias) if alias is not None else whole[-1], node)
    builder.imports(node, sorted(names))


def _used(builder: Builder, node: Node) -> tuple[tuple[str, ...], list[Node]]:
    """The path that a part of a `use` names, and the parts of the list behind it."""
    sort = node.type
    if sort == "scoped_use_list":
        path, listed = node.child_by_field_name("path"), node.child_by_field_name("list")
        return _path(builder, path), [] if listed is None else parts_of(listed)
    if sort == "use_list":
        return (), parts_of(node)
    if sort == "use_as_clause":
        return _path(builder, node.child_by_field_name("path")), []
    if sort == "use_wildcard":
        return _path(builder, _first(node)), []
    return () if sort == "self" else _path(builder, node), []


def _path(builder: Builder, node: Node | None) -> tuple[str, ...]:
    if node is None:
        return ()
    return tuple(one.strip() for one in builder.code.text(node).split("::") if one.strip())


def _extern(builder: Builder, node: Node) -> None:
    name = _name(builder, node)
    if name is not None:
        builder.imports(node, (builder.name(name),))
        builder.add(Role.IMPORTED, node.child_by_field_name("alias") or name, node)


TYPES: Final = ("struct_item", "enum_item", "union_item", "trait_item", "type_item", "associated_type")

RULES: Final[Mapping[str, Rule]] = {
    "attribute_item": _attribute,
    "function_item": _function,
    "function_signature_item": _function,
    **dict.fromkeys(TYPES, _type),
    "impl_item": _impl,
    "mod_item": _module,
    "const_item": _constant,
    "static_item": _constant,
    "field_declaration": _member,
    "enum_variant": _member,
    "macro_definition": _macro,
    "macro_invocation": _invocation,
    "let_declaration": _let,
    "assignment_expression": assigned("field_expression", "value", "field"),
    "compound_assignment_expr": assigned("field_expression", "value", "field"),
    "reference_expression": _borrowed,
    "closure_expression": hidden,
    "use_declaration": _use,
    "extern_crate_declaration": _extern,
}
