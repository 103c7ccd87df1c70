"""What the index takes from Python's syntax trees: definitions, assignments, imports (docs/checks.md).

Nothing is decided here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from .code_building import Builder
from .code_model import CONSTANT, FUNCTION, METHOD, NO_KINDS, TYPE, VARIABLE, Role, Rule
from .code_python_imports import call_rule, from_rule, future_rule, import_rule
from .code_rules import hidden
from .code_values import parts_of, read

if TYPE_CHECKING:
    from tree_sitter import Node

_ALIAS: Final = TYPE | FUNCTION
_LITERALS: Final = frozenset(
    ("integer", "float", "string", "concatenated_string", "true", "false", "none", "list", "dictionary", "tuple", "set")
)
_MAX_CHAIN: Final = 16
"""Names that one value is assigned to (`a = b = 1`), and patterns inside one another."""


def _function(builder: Builder, node: Node) -> None:
    name = node.child_by_field_name("name")
    if name is None:
        return
    whole = builder.wholes.pop(node.id, node)
    method = builder.scope.sort == "type"
    decorators = [] if whole is node else [builder.code.text(one) for one in whole.children if one.type == "decorator"]
    overload = any(one.removeprefix("@").split(".")[-1] == "overload" for one in decorators)
    builder.add(
        Role.DECLARED if overload else Role.FUNCTION,
        name,
        whole,
        kinds=METHOD if method else FUNCTION,
        maybe=FUNCTION if method else NO_KINDS,
        body=_body(node),
    )
    builder.open("function", builder.name(name))
    parameters = node.child_by_field_name("parameters")
    for one in parameters.named_children if parameters is not None else []:
        _parameter(builder, one)


def _body(node: Node) -> Node | None:
    """What a function does; nothing where that is `...`, as in stubs and protocols."""
    body = node.child_by_field_name("body")
    if body is None:
        return None
    count = body.named_child_count
    last = body.named_child(count - 1) if count else None
    while last is not None and last.type == "expression_statement" and last.named_children:
        last = last.named_children[0]
    return None if last is not None and last.type == "ellipsis" else body


def _decorated(builder: Builder, node: Node) -> None:
    """A definition is all of it with its decorators."""
    inner = node.child_by_field_name("definition")
    if inner is not None:
        builder.wholes[inner.id] = node


def _parameter(builder: Builder, node: Node) -> None:
    sort = node.type
    if sort == "identifier":
        builder.add(Role.PARAMETER, node, node)
        return
    if sort in ("default_parameter", "typed_default_parameter"):
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    else:
        name, value = node, None
        while name.type in ("typed_parameter", "list_splat_pattern", "dictionary_splat_pattern"):
            if not name.named_children:
                return
            name = name.named_children[0]
    if name is not None and name.type == "identifier":
        builder.add(Role.PARAMETER, name, node, value=value)


def _class(builder: Builder, node: Node) -> None:
    name = node.child_by_field_name("name")
    if name is not None:
        whole = builder.wholes.pop(node.id, node)
        builder.add(Role.TYPE, name, whole, kinds=TYPE, body=node.child_by_field_name("body"))
        builder.open("type", builder.name(name))


def _assignment(builder: Builder, node: Node) -> None:
    left, value = node.child_by_field_name("left"), node.child_by_field_name("right")
    annotation = node.child_by_field_name("type")
    for _ in range(_MAX_CHAIN):
        if value is None or value.type != "assignment":
            break
        value = value.child_by_field_name("right")
    if left is None:
        return
    said = "" if annotation is None else builder.code.text(annotation)
    final, alias = said.split("[")[0].split(".")[-1] == "Final", said.split(".")[-1] == "TypeAlias"
    _target(builder, node, left, value, final=final, alias=alias)


def _target(
    builder: Builder,
    node: Node,
    left: Node,
    value: Node | None,
    *,
    final: bool = False,
    alias: bool = False,
    depth: int = 0,
) -> None:
    if left.type == "identifier":
        _plain_target(builder, node, left, value, final, alias)
    elif left.type in ("pattern_list", "tuple_pattern", "list_pattern") and depth < _MAX_CHAIN:
        targets = left.named_children
        values = parts_of(value) if value is not None and value.type in ("expression_list", "tuple", "list") else []
        splat = any(one.type.startswith("list_splat") for one in (*targets, *values))
        paired = len(values) == len(targets) and not splat
        for place, target in enumerate(targets):
            inner = target.named_children[0] if target.type == "list_splat_pattern" else target
            # Where they are no pairs, what is known is that it is assigned: the assignment itself is no literal.
            _target(builder, node, inner, values[place] if paired else node, depth=depth + 1)
    elif left.type == "attribute":
        _attribute(builder, node, left, value)


def _plain_target(builder: Builder, node: Node, left: Node, value: Node | None, final: bool, alias: bool) -> None:
    name = builder.name(left)
    scope = builder.scope
    if value is not None and value.type == "dictionary":
        builder.object(value, name)
    if name == "__slots__" and value is not None and scope.sort == "type":
        _slots(builder, node, value)
    if name in scope.outer_names:
        builder.add(Role.WRITE, left, node, value=value, inside=scope.outer_names[name])
    elif builder.in_function:
        builder.add(Role.LOCAL, left, node, value=value)
    elif value is not None and value.type == "lambda":
        builder.code.bodies.add((value.start_byte, value.end_byte))
        body = value.child_by_field_name("body")
        builder.add(Role.FUNCTION, left, node, kinds=FUNCTION | VARIABLE, maybe=METHOD | CONSTANT, body=body)
    else:
        constant_like = final or name.isupper()
        other = NO_KINDS if value is None or value.type in _LITERALS else _ALIAS
        builder.add(
            Role.TYPE if alias else Role.VALUE,
            left,
            node,
            kinds=TYPE if alias else CONSTANT if constant_like else VARIABLE,
            maybe=other | CONSTANT | VARIABLE,
            value=value,
        )


def _attribute(builder: Builder, node: Node, left: Node, value: Node | None) -> None:
    holder, name = left.child_by_field_name("object"), left.child_by_field_name("attribute")
    if holder is None or name is None:
        return
    receiver = builder.code.text(holder).rsplit(".", 1)[-1]
    scope = builder.scope
    if receiver in ("self", "cls") and scope.sort == "function" and len(scope.path) > 1:
        builder.add(
            Role.ATTRIBUTE,
            name,
            node,
            value=value,
            inside=scope.path[:-1],
            conditional=scope.path[-1] not in ("__init__", "__post_init__", "__new__"),
        )
    builder.add(Role.WRITE, name, node, value=value, receiver=receiver)


def _written(builder: Builder, node: Node, target: Node | None) -> None:
    """Names that something changes: `x += 1`, `del x`, `for x in …`, `with … as x`."""
    if target is None:
        return
    waiting = [target]
    while waiting:
        one = waiting.pop()
        if one.type == "identifier":
            builder.add(Role.WRITE, one, node, inside=builder.scope.outer_names.get(builder.name(one)))
        elif one.type == "attribute":
            holder, name = one.child_by_field_name("object"), one.child_by_field_name("attribute")
            if holder is not None and name is not None:
                builder.add(Role.WRITE, name, node, receiver=builder.code.text(holder).rsplit(".", 1)[-1])
        elif one.type != "subscript":
            waiting.extend(one.named_children)


def _left(builder: Builder, node: Node) -> None:
    _written(builder, node, node.child_by_field_name("left"))


def _deleted(builder: Builder, node: Node) -> None:
    for one in node.named_children:
        _written(builder, node, one)


def _alias_target(builder: Builder, node: Node) -> None:
    _written(builder, node, node)


def _walrus(builder: Builder, node: Node) -> None:
    name = node.child_by_field_name("name")
    if name is not None:
        role = Role.LOCAL if builder.in_function else Role.VALUE
        kinds = NO_KINDS if builder.in_function else VARIABLE
        value = node.child_by_field_name("value")
        builder.add(role, name, node, kinds=kinds, maybe=CONSTANT | _ALIAS, value=value, conditional=True)


def _global(builder: Builder, node: Node) -> None:
    around = () if node.type == "global_statement" else builder.scope.path[:-1]
    builder.scope.outer_names.update((builder.name(one), around) for one in node.named_children)


def _type_alias(builder: Builder, node: Node) -> None:
    left = node.child_by_field_name("left")
    name = left.named_children[0] if left is not None and left.named_children else None
    if name is not None and name.type == "generic_type" and name.named_children:
        name = name.named_children[0]
    if name is not None and name.type == "identifier":  # `type(x).y = 1` is parsed as an alias, but is none
        builder.add(Role.TYPE, name, node, kinds=TYPE)


def _dictionary(builder: Builder, node: Node) -> None:
    builder.open_object(node)


def _pair(builder: Builder, node: Node) -> None:
    if builder.scope.sort != "object":
        return
    key, value = node.child_by_field_name("key"), node.child_by_field_name("value")
    if key is None or value is None or key.type != "string":
        return
    found = read(builder.code, key)
    if found is None or not isinstance(found.value, str):
        return
    if value.type == "dictionary":
        builder.object(value, found.value)
    builder.add(Role.KEY, found.value, node, value=value)


def _captured(builder: Builder, node: Node) -> None:
    """`case x:` assigns to `x`."""
    name = node.named_children[0] if node.named_child_count == 1 else None
    if name is not None and name.type == "dotted_name" and name.named_child_count == 1:
        builder.add(Role.WRITE, name.named_children[0], node)


def _slots(builder: Builder, node: Node, value: Node) -> None:
    """`__slots__` tells which attributes there are."""
    found = read(builder.code, value)
    names = found.value if found is not None and isinstance(found.value, tuple) else ()
    for name in names:
        if isinstance(name, str):
            builder.add(Role.DECLARED, name, node)


RULES: Final[Mapping[str, Rule]] = {
    "decorated_definition": _decorated,
    "function_definition": _function,
    "class_definition": _class,
    "assignment": _assignment,
    "augmented_assignment": _left,
    "for_statement": _left,
    "delete_statement": _deleted,
    "as_pattern_target": _alias_target,
    "named_expression": _walrus,
    "global_statement": _global,
    "nonlocal_statement": _global,
    "lambda": hidden,
    "type_alias_statement": _type_alias,
    "dictionary": _dictionary,
    "pair": _pair,
    "import_statement": import_rule,
    "import_from_statement": from_rule,
    "future_import_statement": future_rule,
    "call": call_rule,
    "case_pattern": _captured,
}
