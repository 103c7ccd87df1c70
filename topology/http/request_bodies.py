"""What a body of the intake holds: one record or JSON Lines, each valid as `sluice produce` has it, or why not.

A body is taken as a whole: where one line is refused, none is sent, so that the client mends that line and posts the
same body again. Large bodies are read in a process of their own, which imports this module: it imports little.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import re
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from hashlib import sha256
from itertools import islice
from typing import Any, Final, NamedTuple

import msgspec

from ...codecs.errors import Fault, UnreachableError
from ...codecs.json_text import repeated_member
from ...codecs.records import Emission
from ..kafka.input_records import Prepared, prepare_read
from ..settings.process import bind_to_parent

MAX_RECORDS: Final = 10_000
"""Of one request."""
MAX_TOLD: Final = 100
"""So many refused lines are told; the count is told in any case."""
_DETAIL: Final = re.compile(r"(?P<path>\$\S*): expected (?P<expected>.*), got (?P<got>.*)", re.DOTALL)
_SAID: Final = re.compile(r"(?P<path>\$\S*): (?P<got>.*)", re.DOTALL)
"""A sentence that names no expectation."""
_LINES: Final = ("ndjson", "jsonl", "json-lines", "jsonlines", "json-seq")
_object = msgspec.json.Decoder()
_sorted = msgspec.json.Encoder(order="sorted")
_ID: Final = {"emissions": "emission_id", "observations": "observation_id", "attestations": "claim_hash"}


class TakenRecord(NamedTuple):
    """A record that may be sent.

    Attributes:
        id: what the answer calls it.
        prepared: as it goes to Kafka.
        identity: what makes it the same record: of an emission its id and attempt, of others all of it.
        digest: of what was posted, whatever its white space and order: the same identity with another one is a
            conflict.
        statements: how many it makes.
    """

    id: str
    prepared: Prepared
    identity: bytes
    digest: bytes
    statements: int = 1


class RefusedLine(NamedTuple):
    """Why a line is not valid: its number from 1, the reason of a dead letter, the member's JSONPath, two sentences."""

    line: int
    reason: str
    path: str
    expected: str
    got: str

    @property
    def sentence(self) -> str:
        """All of it."""
        return f"line {self.line}: {self.path}: expected {self.expected}, got {self.got}"


def read_body(
    body: bytes, media_type: str, topic: str, now: int, headers: tuple[tuple[str, bytes], ...] = ()
) -> list[TakenRecord] | list[RefusedLine]:
    """The records of a body, or every line that is none.

    JSON Lines by their media type are read line by line; anything else is one record, or JSON Lines where it is no
    single JSON value. `now` (Unix ms) is for an emission without `emitted_at`; the Kafka records get the headers.
    """
    taken: list[TakenRecord] = []
    refused: list[RefusedLine] = []
    records = list(islice(_records(body, media_type), MAX_RECORDS + 1))
    if len(records) > MAX_RECORDS:
        return [RefusedLine(records[-1][0], "oversize", "$", f"at most {MAX_RECORDS} records in a request", "more")]
    for number, line in records:
        one = _read(number, line, topic, now, headers)
        if isinstance(one, TakenRecord):
            taken.append(one)
        else:
            refused.append(one)
    if not records:
        return [RefusedLine(1, "not-json", "$", "a JSON object, or a line of JSON for each record", "nothing")]
    return refused or taken


def _records(body: bytes, media_type: str) -> Iterator[tuple[int, bytes]]:
    """Each record with the number of its line."""
    lines = body.split(b"\n")
    by_name = any(name in media_type.lower() for name in _LINES)
    if not by_name and (sum(1 for line in lines if line.strip()) <= 1 or _is_json(body)):
        if body.strip():
            yield 1, body.strip()
        return
    for number, line in enumerate(lines, 1):
        if stripped := line.strip():
            yield number, stripped


def _is_json(body: bytes) -> bool:
    try:
        msgspec.json.decode(body, type=msgspec.Raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    return True


def _read(
    number: int, line: bytes, topic: str, now: int, headers: tuple[tuple[str, bytes], ...]
) -> TakenRecord | RefusedLine:
    read = prepare_read(line, topic, now)
    if isinstance(read, Fault):
        return refusal_of(number, read)
    if (repeated := repeated_member(line)) is not None:  # readers differ in which of the two they take
        return RefusedLine(number, "schema", "$", "each member once in an object", f"{repeated[:80]!r} twice")
    prepared, record = read
    statements = len(record.assertions or ()) if isinstance(record, Emission) else 1
    posted: Any = _object.decode(line)
    digest = sha256(_sorted.encode(posted)).digest()
    identity = f"{prepared.topic} {posted[_ID[topic]]} ".encode()
    if topic == "emissions":
        identity += str(posted.get("attempt", 0)).encode()
    else:
        identity += digest  # many may speak of one id
    return TakenRecord(str(posted[_ID[topic]]), prepared._replace(headers=headers), identity, digest, statements)


def refusal_of(number: int, fault: Fault) -> RefusedLine:
    """A fault with its sentence taken apart into path, expected and got."""
    if parts := _DETAIL.fullmatch(fault.detail):
        return RefusedLine(number, fault.reason, parts["path"], parts["expected"], parts["got"])
    expected = "JSON" if fault.reason == "not-json" else "a record that the lanes take"
    if parts := _SAID.fullmatch(fault.detail):
        return RefusedLine(number, fault.reason, parts["path"], expected, parts["got"])
    return RefusedLine(number, fault.reason, "$", expected, fault.detail)


def refusal_body(refused: list[RefusedLine]) -> dict[str, Any]:
    """The answer 422: the first refusal at the top, all of them below."""
    first = refused[0]
    return {
        "error": first.sentence,
        "path": first.path,
        "expected": first.expected,
        "got": first.got,
        "line": first.line,
        "reason": first.reason,
        "refused": len(refused),
        "errors": [one._asdict() for one in refused[:MAX_TOLD]],
    }


READ_AT_ONCE: Final = 16_384
"""Bytes of a body that is read on the event loop."""
LINES_AT_ONCE: Final = 16
"""Lines of such a body: a line costs up to 0.1 ms, however short it is."""


class BodyReader:
    """Reads bodies: short ones at once, others in a process, one after the other.

    A thread would not do: it shares the interpreter's lock, which a decoder keeps for as long as a large body takes.
    """

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None

    def start(self) -> None:
        """Starts the process, so that the first large body need not wait for it."""
        self._opened().submit(read_body, b"", "", "emissions", 0)

    async def read(
        self, body: bytes, media_type: str, topic: str, now: int, headers: tuple[tuple[str, bytes], ...]
    ) -> list[TakenRecord] | list[RefusedLine]:
        """As `read_body`.

        Raises:
            UnreachableError: the process was killed; the next body gets a new one.
        """
        asked = (body, media_type, topic, now, headers)
        if len(body) <= READ_AT_ONCE and body.count(b"\n") <= LINES_AT_ONCE:
            return read_body(*asked)
        pool = self._opened()
        try:
            return await asyncio.get_running_loop().run_in_executor(pool, read_body, *asked)
        except BrokenProcessPool:
            if self._pool is pool:
                self._pool = None
            raise UnreachableError("the process that reads bodies was killed, perhaps for want of memory") from None

    def close(self) -> None:
        """Ends the process; bodies that wait for it are not read."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None

    def _opened(self) -> ProcessPoolExecutor:
        if self._pool is None:
            self._pool = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), bind_to_parent)
        return self._pool
