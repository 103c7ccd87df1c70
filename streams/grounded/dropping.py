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
    """Whether a Python function never reads any of its parameters."""
    return type(function) is FunctionType and _reads_nothing(function.__code__)


@lru_cache(maxsize=1024)
def _reads_nothing(code: CodeType) -> bool:
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    parameters = frozenset(code.co_varnames[:count])
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
