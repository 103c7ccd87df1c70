"""Whether a function reads what it is given: one that does not makes its result up [C §3].

Only functions written in Python can be looked into; of others, and of objects that can be called, nothing is said.
"""

from __future__ import annotations

import dis
import inspect
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any, cast


def drops_its_input(function: object) -> bool:
    """Whether a Python function never reads the one value that it is called with: its first parameter, or `*args`.

    What else it reads, such as the default of another parameter, was not made of that value.
    """
    return type(function) is FunctionType and _reads_nothing(function.__code__)


@lru_cache(maxsize=1024)
def _reads_nothing(code: CodeType) -> bool:
    if code.co_argcount:
        given = code.co_varnames[0]
    elif code.co_flags & inspect.CO_VARARGS:
        given = code.co_varnames[code.co_kwonlyargcount]  # behind those that have to be named
    else:
        return True
    parameters = frozenset((given,))
    # What a function inside reads is a cell of this one.
    if not parameters.isdisjoint(code.co_cellvars):
        return False
    for step in dis.get_instructions(code):
        if "FAST" in step.opname and (step.opname.startswith("LOAD") or "_LOAD_" in step.opname):
            argument: Any = step.argval
            names: tuple[str, ...] = cast("tuple[str, ...]", argument) if isinstance(argument, tuple) else (argument,)
            if not parameters.isdisjoint(names):
                return False
    return True
