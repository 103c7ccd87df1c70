"""Canonical JSON and the canonical hash, against rfc8785 as the oracle."""

import hashlib
import json
import struct

import msgspec
import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import inspect as info
from search import examples

from sluice.codecs import canonical as c
from sluice.codecs import records, unicode_text

MAX = 2**53 - 1
FLOATS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.0, -0.0, 1.0, -1.0, 1e-7, 1e-6, 1e-5, 1e-4, 1.5e-4, 1e15, 1e16, 1e20, 1e21, 5e-324, 0.93, 1e22]),
)
# Names around U+E000 and beyond the BMP: there the orders of UTF-16 and UTF-8 part.
NAMES = st.text(st.one_of(st.characters(codec="utf-8"), st.sampled_from("a\ud7ff\ue000\uffff\U00010000")), max_size=5)
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-MAX, MAX), FLOATS, st.text(max_size=8)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(NAMES, inner, max_size=4)),
    max_leaves=12,
)


def values(declared: info.Type) -> st.SearchStrategy:
    """Values of a declared type, as wide as an encoder will take them."""
    match declared:
        case info.StructType():
            return structs(declared.cls)
        case info.LiteralType():
            return st.sampled_from(declared.values)
        case info.Metadata():
            return values(declared.type)
        case info.UnionType():
            return st.one_of(*(values(one) for one in declared.types))
        case info.ListType():
            return st.lists(values(declared.item_type), max_size=2)
        case info.TupleType():
            return st.tuples(*(values(one) for one in declared.item_types))
        case info.DictType():
            return st.dictionaries(NAMES, values(declared.value_type), max_size=3)
        case info.FloatType():
            return FLOATS
        case info.IntType():
            return st.integers(-MAX, MAX)
        case info.StrType():
            return st.text(max_size=8)
        case info.BoolType():
            return st.booleans()
        case info.NoneType():
            return st.none()
        case info.AnyType():
            return JSON
    raise AssertionError(declared)


def structs(kind: type[msgspec.Struct]) -> st.SearchStrategy:
    """Structs of a record type, with any of the optional fields absent."""
    fields = info.type_info(kind).fields
    required = {one.name: st.deferred(lambda one=one: values(one.type)) for one in fields if one.required}
    optional = {one.name: st.deferred(lambda one=one: values(one.type)) for one in fields if not one.required}
    return st.fixed_dictionaries(required, optional=optional).map(lambda given: kind(**given))


@pytest.mark.parametrize("kind", [*records.INPUTS.values(), *records.OUTPUTS.values()])
def test_the_fast_way_gives_the_bytes_of_rfc_8785(kind):
    """For every record type on the wire, whatever its fields hold."""

    @settings(max_examples=examples(60), deadline=None)
    @given(structs(kind))
    def agree(record):
        assert c.fast_canonical(record) == rfc8785.dumps(msgspec.to_builtins(record))

    agree()


@given(JSON)
def test_the_fast_way_gives_the_bytes_of_rfc_8785_for_plain_values(value):
    """For any JSON value, floats and strange member names included."""
    assert c.fast_canonical(value) == c.canonical_json(value) == rfc8785.dumps(value)


@given(JSON)
def test_a_canonical_text_reads_back_as_the_same_value(value):
    """Canonical JSON is JSON, and canonical once is canonical."""
    raw = c.canonical_json(value)
    assert c.canonical_json(json.loads(raw, parse_int=float)) == raw


@given(st.integers(0, 2**64 - 1))
def test_any_double_is_written_alike(bits):
    """Every finite double, by its bits."""
    (number,) = struct.unpack("<d", struct.pack("<Q", bits))
    if number - number == 0:
        assert c.fast_canonical([number]) == rfc8785.dumps([number])


def test_the_common_record_takes_the_fast_way(monkeypatch):
    """A record with ASCII names and a confidence like 0.93 needs no second encoder."""
    monkeypatch.setattr(c, "canonical_json", lambda value: pytest.fail("fell back"))
    assert c.fast_canonical({"confidence": 0.93, "classes": ["ä"], "n": [1, None, True]})


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b'{"n": 9007199254740993}', "beyond 2^53"),
        (b'{"n": -9007199254740993}', "beyond 2^53"),
        (b'{"n": 18014398509481984}', "beyond 2^53 - 1, where doubles cannot tell integers apart"),
        (b'{"n": 9007199254740993.0}', "beyond 2^53 and would be rounded to 9007199254740992.0"),
        (b'{"n": -12345678901234567891e1}', "would be rounded"),
        (b'{"n": [{"m": 1' + b"0" * 5000 + b"}]}", "beyond 2^53"),
        (b'{"n": 1e400}', "too large"),
        (b'{"n": NaN}', "not JSON"),
        (b'{"n": -Infinity}', "not JSON"),
        (b'{"n": 1, "n": 2}', "occurs twice"),
        (b'{"n": "\\ud800"}', "lone surrogate"),
        (b'{"\\udfff": 1}', "lone surrogate"),
        ('{"a": 1, "\u0430": 2}'.encode(), "look alike"),
        (b"[" * 129 + b"]" * 129, "128 levels"),
        (b"[" * 100_000, "128 levels"),
        (b"\xff", "not UTF-8"),
        (b"{", "not JSON"),
        (b"", "not JSON"),
    ],
)
def test_what_has_no_canonical_form_is_an_error_of_one_sentence(text, why):
    """Nothing is rounded, dropped or guessed; the sentence is short and says why."""
    with pytest.raises(c.CanonicalError, match=why.replace("^", r"\^")) as caught:
        c.canonical_hash(c.parse_json(text))
    assert len(str(caught.value)) < 160
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "value", [{"n": 2**53}, [float("nan")], {"n": float("inf")}, {1: 2}, {"a": "\ud800"}, object()]
)
def test_a_parsed_value_without_canonical_form_is_an_error(value):
    """The same for values that a parser gave."""
    with pytest.raises(c.CanonicalError):
        c.canonical_hash(value)


def test_nesting_up_to_the_bound_is_hashed():
    """128 levels are taken, in either version."""
    text = "[" * 128 + "]" * 128
    for version in ("0.2", "0.3"):
        assert c.canonical_hash(c.parse_json(text), version)[0] == "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def test_nesting_beyond_the_bound_is_an_error_either_way():
    """Also for values of our own, and for what is not even a plain value."""
    value = []
    for _ in range(128):
        value = [value]
    for encode in (c.fast_canonical, c.canonical_json, c.canonical_hash):
        with pytest.raises(c.CanonicalError, match="128 levels"):
            encode(value)


def test_integral_floats_and_negative_zero_are_written_as_rfc_8785_says():
    """The JSON text's literals are read as they stand."""
    assert c.canonical_json(
        c.parse_json(b"[1.0, -0.0, -0, 1E2, 1e-7, 9007199254740991, 1E30, 9007199254740992.0]")
    ) == (b"[1,0,0,100,1e-7,9007199254740991,1e+30,9007199254740992]")


def naive(value, version):
    """[V §7] step by step."""

    def settle(one):
        if isinstance(one, str):
            return unicode_text.settle(one)
        if isinstance(one, list):
            return [settle(item) for item in one]
        if isinstance(one, dict):
            return {settle(name): settle(member) for name, member in one.items()}
        return one

    return "sha256:" + hashlib.sha256(rfc8785.dumps(settle(value) if version == "0.3" else value)).hexdigest()


def names_meet(value):
    """Whether two member names of one object, anywhere in the value, settle to the same."""
    if isinstance(value, list):
        return any(map(names_meet, value))
    if isinstance(value, dict):
        settled = {unicode_text.settle(name) for name in value}
        return len(settled) < len(value) or any(map(names_meet, value.values()))
    return False


@given(JSON, st.sampled_from(["0.2", "0.3"]))
def test_the_hash_is_that_of_the_steps_one_by_one(value, version):
    """Over any value whose names stay different; the short cut for ASCII changes nothing."""
    if version == "0.3" and names_meet(value):
        with pytest.raises(c.CanonicalError, match="look alike"):
            c.canonical_hash(value, version)
    else:
        assert c.canonical_hash(value, version) == (naive(value, version), version)


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}"), ('[{"a":', "}]")])
def test_a_text_may_be_nested_so_deep_and_no_deeper(opening, closing):
    """However many brackets stand beside one another, in texts as well."""

    def nested(times):
        return opening * times + '"[[{{"' + closing * times

    times = c.MAX_DEPTH // len(closing)
    assert c.parse_json(nested(times))
    assert c.parse_json("[" + ",".join(["[]"] * 300) + "]")
    with pytest.raises(c.CanonicalError, match=f"{c.MAX_DEPTH} levels"):
        c.parse_json(nested(times + 1))


@given(JSON)
def test_what_is_known_of_texts_changes_no_hash(value):
    """It only saves settling them again; names are settled in any case."""
    if not names_meet(value):
        known = {text: unicode_text.settle(text) for text in [str(value), "é", "pаypal"]}
        assert c.canonical_hash([value, *known], settled=known) == c.canonical_hash([value, *known])


def test_what_is_known_is_not_settled_again():
    """A caller's word for a text stands, but not for a member's name, nor under 0.2."""
    known = {"pаypal": "known"}
    assert c.canonical_hash({"a": "pаypal"}, settled=known) == c.canonical_hash({"a": "known"})
    assert c.canonical_hash({"pаypal": 1}, settled=known) == c.canonical_hash({"paypal": 1})
    assert c.canonical_hash({"a": "pаypal"}, "0.2", known) == c.canonical_hash({"a": "pаypal"}, "0.2")


def test_the_version_is_the_envelopes():
    """`0.3` where the field is missing or says something else, `0.2` where it says so [V §7]."""
    text = "pаypal"
    assert c.canonical_hash({"a": text})[1] == "0.3"
    assert c.canonical_hash({"a": text, "canonicalisation_version": "0.3"})[1] == "0.3"
    assert c.canonical_hash({"a": text, "canonicalisation_version": "0.2"})[1] == "0.2"
    assert c.canonical_hash([text])[1] == "0.3"


@pytest.mark.parametrize("variant", ["pаypal", "ｐaypal", "pay\u200dpal", "\u202epaypal", "pay\u00adpal", "𝐩aypal"])
def test_what_looks_alike_hashes_alike(variant):
    """Under 0.3 in texts and names; under 0.2 each variant has a hash of its own."""
    for made in (lambda text: {"claim": text}, lambda text: {text: 1}):
        assert c.canonical_hash(made(variant)) == c.canonical_hash(made("paypal"))
        assert c.canonical_hash(made(variant), "0.2") != c.canonical_hash(made("paypal"), "0.2")


def test_order_and_white_space_do_not_matter():
    """Two spellings of one object have one hash."""
    assert c.canonical_hash(c.parse_json(b'{"b": 1.0, "a": "\\u0041"}')) == c.canonical_hash(
        c.parse_json('{"a":"A","b":1}')
    )


@given(st.text(), st.sampled_from(["assertion", "denial", "refusal"]))
def test_the_hash_of_an_assertion_is_that_of_its_text_and_kind(text, kind):
    """Under version 0.3, whether there is something to settle or not."""
    assert c.assertion_hash(text, kind) == c.canonical_hash({"assertion": text, "kind": kind}, "0.3")[0]


@pytest.mark.parametrize("stated", ["0.4", "0.1", "", 0.3, None, ["0.2"], {}])
def test_another_version_is_an_error(stated):
    """A hash under rules that are not known would say nothing."""
    with pytest.raises(c.CanonicalError, match="neither"):
        c.canonical_hash({"a": 1, "canonicalisation_version": stated})
