"""Rules that several languages share; the table of each says with which nodes and fields (`code_model.Grammar`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from .code_building import Builder
from .code_model import Role

if TYPE_CHECKING:
    from tree_sitter import Node


def hidden(builder: Builder, _: Node) -> None:
    """What has no name opens a scope that has none."""
    builder.open("hidden")


def behind_dot(holder: str) -> str:
    """The last name of what stands before a member: `b` of `a.b`."""
    return holder.rsplit(".", 1)[-1]


def assigned(
    member: str, holder: str, field: str, *, operand: str = "", receiver: Callable[[str], str] = behind_dot
) -> Callable[[Builder, Node], None]:
    """The rule of `x = 1` and `a.x = 1`, which write to a name.

    Args:
        member: the type of the node `a.x`.
        holder, field: the fields in it of `a` and of `x`.
        operand: the field that is written to where there is no `left`, as in `x++`; `0` is the first named child.
        receiver: the name of the holder, of its text.
    """

    def rule(builder: Builder, node: Node) -> None:
        left, value = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is None and operand:
            named = node.named_children
            left = node.child_by_field_name(operand) if operand != "0" else named[0] if named else None
        if left is None:
            return
        if left.type == "identifier":
            builder.add(Role.WRITE, left, node, value=value)
        elif left.type == member:
            around, name = left.child_by_field_name(holder), left.child_by_field_name(field)
            if around is not None and name is not None:
                builder.add(Role.WRITE, name, node, value=value, receiver=receiver(builder.code.text(around)))

    return rule
