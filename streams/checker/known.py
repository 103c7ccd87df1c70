"""Calls of what is known by its name only, sent to where the name belongs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .builtin import builtin
from .library import Decorator, decorate, library
from .methods import method
from .model import Arguments, Environment
from .standard_library import Partial, standard
from .value_lattice import Named, Value

if TYPE_CHECKING:
    from .machine import Machine


def named(machine: Machine, env: Environment, one: Named, given: Arguments) -> Value:
    """Calls what a dotted name means."""
    if one.kind == "library":
        return library(machine, env, one.name, given)
    if one.kind == "builtin":
        return builtin(machine, env, one.name, given)
    return standard(machine, env, one.name, given)


__all__ = ["Decorator", "Partial", "decorate", "method", "named"]
