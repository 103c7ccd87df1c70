"""Rates and how sure they are: one-sided 95 % bounds after Clopper and Pearson, which are exact for every count.

Of 0 in n the upper bound is 1 - 0.05^(1/n), a little less than 3/n.
"""

from __future__ import annotations

import math
from typing import NamedTuple

CONFIDENCE = 0.95
_STEPS = 60
"""Halvings of the interval: further than any figure is printed."""


class Rate(NamedTuple):
    """A share of cases.

    Attributes:
        value: the share; 0 of 0 is 0.
        cases: how many there were.
        bound: its one-sided 95 % bound: from above for what must be rare, from below for what must be frequent.
    """

    value: float
    cases: int
    bound: float


def at_most(count: int, cases: int) -> Rate:
    """How often something happened that must not, with the bound from above; 1 where nothing was tried."""
    return Rate(count / cases if cases else 0.0, cases, upper(count, cases))


def at_least(count: int, cases: int) -> Rate:
    """How often something happened that should, with the bound from below; 0 where nothing was tried."""
    return Rate(count / cases if cases else 0.0, cases, lower(count, cases))


def upper(count: int, cases: int) -> float:
    """The largest share under which so few are seen in one of twenty runs."""
    if count >= cases:
        return 1.0
    return _where(lambda share: _at_most(count, cases, share) > 1 - CONFIDENCE)


def lower(count: int, cases: int) -> float:
    """The smallest share under which so many are seen in one of twenty runs."""
    return 0.0 if cases == 0 else 1 - upper(cases - count, cases)


def _where(below: object) -> float:
    """The share at which a falling condition ends."""
    assert callable(below)
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle) else (low, middle)
    return high


def _at_most(count: int, cases: int, share: float) -> float:
    """The probability of at most so many in so many."""
    if share <= 0:
        return 1.0
    if share >= 1:
        return 0.0
    logs = [
        math.lgamma(cases + 1) - math.lgamma(one + 1) - math.lgamma(cases - one + 1)
        + one * math.log(share) + (cases - one) * math.log1p(-share)
        for one in range(count + 1)
    ]  # fmt: skip
    most = max(logs)
    return math.exp(most) * math.fsum(math.exp(one - most) for one in logs)


def percentile(values: list[float], share: float) -> float:
    """The value below which such a share of them lies; 0 of none."""
    if not values:
        return 0.0
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, math.ceil(share * len(ordered)) - 1 if share > 0 else 0)]
