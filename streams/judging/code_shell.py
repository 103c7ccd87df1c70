"""Shell scripts, read as bash, as checks on source code read them (docs/checks.md). Nothing is decided here.

Everything that a shell assigns is text, which compares as text or as a number. `${X:-value}` says the default of `X`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .code_building import Builder
from .code_model import CONSTANT, FUNCTION, NAMED_VALUE, VARIABLE, Code, Found, Grammar, Role
from .code_strings import SHELL, decode
from .code_values import listed, parts_of, read
from .values import Text, value_of_text

if TYPE_CHECKING:
    from tree_sitter import Node

_LOCAL: Final = frozenset(("local", "declare", "typeset"))
_SOURCES: Final = frozenset(("source", "."))
_PATTERNS: Final = frozenset("*?[]{}~")
_WRITES: Final = frozenset(("read", "mapfile", "readarray", "getopts", "let", "unset", "eval", "export", "printf"))


def _function(builder: Builder, node: Node) -> None:
    name = node.child_by_field_name("name")
    if name is not None:
        builder.add(Role.FUNCTION, name, node, kinds=FUNCTION, body=node.child_by_field_name("body"))
        builder.open("function", builder.name(name))


def _assignment(builder: Builder, node: Node) -> None:
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    around = builder.parent
    if name is None or around is None or around.type == "command":  # `X=1 command` is for that command alone
        return
    if name.type == "subscript":
        inner = name.child_by_field_name("name")
        if inner is not None:
            builder.add(Role.WRITE, inner, node, inside=())
        return
    if any(one.type == "+=" for one in node.children):
        builder.add(Role.WRITE, name, node, inside=())
        return
    value = _own_value(builder, name, value) or node
    words = _words(builder.code, around) if around.type == "declaration_command" else []
    fixed = bool(words) and (words[0] == "readonly" or any(one[:1] == "-" and "r" in one for one in words[1:]))
    in_function = builder.in_function
    if in_function and words and words[0] in _LOCAL and "-g" not in words:
        builder.add(Role.LOCAL, name, node, value=value, fixed=fixed)
        return
    if in_function:  # of the whole script, once the function is called
        builder.add(Role.LOCAL, name, node, value=value)
        builder.add(Role.WRITE, name, node, inside=())
        return
    likely = NAMED_VALUE if fixed or builder.name(name).isupper() else VARIABLE
    kinds = CONSTANT if fixed else VARIABLE
    builder.add(Role.VALUE, name, node, kinds=kinds, maybe=likely, value=value)


def _own_value(builder: Builder, name: Node, value: Node | None) -> Node | None:
    """What is assigned; none where it is the default of another variable (`X=${Y:-1}`)."""
    inner = value
    if inner is not None and inner.type == "string" and inner.named_child_count == 1:
        inner = inner.named_children[0]
    if inner is None or inner.type != "expansion":
        return value
    variable = _variable(inner)
    other = "" if variable is None else builder.name(variable)
    return None if other.isidentifier() and other != builder.name(name) else value


def _words(code: Code, node: Node) -> list[str]:
    """The words of a command before what it assigns, its own name first."""
    words: list[str] = []
    cursor = node.walk()
    more = cursor.goto_first_child()
    while more and len(words) < 16:
        one = cursor.node
        assert one is not None, "a cursor stands at a node"
        if one.type in ("variable_assignment", "variable_name"):
            break
        words.append(code.text(one))
        more = cursor.goto_next_sibling()
    return words


def _command(builder: Builder, node: Node) -> None:
    name, arguments = node.child_by_field_name("name"), node.children_by_field_name("argument")
    if name is None:
        return
    text = builder.code.text(name)
    if text in _SOURCES and arguments:
        found = read(builder.code, arguments[0])
        if found is None or not isinstance(found.value, str):
            builder.code.opaque_imports = True
        else:
            builder.imports(node, (str(found.value),), relative=True)
    elif text in _WRITES:
        _written(builder, node, arguments)
    elif text == "alias":
        for one in arguments:
            builder.code.hidden.add(builder.code.text(one).split("=")[0])


def _written(builder: Builder, node: Node, arguments: list[Node]) -> None:
    for one in arguments:
        word = builder.code.text(one).split("=")[0].rstrip("+-*/%")
        if word.isidentifier():
            builder.add(Role.WRITE, word, node, inside=())


def _unset(builder: Builder, node: Node) -> None:
    _written(builder, node, [one for one in node.named_children if one.type in ("variable_name", "word")])


def _loop(builder: Builder, node: Node) -> None:
    name = node.child_by_field_name("variable")
    if name is not None:
        builder.add(Role.WRITE, name, node, inside=())


def _counted(builder: Builder, node: Node) -> None:
    """`((i++))`."""
    for one in node.named_children:
        if one.type == "variable_name":
            builder.add(Role.WRITE, one, node, inside=())


def _expansion(builder: Builder, node: Node) -> None:
    """`${X:-value}` and `${X:=value}`: the default of X, where X is not assigned otherwise."""
    operator, name = node.child_by_field_name("operator"), _variable(node)
    if operator is None or name is None or builder.code.text(operator) not in _DEFAULTS:
        return
    if not builder.name(name).isidentifier() or _assigns(builder, builder.name(name)):
        return  # `X=${X:-value}` is told by the assignment
    assigns = "=" in builder.code.text(operator)
    builder.add(Role.VALUE if assigns else Role.PARAMETER, name, node, kinds=VARIABLE, maybe=CONSTANT, value=node)


_DEFAULTS: Final = frozenset((":-", "-", ":=", "="))


def _variable(node: Node) -> Node | None:
    return next((one for one in node.named_children if one.type.endswith("variable_name")), None)


def _assigns(builder: Builder, name: str) -> bool:
    """Whether what stands around is an assignment to the same name."""
    for one in reversed(builder.trail[-3:]):
        if one.type == "variable_assignment":
            own = one.child_by_field_name("name")
            return own is not None and builder.name(own) == name
    return False


# ---------------------------------------------------------------- calls and values


def _mentioned(code: Code, node: Node, wanted: tuple[str, ...]) -> bool | None:
    """A word that is given to another command may be run by it: `xargs grep`, `sudo foo`, `trap foo EXIT`."""
    return None if node.type == "word" and code.name(node) == wanted[-1] else False


def _word(code: Code, node: Node, _: int) -> Found | None:
    text = code.text(node)
    return None if "\\" in text or _PATTERNS.intersection(text) else Found(value_of_text(text))


def _raw(code: Code, node: Node, _: int) -> Found | None:
    return Found(Text(code.text(node)[1:-1]))


def _string(code: Code, node: Node, depth: int) -> Found | None:
    parts = [one for one in node.named_children if one.type != "string_content"]
    if len(parts) == 1 and len(node.named_children) == 1:
        return read(code, parts[0], depth + 1) if parts[0].type == "expansion" else None
    if parts:
        return None
    text = decode(code.text(node)[1:-1], SHELL)
    return None if text is None else Found(Text(text))


def _default(code: Code, node: Node, depth: int) -> Found | None:
    operator = node.child_by_field_name("operator")
    name = _variable(node)
    if operator is None or name is None or code.text(operator) not in _DEFAULTS:
        return None
    behind = [one for one in node.named_children if one.start_byte >= operator.end_byte]
    if len(behind) > 1:
        return None
    return read(code, behind[0], depth + 1) if behind else Found(Text(""))


def _list(code: Code, node: Node, depth: int) -> Found | None:
    return listed(code, parts_of(node), depth)


SHELL_GRAMMAR: Final = Grammar(
    asks_around=True,
    sigils="$",
    rules={
        "function_definition": _function,
        "variable_assignment": _assignment,
        "command": _command,
        "unset_command": _unset,
        "for_statement": _loop,
        "postfix_expression": _counted,
        "expansion": _expansion,
    },
    names=frozenset(("word", "variable_name", "special_variable_name")),
    wrappers={"command_name": ""},
    calls={"command": "name"},
    call_hint=_mentioned,
    nested=frozenset(("function_definition",)),
    conditions=frozenset(
        (
            "if_statement",
            "case_statement",
            "while_statement",
            "for_statement",
            "c_style_for_statement",
            "list",
            "subshell",
            "command_substitution",
            "pipeline",
        )
    ),
    blocks=frozenset(("compound_statement", "program")),
    return_command="return",
    values={
        "word": _word,
        "number": _word,
        "raw_string": _raw,
        "string": _string,
        "expansion": _default,
        "array": _list,
    },
    separators=False,
    import_form="path",
)
