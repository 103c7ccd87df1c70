"""What the console's pages show, from what the view and the ledgers have: rows in, plain values for templates out.

Values stay as third parties wrote them: the templates escape them (html_escape.py). Nothing is audited here: a report
is what `sluice audit --json` wrote, and a signature counts where its key is named.
"""

from __future__ import annotations

import shlex
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, cast
from urllib.parse import quote, urlencode

import msgspec

from ...codecs.decode import assertion_text, decode_emission
from ...codecs.errors import DoesNotHoldError, Fault
from ...codecs.identifiers import parse_span_key
from ...codecs.notes import Verifier, parse_checkpoint, parse_note, signers_of
from ...codecs.records import Emission
from ...codecs.times import format_time, parse_time
from ...streams.judging.claim_forms import checks_of
from ..settings.files import open_plain
from .html_escape import Mark, Piece, pieces
from .ledger_jobs import Tips
from .queries import Claim, EmissionHistory, Found, Insight, LaneStanding, RequestRow
from .service_view import Verdicts, items_of, members_of

MOST_BYTES: Final = 50_000_000
"""Of a report."""
HEADS: Final = (
    *("Decides", "Lane", "Newest block", "At", "Records in no block yet"),
    *("Blocks under a checkpoint", "Until", "Signed by"),
)
FOLDS: Final = {"ledger": "emissions", "bind-ledger": "sightings", "frame-ledger": "attestations"}
"""About what the lanes of each ledger decide."""
NO_CHECKPOINT: Final = "none"


class _AuditVerdict(msgspec.Struct):
    integrity: str
    completeness: str
    why: str = ""


class _Counted(msgspec.Struct):
    count: int = 1


class _Report(msgspec.Struct):
    """What is shown of a report (topology/audit/report.py)."""

    at: str
    verdict: _AuditVerdict
    ledger: str = ""
    divergences: list[_Counted] = []


_reports = msgspec.json.Decoder(_Report)


def lane_rows(
    lanes: Sequence[LaneStanding], verifiers: Sequence[Verifier], tips: Tips | None = None
) -> list[tuple[object, ...]]:
    """A row of `HEADS` for each lane.

    `lanes` are as the view has them, `tips` as the ledgers do; None where those cannot be read: then the view's own
    knowledge is shown. Signatures of `verifiers` count.
    """
    rows: list[tuple[object, ...]] = []
    for lane in lanes:
        if tips is None:  # what the topics that the view follows say, which is nothing about other ledgers' lanes
            height = "not known now" if lane.height is None else lane.height
            told = lane.height is not None and lane.told_at is not None
            tip = (height, format_time(lane.told_at) if told and lane.told_at is not None else "", "not known now")
        elif (read := tips.get((lane.ledger, lane.lane))) is None:
            tip = ("none yet", "", "")
        else:
            tip = (read.height, format_time(read.time), "not known" if read.behind is None else read.behind)
        rows.append((FOLDS[lane.ledger], lane.lane, *tip, *_checkpoint(lane.checkpoint, verifiers)))
    return rows


def _checkpoint(raw: bytes | None, verifiers: Sequence[Verifier]) -> tuple[object, str, str]:
    if raw is None:
        return NO_CHECKPOINT, "", ""
    try:
        note = parse_note(raw)
        checkpoint = parse_checkpoint(note.text)
    except DoesNotHoldError:
        return NO_CHECKPOINT, "", ""
    size, until = checkpoint.head.size, format_time(checkpoint.time)
    if not verifiers:
        return size, until, "not checked: --verifier names a key"
    try:
        return size, until, ", ".join(one.name for one in signers_of(note, verifiers))
    except DoesNotHoldError:
        return size, until, "none of the keys of --verifier"


def audit_says(path: Path | None) -> tuple[str, bool]:
    """What the last audit came to in one sentence, and whether that is bad news.

    `path` is what `sluice audit --json` wrote; None: the service was not told of any.
    """
    if path is None:
        return "No report of an audit is named: --audit names the file that sluice audit --json wrote.", False
    try:
        with open_plain(path) as file:
            data = file.read(MOST_BYTES + 1)
        report = _reports.decode(data)
    except OSError as error:
        return f"The report of the audit cannot be read: {error.strerror}.", True
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return "The file that --audit names is no report of sluice audit --json.", True
    found, verdict = sum(one.count for one in report.divergences), report.verdict
    counted = "no divergence" if not found else f"{found} divergences" if found > 1 else "1 divergence"
    is_bad = bool(found) or verdict.integrity != "holds" or verdict.completeness == "broken"
    said = f"{report.ledger or 'The ledger'} at {report.at}: integrity {verdict.integrity}, completeness "
    return f"{said}{verdict.completeness} ({verdict.why}); {counted}.", is_bad


STATUSES: Final = (
    *("pending", "admitted", "decayed-to-uncertainty", "contradicted", "rejected", "refused"),
    *("unverified-inference", "below-floor", "unannotated"),
)
BARS: Final = 10
WITHIN: Final = (
    *(("1 s", 1.0), ("10 s", 10.0), ("1 minute", 60.0), ("5 minutes", 300.0), ("15 minutes", 900.0)),
    ("1 hour", 3600.0),
)
"""Times to a verdict that the insight page counts: the usual ones are a moment, a look, and the horizon."""


def emission_href(emission_id: str, span_key: str = "") -> str:
    """The page of an emission, with one of its assertions chosen; empty: none.

    A browser takes a segment of dots for a folder, so such an id goes as a parameter.
    """
    is_folder = emission_id in (".", "..")
    query = {"id": emission_id if is_folder else "", "span": span_key}
    tail = urlencode([(name, value) for name, value in query.items() if value])
    return "/emissions/" + ("" if is_folder else quote(emission_id, safe="")) + ("?" + tail if tail else "")


def command(name: str, *arguments: str) -> str:
    """A command of ours for a person to paste into a shell: what an emitter chose is one word there, and no option.

    Empty arguments at the end are left out.
    """
    given = list(arguments)
    while given and not given[-1]:
        given.pop()
    ends = ["--"] if any(one[:1] == "-" for one in given) else []
    return shlex.join(["sluice", name, *ends, *given])


def item_href(key: str) -> str:
    """The page of a request."""
    return "/queue/item?key=" + quote(key, safe="")


def live_row(at: int, verdicts: Verdicts) -> dict[str, Any]:
    """One emission of the live page: how many assertions have which status."""
    counts: dict[str, int] = {}
    for one in verdicts.assertions:
        if one.attempt == verdicts.attempt:
            counts[one.status] = counts.get(one.status, 0) + 1
    return {
        "id": verdicts.emission_id,
        "href": emission_href(verdicts.emission_id),
        "emitter": verdicts.emitter or "",
        "statuses": sorted(counts.items()),
        "settled": verdicts.settled,
        "at": format_time(at),
    }


def queue_row(row: RequestRow, window: int, now: int) -> dict[str, Any]:
    """One request of the queue, with how long it is open."""
    due = row.at + window if row.due is None else row.due
    return {**row._asdict(), "href": item_href(row.key), "due": format_time(due), "left": left(due, now)}


def left(due: int, now: int) -> str:
    """How long until then, for people."""
    minutes = (due - now) // 60_000
    if minutes < 0:
        return "ended"
    if minutes < 60:
        return f"ends in {minutes} min"
    return f"ends in {minutes // 60} h {minutes % 60} min"


def read_emission(record: bytes | None) -> Emission | None:
    """The emission of a record; None where it is none."""
    found = None if record is None else decode_emission(record)
    return None if isinstance(found, Fault) else found


def coloured(emission: Emission | None, statuses: Mapping[str, str]) -> list[Piece]:
    """The text of an emission, its assertions by their status; nothing where it has no text."""
    if emission is None or not emission.text:
        return []
    marks: list[Mark] = []
    for one in emission.assertions or ():
        key = one.span_key
        span = parse_span_key(key or "")
        if key is not None and span is not None and span.chars is not None:
            marks.append(Mark(*span.chars, key, statuses.get(key, "pending")))
    return pieces(emission.text, marks)


def claimed(emission: Emission | None, span_key: str) -> list[tuple[str, ...]]:
    """What an assertion's annotations say: class, observation, when, where."""
    rows: list[tuple[str, ...]] = []
    for one in (emission.assertions if emission else None) or ():
        if one.span_key == span_key:
            for note in one.annotations:
                when = "" if note.ts is None else shown(note.ts)
                rows.append((note.substrate_class, note.observation_id or "", when, shown(note.locator)))
    return rows


class Stated(NamedTuple):
    """What an assertion says, as the lanes take it: its words, and the checks that it declares or its words give."""

    text: str
    checks: Sequence[str]


def stated(emission: Emission | None, span_key: str, attempt: int) -> Stated | None:
    """What an assertion says; None where the view does not have this attempt of its emission."""
    if emission is None or emission.attempt != attempt:
        return None
    for one in emission.assertions or ():
        if one.span_key == span_key:
            text = assertion_text(emission, one)
            proposed = None if one.proposal is None else one.proposal.checks
            return Stated(text, checks_of(text, one.kind, one.checks or proposed or None).checks)
    return None


class Answer(NamedTuple):
    """What one observer answered about an assertion, as texts for people.

    Attributes:
        judge: decided where the built-in checks did not.
        at, age: when it looked, and how long that is ago.
        where: the place that it looked at: file, lines, commit.
        found, missing: terms of the assertion; None where it does not say. Words that the assertion does not have are
            counted and not shown: an observer could say anything with them.
        checks: each check of the assertion, what came of it as lanes read it, and the place that the observer names.
        reason: why it could not look, or did not find.
    """

    substrate_class: str
    observer: str
    judge: str
    outcome: str
    at: str
    age: str
    where: str
    found: str | None
    missing: str | None
    checks: list[tuple[str, str, str]]
    reason: str
    attempt: int


def answers(
    observations: Sequence[Mapping[str, Any]], span_key: str, attempt: int, now: int, of: Stated | None = None
) -> list[Answer]:
    """What observers answered about an assertion of an attempt, the newest first; `now` is in Unix ms.

    Which checks there are is not the observer's to say, nor by what word it says that one holds: the lanes read its
    `verified` and `refuted`. Free members of observations may be anything. Where it is not known what the assertion
    says (`of`), no check and no term is shown. What was seen of another attempt says nothing of this one.
    """
    found: list[tuple[int, Answer]] = []
    for one in observations:
        subject = one["subject"]
        if key_of_span(subject["span"]) != span_key or subject.get("attempt", 0) != attempt:
            continue
        at = parse_time(one["observed_at"]) or 0
        detail = members_of(one.get("detail"))
        place = {**members_of(one.get("locator")), **members_of(one.get("looked_at"))}
        answer = Answer(
            *(one["substrate_class"], one["observer"], shown(one.get("judge")), one["outcome"]),
            *(format_time(max(0, at)), age(at, now), where(place)),
            *(_terms(detail[name], of) if name in detail else None for name in ("found", "missing")),
            checks=_checks_of(one, detail.get("checks"), of),
            reason=shown(detail.get("reason")),
            attempt=attempt,
        )
        found.append((at, answer))
    return [answer for _, answer in sorted(found, key=lambda one: -one[0])]


def _terms(given: Any, of: Stated | None) -> str:
    """Those terms that the assertion or a check of it has, and how many others were named."""
    listed = cast("list[Any]", given) if isinstance(given, list) else [given]
    words = "" if of is None else "\n".join([of.text, *of.checks]).casefold()
    terms = [one for one in listed if isinstance(one, str) and one and one.casefold() in words]
    others = len(listed) - len(terms)
    return ", ".join([*terms, *([f"{others} that the statement does not have"] if others else [])])


def _checks_of(observation: Mapping[str, Any], given: Any, of: Stated | None) -> list[tuple[str, str, str]]:
    each = items_of(given)
    verified, refuted = (set(items_of(observation.get(name))) for name in ("verified", "refuted"))
    rows: list[tuple[str, str, str]] = []
    for number, check in enumerate(() if of is None else of.checks):
        named = members_of(each[number] if number < len(each) else None)
        decided = (number in verified) != (number in refuted)
        said = ("holds" if number in verified else "does not hold") if decided else "not decided"
        reason = "" if decided and number in verified else shown(named.get("reason"))
        rows.append((check, said + (f": {reason}" if reason else ""), where(named)))
    return rows


def where(place: Mapping[str, Any]) -> str:
    """A place that was looked at: file, lines and commit first, then whatever else was told of it."""
    parts: list[str] = []
    root, path, lines, commit = (place.get(name) for name in ("root", "path", "lines", "commit"))
    if path is not None:
        parts.append(shown(path) + (f" in {shown(root)}" if root is not None else ""))
    if lines is not None:
        ends = items_of(lines) or [lines]
        first, last = ends[0], ends[-1]
        parts.append(f"line {shown(first)}" if first == last else f"lines {shown(first)} to {shown(last)}")
    if commit is not None:
        parts.append(f"commit {shown(commit)[:12]}")
    known = {"root", "path", "lines", "commit", "check", "holds", "reason"}
    rest = {name: one for name, one in place.items() if name not in known}
    return ", ".join([*parts, *([shown(rest)] if rest else [])])


def age(at: int, now: int) -> str:
    """How long ago that is, for people; `at` and `now` are Unix ms."""
    seconds = max(0, now - at) // 1000
    for size, name in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {name} old"
    return f"{seconds} s old"


def checks(record: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """What a request says of the checks: the check, the classes it needs, those that verified and that refuted it."""
    asked = {shown(one.get("number")): one.get("check") for one in _entries(framed(record).get("asked"))}
    return [
        (
            *(shown(asked.get(shown(one.get("number")))) or shown(one.get("name")), shown(one.get("k"))),
            *(shown(one.get("verified")), shown(one.get("refuted"))),
        )
        for one in _entries(record.get("checks"))
    ]


def not_counted(record: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """The observations that did not count, as a request tells them: class, observer, outcome, when, why."""
    names = ("substrate_class", "observer", "outcome", "observed_at", "why")
    return [tuple(shown(one.get(name)) for name in names) for one in _entries(record.get("not_counted"))]


def framed(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """The untrusted text that a request carries for reviewers; empty where it carries nothing."""
    return members_of(members_of(record.get("reviewing")).get("_untrusted_text"))


def _entries(given: Any) -> list[dict[str, Any]]:
    return [cast("dict[str, Any]", entry) for entry in items_of(given) if isinstance(entry, dict)]


def key_of_span(span: Mapping[str, Any]) -> str:
    """The span key of a span in a record."""
    if "chars" in span:
        return "c:{}-{}".format(*span["chars"])
    if "tokens" in span:
        return "t:{}:{}-{}".format(span.get("tokenizer", ""), *span["tokens"])
    return f"p:{span.get('path', '')}"


def shown(value: object) -> str:
    """A value of a record as one line for people."""
    if isinstance(value, int) and not isinstance(value, bool) and value > 10**11:
        return format_time(value)
    if members := members_of(value):
        return "; ".join(f"{name} {shown(member)}" for name, member in members.items())
    if items := items_of(value):
        return ", ".join(map(shown, items))
    return "" if value in (None, {}, []) else str(value)


def statuses_of(history: EmissionHistory) -> dict[str, str]:
    """Of each assertion of the newest attempt its status."""
    status = history.status or {}
    attempt = status.get("attempt", 0)
    return {one["span_key"]: one["status"] for one in status.get("assertions", ()) if one.get("attempt", 0) == attempt}


def words_of(history: EmissionHistory, span_key: str) -> tuple[str, list[str]]:
    """The text of an assertion as its last record has it, sanitised, and what of it is admitted."""
    words: str = ""
    rendered: list[str] = []
    for record in history.decisions.get(span_key, ()):
        frame = members_of(record.get("_untrusted_text"))
        words = frame.get("assertion") or words
        if record.get("status") in ("admitted", "renewed"):
            rendered = frame.get("rendered") or rendered
    return words, rendered


def chosen_of(assertions: Sequence[Mapping[str, Any]], span_key: str, number: str) -> str:
    """The span key that a page is asked for: by itself, or as the number of the statement, from 1 on; else empty."""
    if span_key or not (number.isascii() and number.isdecimal()) or len(number) > 6:
        return span_key
    return assertions[int(number) - 1]["span_key"] if 0 < int(number) <= len(assertions) else ""


# ---------------------------------------------------------------- look up


def claim_href(claim_hash: str) -> str:
    """The page of a claim."""
    return "/claims?hash=" + quote(claim_hash, safe="")


def look_up(found: Found | None, asked: str) -> dict[str, Any]:
    """What the page of look-ups shows of what was found: a text and an address each."""
    if found is None:
        return {"emissions": [], "assertions": [], "claims": []}
    span = asked.partition("#")[2]
    return {
        "emissions": [(name, emission_href(name, span)) for name in found.emissions],
        "assertions": [
            {"key": f"{emission}#{key}", "status": status, "text": text, "href": emission_href(emission, key)}
            for emission, key, status, text in found.assertions
        ],
        "claims": [(claim, rationale[:200], claim_href(claim)) for claim, rationale in found.claims],
    }


def claim_row(claim: Claim) -> dict[str, Any]:
    """One consensus domain of the page of a claim. URIs stay text: whoever follows one does so knowingly."""
    composed = claim.composed
    counted = ", ".join(f"{count} {verdict}" for verdict, count in composed.verdicts.items())
    return {
        "domain": claim.domain,
        "verdict": composed.primary_verdict or "none: the domain's rule is not met",
        "validators": composed.validator_count,
        "verdicts": counted or "none counts",
        "disagree": composed.disagreement_present,
        "more": claim.more,
        "attestations": [_attested(at, counts, record) for at, counts, record in claim.attestations],
    }


def _attested(at: int, counts: bool, record: Mapping[str, Any]) -> dict[str, Any]:
    frame: Mapping[str, Any] = record["_untrusted_text"]
    quotes = [one["_untrusted_quote"] for one in frame["evidence"]]
    return {
        "validator": record["validator_did"],
        "verdict": record["verdict"],
        "at": format_time(max(0, at)),
        "counts": counts,
        "rationale": frame["rationale"],
        "qualifications": frame["qualifications"],
        "evidence": [(one["quote"], shown(one.get("source_uri"))) for one in quotes],
        "works": [(one["title"], shown(one.get("source_uri"))) for one in frame["cited_works"]],
    }


# ---------------------------------------------------------------- insight


def shares(insight: Insight) -> list[tuple[str, Bars, list[tuple[str, int, int, str]], tuple[str, ...]]]:
    """The admitted share by emitter, class and kind, then what is most often missing: title, bars, rows and heads."""
    parts: list[tuple[str, Bars, list[tuple[str, int, int, str]], tuple[str, ...]]] = []

    def add(title: str, counts: Mapping[str, tuple[int, int]], by: int, *heads: str) -> None:
        largest = sorted(counts.items(), key=lambda item: (-item[1][by], item[0]))[:BARS]
        rows = [(name, whole, part, f"{part / whole:.0%}") for name, (whole, part) in largest]
        parts.append((title, [(name, part / whole) for name, (whole, part) in largest], rows, (*heads, "Share")))

    for name, counts in (("emitter", insight.by_emitter), ("class", insight.by_class), ("kind", insight.by_kind)):
        add(f"Admitted share by {name}", counts, 0, "Name", "Decided", "Admitted")
    total = sum(insight.missing.values())
    missing = {name: (total, count) for name, count in insight.missing.items()}
    add("What is most often missing", missing, 1, "Reason", "Not admitted", "For this reason")
    return parts


Bars = Sequence[tuple[str, float]]
"""Names with shares, 0 to 1."""


def times(insight: Insight) -> tuple[str, Bars, list[tuple[str, int, str]]]:
    """How long emissions took to be settled: the middle one, how many were within which time as bars and as a table."""
    seconds = insight.seconds
    if not seconds:
        return "", [], []
    said = ", ".join(
        f"{name} of them within {seconds[min(len(seconds) - 1, int(share * len(seconds)))]:.1f} s"
        for name, share in (("half", 0.5), ("nine tenths", 0.9), ("all", 1.0))
    )
    counts = [(name, bisect_right(seconds, most)) for name, most in WITHIN]
    rows = [(name, count, f"{count / len(seconds):.0%}") for name, count in counts]
    return said, [(name, count / len(seconds)) for name, count in counts], rows
