"""Who owned a lane when: the claims that stand between its blocks, held against those (codecs/ledger_statements.py).

Pure: records and blocks in, divergences out.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence

import msgspec
from msgspec import UNSET

from ...codecs.blocks import Header
from ...codecs.errors import DoesNotHoldError, cut
from ...codecs.ledger_statements import SignedClaim, is_claim, read_claim
from ...codecs.notes import Verifier, signers_of
from ...streams.policy.keys import Key
from ..engine.export_files import Stored
from .divergences import Divergence, Findings


class Ownership(msgspec.Struct, kw_only=True):
    """One claim of a lane, and the blocks that were written under it.

    Attributes:
        worker, member, generation, package, claimed_at, app_id: as the claim says.
        first, last: the heights of the first and the last of them; -1 where there is none.
    """

    offset: int  # of the claim in the ledger
    hash: str  # of the claim, as block headers name it
    worker: str
    member: str
    generation: int
    package: str
    claimed_at: str
    at: int  # the broker's time for it, Unix ms
    app_id: str = ""
    signed_by: list[str] = []  # of the keys that were named, those that signed it
    blocks: int = 0  # how many name it
    first: int = -1
    last: int = -1


KnownKey = tuple[str, Key | None]
"""A verifier as text, and the time in which it counts; None: always. It passes between processes."""


class OwnershipCheck:
    """The claims of one lane's ledger.

    Attributes:
        found: in the order of the ledger.
        unverified: of these, the ones that are signed by none of the keys that were named.
    """

    def __init__(self, findings: Findings, lane: int, ledger: str, name: str, known: Sequence[KnownKey]) -> None:
        """`ledger` is the logical name of the topic, `name` its full one: the first claim of it names the lane's log.

        `known`: whose signatures are believed; empty: none is checked.
        """
        self._findings, self._lane, self._ledger, self._origin = findings, lane, ledger, ""
        self._log = f"/{name}/{lane}"
        self._known = {(one.name, one.id): (one, key) for text, key in known for one in [Verifier.parse(text)]}
        self.found: list[Ownership] = []
        self.unverified = 0
        self._counting: list[Ownership] = []  # a stranger's claim takes the lane from nobody
        self._by_hash: dict[str, Ownership] = {}
        self._strangers: dict[str, Divergence] = {}

    def pass_over(self, batch: Sequence[Stored]) -> Sequence[Stored]:
        """The records of a batch that are no claims; claims are taken in."""
        claims = [record for record in batch if is_claim(record.key)]
        if not claims:
            return batch
        for record in claims:
            self._take(record)
        return [record for record in batch if not is_claim(record.key)]

    def _take(self, record: Stored) -> None:
        place = f"{self._ledger}/{self._lane}/{record.offset}"
        try:
            signed = read_claim(record.value)
            signed_by = self._signers(signed, record.timestamp)
            is_ours = signed.claim.lane == self._lane and signed.origin.endswith(self._log)
            if record.headers or not is_ours or self._origin not in ("", signed.origin):
                raise DoesNotHoldError(
                    "the claim is of another lane's log, or its record has headers",
                    expected=self._origin or f"…{self._log}",
                    got=signed.origin,
                )
        except DoesNotHoldError as error:
            self._findings.add("claim-signature", error.what, place=place, expected=error.expected, got=error.got)
            return
        if signed.hash in self._by_hash:
            self._findings.add("claim-order", "the claim stands in the ledger again", place=place, got=signed.hash)
            return
        claim = signed.claim
        if self._known and not signed_by:
            self._tell_stranger(signed, place)
        own = Ownership(
            offset=record.offset,
            hash=signed.hash,
            worker=claim.worker,
            member=claim.member,
            generation=claim.generation,
            package=claim.package,
            claimed_at=claim.claimed_at,
            at=record.timestamp,
            app_id=claim.app_id or "",
            signed_by=[str(one) for one in signed_by],
        )
        self.found.append(own)
        if signed_by or not self._known:
            self._counting.append(own)
            self._origin = self._origin or signed.origin
        self._by_hash[signed.hash] = own

    def _signers(self, signed: SignedClaim, at: int) -> Sequence[Verifier]:
        """The named keys that signed a claim; raises where a signature does not hold, or its key did not count then."""
        if signed.note is None:
            return ()
        named = [one for one in signed.note.signatures if (one.name, one.key_id) in self._known]
        if not named:
            return ()
        signers = signers_of(signed.note, [one for one, _ in self._known.values()])
        # Not by the claim's own time, which whoever has a stolen key can choose.
        if not any((key := self._known[one.name, one.id][1]) is None or key.counts_at(at) for one in signers):
            names = ", ".join(map(str, signers))
            raise DoesNotHoldError("a claim is signed with a key whose time is over, or has not begun", got=names)
        return signers

    def _tell_stranger(self, signed: SignedClaim, place: str) -> None:
        self.unverified += 1
        signatures = () if signed.note is None else signed.note.signatures
        who = cut(" and ".join(f"{one.name}+{one.key_id.hex()}" for one in signatures)) or "nobody"
        if (told := self._strangers.get(who)) is not None:
            told.count += 1
        else:
            named = f"{who}, which was not named; name it with --key if you trust it" if signatures else who
            sentence = f"claims of lane {self._lane} are signed by {named}"
            self._strangers[who] = self._findings.add("claim-signature", sentence, place=place)

    def identified(self, ledger_id: str) -> None:
        """The first block names the ledger: the claims before it must be of that one."""
        expected = f"{ledger_id}{self._log}"
        if self._origin not in ("", expected):
            text = "the claims are of another ledger than the first block"
            place = f"{self._ledger}/{self._lane}"
            self._findings.add("claim-signature", text, place=place, expected=expected, got=self._origin)
        self._origin = expected

    def judge(self, header: Header, offset: int) -> None:
        """A block of the chain, and where it stands: no claim that counts lies between it and the one that it names."""
        before = bisect_left(self._counting, offset, key=lambda one: one.offset)
        newest = self._counting[before - 1] if before else None
        place = f"{self._ledger}/{self._lane}/{offset}"
        if header.claim is UNSET:
            if newest is not None:
                self._out_of_order(header, place, newest, "none")
            return
        own = self._by_hash.get(header.claim)
        if own is None:
            self._findings.add(
                "claim-missing",
                "the claim under which the block was written is not there",
                height=header.height,
                place=place,
                expected=header.claim,
                got="none",
                time=header.time,
            )
            return
        own.blocks += 1
        own.first = header.height if own.first < 0 else own.first
        own.last = header.height
        if own.offset > offset or (newest is not None and newest.offset > own.offset):
            self._out_of_order(header, place, newest, header.claim)

    def _out_of_order(self, header: Header, place: str, newest: Ownership | None, got: str) -> None:
        self._findings.add(
            "claim-order",
            "the block does not name the newest claim before it: somebody wrote who did not own the lane",
            height=header.height,
            place=place,
            expected="a claim before it" if newest is None else newest.hash,
            got=got,
            time=header.time,
        )


LISTED = 10
"""So many of a lane's claims are told in the text and on the page; the data have all."""


def listed(claims: Sequence[Ownership]) -> Iterator[tuple[str, ...]]:
    """The newest claims of a lane as rows of `COLUMNS`, the newest last."""
    for one in claims[-LISTED:]:
        blocks = f"{one.first:,} to {one.last:,}" if one.blocks else "none"
        yield (
            one.claimed_at,
            one.app_id,
            one.worker,
            f"{one.generation:,}",
            one.package,
            blocks,
            ", ".join(one.signed_by),
        )


COLUMNS = ("claimed at", "application", "worker", "generation", "package", "blocks", "signed by")
