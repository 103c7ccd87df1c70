"""What comes from elsewhere raises no alarm."""

from __future__ import annotations

import vendor

from sluice.streams.grounded import Grounded, agent


@agent(min_confidence=0.99, data={"grounded", "legal"})
def elsewhere(key: str) -> Grounded[str]:
    return vendor.search(key)


@agent
def dynamic(name: str, key: str) -> Grounded[str]:
    handler = getattr(vendor, name)
    return handler(key)


@agent
def passed(handler, key: str) -> Grounded[str]:
    return handler(key)


@vendor.register("x")
def registered(key: str) -> Grounded[str]:
    return key
