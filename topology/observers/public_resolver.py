"""Resolves the names of channels to public addresses (addresses.py says which those are).

A name is resolved once for each connection, every address that it has is tested, and the connection goes to one of
those addresses: so a name that leads elsewhere the next time (DNS rebinding) leads nowhere.
"""

from __future__ import annotations

import socket
from typing import Final

from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver

from .addresses import is_public

PRIVATE: Final = "the channel's name leads to an address that is not public"


class NotPublicError(OSError):
    """A name leads to an address that is not public."""

    def __init__(self) -> None:
        super().__init__(PRIVATE)


class PublicResolver(AbstractResolver):
    """Resolves names to public addresses only; one that has any other is not resolved at all."""

    def __init__(self) -> None:
        self._inner = ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """The addresses of a name, as aiohttp connects to them.

        Raises:
            NotPublicError: one of them is not public.
            OSError: there are none.
        """
        found = await self._inner.resolve(host, port, family)
        if not all(is_public(one["host"]) for one in found):
            raise NotPublicError
        return found

    async def close(self) -> None:
        """Nothing is kept."""
        await self._inner.close()
