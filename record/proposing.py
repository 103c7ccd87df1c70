"""Proposals: which checks a statement has, said by somebody else than the emitter (docs/checks.md).

A proposer is asked for several statements at once, with what stands before them; never with the contents of files. What
it proposes is data: checks that cannot be read are left out, and then the checks no longer say all of the statement.
Whether they do is decided elsewhere: a proposal without the signature of a listed proposer says at most a part.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

import msgspec
from msgspec.structs import replace

from ..codecs.errors import UsageError
from ..codecs.records import MAX_CHECK_LENGTH, MAX_CHECKS, Proposal
from ..codecs.times import format_time, parse_time
from ..streams.judging.checks import Check, canonical, parse_check
from ..streams.judging.claim_forms import FORMS_VERSION, claim

MAX_FILE: Final = 100_000_000
"""Bytes of a file of proposals."""
BY_FORM: Final = "form"
"""In place of a proposer's name: a claim form."""
_NO_DIGEST: Final = "sha256:" + 64 * "0"
_encode = msgspec.json.Encoder().encode


class Context(NamedTuple):
    """What a proposer is told beside the statements.

    Attributes:
        before: the sentences before them.
        paths: that the session read.
    """

    before: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()


class Proposer(Protocol):
    """Says which checks statements have."""

    names: frozenset[str]
    """Under which it proposes and may say that checks are all of a statement."""

    def propose(self, statements: Sequence[str], context: Context, digest: str) -> list[Proposal | None]:
        """The proposal for each statement of an emission (by digest), in order, unsigned; None where there is none."""
        ...


def key_of(statement: str, context: Context) -> str:
    """The name of a statement in its context: `sha256:` of both as JSON."""
    told = _encode([statement, context.before, context.paths])
    return f"sha256:{hashlib.sha256(told).hexdigest()}"


def readable(proposal: Proposal) -> Proposal:
    """A proposal with the checks that can be read, each once and canonical; `left` tells of the others.

    Where any is left out the rest does not say all of the statement.
    """
    given = [text if len(text) <= MAX_CHECK_LENGTH else "" for text in proposal.checks[: 2 * MAX_CHECKS]]
    known = [canonical(check) for text in given if isinstance(check := parse_check(text), Check)]
    kept = [text for text in dict.fromkeys(known) if len(text) <= MAX_CHECK_LENGTH][:MAX_CHECKS]
    lost = len(proposal.checks) - len(known) + len(set(known)) - len(kept)
    if not lost:
        return replace(proposal, checks=kept, whole=proposal.whole and bool(kept))
    checks = "1 check" if lost == 1 else f"{lost} checks"
    return replace(proposal, checks=kept, whole=False, left=f"{checks} of the proposal cannot be read.")


class FormProposer:
    """Proposes the checks of claim forms; asks no model.

    Args:
        clock: gives the present in Unix milliseconds.
    """

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self.names: frozenset[str] = frozenset()
        """Without any: that a form says all of a statement is told by observers, without a signature."""

    def propose(self, statements: Sequence[str], context: Context, digest: str) -> list[Proposal | None]:
        """See `Proposer`."""
        del context  # a form takes the statement alone
        return [self._proposal(statement, digest) for statement in statements]

    def _proposal(self, statement: str, digest: str) -> Proposal | None:
        claimed = claim(statement)
        if claimed is None:
            return None
        prompt, at = f"forms:{FORMS_VERSION}", format_time(self._clock())
        left = "" if claimed.whole else "The sentence says more than its checks."
        return Proposal(BY_FORM, at, digest, prompt, list(claimed.checks), claimed.whole, left)


class _Row(msgspec.Struct):
    """A line of a file: the members of the proposal for the statement of this key."""

    key: str
    proposal: dict[str, Any]


class FileProposer:
    """Proposals kept in a file: a JSON object a line, with `key` (see `key_of`) and `proposal`.

    A proposal needs `by`, `checks` and `whole`; `at` is the time of reading where it is left out. Its `digest` and
    `signature` are not read: they are of another emission.

    Args:
        path: of the file.
        clock: gives the present in Unix milliseconds.

    Raises:
        UsageError: it cannot be read, or is larger than `MAX_FILE`.
    """

    def __init__(self, path: str, clock: Callable[[], int]) -> None:
        try:
            with Path(path).open("rb") as file:
                data = file.read(MAX_FILE + 1)
        except OSError as error:
            raise UsageError(f"the proposals in {path} cannot be read: {error.strerror}") from None
        if len(data) > MAX_FILE:
            raise UsageError(f"the proposals in {path} have more than {MAX_FILE} bytes")
        lines = [line for line in data.split(b"\n") if line.strip()]
        at = format_time(clock())
        read = [_row(line, at) for line in lines]
        self._kept = dict(row for row in read if row is not None)
        self.names = frozenset(proposal.by for proposal in self._kept.values())
        lost = read.count(None)
        self.left_out = f"{lost} of the {len(lines)} lines of {path} are no proposals." if lost else ""
        """One sentence on the lines that were left out; empty where none was."""

    def propose(self, statements: Sequence[str], context: Context, digest: str) -> list[Proposal | None]:
        """See `Proposer`."""
        kept = (self._kept.get(key_of(statement, context)) for statement in statements)
        return [None if proposal is None else replace(proposal, digest=digest) for proposal in kept]


def _row(line: bytes, at: str) -> tuple[str, Proposal] | None:
    try:
        row = msgspec.json.decode(line, type=_Row)
        proposal = msgspec.convert({"at": at, **row.proposal, "digest": _NO_DIGEST, "signature": None}, Proposal)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    is_one = proposal.by != BY_FORM and parse_time(proposal.at) is not None
    return (row.key, readable(proposal)) if is_one else None


def proposer_of(written: str, clock: Callable[[], int]) -> FormProposer | FileProposer:
    """The proposer that a setting names: `form`, or `file:` and a path. The clock gives Unix milliseconds.

    Raises:
        UsageError: there is no such proposer, or its file cannot be read.
    """
    kind, _, path = written.partition(":")
    if written == BY_FORM:
        return FormProposer(clock)
    if kind == "file" and path:
        return FileProposer(path, clock)
    raise UsageError(f"there is no proposer {written}", expected="form, or file: and a path")
