"""What a function's annotations say about grounded values: what it returns, and which parameters take the wrapper.

Annotations are often texts (`from __future__ import annotations`), and may name what only exists later or only for type
checkers. They are read at the first call, as types where they can be had, else by the name `Grounded` in the text.
"""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Callable
from typing import (
    Annotated,
    Any,
    ForwardRef,
    Literal,
    NamedTuple,
    Never,
    NoReturn,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from .value import Grounded

Returns = Literal["grounded", "plain", "unknown"]
_NAMED = re.compile(r"\bGrounded\b")
_WRAPPED = re.compile(
    r"\s*[\"']?\s*(?:[\w.]+\.)?(?:Grounded\b|(?:Optional|Union|Annotated)\[\s*(?:[\w.]+\.)?Grounded\b)"
)
_NO_SAYING = (Any, object, inspect.Parameter.empty)
_NO_VALUE = (None, types.NoneType, "None", NoReturn, "NoReturn", Never, "Never")


class Declared(NamedTuple):
    """What the annotations say.

    Attributes:
        returns: `Grounded[…]`, a plain type, or nothing that would tell.
        optional: it may be None instead.
        takes: the parameters whose annotation names `Grounded`.
        loses: what it returns is a value, and nothing in it is grounded.
    """

    returns: Returns
    optional: bool
    takes: frozenset[str]
    loses: bool


def declared(function: Callable[..., Any]) -> Declared:
    """What a function's annotations say."""
    if not hasattr(function, "__annotations__"):  # a partial, or an object that can be called
        function = getattr(function, "func", cast(Any, function).__call__)
    raw: dict[str, Any] = dict(getattr(function, "__annotations__", {}))
    try:
        found = get_type_hints(function, include_extras=True)
    except (NameError, TypeError, AttributeError, SyntaxError):
        found = raw  # some name is not there at run time: the texts have to do
    returned = found.get("return", inspect.Parameter.empty)
    takes = frozenset(name for name, annotation in found.items() if name != "return" and _names(annotation))
    returns = _returns(returned)
    loses = returns == "plain" and returned not in _NO_VALUE and not _names(returned)
    return Declared(returns, _optional(returned), takes, loses)


def _returns(annotation: Any) -> Returns:
    if isinstance(annotation, str):
        alternatives = annotation.split("|")
        return "grounded" if any(_WRAPPED.match(one) for one in alternatives) else "plain"
    if annotation in _NO_SAYING or isinstance(annotation, TypeVar):
        return "unknown"
    return "grounded" if any(_is_grounded(one) for one in _alternatives(annotation)) else "plain"


def _optional(annotation: Any) -> bool:
    if isinstance(annotation, str):
        return re.search(r"\bNone\b|\bOptional\b", annotation) is not None
    return types.NoneType in _alternatives(annotation)


def _alternatives(annotation: Any) -> tuple[Any, ...]:
    """The members of a union, or the one type; what `Annotated` adds is taken off."""
    if get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    if get_origin(annotation) in (Union, types.UnionType):
        return tuple(inner for one in get_args(annotation) for inner in _alternatives(one))
    return (annotation,)


def _is_grounded(annotation: Any) -> bool:
    if isinstance(annotation, ForwardRef):  # a text inside a type: `Optional["Grounded[str]"]`
        return _WRAPPED.match(annotation.__forward_arg__) is not None
    origin = get_origin(annotation) or annotation
    return isinstance(origin, type) and issubclass(origin, Grounded)


def _names(annotation: Any) -> bool:
    """Whether an annotation names `Grounded` anywhere: `list[Grounded[str]]` takes the wrappers as they are."""
    text = annotation.__forward_arg__ if isinstance(annotation, ForwardRef) else annotation
    if isinstance(text, str):
        return _NAMED.search(text) is not None
    return _is_grounded(annotation) or any(_names(one) for one in get_args(annotation))
