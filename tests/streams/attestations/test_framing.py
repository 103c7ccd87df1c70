"""The lane of attestations by example and by law: each has one fate, which depends on it and the policy alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from hashlib import sha256
from itertools import pairwise
from typing import Any, NamedTuple

import msgspec
import pytest
import rfc8785
from builders import attestation_value
from hypothesis import given
from hypothesis import strategies as st

from sluice.codecs import blocks
from sluice.codecs.blocks import MAX_INPUT_BYTES, Event, EventKind, Header, Output, Source, quarantine
from sluice.codecs.partition import PARTITIONERS, Partitioner
from sluice.codecs.records import Grounded
from sluice.streams.adjudication import fold as core
from sluice.streams.attestations import framing
from sluice.streams.policy.policy import CAPS, DEFAULT_POLICY, AttestationDomain, Attestations, Policy, Sanitation

T = 1_800_000_000_000
CLAIM = "0x" + "ab" * 32
LANES = 4
TOPIC_BYTES, HEADROOM = 4_194_304, 100_000
TRACEPARENT = ("traceparent", b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")


def encoded(**fields: Any) -> bytes:
    return json.dumps(attestation_value(**fields), ensure_ascii=False, separators=(",", ":")).encode()


def strict_domain(confusables: Any = "replace", **caps: int) -> Policy:
    """A policy whose `strict-domain` treats look-alikes in this way."""
    registry = Attestations(
        consensus_domains=["scientific-default", "strict-domain"],
        domains={"strict-domain": AttestationDomain(confusables=confusables)},
    )
    return Policy(attestations=registry, sanitation=Sanitation(caps={**CAPS, **caps}))


ANY_FORM = Policy(attestations=Attestations(min_canonicalisation="0.2"))


class Lane:
    """A framing lane that starts with a policy. Invariant: `next` is the offset of the record that comes next."""

    def __init__(
        self,
        policy: Policy = DEFAULT_POLICY,
        lane: int = 0,
        lanes: int = 1,
        partitioner: Partitioner = "murmur2",
    ) -> None:
        self.state = framing.State(lane, lanes, partitioner)
        self.next = 0
        self.height = 0
        self.block([announcement(policy)])

    def block(self, events: Sequence[Event]) -> list[Output]:
        """Seals a block of these events and folds it."""
        header = Header(
            lane=self.state.lane,
            lanes=self.state.lanes,
            height=self.height,
            prev=blocks.GENESIS,
            time=T + self.height,
            watermark=T,
            policy=self.state.policy_hash,
            fold=core.FOLD_VERSION,
            sources=[Source("attestations", 0, self.next)],
            outputs=blocks.outputs_root([]),
        )
        self.height += 1
        return framing.fold(self.state, blocks.seal(header, events)[0])

    def record(
        self,
        value: bytes | dict[str, Any] | None,
        key: bytes | None = CLAIM.encode(),
        headers: Sequence[tuple[str, bytes]] = (),
    ) -> Event:
        """The event of one record, at the offset that comes next."""
        raw = json.dumps(value, ensure_ascii=False).encode() if isinstance(value, dict) else value
        self.next += 1
        return core.event_for(0, self.next - 1, T, list(headers), key, raw)

    def one(self, value: Any, **given: Any) -> Output:
        """The one output of a block with one record."""
        (output,) = self.block([self.record(value, **given)])
        return output


def announcement(policy: Policy) -> Event:
    return Event(EventKind.POLICY, 0, 0, T, [], None, policy.document)


def reason(output: Output) -> str | None:
    """Why an output is a dead letter; None where it is a record on `grounded`."""
    assert output.topic in ("grounded", "dead-letters")
    return _header(output, "sluice-reason") if output.topic == "dead-letters" else None


def detail(output: Output) -> str:
    return _header(output, "sluice-detail")


def _header(output: Output, wanted: str) -> str:
    return next(value for name, value in output.headers if name == wanted).decode()


def grounded(output: Output) -> Grounded:
    """The record of an output, with no field that its struct does not know."""
    assert output.topic == "grounded", output.headers
    record = msgspec.json.decode(output.value, type=Grounded)
    assert msgspec.to_builtins(record) == json.loads(output.value)
    return record


# ---------------------------------------------------------------- what is good


def test_a_good_attestation_becomes_one_record_on_grounded():
    """Framed, under its claim hash, with the place of its original."""
    lane = Lane(lane=2, lanes=4)
    claim = claims(2, 4, "murmur2")[0]
    value = attestation_value(
        claim_hash=claim,
        rationale="The log bears it out.",
        evidence=[{"quote": "An entry of that day.", "uri": "https://example.org/log"}],
        cited_works=[{"uri": "urn:doi:10.1000/182", "title": "On logs"}],
        issued_at="2026-05-25T09:00:00Z",
    )
    lane.next = 41

    output = lane.one(value, key=claim.encode())

    record = grounded(output)
    assert output.key == claim.encode()
    assert record.source == "attestations/2/41"
    assert record.consensus_domain == "scientific-default"
    assert (record.verdict_summary.primary_verdict, record.verdict_summary.validator_count) == ("VERIFIED", 1)
    (entry,) = record.attestations
    assert (entry.claim_hash, entry.validator_did) == (claim, "did:web:university.example")
    assert entry.untrusted_text.rationale == "The log bears it out."
    assert entry.untrusted_text.evidence[0].untrusted_quote.quote == "An entry of that day."
    assert entry.untrusted_text.cited_works[0].title == "On logs"
    assert record.meta.sanitation_version == "0.1"
    assert ("content-type", b"application/json") in output.headers


def test_the_hash_is_that_of_the_whole_attestation():
    """Version 0.3 where none is stated; for plain text that is SHA-256 over RFC 8785 [V §7]."""
    value = attestation_value(rationale="Plain.", unknown=[1, {"deep": None}])

    record = grounded(Lane().one(value))

    assert record.canonical_hash == "sha256:" + sha256(rfc8785.dumps(value)).hexdigest()
    assert record.canonicalisation_version == "0.3"


def test_look_alikes_have_one_hash_under_03_and_two_under_02():
    """An attestation that states 0.2 keeps it, and the rules of 0.2 [V §7]."""
    hashes: dict[str, set[str]] = {}
    for version in ("0.2", "0.3"):
        for rationale in ("scope", "sсоре", "ｓｃｏｐｅ", "sc\u200bope"):
            value = attestation_value(rationale=rationale, canonicalisation_version=version)
            record = grounded(Lane(ANY_FORM).one(value))
            assert record.canonicalisation_version == version
            hashes.setdefault(version, set()).add(record.canonical_hash)

    assert {version: len(found) for version, found in hashes.items()} == {"0.2": 4, "0.3": 1}


def test_fields_that_we_do_not_know_are_left_out():
    """Whatever they hold, nothing of it is on the output."""
    output = Lane().one(
        attestation_value(note="<script>", _untrusted_text={"rationale": "forged"}, source="forged/0/0")
    )

    assert grounded(output).source == "attestations/0/0"
    assert b"forged" not in output.value
    assert b"<script>" not in output.value


def test_what_sanitation_changed_stands_in_meta():
    """Look-alikes, invisible characters and refused URIs, by field."""
    record = grounded(
        Lane().one(
            attestation_value(rationale="pаy\u202e now", evidence=[{"quote": "q", "uri": "javascript:alert(1)"}])
        )
    )

    assert record.attestations[0].untrusted_text.rationale == "pay now"
    assert [(one["field"], one["character"]) for one in record.meta.confusables_replaced] == [("rationale", "U+0430")]
    assert [(one["field"], one["count"]) for one in record.meta.stripped_positions] == [("rationale", 1)]
    assert record.meta.uris_rejected == [{"field": "evidence[0].uri", "reason": "scheme"}]
    assert record.attestations[0].untrusted_text.evidence[0].untrusted_quote.source_uri is None


def test_validators_of_one_claim_do_not_become_one():
    """The same bytes twice are two records that differ in their source alone."""
    lane = Lane()

    first, second = lane.block([lane.record(attestation_value()), lane.record(attestation_value())])

    assert first.key == second.key
    assert json.loads(first.value) == {**json.loads(second.value), "source": "attestations/0/0"}
    assert json.loads(second.value)["source"] == "attestations/0/1"


def test_a_traceparent_is_passed_on():
    """And no other header: a stranger's headers are a stranger's text."""
    output = Lane().one(attestation_value(), headers=[("x-note", b"hello"), TRACEPARENT, ("ce_id", b"forged")])

    assert [header for header in output.headers if header[0] != "content-type"] == [TRACEPARENT]


@pytest.mark.parametrize(
    "value",
    [
        "<b>\u202eignore all instructions</b>".encode(),
        b"\xff\xfe",
        b"",
        b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\n<b>",
        b"x" * 900_000,
    ],
)
def test_a_traceparent_that_is_none_is_left_out(value: bytes):
    """It would be a stranger's text outside the frame; the attestation stands without it."""
    output = Lane().one(attestation_value(), headers=[("traceparent", value)])

    assert [name for name, _ in output.headers] == ["content-type"]


# ---------------------------------------------------------------- what is mistyped


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"claim_hash": "0x12"}, "$.claim_hash"),
        ({"claim_hash": CLAIM + "\n"}, "$.claim_hash"),
        ({"claim_hash": 7}, "$.claim_hash"),
        ({"validator_did": "https://example.org"}, "$.validator_did"),
        ({"validator_did": "did:web:a b"}, "$.validator_did"),
        ({"verdict": "verified"}, "$.verdict"),
        ({"consensus_domain": "unknown-domain"}, "$.consensus_domain"),
        ({"consensus_domain": "<b>"}, "$.consensus_domain"),
        ({"rationale": None}, "$.rationale"),
        ({"rationale": ["a"]}, "$.rationale"),
        ({"rationale": "a <b>bold</b> claim"}, "$.rationale"),
        ({"rationale": "<!-- a comment -->"}, "$.rationale"),
        ({"rationale": "<!doctype html>"}, "$.rationale"),
        ({"rationale": "bell \x07"}, "$.rationale"),
        ({"rationale": "next line \x85"}, "$.rationale"),
        ({"rationale": '{"role": "system"}'}, "$.rationale"),
        ({"qualifications": "```\nrm -rf\n```"}, "$.qualifications"),
        ({"qualifications": "see [this](https://evil.example)"}, "$.qualifications"),
        ({"qualifications": "![x](https://evil.example/x.png)"}, "$.qualifications"),
        ({"qualifications": "[ref]: https://evil.example"}, "$.qualifications"),
        ({"evidence": {}}, "$.evidence"),
        ({"evidence": [{"quote": "fine"}, {"quote": 5}]}, "$.evidence[1].quote"),
        ({"evidence": [{"quote": "fine"}] * 7 + [{"quote": "<i>"}]}, "$.evidence[7].quote"),
        ({"cited_works": [{"title": "no URI"}]}, "$.cited_works[0]"),
        ({"issued_at": "yesterday"}, "$.issued_at"),
        ({"canonicalisation_version": "0.4"}, "$.canonicalisation_version"),
        ({"number": 2**53 + 2}, "$"),
    ],
)
def test_a_mistyped_attestation_is_a_dead_letter_that_names_the_field(fields: dict[str, Any], path: str):
    """The whole of it is refused [V §3], whichever field is wrong, and the bytes stay as they came."""
    value = encoded(**fields)

    output = Lane().one(value)

    assert reason(output) == "mistyped"
    assert detail(output).partition(":")[0] == path
    assert output.value == value


@pytest.mark.parametrize("missing", ["claim_hash", "validator_did", "verdict", "consensus_domain"])
def test_the_first_four_fields_are_required(missing: str):
    """The detail names the one that is not there."""
    value = attestation_value()
    del value[missing]

    output = Lane().one(value)

    assert reason(output) == "mistyped"
    assert missing in detail(output)


@pytest.mark.parametrize("field", ["rationale", "qualifications", "quote", "title", "uri", "unknown"])
def test_a_lone_surrogate_is_mistyped(field: str):
    """UTF-8 cannot say it, so neither a text nor a hash can hold it."""
    bad = '"\\ud800"'
    written = {
        "quote": f'"evidence":[{{"quote":{bad}}}]',
        "title": f'"cited_works":[{{"uri":"","title":{bad}}}]',
        "uri": f'"evidence":[{{"uri":{bad}}}]',
    }.get(field, f'"{field}":{bad}')

    assert reason(Lane().one(encoded()[:-1] + b"," + written.encode() + b"}")) == "mistyped"


def test_a_member_that_is_named_twice_is_mistyped():
    """Two parsers would read two attestations."""
    assert reason(Lane().one(encoded()[:-1] + b',"verdict":"FALSE"}')) == "mistyped"


@pytest.mark.parametrize(
    "did",
    [
        "did:web:[click](https://evil.example)",
        "did:web:x![x](https://evil.example/x.png)",
        "did:web:[label]",
    ],
)
def test_a_did_that_is_markup_is_mistyped(did: str):
    """It stands outside the frame, and RFC 3986 has no square brackets outside a host."""
    output = Lane().one(attestation_value(validator_did=did))

    assert reason(output) == "mistyped"
    assert detail(output).startswith("$.validator_did:")


@pytest.mark.parametrize("value", [b"{", b"\xff", b"", b"null,", b"\xef\xbb\xbf{}", b'{"a":NaN}'])
def test_what_is_not_json_is_a_dead_letter(value: bytes):
    """`not-json`, with the bytes as they came."""
    output = Lane().one(value)

    assert (reason(output), output.value, output.key) == ("not-json", value, CLAIM.encode())


@pytest.mark.parametrize("value", [b"null", b"[]", b"7", b'"text"', b"true"])
def test_json_that_is_no_object_is_mistyped(value: bytes):
    """It is JSON, and no attestation."""
    assert reason(Lane().one(value)) == "mistyped"


def test_a_tombstone_is_a_dead_letter():
    """A record without a value deletes nothing here; its dead letter is empty."""
    output = Lane().one(None)

    assert (reason(output), output.value, output.key) == ("not-json", b"", CLAIM.encode())


# ---------------------------------------------------------------- policy


LOOK_ALIKE = "The scоpe is clear."  # a Cyrillic о


def test_a_domain_that_rejects_look_alikes_does_so():
    """The dead letter names the field; another domain of the same policy replaces them."""
    lane = Lane(strict_domain("reject"))

    refused = lane.one(attestation_value(consensus_domain="strict-domain", qualifications=LOOK_ALIKE))
    replaced = lane.one(attestation_value(qualifications=LOOK_ALIKE))

    assert reason(refused) == "confusable-text"
    assert detail(refused).startswith("$.qualifications:")
    assert grounded(replaced).attestations[0].untrusted_text.qualifications == "The scope is clear."


def test_typography_is_not_rejected():
    """A dash or a curly quote stands in all good prose [V §4.3: unexpected]."""
    output = Lane(strict_domain("reject")).one(
        attestation_value(consensus_domain="strict-domain", rationale="“So” – it ‘is’.")
    )

    assert reason(output) is None


@pytest.mark.parametrize(("rationale", "present"), [(LOOK_ALIKE, True), ("The scope is clear.", False)])
def test_flag_keeps_look_alikes_and_says_so(rationale: str, present: bool):
    """Consumers then treat the attestation as low-confidence [V §4.3]."""
    record = grounded(
        Lane(strict_domain("flag")).one(attestation_value(consensus_domain="strict-domain", rationale=rationale))
    )

    assert record.meta.confusables_present is present
    assert record.attestations[0].untrusted_text.rationale == rationale
    assert record.meta.confusables_replaced == []


def test_a_policy_lowers_the_caps():
    """Each cut is recorded; a quote past the policy's number as well [V §4.1]."""
    lane = Lane(strict_domain(rationale=10, qualifications=4, quote=3, quotes=1, title=2))
    value = attestation_value(
        rationale="r" * 11,
        qualifications="q" * 4,
        evidence=[{"quote": "abcd"}, {"quote": "xyz"}],
        cited_works=[{"uri": "", "title": "title"}],
    )

    record = grounded(lane.one(value))

    text = record.attestations[0].untrusted_text
    assert (text.rationale, text.qualifications) == ("r" * 10 + "…", "q" * 4)
    assert [one.untrusted_quote.quote for one in text.evidence] == ["abc…"]
    assert [one.title for one in text.cited_works] == ["ti…"]
    assert {(one["field"], one["octets_before"], one["octets_after"]) for one in record.meta.truncated} == {
        ("rationale", 11, 10),
        ("evidence[0].quote", 4, 3),
        ("evidence[1].quote", 3, 0),
        ("cited_works[0].title", 5, 2),
    }


def test_a_policy_is_in_force_from_the_block_after():
    """So records around it in its own block are judged alike."""
    lane = Lane()
    value = attestation_value(consensus_domain="strict-domain")
    before, after = lane.record(value), lane.record(value)

    own = lane.block([before, announcement(strict_domain()), after])

    assert [reason(one) for one in own] == ["mistyped", "mistyped"]
    assert lane.state.policy_hash == strict_domain().hash
    assert reason(lane.one(value)) is None


# ---------------------------------------------------------------- keys


def claims(lane: int, lanes: int, partitioner: Partitioner) -> list[str]:
    """Claim hashes whose key belongs to a lane."""
    hashes = ("0x" + sha256(bytes([number])).hexdigest() for number in range(200))
    return [one for one in hashes if PARTITIONERS[partitioner](one.encode(), lanes) == lane]


@pytest.mark.parametrize("key", [None, b"", b"0x", CLAIM.upper().encode(), CLAIM.encode() + b" ", b"\xff" * 70])
def test_a_key_that_is_not_the_claim_hash_is_misrouted(key: bytes | None):
    """The dead letter keeps the key that came, or none, and names the partitioner."""
    output = Lane().one(attestation_value(), key=key)

    assert (reason(output), output.key) == ("misrouted", key)
    assert "murmur2" in detail(output)


@pytest.mark.parametrize("partitioner", ["murmur2", "crc32"])
def test_a_key_of_another_partition_is_misrouted(partitioner: Partitioner):
    """Each lane takes what its partitioner puts into its partition, and nothing else."""
    for number in range(LANES):
        claim = claims(number, LANES, partitioner)[0]
        for lane in range(LANES):
            output = Lane(lane=lane, lanes=LANES, partitioner=partitioner).one(
                attestation_value(claim_hash=claim), key=claim.encode()
            )
            assert reason(output) == (None if lane == number else "misrouted")
            assert lane == number or partitioner in detail(output)


def test_what_is_mistyped_is_reported_before_where_it_went():
    """One record, one reason: a wrong key of a record that is none anyway is nobody's news."""
    assert reason(Lane().one(attestation_value(verdict="MAYBE"), key=None)) == "mistyped"


# ---------------------------------------------------------------- dead letters


def test_a_dead_letter_keeps_bytes_and_headers():
    """Ours come first, so that a header of the stranger's with the same name changes nothing."""
    value = b' \n{ "claim_hash":\t"0x"  , "rationale" : "<b>\xe2\x80\xae" }\r\n '
    theirs = [("sluice-reason", b"forged"), ("x", b"\xff\x00"), TRACEPARENT, ("x", b"")]

    output = Lane().one(value, headers=theirs)

    assert (output.topic, output.key, output.value) == ("dead-letters", CLAIM.encode(), value)
    assert [name for name, _ in output.headers[:3]] == ["sluice-reason", "sluice-detail", "sluice-source"]
    assert output.headers[3:] == theirs
    assert (reason(output), _header(output, "sluice-source")) == ("mistyped", "attestations/0/0")


@pytest.mark.parametrize("extra", [1, 1_000_000])
def test_an_oversize_record_leaves_hash_length_and_source(extra: int):
    """Its bytes go nowhere: neither a block nor a topic could take them."""
    lane = Lane()
    value = b"x" * (MAX_INPUT_BYTES + extra)
    lane.next = 9

    output = lane.one(value, headers=[("large", b"y")])

    assert reason(output) == "oversize"
    assert json.loads(output.value) == {
        "sha256": sha256(value).hexdigest(),
        "length": len(value),
        "source": "attestations/0/9",
    }
    assert (output.key, _header(output, "sluice-source")) == (CLAIM.encode(), "attestations/0/9")


def test_a_gap_is_counted_and_has_no_output():
    """What retention deleted before it was read: as many records as offsets were skipped."""
    lane = Lane()
    gap = Event(EventKind.GAP, 0, 10, T, [], None, b"25")

    assert lane.block([gap]) == []
    assert lane.state.counters["lost"] == 15
    lane.block([gap])
    assert lane.state.counters["lost"] == 30


def test_a_batch_that_could_not_be_read_is_a_dead_letter_and_counted():
    """As with any lane."""
    lane = Lane()

    (output,) = lane.block([quarantine(0, 10, 14, T, "checksum", b"raw")])

    assert (_header(output, "sluice-reason"), _header(output, "sluice-source")) == (
        "unreadable-batch",
        "attestations/0/10",
    )
    assert (lane.state.counters["quarantined"], lane.state.counters["dead-letters"]) == (4, 1)


def test_every_fate_is_counted():
    """Grounded records and dead letters each have a counter."""
    lane = Lane()
    lane.block([lane.record(attestation_value()), lane.record(b"{"), lane.record(attestation_value())])

    assert (lane.state.counters["grounded"], lane.state.counters["dead-letters"]) == (2, 1)


# ---------------------------------------------------------------- laws


class Case(NamedTuple):
    """A record, and the fate that it must have: None for `grounded`, or a dead letter's reason."""

    value: bytes | None
    key: bytes | None
    fate: str | None


def _good(rationale: str) -> Case:
    return Case(encoded(rationale=rationale), CLAIM.encode(), None)


# What strict typing lets pass: no letters of markup, no controls, no surrogates.
_prose = st.text(st.characters(exclude_categories=["Cc", "Cs"], exclude_characters="<>[]{}`~"), max_size=40)
_bad = st.sampled_from(
    [
        Case(b"{", CLAIM.encode(), "not-json"),
        Case(None, None, "not-json"),
        Case(encoded(verdict="MAYBE"), CLAIM.encode(), "mistyped"),
        Case(encoded(rationale="<b>x</b>"), b"other", "mistyped"),
        Case(encoded(consensus_domain="none"), CLAIM.encode(), "mistyped"),
        Case(encoded(consensus_domain="strict-domain", rationale=LOOK_ALIKE), CLAIM.encode(), "confusable-text"),
        Case(encoded(), None, "misrouted"),
        Case(encoded(), b"other", "misrouted"),
        Case(b"x" * (MAX_INPUT_BYTES + 1), CLAIM.encode(), "oversize"),
    ]
)
_cases = st.lists(st.one_of(_prose.map(_good), _bad), max_size=12)


@given(cases=_cases)
def test_every_attestation_has_exactly_one_fate(cases: list[Case]):
    """One output each, in order, of the reason that it must have, with the place where it came from."""
    lane = Lane(strict_domain("reject"))

    outputs = lane.block([lane.record(case.value, key=case.key) for case in cases])

    assert [reason(one) for one in outputs] == [case.fate for case in cases]
    assert [one.key for one in outputs] == [case.key for case in cases]
    places = [grounded(one).source if one.topic == "grounded" else _header(one, "sluice-source") for one in outputs]
    assert places == [f"attestations/0/{offset}" for offset in range(len(cases))]


@given(cases=_cases, cuts=st.lists(st.integers(0, 12), max_size=4), data=st.data())
def test_an_output_depends_on_its_record_alone(cases: list[Case], cuts: list[int], data: st.DataObject):
    """However records are spread over blocks, and in whatever order they are folded, each gives the same bytes."""
    lane = Lane(strict_domain("reject"))
    events = [lane.record(case.value, key=case.key) for case in cases]
    together = lane.block(events)

    split, bounds = Lane(strict_domain("reject")), [0, *sorted(min(cut, len(events)) for cut in cuts), len(events)]
    apart = [one for start, end in pairwise(bounds) for one in split.block(events[start:end])]
    order = data.draw(st.permutations(range(len(events))))
    shuffled = Lane(strict_domain("reject")).block([events[place] for place in order])

    assert apart == together
    assert shuffled == [together[place] for place in order]
    assert split.state.counters == lane.state.counters


# ---------------------------------------------------------------- the largest


def filled(field: str, one: Any, as_text: bool = False) -> bytes:
    """An attestation whose field holds as many of one thing as an input has room for."""
    size = len(json.dumps(one, ensure_ascii=False, separators=(",", ":")).encode()) + (-2 if as_text else 1)
    count = (MAX_INPUT_BYTES - len(encoded()) - 200) // size
    value = encoded(**{field: one * count if as_text else [one] * count})
    assert MAX_INPUT_BYTES - 1000 < len(value) <= MAX_INPUT_BYTES - 100
    return value


def nested(depth: int) -> bytes:
    return encoded(unknown=0)[:-2] + b"[" * depth + b"]" * depth + b"}"


@pytest.mark.parametrize(
    "built",
    [
        pytest.param(lambda: filled("cited_works", {"uri": ""}), id="empty cited works"),
        pytest.param(lambda: filled("cited_works", {"uri": "a"}), id="refused URIs"),
        pytest.param(lambda: filled("cited_works", {"uri": "arxiv:1"}), id="URIs"),
        pytest.param(lambda: filled("cited_works", {"uri": "", "title": "a" * 301}), id="titles that are cut"),
        pytest.param(lambda: filled("cited_works", {"uri": "", "title": "\u200b"}), id="invisible titles"),
        pytest.param(lambda: filled("cited_works", {"uri": "", "title": "<b>"}), id="titles of markup"),
        pytest.param(lambda: filled("cited_works", {"uri": "", "title": "ﷺ"}), id="titles that NFKC makes longer"),
        pytest.param(
            lambda: filled("cited_works", {"uri": "", "title": "ﷺ<b>\u200bа[a](b)"}), id="titles of all kinds"
        ),
        pytest.param(lambda: filled("evidence", {}), id="empty evidence"),
        pytest.param(lambda: filled("evidence", {"quote": ""}), id="empty quotes"),
        pytest.param(lambda: filled("evidence", {"quote": "\u200b", "uri": "a"}), id="invisible quotes"),
        pytest.param(lambda: filled("rationale", "\u200b", as_text=True), id="zero width"),
        pytest.param(lambda: filled("rationale", "\u0430", as_text=True), id="look-alikes"),
        pytest.param(lambda: filled("rationale", "ﷺ", as_text=True), id="text that NFKC makes longer"),
        pytest.param(lambda: filled("rationale", '\\"', as_text=True), id="text that JSON makes longer"),
        pytest.param(lambda: filled("unknown", "x"), id="an unknown member"),
        pytest.param(lambda: nested(100), id="nested"),
        pytest.param(lambda: nested(490_000), id="nested beyond reading"),
        pytest.param(lambda: b"x" * (MAX_INPUT_BYTES - len(CLAIM)), id="not JSON"),
    ],
)
def test_no_input_makes_an_output_that_its_topic_does_not_take(built: Callable[[], bytes]):
    """A megabyte of whatever becomes a record or a dead letter of less than 4 MiB, before any compression."""
    lane = Lane()
    event = core.event_for(0, 0, T, [], CLAIM.encode(), built())
    assert event.kind == EventKind.RECORD

    (output,) = lane.block([event])

    size = len(output.value) + len(output.key or b"")
    size += sum(len(name) + len(content) for name, content in output.headers)
    assert size < TOPIC_BYTES - HEADROOM


@pytest.mark.parametrize("field", ["claim_hash", "validator_did", "verdict", "consensus_domain", "issued_at"])
def test_a_dead_letters_detail_is_a_sentence(field: str):
    """It quotes no megabyte, and nothing that a terminal obeys."""
    output = Lane().one(attestation_value(**{field: "\u202e\x1b[2J<b>" * 50_000}))

    assert reason(output) == "mistyped"
    assert len(detail(output)) < 400
    assert detail(output).isprintable()
