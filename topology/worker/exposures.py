"""What a worker says in its log of the policy in force: where one party alone could have something admitted.

`sluice policy check` warns of the same, but a worker may be started without that check, and the ledger may be under
another policy than the file. Nothing is decided here.
"""

from __future__ import annotations

import structlog

from ...streams.policy.policy import Policy

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class Exposures:
    """Tells the exposures of each policy, and which of its keys count for nothing: once, a line each, whichever lane it
    comes into force in first."""

    def __init__(self) -> None:
        self._reported: set[str] = set()

    def apply(self, policy: Policy) -> None:
        """A policy is in force in a lane."""
        digest = policy.hash
        if digest in self._reported:
            return
        self._reported.add(digest)
        for path, sentence in policy.false_successors() + policy.exposures():
            log.warning(f"the policy's {path} {sentence}", policy=digest)
