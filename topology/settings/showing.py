"""Untrusted text, checks, times and amounts as a terminal shows them, and the styles of statuses."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol, cast

import msgspec

from ...codecs import times

HELD: Final = ("admitted", "renewed")
"""Statuses that say of an assertion that it is admitted."""
WORDS: Final = "in the emitter's words"
"""Before the prose, where something else stands for what is admitted."""
WORDS_ALONE: Final = "its words are there; what it says of them was not checked"
"""Of `terms-present`, and of the reason `not-checked`, wherever a person reads it."""

NOTHING: Final = "nothing verified"
ENDED: Final = "no longer admitted"
_BY_BASIS: Final[Mapping[str, str]] = {
    "review": "a reviewer admitted",
    "declaration": "declared by the emitter",
    "corroboration": "borne out, not checked",
}
"""What an admission rests on that has no sentence of an observer's."""
_BY_REASON: Final[Mapping[str, str]] = {"review": "a reviewer refused", "not-checked": WORDS_ALONE}
_REFUSED: Final[Mapping[str, str]] = {"emitter": "declined", "policy": "withheld by the policy"}


class ShownBasis(NamedTuple):
    """What of a record is shown first, and the prose.

    Attributes:
        sentences: what observers verified, one for each check; empty where nothing was.
        mark: where there are none, in our words, what the prose rests on; it stands before a colon.
        prose: the emitter's words as the record shows them; empty where it has none.
    """

    sentences: Sequence[str] = ()
    mark: str = NOTHING
    prose: str = ""

    @property
    def before_prose(self) -> str:
        """What says whose words the prose is."""
        return WORDS if self.sentences else self.mark


def basis_of(value: Mapping[str, Any]) -> ShownBasis:
    """What a record on `admitted`, `inadmissible` or one of the requests tells; whatever its members are."""
    frame = value.get("_untrusted_text")
    members: Mapping[str, Any] = cast("Mapping[str, Any]", frame) if isinstance(frame, dict) else {}
    prose = members.get("assertion")
    rendered = _texts(members.get("rendered"))
    status, basis, reason = (_word(value, name) for name in ("status", "basis", "reason"))
    closed = "disposition" not in value
    sentences, mark = basis_from(status, basis, reason, rendered, _counts(value), closed=closed, seen=_classes(value))
    return ShownBasis(sentences, mark, prose if isinstance(prose, str) else "")


def basis_from(
    status: str,
    basis: str,
    reason: str,
    rendered: Sequence[str],
    counts: Sequence[int],
    *,
    closed: bool,
    seen: int,
) -> tuple[Sequence[str], str]:
    """The sentences and the mark of a decision.

    Args:
        status, basis, reason: of the record; empty where it has none.
        rendered: in the frame.
        counts: of the checks that were verified, by how many classes each, in the order of `rendered`.
        closed: it stands on `admitted`, so that a status that does not admit ends an admission.
        seen: how many classes bear it out.
    """
    if status in HELD:
        if rendered and basis == "corroboration":
            return rendered, ""
        return (), _BY_BASIS.get(basis, NOTHING)
    if status == "refused":
        return (), _REFUSED.get(basis, "declined")
    if reason in _BY_REASON:
        return (), _BY_REASON[reason]
    if closed:
        return (), ENDED
    if rendered:
        return [f"{_by(counts, place)}, not admitted: {one}" for place, one in enumerate(rendered)], ""
    return (), f"borne out by {classes(seen)}, not checked" if seen else NOTHING


def _by(counts: Sequence[int], place: int) -> str:
    return f"verified by {classes(counts[place])}" if place < len(counts) else "verified"


def classes(number: int) -> str:
    """A number of classes, in words."""
    return f"{number} class" + ("" if number == 1 else "es")


def _word(value: Mapping[str, Any], name: str) -> str:
    found = value.get(name)
    return found if isinstance(found, str) else ""


def _texts(value: Any) -> list[str]:
    found = cast("list[Any]", value) if isinstance(value, list) else []
    return [one for one in found if isinstance(one, str)]


def _classes(value: Mapping[str, Any]) -> int:
    found = value.get("classes")
    return len(cast("list[Any]", found)) if isinstance(found, list) else 0


def _counts(value: Mapping[str, Any]) -> list[int]:
    """By how many classes each check was verified, of those that were."""
    found = value.get("checks")
    counts = [
        cast("dict[str, Any]", one).get("classes") if isinstance(one, dict) else None
        for one in (cast("list[Any]", found) if isinstance(found, list) else [])
    ]
    return [one for one in counts if isinstance(one, int) and one > 0]


STYLES = {
    "admitted": "green",
    "renewed": "green",
    "refused": "cyan",
    "unannotated": "dim",
    "unverified-inference": "yellow",
    "below-floor": "yellow",
    "decayed-to-uncertainty": "magenta",
    "contradicted": "red",
    "rejected": "red",
    "discarded": "dim",
}


OUTPUT_TOPICS = (
    *("admitted", "inadmissible", "review-requests", "re-emission-requests"),
    *("verdicts", "grounded", "dead-letters"),
)
DECIDED = OUTPUT_TOPICS[:4]
"""The topics whose records are decisions about assertions: they have a status."""
_CLOSING = frozenset({"decayed-to-uncertainty", "contradicted", "rejected"})
"""The words on `admitted` after which an assertion is admitted no more."""

_NOT_PLAIN = re.compile(r"[^\x20-\x7e]+")
_OBEYED = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})
"""Unicode categories that act instead of being seen: controls, format characters (bidi, zero width), separators; and
private use, which only those see who agreed on it."""
_LINE_ENDS = re.compile(r"[\r\n\t]+")


def escaped(text: str) -> str:
    """The text with every character as `\\uXXXX` that acts instead of being seen, or for which nothing is drawn.

    So are combining marks past the eighth of a row, and those at the beginning of the text. The one variation selector
    behind an emoji stays. In JSON text this changes nothing: such characters stand within strings only, and an escape
    there means the same character.
    """
    return _NOT_PLAIN.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    # Read when there is something to escape: the tables take a good part of a command's start.
    from ...codecs.unicode_text import UNSEEN, shown

    def shows(character: str) -> bool:
        return unicodedata.category(character) not in _OBEYED and character not in UNSEEN

    before = match.string[max(match.start() - 1, 0) : match.start()]
    seen, out = list(shown(before + match[0], shows))[len(before) :], list[str]()
    for character, is_shown in zip(match[0], seen, strict=True):
        if is_shown:
            out.append(character)
        else:
            units = character.encode("utf-16-be", "surrogatepass")
            out += (f"\\u{int.from_bytes(units[at : at + 2], 'big'):04x}" for at in range(0, len(units), 2))
    return "".join(out)


class Record(Protocol):
    """A record of an output topic."""

    @property
    def topic(self) -> str:
        """The topic's full name."""
        ...

    @property
    def partition(self) -> int:
        """The partition's number."""
        ...

    @property
    def offset(self) -> int:
        """Where it stands there."""
        ...

    @property
    def key(self) -> bytes | None:
        """Its key."""
        ...

    @property
    def value(self) -> bytes | None:
        """Its value."""
        ...

    @property
    def headers(self) -> Sequence[tuple[str, bytes | None]]:
        """Its headers, in order; a value may be null, as in Kafka."""
        ...


class Shown(NamedTuple):
    """One record as far as readers need it: the JSON text to print, its parsed value, and whether it was JSON."""

    key: bytes | None
    json: str
    value: dict[str, Any]
    is_json: bool = True


def parse(topic: str, record: Record) -> Shown:
    """A record of an output topic; what is not a JSON object becomes one that says so, with the raw text.

    A dead letter is shown as its reason, detail, source, key and raw value.
    """
    raw = record.value or b""
    if topic == "dead-letters":
        return _own(record, _dead_letter(record), True)
    try:
        value = msgspec.json.decode(raw)
        text = raw.decode()
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        value, text = None, ""
    if not isinstance(value, dict):
        source = f"{record.topic}/{record.partition}/{record.offset}"
        return _own(record, {"error": {"reason": "not-json", "detail": source}, "raw": _readable(raw)}, False)
    return Shown(record.key, escaped(_LINE_ENDS.sub(" ", text)), cast("dict[str, Any]", value))


def _own(record: Record, value: dict[str, Any], is_json: bool) -> Shown:
    return Shown(record.key, escaped(msgspec.json.encode(value).decode()), value, is_json)


def _dead_letter(record: Record) -> dict[str, Any]:
    # The first of a name is ours.
    headers = {name: _readable(value or b"") for name, value in reversed(record.headers)}
    return {
        "reason": headers.get("sluice-reason", ""),
        "detail": headers.get("sluice-detail", ""),
        "source": headers.get("sluice-source", ""),
        "key": None if record.key is None else _readable(record.key),
        "value": _readable(record.value or b""),
    }


def _readable(raw: bytes) -> str:
    return raw.decode("utf-8", "backslashreplace")


def is_past(shown: Shown, now: int) -> bool:
    """Whether a record's `valid_until` is past; that instant itself is still valid."""
    until = shown.value.get("valid_until")
    at = times.parse_time(until) if isinstance(until, str | int) else None
    return at is not None and now > at


def what_holds(records: Iterable[Shown], now: int) -> list[Shown]:
    """The last word of each key, in order of these words, where it neither closes the assertion nor is past."""
    last: dict[bytes | None, Shown] = {}
    for shown in records:
        last.pop(shown.key, None)
        last[shown.key] = shown
    return [shown for shown in last.values() if shown.value.get("status") not in _CLOSING and not is_past(shown, now)]


_COLUMNS = {
    "verdicts": ("emission", "attempt", "settled", "verdicts"),
    "grounded": ("claim", "verdict", "validator", "rationale"),
    "dead-letters": ("reason", "detail", "source", "value"),
}
_DECIDED_COLUMNS = ("what was checked", "the emitter's words", "status", "classes", "reason", "valid until")
_NARROW_COLUMNS = ("what was checked, and the emitter's words", "status, classes, reason, valid until")


def columns(topic: str, *, narrow: bool = False) -> Sequence[str]:
    """The heads of the table of a topic's records; `narrow` as in `row`."""
    return _COLUMNS.get(topic, _NARROW_COLUMNS if narrow else _DECIDED_COLUMNS)


def row(topic: str, shown: Shown, *, narrow: bool = False) -> list[str]:
    """The cells of one record, escaped; only between whole sentences and members they have line ends.

    Args:
        topic: the logical name.
        shown: the record.
        narrow: two cells for a decision, where its six would leave no room for what was checked.
    """
    if topic == "dead-letters":
        return _cells(shown.value[name] for name in _COLUMNS[topic])
    if topic == "grounded":
        first = _at(shown.value, "attestations", 0)
        return _cells(
            [
                _readable(shown.key or b""),
                _at(first, "verdict"),
                _at(first, "validator_did"),
                _at(first, "_untrusted_text", "rationale"),
            ]
        )
    if topic == "verdicts":
        return _verdicts(shown)
    basis = basis_of(shown.value)
    # The closing words on `admitted` carry no text: then the key says which assertion it is.
    prose = escaped(basis.prose or _readable(shown.key or b""))
    value, names = shown.value, shown.value.get("classes")
    listed = cast("list[Any]", names) if isinstance(names, list) else []
    classes = ", ".join(str(name).removeprefix("substrate.") for name in listed)
    others = _cells([value.get("status"), classes, value.get("reason"), value.get("valid_until")])
    if not narrow:
        return [checked_cell(basis), prose, *others]
    different = [cell for place, cell in enumerate(others) if cell and cell not in others[:place]]
    return [stacked_cell(basis, prose), "\n".join(different)]


def _verdicts(shown: Shown) -> list[str]:
    """Of each assertion its status and reason, a line each."""
    value, said = shown.value, list[str]()
    assertions: list[Any] = value.get("assertions") or []
    for one in assertions:
        words = (_at(one, name) for name in ("span_key", "status", "reason"))
        said.append(" ".join(escaped(str(word)) for word in words if word))
    first = _cells([value.get("emission_id"), value.get("attempt"), "yes" if value.get("settled") else "no"])
    return [*first, "\n".join(said)]


def checked_cell(basis: ShownBasis) -> str:
    """What was checked, a sentence on each line; else the mark that stands before the prose. Escaped."""
    return "\n".join(map(escaped, basis.sentences)) or f"{basis.before_prose}:"


def stacked_cell(basis: ShownBasis, prose: str) -> str:
    """The same with the prose behind it, on a line of its own that says whose words they are.

    Args:
        basis: of the record.
        prose: as it is to be shown, escaped.
    """
    own = f"{basis.before_prose}: {prose}"
    return f"{checked_cell(basis)}\n{own}" if basis.sentences else own


def _cells(values: Iterable[Any]) -> list[str]:
    return ["" if cell is None else escaped(str(cell)) for cell in values]


def _at(value: Any, *path: str | int) -> Any:
    for step in path:
        try:
            value = value[step]
        except (LookupError, TypeError):
            return None
    return value
