"""The checkpoint keys that a policy's file lists, for commands that check signatures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...codecs.errors import UsageError
from .filter_commands import read_policy

if TYPE_CHECKING:
    from ..checkpoints.trust import TrustedKey

if TYPE_CHECKING:
    from ..checkpoints.trust import TrustedKey


def listed_keys(policy_file: str) -> Sequence[TrustedKey]:
    """The checkpoint keys of a policy's file.

    Raises:
        UsageError: the file cannot be read, is no policy, or lists no such key.
    """
    from ..checkpoints.trust import listed

    keys = listed(read_policy(policy_file))
    if not keys:
        raise UsageError("the policy lists no key for checkpoints", path=policy_file, expected="[checkpoints.keys]")
    return keys
