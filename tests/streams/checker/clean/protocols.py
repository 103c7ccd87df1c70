"""Stubs, overloads and abstract methods promise nothing yet."""

from __future__ import annotations

import abc
from typing import Protocol, overload

from sluice.streams.grounded import Grounded, agent, grounded_pure, tool


@tool(data="grounded")
def fetch(key: str) -> Grounded[str]:
    return key


class Source(Protocol):
    def read(self, key: str) -> Grounded[str]: ...


class Base(abc.ABC):
    @abc.abstractmethod
    def answer(self, key: str) -> Grounded[str]:
        """The answer."""

    def other(self, key: str) -> Grounded[str]:
        raise NotImplementedError


@overload
def get(key: str) -> Grounded[str]: ...
@overload
def get(key: int) -> Grounded[str]: ...
def get(key: str | int) -> Grounded[str]:
    return fetch(str(key))


@agent
@grounded_pure
def through(source: Source, key: str) -> Grounded[str]:
    return source.read(key) + get(key)
