"""Grounded values travel as JSON and MessagePack, with all that they carry."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from sluice.codecs.records import Retrieval
from sluice.streams.grounded import (
    Grounded,
    ProvenanceChain,
    dec_hook,
    enc_hook,
    from_record,
    prompt,
    to_record,
    tool,
)

AT = "2026-11-21T09:00:00Z"


class Place(msgspec.Struct):
    name: str


class Report(msgspec.Struct):
    title: Grounded[str]
    place: Grounded[Place]
    chain: ProvenanceChain
    anything: Grounded


def grounded(value: Any) -> Grounded[Any]:
    return Grounded(value, [Retrieval(source="a.md", timestamp=AT, data=["grounded"])])


@pytest.mark.parametrize("codec", [msgspec.json, msgspec.msgpack])
def test_a_struct_has_grounded_fields(codec: Any) -> None:
    """With the hooks, both ways; what they carry has the type that was asked for."""
    report = Report(grounded("A"), grounded(Place("B")), grounded("C").chain, grounded([1]))

    again = codec.decode(codec.encode(report, enc_hook=enc_hook), type=Report, dec_hook=dec_hook)

    assert again.title.chain == again.chain == report.chain
    assert again.title.unwrap_discarding_sources() == "A"
    assert again.place.unwrap_discarding_sources() == Place("B")
    assert again.anything.unwrap_discarding_sources() == [1]


def test_a_record_has_value_chain_and_citation() -> None:
    """The chain as in an emission."""

    @tool(data="grounded")
    def fetch() -> str:
        return "the text"

    @prompt(cites="doc", strictly=True)
    def summarise(doc: str) -> Grounded[str]:
        return "says “text”"  # type: ignore[return-value]

    record = to_record(summarise(fetch()))

    assert record["value"] == "says “text”"
    assert [step["step"] for step in record["chain"]] == ["retrieval", "prompt-transform"]
    assert record["cites"] == {"contexts": ["the text"], "strictly": True}
    assert to_record(from_record(record)) == record


def test_a_severed_value_comes_back_severed() -> None:
    """Reading claims nothing."""
    again = from_record(to_record(grounded("a").sever("why")))

    assert not again.grounded
    assert again.sources()[-1].reason == "why"  # type: ignore[union-attr]


@pytest.mark.parametrize("record", [{}, {"value": 1, "chain": [{"step": "magic"}]}, {"value": 1, "chain": 2}, 3])
def test_what_is_no_record_is_refused(record: Any) -> None:
    """With msgspec's own error."""
    with pytest.raises(msgspec.ValidationError):
        from_record(record)


def test_a_value_of_another_type_is_refused() -> None:
    """As asked for."""
    with pytest.raises(msgspec.ValidationError, match="Expected `int`"):
        msgspec.json.decode(
            msgspec.json.encode(grounded("a"), enc_hook=enc_hook), type=Grounded[int], dec_hook=dec_hook
        )


def test_the_hooks_know_nothing_else() -> None:
    """Other types stay what they were: an error."""
    with pytest.raises(NotImplementedError):
        enc_hook(object())
    with pytest.raises(NotImplementedError):
        dec_hook(set, [])
