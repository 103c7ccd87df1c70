"""Python, as checks on source code read it (judging.md). Nothing is decided here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .code_building import Builder
from .code_model import CONSTANT, FUNCTION, METHOD, NO_KINDS, TYPE, VARIABLE, Code, Found, Grammar, Role
from .code_strings import PYTHON, decode
from .code_values import arithmetic, constant, inside, items, joined, number, parts_of, read, signed, text_found

if TYPE_CHECKING:
    from tree_sitter import Node

_ALIAS: Final = TYPE | FUNCTION
_LITERALS: Final = frozenset(
    ("integer", "float", "string", "concatenated_string", "true", "false", "none", "list", "dictionary", "tuple", "set")
)
_FIELDS: Final = frozenset(("field", "dataclasses.field", "attr.ib", "attr.field", "attrs.field", "attrib"))
_PYDANTIC: Final = frozenset(("Field", "pydantic.Field"))


def _function(builder: Builder, node: Node) -> None:
    name = node.child_by_field_name("name")
    if name is None:
        return
    whole, decorators = _decorated(builder, node)
    method = builder.scope.sort == "type"
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
    last = body.named_children[-1] if body.named_children else None
    while last is not None and last.type == "expression_statement" and last.named_children:
        last = last.named_children[0]
    return None if last is not None and last.type == "ellipsis" else body


def _decorated(builder: Builder, node: Node) -> tuple[Node, list[str]]:
    """The definition with its decorators, and their texts."""
    around = builder.parent
    if around is None or around.type != "decorated_definition":
        return node, []
    return around, [builder.code.text(one) for one in around.children if one.type == "decorator"]


def _parameter(builder: Builder, node: Node) -> None:
    if node.type in ("default_parameter", "typed_default_parameter"):
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
        whole, _ = _decorated(builder, node)
        builder.add(Role.TYPE, name, whole, kinds=TYPE, body=node.child_by_field_name("body"))
        builder.open("type", builder.name(name))


def _assignment(builder: Builder, node: Node) -> None:
    left, value = node.child_by_field_name("left"), node.child_by_field_name("right")
    annotation = node.child_by_field_name("type")
    while value is not None and value.type == "assignment":
        value = value.child_by_field_name("right")
    if left is None:
        return
    final = annotation is not None and builder.code.text(annotation).split("[")[0].split(".")[-1] == "Final"
    alias = annotation is not None and builder.code.text(annotation).split(".")[-1] == "TypeAlias"
    _target(builder, node, left, value, final=final, alias=alias)


def _target(
    builder: Builder, node: Node, left: Node, value: Node | None, *, final: bool = False, alias: bool = False
) -> None:
    if left.type == "identifier":
        _plain_target(builder, node, left, value, final, alias)
    elif left.type in ("pattern_list", "tuple_pattern", "list_pattern"):
        targets = left.named_children
        values = parts_of(value) if value is not None and value.type in ("expression_list", "tuple", "list") else []
        splat = any(one.type.startswith("list_splat") for one in (*targets, *values))
        for place, target in enumerate(targets):
            inner = target.named_children[0] if target.type == "list_splat_pattern" else target
            # Where they are no pairs, what is known is that it is assigned: the assignment itself is no literal.
            _target(builder, node, inner, values[place] if len(values) == len(targets) and not splat else node)
    elif left.type == "attribute":
        _attribute(builder, node, left, value)


def _plain_target(builder: Builder, node: Node, left: Node, value: Node | None, final: bool, alias: bool) -> None:
    name = builder.name(left)
    scope = builder.scope
    if value is not None and value.type == "dictionary":
        builder.object(value, name)
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


def _lambda(builder: Builder, _: Node) -> None:
    builder.open("hidden")


def _type_alias(builder: Builder, node: Node) -> None:
    left = node.child_by_field_name("left")
    if left is not None and left.named_children:
        name = left.named_children[0]
        while name.named_children:
            name = name.named_children[0]
        builder.add(Role.TYPE, name, node, kinds=TYPE)


def _dictionary(builder: Builder, node: Node) -> None:
    builder.open_object(node)


def _pair(builder: Builder, node: Node) -> None:
    key, value = node.child_by_field_name("key"), node.child_by_field_name("value")
    if builder.scope.sort != "object" or key is None or value is None or key.type != "string":
        return
    found = read(builder.code, key)
    if found is None or not isinstance(found.value, str):
        return
    if value.type == "dictionary":
        builder.object(value, found.value)
    builder.add(Role.KEY, found.value, node, value=value)


def _import(builder: Builder, node: Node) -> None:
    names: list[str] = []
    for one in node.children_by_field_name("name"):
        path, bound = _imported(builder, one)
        names.extend(_prefixes(path))
        builder.add(Role.IMPORTED, bound or path.split(".")[0], node)
    builder.imports(node, names)


def _import_from(builder: Builder, node: Node) -> None:
    module = node.child_by_field_name("module_name")
    if module is None:
        return
    base = "".join(builder.code.text(module).split())
    names = _prefixes(base)
    for one in node.children_by_field_name("name"):
        path, bound = _imported(builder, one)
        names.append(f"{base}{path}" if base.endswith(".") else f"{base}.{path}")
        builder.add(Role.IMPORTED, bound or path, node)
    builder.imports(node, names, relative=base.startswith("."))


def _future(builder: Builder, node: Node) -> None:
    builder.imports(node, ["__future__", *(f"__future__.{_imported(builder, one)[0]}" for one in parts_of(node))])


def _imported(builder: Builder, node: Node) -> tuple[str, str]:
    """What is imported, and the name it gets here; empty where that is its own."""
    if node.type != "aliased_import":
        return "".join(builder.code.text(node).split()), ""
    name, alias = node.child_by_field_name("name"), node.child_by_field_name("alias")
    path = "" if name is None else "".join(builder.code.text(name).split())
    return path, "" if alias is None else builder.name(alias)


def _prefixes(path: str) -> list[str]:
    """A dotted path and those above it; a relative one stands for itself alone."""
    if path.startswith("."):
        return [path]
    parts = path.split(".")[:32]
    return [".".join(parts[: place + 1]) for place in range(len(parts))]


def _call(builder: Builder, node: Node) -> None:
    """`importlib.import_module("a.b")` and `__import__("a")`: no import by syntax, but who asks for it may mean it."""
    function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if function is None or arguments is None:
        return
    if builder.code.text(function).rsplit(".", 1)[-1] in ("import_module", "__import__"):
        builder.imports(node, [])


# ---------------------------------------------------------------- values


def _string(code: Code, node: Node, _: int) -> Found | None:
    if any(child.type == "interpolation" for child in node.children) or len(node.children) < 2:
        return None
    opening, closing = node.children[0], node.children[-1]
    prefix = code.text(opening).rstrip("\"'").lower()
    if "b" in prefix or "t" in prefix:
        return None
    text = code.data[opening.end_byte : closing.start_byte].decode("utf-8", "surrogatepass").replace("\r\n", "\n")
    if "f" in prefix and ("{{" in text or "}}" in text):
        return None
    if "r" in prefix:
        return text_found(text)
    return None if "\\N" in text else text_found(decode(text, PYTHON))


def _call_value(code: Code, node: Node, depth: int) -> Found | None:
    """The default that a field of a class is declared with."""
    function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if function is None or arguments is None:
        return None
    name = code.text(function)
    if name not in _FIELDS and name not in _PYDANTIC:
        return None
    if _own(code, name):
        return None
    for one in arguments.named_children:
        key, value = one.child_by_field_name("name"), one.child_by_field_name("value")
        if one.type == "keyword_argument" and key is not None and value is not None and code.text(key) == "default":
            return read(code, value, depth + 1)
    if name in _PYDANTIC and arguments.named_children and arguments.named_children[0].type != "keyword_argument":
        return read(code, arguments.named_children[0], depth + 1)
    return None


def _own(code: Code, name: str) -> bool:
    """Whether the file itself defines a name, so that it is not the library's."""
    return any(code.definitions[place].role is not Role.IMPORTED for place in code.by_name.get(name, ()))


_CONDITIONS: Final = frozenset(
    ("if_statement", "try_statement", "while_statement", "for_statement", "match_statement", "conditional_expression")
)

PYTHON_GRAMMAR: Final = Grammar(
    rules={
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
        "lambda": _lambda,
        "type_alias_statement": _type_alias,
        "dictionary": _dictionary,
        "pair": _pair,
        "import_statement": _import,
        "import_from_statement": _import_from,
        "future_import_statement": _future,
        "call": _call,
    },
    names=frozenset(("identifier",)),
    members={"attribute": ("object", "attribute")},
    wrappers={"parenthesized_expression": ""},
    calls={"call": "function"},
    nested=frozenset(("function_definition", "class_definition")),
    anonymous=frozenset(("lambda",)),
    conditions=_CONDITIONS,
    branches={
        "if_statement": ("condition", "consequence"),
        "elif_clause": ("condition", "consequence"),
        "while_statement": ("condition", "body"),
    },
    never=frozenset(("False", "0", "None", '""', "''")),
    blocks=frozenset(("module", "block")),
    leaving=frozenset(("return_statement", "raise_statement", "break_statement", "continue_statement")),
    returns=frozenset(("return_statement",)),
    values={
        "integer": number(bytes_like="jJlL"),
        "float": number(bytes_like="jJ"),
        "string": _string,
        "concatenated_string": joined,
        "true": constant(True),
        "false": constant(False),
        "none": constant(None),
        "list": items,
        "tuple": items,
        "expression_list": items,
        "parenthesized_expression": inside(),
        "unary_operator": signed,
        "binary_operator": arithmetic,
        "call": _call_value,
    },
    folds_writes=False,
    bounded=False,
)
