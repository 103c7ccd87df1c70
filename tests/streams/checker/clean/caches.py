"""Grounded values that are kept, and logging beside them."""

import contextlib
import logging
import threading

from sluice.streams.grounded import Grounded, agent, tool

log = logging.getLogger(__name__)


@tool(data="grounded")
def fetch(k: str) -> Grounded[str]:
    log.info("fetching %s", k)
    return k


class Cache:
    def __init__(self) -> None:
        self._kept: dict[str, Grounded[str]] = {}
        self._lock = threading.Lock()

    def get(self, k: str) -> Grounded[str]:
        with self._lock:
            if k not in self._kept:
                self._kept[k] = fetch(k)
            return self._kept[k]

    def __getitem__(self, k: str) -> Grounded[str]:
        return self.get(k)


cache = Cache()


@agent
def research(k: str) -> Grounded[str]:
    log.debug("research %r", k)
    with contextlib.suppress(KeyError):
        return cache[k]
    return cache.get("default")


@agent
def walrus(k: str) -> Grounded[str]:
    if (doc := fetch(k)) is not None and doc.retrievals():
        return doc
    return fetch("b")
