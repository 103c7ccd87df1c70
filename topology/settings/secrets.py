"""The secrets of a process, from its settings: what identifiers are hashed with (streams/policy/privacy.py)."""

from __future__ import annotations

from ...streams.policy.privacy import Secret, Secrets
from .settings import Settings


def secrets_of(settings: Settings) -> Secrets:
    """The secret of `privacy_secret` for new blocks, and those of `former_privacy_secrets` for blocks from before."""
    current = settings.privacy_secret
    former = (settings.former_privacy_secrets or "").splitlines()
    return Secrets(None if current is None else Secret(current), [Secret(one) for one in former if one])
