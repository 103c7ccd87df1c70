"""What the claims of an identity provider allow a person: rules of the operator's. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ...codecs.errors import UsageError
from .access import SCOPES

ANYBODY = "*"


class Rule(NamedTuple):
    """Whoever has this value in this claim may do so much.

    Attributes:
        claim: its name, such as `groups`; dots go into objects (`realm_access.roles`).
        value: of the claim, or one of its list; `*` for any.
        scopes: that it gives.
    """

    claim: str
    value: str
    scopes: frozenset[str]


def parse_rule(text: str) -> Rule:
    """A rule as it is written: `CLAIM=VALUE:SCOPE[,SCOPE…]`.

    Raises:
        UsageError: it is none.
    """
    left, colon, right = text.rpartition(":")
    claim, equals, value = left.partition("=")
    scopes = frozenset(right.split(","))
    if not (colon and equals and claim and value) or not scopes <= frozenset(SCOPES):
        raise UsageError(
            "this is no rule",
            path="--oidc-allow",
            expected=f"CLAIM=VALUE:SCOPE[,SCOPE], each scope of {', '.join(SCOPES)}",
            got=text,
        )
    return Rule(claim, value, scopes)


def scopes_allowed(rules: Sequence[Rule], claims: Mapping[str, Any]) -> frozenset[str]:
    """All that the rules give for these claims."""
    found: frozenset[str] = frozenset()
    for rule in rules:
        values = _values(claims, rule.claim)
        if (rule.value == ANYBODY and values) or rule.value in values:
            found |= rule.scopes
    return found


def _values(claims: Mapping[str, Any], name: str) -> list[str]:
    """The texts of a claim; a boolean as JSON writes it."""
    found: Any = claims.get(name)
    if found is None:
        found = claims
        for part in name.split("."):
            found = found.get(part) if isinstance(found, dict) else None
    listed: list[Any] = found if isinstance(found, list) else [found]
    return [one if isinstance(one, str) else str(one).lower() for one in listed if isinstance(one, str | bool)]
