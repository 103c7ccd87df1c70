"""Decorators of the user, over and under those of the library."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from sluice.streams.grounded import Grounded, agent, tool


@tool(data="grounded")
def fetch(key: str) -> Grounded[str]:
    return key


P = ParamSpec("P")
R = TypeVar("R")


def timed(function: Callable[P, R]) -> Callable[P, R]:
    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        return function(*args, **kwargs)

    return wrapper


@timed
@agent
def over(key: str) -> Grounded[str]:
    return fetch(key)


@agent
@timed
def under(key: str) -> Grounded[str]:
    return fetch(key)


@functools.lru_cache
def cached(key: str) -> Grounded[str]:
    return fetch(key)


@agent
def all_three(key: str) -> Grounded[str]:
    return over(key) + under(key) + cached(key)
