"""What decisions and verdicts say, as JSON: the members of `records.Decision`, written one behind the other.

Untrusted text stands in the frame, sanitised [V §4, §5]: `rendered`, `checked` and the prose. Outside it stand
identifiers, enumerated values, numbers and times only, and none of these has a character that JSON would escape. So
they are put into the text as they are. What is admitted is `rendered` (docs/checks.md); the prose beside it shows
`[unchecked]` in place of what no check covers.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from hashlib import sha256
from operator import attrgetter
from typing import Any, Final, NamedTuple, cast

import msgspec
from msgspec.structs import replace

from ...codecs.blocks import Block
from ...codecs.canonical import assertion_hash
from ...codecs.errors import Fault
from ...codecs.identifiers import Span, parse_span_key
from ...codecs.json_text import decode_any
from ...codecs.records import EFFECTS, AnyStep, Basis, Disposition, Effect, Reason, RequestEnd, Status
from ...codecs.times import format_time
from ..judging.check_texts import render
from ..judging.checks import SYMBOL_KINDS, TABLE, Check, canonical, parse_check
from ..policy.policy import BY_FORM, Policy
from ..policy.privacy import RedactionPolicy, Secret
from ..sanitise import (
    WARNING,
    AttestationRules,
    Trace,
    Treatment,
    clean,
    clean_tree,
    frame_attestation,
    treatment_of,
)
from . import check_tally
from .decisions import Verdict
from .emission_state import (
    ALONE,
    CLASSES,
    COVERAGE,
    DISPOSITIONS,
    KINDS,
    LATE,
    PART,
    REASONS,
    STATUSES,
    WHOLE,
    AssertionState,
    ClassEvidence,
    Closed,
    EmissionState,
    Phase,
    Place,
    Witness,
    steps_of,
    whole,
)
from .fold_layout import Pieces, RecordTexts, VerdictTexts
from .grounding import data_categories, is_matched

CAP: Final = 64_000
"""Bytes that one sentence or check keeps: more than the longest check can need, so that none is ever cut."""
UNCHECKED: Final = "[unchecked]"
_UNCHECKED_BASES: Final[tuple[Basis, ...]] = ("review", "declaration", "emitter")
_SHOWN: Final[tuple[Status, ...]] = ("admitted", "renewed")
_encode = msgspec.json.Encoder().encode


class Shown(NamedTuple):
    """What a record says of the checks of one assertion.

    Attributes:
        outside: members that stand outside the frame, each with a comma behind it.
        checks: the one behind them, of that name.
        rendered, checked: as they stand in the frame, not yet sanitised.
        prose: the assertion's text as it is shown.
    """

    outside: str
    checks: str
    rendered: list[str]
    checked: list[dict[str, Any]]
    prose: str

    def framed(self, treatment: Treatment, trace: Trace) -> str:
        """The members inside the frame, sanitised, each with a comma behind it."""
        rendered = clean_tree(self.rendered, "rendered", CAP, treatment, trace)
        checked = clean_tree(self.checked, "checked", CAP, treatment, trace)
        return f'"rendered":{_encode(rendered).decode()},"checked":{_encode(checked).decode()},'


def shown(
    state: AssertionState, status: Status | RequestEnd, basis: Basis | None, *, commits: bool = True
) -> Shown | None:
    """Returns what a record of this `status` and `basis` says of the checks of `state`; None where no observation
    verified one by name. `commits`: whether it may name the commits that were looked at; they are observation ids, so
    only where these leave in clear [S §12]."""
    if state.checking is None or basis in _UNCHECKED_BASES:
        return None
    counts = check_tally.classes_by_check(state)
    if not any(counts):
        return None
    least, own = check_tally.covered(state), check_tally.checks(state)
    level, spans = least.level, least.unchecked
    names: list[dict[str, Any]] = []
    rendered: list[str] = []
    checked: list[dict[str, Any]] = []
    for number, classes in zip(check_tally.weighed(state), counts, strict=True):
        check = own[number] if number < len(own) else None
        if not isinstance(check, Check):
            names.append({"name": "unknown", "classes": 0})
            continue
        names.append({"name": check_name(check), "classes": classes})
        if classes:
            place = check_tally.place_of(state, number)
            if not commits:
                place = replace(place, commit="")
            rendered.append(_rendered(check, place))
            checked.append(_checked(check, place))
    by = f'"coverage_by":"{least.by or BY_FORM}",' if level == WHOLE else ""
    outside = f'"coverage":"{COVERAGE[level]}","unchecked":{_encode(spans).decode()},{by}'
    counted = f'"checks":{_encode(names).decode()},'
    hides = status in _SHOWN and level <= PART
    return Shown(outside, counted, rendered, checked, without(state.text, spans) if hides else state.text)


def check_name(check: Check) -> str:
    """Its name, with `not ` before it where it is negated."""
    return f"not {check.name}" if check.negated else check.name


def _rendered(check: Check, place: Place) -> str:
    lines = (place.first, place.last) if place.first else None
    return render(check, path=place.path or None, lines=lines, commit=place.commit or None)


def _checked(check: Check, place: Place) -> dict[str, Any]:
    return {"check": inert(canonical(check)), **place_members(place)}


def place_members(place: Place) -> dict[str, Any]:
    """The members of a record that say where a check was looked at: `path`, `lines` and `commit`, as far as known."""
    members: dict[str, Any] = {}
    if place.path:
        members["path"] = place.path
    if place.first:
        members["lines"] = [place.first, place.last]
    if place.commit:
        members["commit"] = place.commit
    return members


def inert(check: str) -> str:
    """A canonical check that the sanitiser leaves as it is: what it would change stands as JSON's escapes, which mean
    the same, since only strings hold such characters."""
    if check.isascii() and "<" not in check and "](" not in check:
        return check
    return _CHANGED.sub(_escaped, check).replace("](", "]\\u0028")


_CHANGED: Final = re.compile(r"[^\x20-\x7e]|<")


def _escaped(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be").hex()
    return "".join(f"\\u{units[place : place + 4]}" for place in range(0, len(units), 4))


def without(text: str, spans: list[tuple[int, int]]) -> str:
    """The text with `[unchecked]` in place of each span; of a text without a span that is known, nothing is shown."""
    if not spans:
        return UNCHECKED
    pieces: list[str] = []
    past = 0
    for start, end in spans:
        # Behind a bracket that closes, these would make a link of it, which the sanitiser takes away.
        apart = " " if text[end : end + 1] in ("(", "[", ":") else ""
        pieces += (text[past:start], UNCHECKED, apart)
        past = end
    return "".join((*pieces, text[past:]))


# ---------------------------------------------------------------- for the compiled core


def shown_at(checks: Iterable[tuple[str, Place]]) -> Shown:
    """What stands in the frame about checks that were verified, each with its place."""
    rendered: list[str] = []
    checked: list[dict[str, Any]] = []
    for text, place in checks:
        check = parse_check(text)
        if isinstance(check, Check):
            rendered.append(_rendered(check, place))
            checked.append(_checked(check, place))
    return Shown("", "", rendered, checked, "")


_LINE: Final = "line 1)."
_LONGEST_PLACE: Final = 100
"""Bytes that lines and a commit take, and more."""
_KEPT: Final = 500
"""Characters of a check and its path together up to which its pieces are remembered: strangers choose both."""
_NOTHING_CHANGED: Final = Trace().meta()


def pieces_of(text: str, path: str | None) -> Pieces | None:
    """What the words about a check are put together from (native/decision.c).

    Checks that differ only in plain words and quotes have one shape, whose pieces are filled with them: an eighth
    of the time that reading and rendering a check takes.

    Args:
        text: the check.
        path: the file where it was seen to hold; None where none was told.

    Returns:
        The pieces; None where the check is malformed or not known.
    """
    if len(text) + len(path or "") > _KEPT:
        return _pieces.__wrapped__(text, path)
    parts, words, longest = _PLAIN.split(text), list[str](), 0
    for number in range(1, len(parts), 2):
        word = parts[number]
        if word[0] == '"':
            word = word[1:-1]
            mark = "\4" if " " in word else "\3" if word.isidentifier() else "\5" if not _WORD(word) else word
        else:
            mark = "\6" if word[0].isdigit() else "\2" if "/" in word else "\1"
        if mark in "\1\3" and len(word) > longest:
            longest = len(word)
        parts[number] = mark
        words.append(word)
    if path is None:
        told = ""
    elif path in words:
        told = str(words.index(path))
    else:
        told = "\2" if "/" in path else "\1"
        words.append(path)
    if longest > _LONGEST_WORD or (path is not None and (words.count(path) > 1 or not _NAMES.fullmatch(path))):
        return _pieces(text, path)
    shape = _shape("".join(parts), told, len(words))
    return _pieces(text, path) if shape is None else shape.filled(words)


@lru_cache(maxsize=4096)
def _pieces(text: str, path: str | None) -> Pieces | None:
    check = parse_check(text)
    if not isinstance(check, Check):
        return None
    asked = check.text("hash" if check.name == "commit" else "commit").lower()
    sentence, checked = _rendered(check, Place(path or "", 1, 1)), _checked(check, Place(path or ""))
    trace = Trace()
    same = clean_tree([sentence, checked], "", CAP - _LONGEST_PLACE, "replace", trace) == [sentence, checked]
    plain = same and trace.meta() is _NOTHING_CHANGED and sentence.endswith((f" ({_LINE}", f", {_LINE}"))
    said = _encode(sentence)[1 : -len(_LINE) - 1] if plain else b""
    return Pieces(check_name(check).encode(), asked.encode(), _encode(checked)[:-1], said)


_LONGEST_WORD: Final = 64
"""Characters of a word that is filled in: as many as an identifier may have."""
_WORD: Final = re.compile(r"[A-Za-z0-9_.+/:$-]+").fullmatch
"""A quote that need not be one."""
_MEANT: Final = "0|1|true|True|false|False|null|None|nil|subscribers|" + "|".join(SYMBOL_KINDS)
"""Words that mean more than themselves somewhere: part of a shape."""
_NAME: Final = r"[A-Za-z_][\w-]*(?:\.[\w-]+)*"
_NAMES: Final = re.compile(rf"{_NAME}(?:/{_NAME})*", re.ASCII)
_SIGNS: Final = (
    r"""(?:[\w.,:;()=!>+*/'&|@#$%^~?{}-]|\\["\\]|\](?!\()|<(?==| [\w(])"""
    r"""|\[(?![\t /]*(?i:INST|SYS|AVAILABLE|TOOL)))"""
)
_QUOTE: Final = rf"(?![0-9.,:;)=>+/'|$%^}}\]<-]){_SIGNS}+(?: {_SIGNS}+)*"
_PLAIN: Final = re.compile(
    rf"""(?<=[(= ])(?!"?(?:{_MEANT})"?[,)])({_NAME}(?:/{_NAME})*|[1-9][0-9]{{0,8}}|"{_QUOTE}")(?=[,)])""", re.ASCII
)
"""An argument that reads the same, whatever word of its kind it is."""
_PROBES: Final = {
    "\1": ("Qz{}w", "x{}", "user{}", "A_b.c-d.D9{}"),
    "\2": ("Qz{}p/q", "a/b{}", "src-1/user.x/M_9.py{}", "system/A_1{}"),
    "\3": ("Qz{}q", "x{}", "user{}", "A_9{}"),
    "\4": ("Qz{}s t", "a b{}", 'System: (x) = it\'s "{}"', '{{}}.a() ;=!>+*/-&|@#$%^~? [y] <= "\\\\" z < a.{}'),
    "\5": ("Qz{}(s)", 'tool:["{}"]', "(a::b{})->c<=d", "a.b{}()"),
    "\6": ("7{}30517", "1{}", "2{}00", "90{}"),
}
"""What stands for a word, path, quoted word, quote, quote of one word and number while a shape is learned: first what
is known again in the pieces, then what must give the pieces that are filled with it."""
_KEYS: Final = {parameter.name for row in TABLE.values() for parameter in (*row.parameters, *row.named)}
_ARGUMENT: Final = rf"(?:(?:{'|'.join(sorted(_KEYS))})=)?(?:[\1-\6]|{_MEANT}|[<>!]?=|[<>])"
_SHAPE: Final = re.compile(rf"(?:not )?(?:{'|'.join(TABLE)})\({_ARGUMENT}(?:, {_ARGUMENT})*\)")


class _Shape(NamedTuple):
    """The pieces of all checks that differ only in plain words; the number in braces is a word's."""

    name: bytes
    commit: bytes
    checked: str
    sentence: str

    def filled(self, words: list[str]) -> Pieces:
        """The pieces of the check with these words, as JSON writes them."""
        sentence = self.sentence.format(*words).encode()
        if any("\\" in word or "<" in word for word in words):
            words = [_twice(word) for word in words]
        return Pieces(self.name, self.commit, self.checked.format(*words).encode(), sentence)


def _twice(word: str) -> str:
    """The inside of a JSON string as it stands in a check that is itself one (`inert`)."""
    return word.replace("\\", "\\\\").replace('"', '\\"').replace("<", "\\\\u003c")


@lru_cache(maxsize=4096)
def _shape(frame: str, told: str, count: int) -> _Shape | None:
    """The shape of a check whose words are marked, or None where pieces depend on more than the shape.

    Args:
        frame: the check with a mark for each word.
        told: the mark of the path where it was seen to hold, or the number of the word that it is; empty without one.
        count: words and path together.
    """
    marks = [one for one in frame if one in _PROBES] + [one for one in told if one in _PROBES]
    if len(marks) != count or _SHAPE.fullmatch(frame) is None:
        return None
    found: _Shape | None = None
    for trial in range(4):
        words = [_PROBES[mark][trial].format(number) for number, mark in enumerate(marks)]
        words = [_encode(word).decode()[1:-1] for word in words]
        left, written = iter(words), ""
        for one in frame:
            word = next(left) if one in _PROBES else one
            written += f'"{word}"' if one in "\3\4\5" else word
        pieces = _pieces.__wrapped__(written, None if not told else words[-1 if told in _PROBES else int(told)])
        if pieces is None or not pieces.sentence:
            return None
        if found is None:
            texts = [part.decode().replace("{", "{{").replace("}", "}}") for part in (pieces.checked, pieces.sentence)]
            for number, word in enumerate(words):
                texts = [text.replace(word, f"{{{number}}}") for text in texts]
            found = _Shape(pieces.name, pieces.commit, *texts)
        elif found.filled(words) != pieces:
            return None
    return found


_CHAIN_CAP = 2000
"""Bytes that any one string of a provenance chain keeps; the contract's cap for a rationale [V §4.1]."""


def to_json(value: Any) -> str:
    """Any value of a record; what a stranger wrote always goes through here."""
    return _encode(value).decode()


_CLASS = attrgetter("substrate_class")
_FRAME = f'"_untrusted_text":{{"warning":{to_json(WARNING)},"assertion":'
_FRAME_TYPE = '"@type":"veritas:UntrustedValidatorText"'
_UNCHANGED = Trace().meta()
_META_UNCHANGED = to_json(_UNCHANGED)
_NO_TEXT = (f'{_FRAME}"",{_FRAME_TYPE},"attestations":[],"chain":[]}},', _META_UNCHANGED)


def decision_id(state: AssertionState, status: Status | RequestEnd) -> str:
    """The first 32 hex digits of SHA-256 over emission id, attempt, span key, status and revision."""
    named = f"{state.emission_id}\x1f{state.attempt}\x1f{state.span_key}\x1f{status}\x1f{state.revision}"
    return sha256(named.encode()).hexdigest()[:32]


class DecisionText(msgspec.Struct, frozen=True, gc=False):
    """A record but for its place among the block's outputs; requests share their record's.

    Attributes:
        id: its identifier.
        start, checks, head: what stands before the index: up to the member `checks`, that, and the rest.
        tail: what stands behind the index; the last brace is missing.
        counted: how many classes count.
    """

    id: str
    start: str
    checks: str
    head: str
    tail: str
    counted: int

    def with_checks(self, checks: str) -> DecisionText:
        """The same with another member `checks`, with a comma behind it."""
        return replace(self, checks=checks)

    def at(self, index: int, more: str = "") -> bytes:
        """The whole record, with more members behind."""
        return f"{self.start}{self.checks}{self.head}{index}{self.tail}{more}}}".encode()


class DecisionWriter:
    """Writes the records of one block, folded under a `policy` with this `policy_hash`; observation ids are hashed with
    the `secret`, where there is one. Reads the assertions, never changes them."""

    def __init__(self, block: Block, policy: Policy, policy_hash: str, secret: Secret | None = None) -> None:
        header = block.header
        self._policy = policy
        self._redaction = RedactionPolicy(policy.privacy, secret)
        self._ledger = (
            f'"canonicalisation_version":"0.3","policy":"{policy_hash}",'
            f'"ledger":{{"partition":{header.lane},"height":{header.height},"index":'
        )
        self._behind = f',"block":"{block.hash}"}},"_meta":'

    def texts(self) -> RecordTexts:
        """What stands in each record of this block, for the compiled core (compiled.py)."""
        return RecordTexts(
            ledger=self._ledger.encode(),
            behind=self._behind.encode(),
            frame=_FRAME.encode(),
            frame_type=_FRAME_TYPE.encode(),
            no_text=_NO_TEXT[0].encode(),
            meta=_META_UNCHANGED.encode(),
            reviewing=f'"reviewing":{{"_untrusted_text":{{{_FRAME_TYPE},"warning":{to_json(WARNING)},"before":'.encode(),
        )

    def decision(
        self,
        type_: str,
        state: AssertionState,
        status: Status | RequestEnd,
        basis: Basis | None,
        reason: Reason | None,
        own: str = "",
        *,
        text: bool,
    ) -> DecisionText:
        """Returns what a record of the type `type_` says about `state` up to its `_meta`, with its `status`, `basis`
        and `reason`. Hot path: one text, in the order of the members. `own` are members that stand behind the reason,
        each with a comma behind it; `text` says whether there is anything in the frame."""
        id_, steps, counted = decision_id(state, status), steps_of(state), _counted(state)
        classes = [f'"{CLASSES[seen.number]}"' for seen in counted]
        evidence: list[str] = []
        retrievals: list[str] = []
        several = state.bounds.min_observers != ALONE and state.min_observers > 1
        for seen in _by_observer(state) if several else counted:
            name, at, who = CLASSES[seen.number], format_time(seen.ts), self._who(state, seen)
            evidence.append(f'{{"substrate_class":"{name}","observed_at":"{at}",{who}}}')
            retrievals.append(f'{{"step":"retrieval","source":"{name}","timestamp":"{at}","metadata":{{{who}}}}}')
        checked = shown(state, status, basis, commits=self._policy.privacy.observation_ids == "clear")
        frame, meta = self._frame(state, counted, retrievals, steps, checked) if text else _NO_TEXT
        based = f'"basis":"{basis}",' if basis else ""
        because = f'"reason":"{reason}",' if reason else ""
        observers = f'"min_observers":{state.min_observers},' if several else ""
        confidence = "" if state.confidence is None else f'"confidence":{to_json(state.confidence)},'
        start = (
            f'{{"@type":"sluice:{type_}","@version":"1.0","id":"{id_}","emission_id":"{state.emission_id}",'
            f'"attempt":{state.attempt},"span":{_span(state.span_key)},"kind":"{state.kind}","status":"{status}",'
            f'{based}{because}{own}"revision":{state.revision},"effect":"{state.effect}","k":{state.k},'
            f'{observers}"classes":[{",".join(classes)}],"evidence":[{",".join(evidence)}],'
            f"{checked.outside if checked else ''}"
        )
        head = (
            f'"grounded":{"true" if state.grounded else "false"},{self._grounding(state, steps, counted)}'
            f'"data":{_data(state, steps)},{confidence}'
            f'"emitted_at":"{format_time(state.emitted_at)}",{frame}'
            f'"canonical_hash":"{assertion_hash(state.text, state.kind)}",{self._ledger}'
        )
        return DecisionText(id_, start, checked.checks if checked else "", head, self._behind + meta, len(counted))

    def _grounding(self, state: AssertionState, steps: list[AnyStep] | None, counted: Sequence[ClassEvidence]) -> str:
        """What stands beside `grounded` where that is claimed: whether a retrieval of the chain was matched to what
        observers saw."""
        if not state.grounded:
            return ""
        names = [state.id_of(seen) for seen in counted]
        names += [place.path for place in state.checking.places] if state.checking is not None else []
        return said_grounding(steps, {name for name in names if name})

    def _who(self, state: AssertionState, seen: ClassEvidence | Witness) -> str:
        """Who saw it, and what, as far as privacy lets it out (privacy.py)."""
        observation_id = whole(seen.id) if isinstance(seen, Witness) else state.id_of(seen)
        if observation_id is not None:
            observation_id = self._redaction.observation_id(observation_id, identity_bound=seen.identity_bound)
        return f'"observer":"{seen.observer}"' + (f',"observation_id":"{observation_id}"' if observation_id else "")

    def shown(self, observation_id: str, identity_bound: bool) -> bytes:
        """An observation id as far as privacy lets it out, for the compiled core; empty where it does not."""
        return (self.shown_id(observation_id, identity_bound) or "").encode()

    def shown_id(self, observation_id: str, identity_bound: bool) -> str | None:
        """An observation id as far as privacy lets it out; None where it does not."""
        return self._redaction.observation_id(observation_id, identity_bound=identity_bound)

    def _frame(
        self,
        state: AssertionState,
        counted: Sequence[ClassEvidence],
        retrievals: Sequence[str],
        steps: list[AnyStep] | None,
        checked: Shown | None,
    ) -> tuple[str, str]:
        """The frame, and the `_meta` that says what sanitation changed in it."""
        given = [seen.attestation for seen in counted if seen.attestation is not None]
        prose = checked.prose if checked else state.text
        assertion, attestations, own, checks, meta = self.framed(prose, state.effect, steps, given, checked)
        # The emitter's own steps, a retrieval for each counted evidence, then the hand-off from the emitter.
        handoff = f'{{"step":"agent-handoff","agent_name":"{state.emitter or "sluice"}"}}'
        return (
            f'{_FRAME}{assertion},{_FRAME_TYPE},"attestations":{attestations},{checks}'
            f'"chain":[{",".join((*own, *retrievals, handoff))}]}},',
            meta,
        )

    def framed(
        self,
        text: str,
        effect: Effect,
        steps: list[AnyStep] | None,
        attestations: Sequence[bytes],
        checked: Shown | None,
    ) -> tuple[str, str, list[str], str, str]:
        """Returns untrusted text, sanitised as for an `effect`: the text, attestations, the chain's steps, what was
        checked with a comma behind each member, and the `_meta` that says what changed in them; each as JSON."""
        treatment, trace = self.treatment(effect), Trace()
        assertion = to_json(clean(text, "assertion", self._policy.sanitation.caps["assertion"], treatment, trace))
        framed = self._attestations(attestations, trace)
        own = [to_json(step) for step in self._own_chain(steps, treatment, trace)] if steps else []
        checks = checked.framed(treatment, trace) if checked else ""
        return assertion, to_json(framed) if framed else "[]", own, checks, _meta(trace)

    def treatment(self, effect: Effect) -> Treatment:
        """What becomes of confusable characters; what `reject` refuses is decided before this (decisions.py), and a
        rejected text is still shown to a reviewer."""
        return treatment_of(self._policy.sanitation.confusables.of(effect), "word")

    def _own_chain(self, steps: list[AnyStep], treatment: Treatment, trace: Trace) -> list[dict[str, Any]]:
        chain: list[dict[str, Any]] = msgspec.to_builtins(steps)
        if self._redaction.hides_sources:
            for step in chain:
                self._redaction.source(step)
        return clean_tree(chain, "chain", _CHAIN_CAP, treatment, trace)

    def _attestations(self, attestations: Sequence[bytes], trace: Trace) -> list[dict[str, Any]]:
        framed: list[dict[str, Any]] = []
        for attestation in attestations:
            one = self._attestation(attestation, len(framed), trace)
            if one is not None:
                framed.append(one)
        return framed

    def _attestation(self, attestation: bytes, place: int, trace: Trace) -> dict[str, Any] | None:
        rules = attestation_rules(self._policy)
        body = decode_any(attestation)
        framed = frame_attestation(body, rules, trace=trace, within=f"attestations[{place}].")
        if isinstance(framed, Fault):  # mistyped: it is not returned [V §3]; the observation stands without it
            trace.reject_attestation(framed.reason)
            return None
        return framed["attestations"][0]


def _meta(trace: Trace) -> str:
    meta = trace.meta()
    return _META_UNCHANGED if meta is _UNCHANGED else to_json(meta)


def said_grounding(chain: Sequence[AnyStep] | None, names: Collection[str]) -> str:
    """The member `grounding`, with a comma behind it (`grounding.is_matched`)."""
    return f'"grounding":"{"matched" if is_matched(chain, names) else "claimed"}",'


def attestation_rules(policy: Policy) -> AttestationRules:
    """What the policy says about attestations, as the sanitiser takes it."""
    registry = policy.attestations
    return AttestationRules(
        consensus_domains=tuple(registry.consensus_domains),
        confusables={name: domain.confusables for name, domain in registry.domains.items()},
        confusables_by={name: domain.confusables_by for name, domain in registry.domains.items()},
        caps=policy.sanitation.caps,
    )


def _span(key: str) -> str:
    """The span outside the frame: numbers and identifiers only. A pointer's names are the emitter's words, so it
    stands percent-encoded, as in the key (RFC 6901, section 6)."""
    if key.startswith("c:"):
        return _characters(key)
    return to_json(Span(path=key[2:]) if key.startswith("p:") else parse_span_key(key))


@lru_cache(maxsize=4096)  # they are short, few and repeat: 0.1 us instead of 1.1
def _characters(key: str) -> str:
    return to_json(parse_span_key(key))


def _data(state: AssertionState, steps: list[AnyStep] | None) -> str:
    if not steps:
        return '["grounded"]' if state.grounded else "[]"
    return to_json(data_categories(state.grounded, steps))


def _counted(state: AssertionState) -> Sequence[ClassEvidence]:
    counted = [seen for seen in state.seen if seen.ts >= 0]
    counted.sort(key=_CLASS)
    return counted


def _by_observer(state: AssertionState) -> Sequence[Witness]:
    """Where several observers are needed: what each has seen of each class."""
    return sorted(state.witnesses, key=lambda one: (CLASSES[one.number], one.observer))


NONE: Final = -1
"""Stands for no reason, no disposition, and nothing covered."""
_STATUS: Final = {status: number for number, status in enumerate(STATUSES)}
_REASON: Final = {reason: number for number, reason in enumerate(REASONS)}
_PENDING, _ADMITTED = _STATUS["pending"], _STATUS["admitted"]
_REVIEW: Final = DISPOSITIONS.index("review")


def asked(status: str, reason: Reason | None) -> list[int | str]:
    """Why an assertion waits for a reviewer, as it is kept (`AssertionState.asked`)."""
    return list(_numbers(status, reason))


def asked_for(state: AssertionState) -> Verdict:
    """The verdict for which an assertion waits for a reviewer, which it keeps (`AssertionState.asked`)."""
    status, reason = state.asked
    return Verdict(cast("Status", STATUSES[status]), None if reason == NONE else REASONS[reason])


def _numbers(status: str, reason: Reason | None) -> tuple[int, int]:
    return _STATUS[status], NONE if reason is None else _REASON[reason]


def closed(
    state: AssertionState, status: str, reason: Reason | None = None, disposition: Disposition | None = None
) -> Closed:
    """Returns what is remembered of an assertion, `state`, that ends with this status, reason and disposition."""
    number = NONE if disposition is None else DISPOSITIONS.index(disposition)
    return _closed(state, *_numbers(status, reason), number)


def _closed(state: AssertionState, status: int, reason: int, disposition: int) -> Closed:
    coverage, by = NONE, ""
    checks = check_tally.classes_by_check(state)
    if any(checks):
        least = check_tally.covered(state)
        coverage, by = least.level, least.by
    elif not check_tally.has_own(state):
        checks = []  # a check that observers tell is told of once it was verified
    return Closed(
        state.span_key,
        KINDS.index(state.kind),
        EFFECTS.index(state.effect),
        status,
        reason,
        disposition,
        coverage,
        sorted(seen.number for seen in state.seen if seen.latest >= 0 or seen.ts >= 0),
        check_tally.missing(state),
        checks,
        state.valid_until,
        by,
    )


def remembered(state: AssertionState) -> Closed:
    """What is said of an assertion that lives, as if it ended so."""
    if state.phase == Phase.PENDING:
        return _closed(state, _PENDING, _REASON["not-looked-at"] if state.look == LATE else NONE, NONE)
    if state.phase == Phase.ADMITTED:
        return _closed(state, _ADMITTED, NONE, NONE)
    status, reason = state.asked
    return _closed(state, status, reason, _REVIEW)


def is_settled(known: EmissionState) -> bool:
    """Whether none of an emission's assertions is pending."""
    return not any(state.phase == Phase.PENDING for attempt in known.attempts for state in attempt.assertions)


class VerdictWriter:
    """Writes the records of one block.

    Args:
        block: the block.
        policy_hash: of the policy in force.
    """

    def __init__(self, block: Block, policy_hash: str) -> None:
        header = block.header
        self.texts = VerdictTexts(
            at=f'"decided_at":"{format_time(header.time)}","assertions":['.encode(),
            ledger=f'],"policy":"{policy_hash}","ledger":{{"partition":{header.lane},"height":{header.height},'
            f'"index":'.encode(),
            behind=f',"block":"{block.hash}"}}}}'.encode(),
            id=f"verdicts/{header.lane}/{header.height}/".encode(),
        )

    def record(self, emission_id: str, emitter: str | None, known: EmissionState, index: int) -> tuple[bytes, bool]:
        """The record of an emission, and whether it is settled.

        Args:
            emission_id: whose.
            emitter: who made it; None where it does not say.
            known: what is known of it, at the end of the block.
            index: the record's place among the block's outputs.
        """
        by = "" if emitter is None else f'"emitter":"{emitter}",'
        settled = is_settled(known)
        head = (
            f'{{"@type":"sluice:Verdicts","@version":"1.0","emission_id":"{emission_id}","attempt":{known.newest()},'
            f'{by}"settled":{"true" if settled else "false"},'
        )
        texts = self.texts
        said = ",".join(_entries(known))
        value = b"".join((head.encode(), texts.at, said.encode(), texts.ledger, str(index).encode(), texts.behind))
        return value, settled


def _entries(known: EmissionState) -> Iterator[str]:
    """Of each attempt first what was closed, in the order of its closing, then what lives, in that of the emission."""
    for attempt in known.attempts:
        for one in (*attempt.closed, *map(remembered, attempt.assertions)):
            if isinstance(one, Closed):  # of what was closed while nothing was told, only the span key is known
                yield _entry(attempt.number, one)


def _entry(attempt: int, one: Closed) -> str:
    key = f'"{one.span_key}"' if one.span_key.startswith("c:") else to_json(one.span_key)
    said = (
        f'{{"attempt":{attempt},"span_key":{key},"kind":"{KINDS[one.kind]}","effect":"{EFFECTS[one.effect]}",'
        f'"status":"{STATUSES[one.status]}",'
    )
    if one.reason != NONE:
        said += f'"reason":"{REASONS[one.reason]}",'
    if one.disposition != NONE:
        said += f'"disposition":"{DISPOSITIONS[one.disposition]}",'
    if one.coverage != NONE:
        said += f'"coverage":"{COVERAGE[one.coverage]}",'
        if one.coverage == WHOLE:
            said += f'"coverage_by":"{one.by or BY_FORM}",'
    if one.checks:
        checks = ",".join(f'{{"number":{number},"classes":{classes}}}' for number, classes in enumerate(one.checks))
        said += f'"checks":[{checks}],'
    classes = ",".join(f'"{CLASSES[number]}"' for number in one.classes)
    said += f'"classes_seen":[{classes}],"missing_floor":{one.missing}'
    return said + (f',"valid_until":"{format_time(one.valid_until)}"}}' if one.valid_until >= 0 else "}")
