"""What a body of the intake holds: one record or JSON Lines, each valid as `sluice produce` has it, or why not.

Pure: bytes in, records or refusals out. A body is taken as a whole: where one line is refused, none is sent, so that
whoever posted it mends that line and posts the same body again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from hashlib import sha256
from itertools import islice
from typing import Any, Final, NamedTuple

import msgspec

from ...codecs.errors import Fault
from ...codecs.not_json import repeated_member
from ...codecs.records import Emission
from ..kafka.input_records import Prepared, prepare_read

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


class Taken(NamedTuple):
    """A record that may be sent.

    Attributes:
        id: what the answer calls it.
        prepared: as it goes to Kafka.
        identity: what makes it the same record: of an emission its id and attempt, of others all of it.
        digest: of what was posted, whatever its white space and order: the same identity with another digest is a
            conflict.
        statements: how many it makes.
    """

    id: str
    prepared: Prepared
    identity: bytes
    digest: bytes
    statements: int = 1


class Refused(NamedTuple):
    """Why a line is not valid.

    Attributes:
        line: its number, from 1.
        reason: of the closed list of dead letters.
        path: JSONPath of the member, `$` for the record.
        expected, got: in words; `got` is shortened.
    """

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
) -> list[Taken] | list[Refused]:
    """The records of a body, or every line that is none.

    Args:
        body: as it was posted.
        media_type: its Content-Type. JSON Lines by name are read line by line; anything else is one record, or JSON
            Lines where it is no single JSON value.
        topic: the logical name of an input topic.
        now: the present time in Unix milliseconds, for an emission without `emitted_at`.
        headers: of the Kafka records.
    """
    taken: list[Taken] = []
    refused: list[Refused] = []
    records = list(islice(_records(body, media_type), MAX_RECORDS + 1))
    if len(records) > MAX_RECORDS:
        return [Refused(records[-1][0], "oversize", "$", f"at most {MAX_RECORDS} records in a request", "more")]
    for number, line in records:
        one = _read(number, line, topic, now, headers)
        if isinstance(one, Taken):
            taken.append(one)
        else:
            refused.append(one)
    if not records:
        return [Refused(1, "not-json", "$", "a JSON object, or a line of JSON for each record", "nothing")]
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


def _read(number: int, line: bytes, topic: str, now: int, headers: tuple[tuple[str, bytes], ...]) -> Taken | Refused:
    read = prepare_read(line, topic, now)
    if isinstance(read, Fault):
        return refusal_of(number, read)
    if (repeated := repeated_member(line)) is not None:  # readers differ in which of the two they take
        return Refused(number, "schema", "$", "each member once in an object", f"{repeated[:80]!r} twice")
    prepared, record = read
    statements = len(record.assertions or ()) if isinstance(record, Emission) else 1
    posted: Any = _object.decode(line)
    digest = sha256(_sorted.encode(posted)).digest()
    identity = f"{prepared.topic} {posted[_ID[topic]]} ".encode()
    if topic == "emissions":
        identity += str(posted.get("attempt", 0)).encode()
    else:
        identity += digest  # many may speak of one id
    return Taken(str(posted[_ID[topic]]), prepared._replace(headers=headers), identity, digest, statements)


def refusal_of(number: int, fault: Fault) -> Refused:
    """A fault with its sentence taken apart into path, expected and got."""
    if parts := _DETAIL.fullmatch(fault.detail):
        return Refused(number, fault.reason, parts["path"], parts["expected"], parts["got"])
    expected = "JSON" if fault.reason == "not-json" else "a record that the lanes take"
    if parts := _SAID.fullmatch(fault.detail):
        return Refused(number, fault.reason, parts["path"], expected, parts["got"])
    return Refused(number, fault.reason, "$", expected, fault.detail)


def refusal_body(refused: list[Refused]) -> dict[str, Any]:
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
