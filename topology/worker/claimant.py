"""What a lane claims its ledger with: who this worker is, in its group and by its key (codecs/lane_claims.py)."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from typing import NamedTuple

from ...codecs.lane_claims import Claim, write_claim
from ...codecs.notes import Signer
from ...codecs.times import format_time
from ..kafka.claiming import Member
from ..settings.clock import now_ms


class Draft(NamedTuple):
    """A claim that is not written yet, and the member in whose name it is written."""

    value: bytes
    member: Member


class Claimant:
    """Drafts the claims of one lane.

    Args:
        lane: the partition number.
        origin: the name of the lane's log.
        worker: this worker's name, for people.
        package: its version.
        signer: its key; None: it has none, and claims stand unsigned.
        member: says who it is in its group now; raises `NotAMemberError` where it is nobody.
        clock: the wall clock, Unix ms.
        app_id: the application's name.
    """

    def __init__(
        self,
        lane: int,
        origin: str,
        worker: str,
        package: str,
        signer: Signer | None,
        member: Callable[[], Member],
        clock: Callable[[], int] = now_ms,
        app_id: str = "",
    ) -> None:
        self._app_id = app_id
        self._lane, self._origin, self._worker, self._package = lane, origin, worker, package
        self._signer, self._ask_member, self._clock = signer, member, clock

    def member(self) -> Member:
        """Who this worker is in its group now.

        Raises:
            NotAMemberError: it is no member.
        """
        return self._ask_member()

    def draft(self) -> Draft:
        """A claim as of now.

        Raises:
            NotAMemberError: the worker is no member of its group.
        """
        member = self.member()
        claim = Claim(
            lane=self._lane,
            worker=self._worker,
            member=member.member,
            generation=member.generation,
            package=self._package,
            claimed_at=format_time(self._clock()),
            app_id=self._app_id,
        )
        return Draft(write_claim(claim, self._origin, self._signer), member)


def worker_name(instance: str | None) -> str:
    """A worker's name for people: the static member's, or that of its host and process."""
    return instance or f"{socket.gethostname()}-{os.getpid()}"
