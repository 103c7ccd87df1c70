"""What the index takes from the trees of JavaScript and TypeScript (docs/checks.md).

A function or class has the name that it is declared with, or assigned to. Nothing is decided here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from .code_building import Builder
from .code_model import (
    ANYTHING,
    CONSTANT,
    FUNCTION,
    METHOD,
    NAMED_VALUE,
    NO_KINDS,
    TYPE,
    VARIABLE,
    Role,
    Rule,
)
from .code_rules import hidden
from .code_script_exports import call_rule, frozen, import_rule, plain
from .code_values import read

if TYPE_CHECKING:
    from tree_sitter import Node

FUNCTIONS: Final = frozenset(("arrow_function", "function_expression", "generator_function"))
_LITERALS: Final = frozenset(
    ("number", "string", "template_string", "true", "false", "null", "array", "object", "unary_expression")
)


def _function(builder: Builder, node: Node) -> None:
    name = node.child_by_field_name("name")
    if name is None:
        builder.open("hidden")
        return
    role = Role.DECLARED if node.type == "function_signature" else Role.FUNCTION
    builder.add(role, name, node, kinds=FUNCTION, body=node.child_by_field_name("body"))
    builder.open("function", builder.name(name))
    _parameters(builder, node)


def _method(builder: Builder, node: Node) -> None:
    name = _key(builder, node.child_by_field_name("name"))
    if name is None or builder.scope.sort not in ("type", "object"):
        builder.open("hidden")
        return
    body = node.child_by_field_name("body")
    builder.add(Role.FUNCTION, name, node, kinds=METHOD, maybe=FUNCTION, body=body)
    builder.open("function", name)
    _parameters(builder, node)


def _key(builder: Builder, node: Node | None) -> str | None:
    """The name that a property has; None where it is computed."""
    if node is None:
        return None
    if node.type == "computed_property_name":
        node = node.named_children[0] if node.named_children else node
    if node.type == "string":
        found = read(builder.code, node)
        return found.value if found is not None and isinstance(found.value, str) else None
    if node.type in ("property_identifier", "private_property_identifier", "number"):
        return builder.name(node)
    return None


def _parameters(builder: Builder, node: Node) -> None:
    parameters = node.child_by_field_name("parameters") or node.child_by_field_name("parameter")
    if parameters is None:
        return
    for one in parameters.named_children if parameters.type == "formal_parameters" else [parameters]:
        if one.type in ("required_parameter", "optional_parameter"):
            pattern, value = one.child_by_field_name("pattern"), one.child_by_field_name("value")
        elif one.type == "assignment_pattern":
            pattern, value = one.child_by_field_name("left"), one.child_by_field_name("right")
        else:
            pattern, value = one, None
        if pattern is None:
            continue
        for name, default in _bound(pattern, value):
            builder.add(Role.PARAMETER, name, one, value=default)
        if any(child.type in ("accessibility_modifier", "readonly") for child in one.children):
            # A parameter of a constructor that is a field as well.
            builder.add(Role.VALUE, pattern, one, kinds=VARIABLE, inside=builder.scope.path[:-1])


def _bound(pattern: Node, value: Node | None) -> list[tuple[Node, Node | None]]:
    """The names that a pattern binds, with their defaults; a plain name has the value itself."""
    if pattern.type in ("identifier", "this"):
        return [(pattern, value)]
    names: list[tuple[Node, Node | None]] = []
    waiting: list[tuple[Node, Node | None]] = [(pattern, None)]
    while waiting and len(names) < 1_000:
        node, default = waiting.pop()
        if node.type in ("identifier", "shorthand_property_identifier_pattern"):
            names.append((node, default))
        elif node.type in ("assignment_pattern", "object_assignment_pattern"):
            left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
            if left is not None:
                waiting.append((left, right))
        elif node.type == "pair_pattern":
            inner = node.child_by_field_name("value")
            if inner is not None:
                waiting.append((inner, None))
        elif node.type.endswith("_pattern"):
            waiting.extend((child, None) for child in reversed(node.named_children))
    return names


def _class(builder: Builder, node: Node) -> None:
    name = node.child_by_field_name("name")
    # A class expression has the name that it is assigned to, which its declarator has added.
    given = builder.objects.pop(node.id, None)
    if given is not None:
        builder.open("type", inside=given)
    elif name is None:
        builder.open("hidden")
    else:
        builder.add(Role.TYPE, name, node, kinds=TYPE, body=node.child_by_field_name("body"))
        builder.open("type", builder.name(name))


def _alias(builder: Builder, node: Node) -> None:
    name = node.child_by_field_name("name")
    if name is not None:
        builder.add(Role.TYPE, name, node, kinds=TYPE)


def _namespace(builder: Builder, node: Node) -> None:
    name = node.child_by_field_name("name")
    if name is None or name.type == "string":
        return
    parts = builder.code.text(name).split(".")
    builder.add(Role.SPACE, parts[-1], node, body=node.child_by_field_name("body"), maybe=TYPE)
    builder.open("space", *(one.strip() for one in parts))


def _field(builder: Builder, node: Node) -> None:
    name = _key(builder, node.child_by_field_name("name") or node.child_by_field_name("property"))
    if name is None or builder.scope.sort != "type":
        return
    value = plain(node.child_by_field_name("value"))
    words = [child.type for child in node.children]
    _value(builder, node, name, value, const="readonly" in words and "static" in words, member=True)


def _declarator(builder: Builder, node: Node) -> None:
    pattern, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    around = builder.parent
    if pattern is None or around is None:
        return
    first = around.child(0) if around.child_count else None
    const = first is not None and first.type == "const"
    loop = len(builder.trail) > 1 and builder.trail[-2].type == "for_statement"
    whole = around if around.named_child_count == 1 else node
    declared = len(builder.trail) > 1 and builder.trail[-2].type == "ambient_declaration"
    if loop and pattern.type == "identifier":
        builder.add(Role.LOCAL, pattern, whole, value=node)
        return
    if pattern.type == "identifier":
        name = builder.name(pattern)
        _value(builder, whole, name, frozen(value, builder), const=const, line=pattern, declared=declared)
        return
    for name, default in _bound(pattern, None):
        role = Role.LOCAL if builder.in_function else Role.VALUE
        kinds = NO_KINDS if role is Role.LOCAL else CONSTANT if const else VARIABLE
        builder.add(
            role, name, whole, kinds=kinds, maybe=ANYTHING, value=node, fixed=const, conditional=default is not None
        )


def _value(
    builder: Builder,
    node: Node,
    name: str,
    value: Node | None,
    *,
    const: bool = False,
    member: bool = False,
    declared: bool = False,
    line: Node | None = None,
) -> None:
    """A name with what it is given: a function, a class, an object with keys, or a value."""
    given = line if line is not None else name
    if value is not None and value.type in FUNCTIONS:
        builder.code.bodies.add((value.start_byte, value.end_byte))
        builder.objects[value.id] = (*builder.scope.path, name)
        kinds = METHOD if member else FUNCTION | (CONSTANT if const else VARIABLE)
        body = value.child_by_field_name("body")
        builder.add(Role.FUNCTION, given, node, kinds=kinds, maybe=FUNCTION | NAMED_VALUE, body=body)
        return
    if value is not None and value.type == "class":
        builder.objects[value.id] = (*builder.scope.path, name)
        kinds = TYPE | (CONSTANT if const else VARIABLE)
        builder.add(Role.TYPE, given, node, kinds=kinds, maybe=NAMED_VALUE, body=value.child_by_field_name("body"))
        return
    if value is not None and value.type == "object":
        builder.object(value, name)
    if builder.in_function:
        builder.add(Role.LOCAL, given, node, value=value, fixed=const)
        return
    kinds = CONSTANT if const else VARIABLE
    maybe = NAMED_VALUE if const or name.isupper() else NO_KINDS
    maybe |= NO_KINDS if value is None or value.type in _LITERALS else ANYTHING
    role = Role.DECLARED if declared else Role.VALUE
    builder.add(role, given, node, kinds=kinds, maybe=maybe, value=value, fixed=const)


def _anonymous(builder: Builder, node: Node) -> None:
    """A function that is an expression: with the name that it is assigned to, or with none."""
    path = builder.objects.pop(node.id, None)
    if path is None:
        builder.open("hidden")
    else:
        builder.open("function", inside=path)
    _parameters(builder, node)


def _object(builder: Builder, node: Node) -> None:
    builder.open_object(node)


def _pair(builder: Builder, node: Node) -> None:
    name, value = _key(builder, node.child_by_field_name("key")), plain(node.child_by_field_name("value"))
    if builder.scope.sort != "object" or name is None or value is None:
        return
    if value.type in FUNCTIONS:
        _value(builder, node, name, value, member=True)
        return
    if value.type == "object":
        builder.object(value, name)
    builder.add(Role.KEY, name, node, value=value)


def _signature(builder: Builder, node: Node) -> None:
    name = _key(builder, node.child_by_field_name("name"))
    if name is not None and builder.scope.sort == "type":
        if node.type == "property_signature":
            builder.add(Role.VALUE, name, node, kinds=VARIABLE, maybe=CONSTANT)
        else:
            builder.add(Role.FUNCTION, name, node, kinds=METHOD, maybe=FUNCTION)


def _enum_body(builder: Builder, node: Node) -> None:
    for one in node.named_children:
        if one.type == "enum_assignment":
            name, value = _key(builder, one.child_by_field_name("name")), one.child_by_field_name("value")
        else:
            name, value = _key(builder, one), one  # counted on from the one before: not written
        if name is not None:
            builder.add(Role.VALUE, name, one, kinds=CONSTANT, maybe=VARIABLE, value=value, fixed=True)


def _assigned(builder: Builder, node: Node) -> None:
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    left = left or (node.named_children[0] if node.named_children else None)
    if left is None:
        return
    if left.type == "member_expression":
        _member(builder, node, left, frozen(right, builder) if node.type == "assignment_expression" else None)
    elif left.type.endswith("_pattern"):
        for name, _ in _bound(left, None):
            builder.add(Role.WRITE, name, node)
    elif left.type == "identifier":
        builder.add(Role.WRITE, left, node, value=right)


def _member(builder: Builder, node: Node, left: Node, value: Node | None) -> None:
    """`a.b = …`: a function or class that gets a name so, an attribute of an instance, or a change."""
    holder, name = left.child_by_field_name("object"), left.child_by_field_name("property")
    if holder is None or name is None:
        return
    text = builder.code.text(holder)
    around = tuple(one for one in text.split(".") if one not in ("module", "exports", "prototype", "globalThis"))
    plain = all(one.isidentifier() for one in around) and len(around) <= 4
    scope = builder.scope
    if value is not None and (value.type in FUNCTIONS or value.type == "class") and plain and text != "this":
        # The path is where the name can be found; the scope of what is inside follows it.
        builder.objects[value.id] = (*around, builder.name(name))
        if value.type == "class":
            body = value.child_by_field_name("body")
            builder.add(Role.TYPE, name, node, kinds=TYPE, maybe=NAMED_VALUE, body=body, inside=around)
        else:
            builder.code.bodies.add((value.start_byte, value.end_byte))
            body = value.child_by_field_name("body")
            method = ".prototype" in text
            kinds = METHOD if method else FUNCTION
            builder.add(Role.FUNCTION, name, node, kinds=kinds, maybe=ANYTHING, body=body, inside=around)
        return
    if text == "this" and scope.sort == "function" and len(scope.path) > 1 and value is not None:
        late = scope.path[-1] != "constructor"
        builder.add(Role.ATTRIBUTE, name, node, value=value, inside=scope.path[:-1], conditional=late)
    elif text == "module" and value is not None and value.type == "object":
        builder.object(value)
    elif not around and value is not None and scope.sort == "module":
        builder.add(Role.KEY, name, node, value=value)
    builder.add(Role.WRITE, name, node, value=value, receiver=text.rsplit(".", 1)[-1])


def _deleted(builder: Builder, node: Node) -> None:
    if node.children and node.children[0].type == "delete":
        target = node.child_by_field_name("argument")
        if target is not None and target.type == "member_expression":
            _member(builder, node, target, None)


def _loop(builder: Builder, node: Node) -> None:
    left = node.child_by_field_name("left")
    if left is None:
        return
    declared = node.child_by_field_name("kind") is not None
    for name, _ in _bound(left, None):
        if declared:
            builder.add(Role.LOCAL, name, node, value=node)
        else:
            builder.add(Role.WRITE, name, node)


RULES: Final[Mapping[str, Rule]] = {
    "function_declaration": _function,
    "generator_function_declaration": _function,
    "function_signature": _function,
    "method_definition": _method,
    "class_declaration": _class,
    "abstract_class_declaration": _class,
    "interface_declaration": _class,
    "enum_declaration": _class,
    "class": _class,
    "type_alias_declaration": _alias,
    "internal_module": _namespace,
    "module": _namespace,
    "field_definition": _field,
    "public_field_definition": _field,
    "variable_declarator": _declarator,
    "arrow_function": _anonymous,
    "function_expression": _anonymous,
    "generator_function": _anonymous,
    "object": _object,
    "pair": _pair,
    "method_signature": _signature,
    "abstract_method_signature": _signature,
    "property_signature": _signature,
    "enum_body": _enum_body,
    "assignment_expression": _assigned,
    "augmented_assignment_expression": _assigned,
    "update_expression": _assigned,
    "unary_expression": _deleted,
    "for_in_statement": _loop,
    "class_static_block": hidden,
    "import_statement": import_rule,
    "export_statement": import_rule,
    "call_expression": call_rule,
}
