"""Proposals: which checks a statement has, said by somebody else than the emitter (docs/checks.md).

A proposer is asked for several statements at once, with what stands before them; never with the contents of files. What
it proposes is data: checks that cannot be read are left out, and then the checks no longer say all of the statement.
Whether they do is decided elsewhere: a proposal without the signature of a listed proposer says at most a part.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, Protocol

import msgspec
from msgspec.structs import replace

from ..codecs.errors import UsageError
from ..codecs.records import MAX_CHECK_LENGTH, MAX_CHECKS
from ..codecs.times import format_time
from ..streams.judging.checks import Check, canonical, parse_check
from ..streams.judging.claim_forms import FORMS_VERSION, claim

MAX_FILE: Final = 100_000_000
"""Bytes of a file of proposals."""
_encode = msgspec.json.Encoder().encode


class Proposal(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which checks a statement has, and who says so.

    Attributes:
        by: the proposer's name.
        prompt: names what the proposer was told to do, so that another instruction is another proposal.
        at: when it was proposed, in UTC.
        checks: at most 20, as text.
        whole: they say all of the statement.
        left: what they do not say, or what of the proposal was left out; one sentence for a person.
        digest: of the emission that the signature is for; empty while nobody signed.
        signature: of the proposer's key; empty while nobody signed.
    """

    by: str
    prompt: str = ""
    at: str = ""
    checks: tuple[str, ...] = ()
    whole: bool = False
    left: str = ""
    digest: str = ""
    signature: str = ""


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

    def propose(self, statements: Sequence[str], context: Context) -> list[Proposal | None]:
        """The proposal for each statement, in their order; None where there is none."""
        ...


def key_of(statement: str, context: Context) -> str:
    """The name of a statement in its context: `sha256:` of both as JSON."""
    told = _encode([statement, context.before, context.paths])
    return f"sha256:{hashlib.sha256(told).hexdigest()}"


def readable(proposal: Proposal) -> Proposal:
    """A proposal with the checks that can be read, each once and canonical, at most 20; `left` tells of the others.

    Where any is left out the rest does not say all of the statement.
    """
    given = [text if len(text) <= MAX_CHECK_LENGTH else "" for text in proposal.checks[: 2 * MAX_CHECKS]]
    known = [canonical(check) for text in given if isinstance(check := parse_check(text), Check)]
    kept = tuple(text for text in dict.fromkeys(known) if len(text) <= MAX_CHECK_LENGTH)[:MAX_CHECKS]
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

    def propose(self, statements: Sequence[str], context: Context) -> list[Proposal | None]:
        """See `Proposer`."""
        del context  # a form takes the statement alone
        return [self._proposal(one) for one in statements]

    def _proposal(self, statement: str) -> Proposal | None:
        claimed = claim(statement)
        if claimed is None:
            return None
        prompt, at = f"forms:{FORMS_VERSION}", format_time(self._clock())
        left = "" if claimed.whole else "The sentence says more than its checks."
        return Proposal("form", prompt, at, claimed.checks, claimed.whole, left)


class _Row(msgspec.Struct):
    """A line of a file: the proposal for the statement of this key."""

    key: str
    proposal: Proposal


class FileProposer:
    """Proposals kept in a file: a JSON object a line, with `key` (see `key_of`) and `proposal`.

    Args:
        path: of the file.

    Raises:
        UsageError: it cannot be read, or is larger than `MAX_FILE`.
    """

    def __init__(self, path: str) -> None:
        try:
            with Path(path).open("rb") as file:
                data = file.read(MAX_FILE + 1)
        except OSError as error:
            raise UsageError(f"the proposals in {path} cannot be read: {error.strerror}") from None
        if len(data) > MAX_FILE:
            raise UsageError(f"the proposals in {path} have more than {MAX_FILE} bytes")
        lines = [line for line in data.split(b"\n") if line.strip()]
        self._kept: Mapping[str, Proposal] = dict(row for line in lines if (row := _row(line)) is not None)
        lost = sum(_row(line) is None for line in lines)
        self.left_out = f"{lost} of the {len(lines)} lines of {path} are no proposals." if lost else ""
        """One sentence on the lines that were left out; empty where none was."""

    def propose(self, statements: Sequence[str], context: Context) -> list[Proposal | None]:
        """See `Proposer`."""
        return [self._kept.get(key_of(one, context)) for one in statements]


def _row(line: bytes) -> tuple[str, Proposal] | None:
    try:
        row = msgspec.json.decode(line, type=_Row)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    return row.key, readable(row.proposal)


def proposer_of(written: str, clock: Callable[[], int]) -> Proposer:
    """The proposer that a setting names: `form`, or `file:` and a path.

    Args:
        written: the setting.
        clock: gives the present in Unix milliseconds.

    Raises:
        UsageError: there is no such proposer, or its file cannot be read.
    """
    kind, _, path = written.partition(":")
    if written == "form":
        return FormProposer(clock)
    if kind == "file" and path:
        return FileProposer(path)
    raise UsageError(f"there is no proposer {written}", expected="form, or file: and a path")
