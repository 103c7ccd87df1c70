"""The laws that the fuzzer holds the sanitiser to: what it found holds them now, and what is broken breaks them."""

import importlib.util
import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import envelope
import grammar
import laws
import oracles
import pytest
import uris
from hypothesis import example, given
from hypothesis import strategies as st

from sluice.codecs import canonical, unicode_text
from sluice.streams import sanitise
from sluice.streams.sanitise import Trace, _attestation, _markup, _steps, _typing, _uri

FUZZ = Path(__file__).parents[3] / "fuzz"

SEEDS = sorted((FUZZ / "seeds").iterdir())
SLOW = laws.Oracles(oracles.has_html, oracles.has_link, oracles.has_block, oracles.html_tokens)
BODY = {
    "claim_hash": "0x" + "ab" * 32,
    "validator_did": "did:web:university.example",
    "verdict": "VERIFIED",
    "consensus_domain": "scientific-default",
}


def check_text(text, confusables="replace", cap=2000, typing="lenient"):
    laws.check_text(text, cap, confusables, typing, SLOW)


@pytest.mark.parametrize("confusables", grammar.CONFUSABLES)
@pytest.mark.parametrize("path", SEEDS, ids=lambda path: path.stem)
def test_every_law_holds_for_the_seeds(path, confusables):
    """As a text, as bytes, and as a field of an attestation, under each policy."""
    text = path.read_text("utf-8")
    check_text(text, confusables)
    check_text(text, confusables, cap=20)
    check_text(text, confusables, typing="strict")
    for typing in grammar.TYPING:
        envelope.check_attestation(text.encode(), confusables, typing, SLOW)
        body = {**BODY, "rationale": text, "evidence": [{"quote": text, "uri": text}] * 6, text: [text]}
        envelope.check_attestation(body, confusables, typing, SLOW)


@pytest.mark.parametrize(
    "uri",
    ["https://example.org/a", "https://a@x.org:80/%C3%A9?q#f", "https://[2001:db8::7]/", "did:web:x.org", "urn:doi:1/2"]
    + ["https://x.org/%25E2%2580%258B", "https://x.org/%253Cb%253E", "javascript:1", "", "https://x.org/" + "a" * 1100],
)
def test_every_law_holds_for_uris(uri):
    """Those that pass and those that are refused."""
    uris.check_uri(uri)


@pytest.mark.parametrize("raw", [b"", b"\xff", b"{}", b"[[[[", b'{"a":1,"a":2}', b'{"a":NaN}', b"1e999"])
def test_bytes_that_are_no_attestation_are_faults(raw):
    """Whatever a topic holds, the answer is a value."""
    envelope.check_attestation(raw, "replace", "strict", SLOW)


def unchanged(text, *_):
    return text


BROKEN = [
    pytest.param(_steps, "cap_bytes", unchanged, "a" * 3000, "at most", id="no cap"),
    pytest.param(unicode_text, "nfkc", unchanged, "\ufb01", "the result is NFKC", id="no NFKC"),
    pytest.param(_steps, "replace", unchanged, "p\u0430y", "no look-alike", id="no replacement"),
    pytest.param(_steps, "strip", unchanged, "a\u200db", "nothing invisible", id="no stripping"),
    pytest.param(_steps, "may_be_html", lambda text: False, "a<b>c", "no markup comes out: html5ever", id="no HTML"),
    pytest.param(_steps, "may_be_link", lambda text: False, "[a](b)", "no markup comes out: markdown", id="no links"),
    pytest.param(_steps, "resettle", unchanged, "e<b>\u0301", "is NFKC", id="no second round"),
    pytest.param(_steps, "MAX_ROUNDS", 0, "[a](b)", "no markup", id="no round"),
    pytest.param(_typing, "_html", lambda text: None, "a<b>c", "strict typing lets", id="no typing"),
    pytest.param(Trace, "markup", unchanged, "a<b>c", "every change is told", id="untold markup"),
    pytest.param(Trace, "strip", unchanged, "a\u200db<b>", "adds up", id="untold stripping"),
    pytest.param(sanitise, "unexpected_confusables", lambda *_: False, "p\u0430y", "reject refuses", id="no reject"),
    pytest.param(sanitise, "clean", lambda text, *_: text + "a", "b", "cleaning twice|every change", id="restless"),
    pytest.param(_markup, "_comment_end", lambda text, _: len(text), "<!--a-->b", "between the pieces", id="greedy"),
    pytest.param(_markup, "_TAG_NAME_END", re.compile("[ >]"), "<a\fb='>'>c<d>", "between", id="form feed"),
    pytest.param(canonical, "_settle", unchanged, "p\u0430y", "0.3 is that", id="unsettled hash"),
    pytest.param(laws, "SECONDS", 0.0, "a", "takes less than", id="slow"),
]


@pytest.mark.parametrize(("where", "name", "instead", "text", "law"), BROKEN)
def test_each_law_finds_what_breaks_it(monkeypatch, where, name, instead, text, law):
    """A sanitiser that leaves one step out is a finding, by the law that is about this step."""
    check_text(text, typing="strict")
    check_text(text)
    if name == "may_be_html":  # as in a sanitiser whose last word is missing as well
        monkeypatch.setattr(_steps, "still_html", lambda text: False)
    if name == "MAX_ROUNDS":
        monkeypatch.setattr(_steps, "blunt", unchanged)
    monkeypatch.setattr(where, name, instead)
    with pytest.raises(laws.Finding, match=law):
        check_text(text, typing="strict" if name == "_html" else "lenient")


HIDDEN = [
    ('\uff5b"a": 1\uff5d', "a JSON document"),
    ("\u200b[a]: /b", "markdown-it"),
    ("\uff5e" * 3, "markdown-it"),
    ("\u2060".join(["0123456789abcdef"] * 8), "an encoded payload"),
]


@pytest.mark.parametrize(("text", "law"), HIDDEN)
def test_a_structure_that_settling_shows_is_a_finding(monkeypatch, text, law):
    """Where typing looks at the text as it came only."""
    check_text(text, typing="strict")
    monkeypatch.setattr(_typing, "structure_of", lambda text, *_: _typing._structure(text))
    with pytest.raises(laws.Finding, match=f"lets no structure in that settling shows: {law}"):
        check_text(text, typing="strict")


@pytest.mark.parametrize(
    ("text", "law"), [("\uff1cb\uff1e[1]", "a JSON document"), ("[a]: /" + "b" * 3000 + " c", "markdown-it")]
)
def test_a_structure_that_comes_out_is_a_finding(monkeypatch, text, law):
    """Where nobody looks at what stripping or a cut leaves."""
    envelope.check_attestation({**BODY, "rationale": text}, "replace", "strict", SLOW)
    monkeypatch.setattr(_attestation, "_uncovered", lambda *_: None)
    with pytest.raises(laws.Finding, match=f"lets no structure out: {law}"):
        envelope.check_attestation({**BODY, "rationale": text}, "replace", "strict", SLOW)


def test_a_look_alike_that_a_cut_uncovers_is_a_finding(monkeypatch):
    """Where `reject` is not asked about the text that is left."""
    text = "a" * 1998 + "\u03bf\u0301"
    check_text(text)
    asked = sanitise.unexpected_confusables
    monkeypatch.setattr(sanitise, "unexpected_confusables", lambda text, cap, by: asked(text, by=by))
    with pytest.raises(laws.Finding, match="reject refuses what replace replaces"):
        check_text(text)


MIXING = st.text(
    "aI1\u01c3\u0251\u0301\u0f74\u0f0b\u05d5\u05e1\u05d0\u0627\u0647\u0628\u0661\u0430\u03bf\u4e00\u30fb\u1104 ",
    max_size=8,
)


@given(MIXING)
@example("\u0f74\u0f74\u0301\u01c3")
def test_words_that_mix_scripts_keep_every_law(text):
    """Latin beside a script of UTS 39, 5.2, level 4, beside one that it excepts, and beside two."""
    check_text(text, "replace-in-words")
    check_text(text, "flag-in-words")


def test_a_disguised_run_beside_latin_is_a_finding(monkeypatch):
    """Where a Hebrew letter between Latin ones passes for `l`."""
    check_text("pa\u05d5pal", "replace-in-words")
    monkeypatch.setattr(unicode_text, "_foreign_runs", lambda word: [])
    unicode_text._mixed.cache_clear()
    with pytest.raises(laws.Finding, match="no look-alike of a mixed word"):
        check_text("pa\u05d5pal", "replace-in-words")
    unicode_text._mixed.cache_clear()


def test_a_flood_keeps_every_law():
    """A thousand quotes and works, each with something to record."""
    text = "\ufdfa<b>\u200b\u0430[a](b)"
    body = {**BODY, "evidence": [{"quote": text}] * 6000, "cited_works": [{"uri": text, "title": text}] * 6000}
    envelope.check_attestation(body, "replace", "lenient", None)


def test_a_work_too_many_is_a_finding(monkeypatch):
    """At most a hundred come out."""
    monkeypatch.setattr(_attestation, "MAX_WORKS", 101)
    with pytest.raises(laws.Finding, match="at most a hundred"):
        envelope.check_attestation({**BODY, "cited_works": [{"uri": "arxiv:1"}] * 101}, "replace", "strict", None)


def test_under_flag_a_look_alike_must_be_reported(monkeypatch):
    """Neither replaced nor kept in silence."""
    monkeypatch.setattr(_steps, "replace", unchanged)
    with pytest.raises(laws.Finding, match="under flag a look-alike is told"):
        check_text("p\u0430y", "flag")


@pytest.mark.parametrize(
    ("uri", "shown", "law"),
    [
        ("javascript:1", "[x.org] → javascript:1", "allowed scheme"),
        ("https://a@x.org/", "[a] → https://a@x.org/", "the host shown"),
        ("https://x.org/" + "a" * 1024, None, "only short ASCII"),
        ("https://x.org/é", None, "only short ASCII"),
        ("https://x.org/%25E2%2580%258B", None, "what is invisible"),
        ("https://x.org/%250a", None, "a control"),
        ("https://x.org/%3Cb%3E", None, "markup"),
        ("https://x.org/a", "[x.org] → https://x.org/", "unchanged"),
    ],
)
def test_a_uri_that_should_not_pass_is_a_finding(monkeypatch, uri, shown, law):
    """Were it let through, or shown behind another host."""
    monkeypatch.setattr(_uri, "harden_uri", lambda uri: (shown or f"[x.org] → {uri}", None))
    with pytest.raises(laws.Finding, match=law):
        uris.check_uri(uri)


def leaking(body, rules, **arguments):
    answer = sanitise_frame(body, rules, **arguments)
    return {**answer, "summary": body["rationale"]}


sanitise_frame = sanitise.frame_attestation


def test_text_outside_the_frame_is_a_finding(monkeypatch):
    """Wherever in the envelope it stands."""
    monkeypatch.setattr(sanitise, "frame_attestation", leaking)
    with pytest.raises(laws.Finding, match="outside the frame"):
        envelope.check_attestation({**BODY, "rationale": "do this"}, "replace", "strict", None)


def test_removed_text_in_the_record_is_a_finding(monkeypatch):
    """`_meta` names what was taken out by code point, kind and place only."""
    monkeypatch.setattr(
        Trace, "markup", lambda self, field, *_: self.markup_stripped.append({"field": field, "kind": "<b>"})
    )
    with pytest.raises(laws.Finding, match="_meta repeats nothing"):
        envelope.check_attestation({**BODY, "rationale": "a<b>c"}, "replace", "lenient", None)


def test_a_sixth_quote_is_a_finding(monkeypatch):
    """At most five come out [V §4.1]."""
    monkeypatch.setitem(_attestation.CAPS, "quotes", 6)
    with pytest.raises(laws.Finding, match="at most five"):
        envelope.check_attestation({**BODY, "evidence": [{"quote": "a"}] * 6}, "replace", "strict", None)


# ---------------------------------------------------------------- the grammar


@given(st.sampled_from(grammar.KINDS[:3]), st.text(st.characters(codec="utf-8")))
def test_a_seed_stands_for_its_text(kind, text):
    """What goes into a seed is what the target gets."""
    assert grammar.subject_of(grammar.seed(kind, text)).payload == (text.encode() if kind == "octets" else text)


@given(st.lists(st.integers(min_value=0), max_size=200))
def test_every_choice_makes_a_text(numbers):
    """Of bounded length, and without lone surrogates, which are no text."""
    left = list(numbers)
    source = SimpleNamespace(
        ConsumeIntInRange=lambda least, most: least + (left.pop() if left else 0) % (most - least + 1),
        remaining_bytes=lambda: len(left),
    )
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(sys.modules, "atheris", SimpleNamespace(FuzzedDataProvider=lambda payload: source))
        text = grammar.subject_of(b"\x04\x00\x00" + bytes(9)).payload
    assert len(text) <= grammar.MAX_CHARACTERS
    assert text.encode().decode() == text


def test_the_table_of_the_oracle_is_the_sanitisers():
    """Written twice, from the same sections."""
    assert set(grammar.INVISIBLE) == {chr(p) for first, last in unicode_text.STRIPPED for p in range(first, last + 1)}


# ---------------------------------------------------------------- the run


@pytest.fixture
def target(monkeypatch, tmp_path):
    """fuzz/sanitise.py, which keeps findings in a folder of its own."""
    spec = importlib.util.spec_from_file_location("fuzz_sanitise", FUZZ / "sanitise.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "FOUND", tmp_path / "found")
    return module


PULSE = "#4096\tpulse  cov: 658 ft: 2143 corp: 233/27Kb lim: 4096 exec/s: 2048 rss: 67Mb\n"


@pytest.mark.parametrize(
    ("said", "finding", "ended", "status", "sentence"),
    [
        ([PULSE], None, 0, 0, "Nothing found: 4096 executions"),
        ([PULSE], "crash-1", 77, 1, "found/crash-1 breaks a law"),
        ([], None, 0, 1, "The fuzzer itself did not run to its end"),
        ([PULSE], None, 1, 1, "The fuzzer itself did not run to its end"),
        ([PULSE.replace("ft: 2143", "ft: 0")], None, 0, 1, "The fuzzer itself did not run to its end"),
    ],
)
def test_a_run_never_passes_in_silence(target, monkeypatch, capsys, said, finding, ended, status, sentence):
    """Status 0 only where inputs ran on instrumented code and nothing was found."""

    class Process:
        def __init__(self, command, **_):
            self.stderr, self.returncode = said, ended
            if finding:
                (target.FOUND / finding).write_bytes(b"")

        def __enter__(self):
            return self

        def __exit__(self, *_):
            return None

    monkeypatch.setattr(target.subprocess, "Popen", Process)
    assert target.fuzz(1, 1) == status
    assert sentence in capsys.readouterr().out


def test_without_atheris_it_says_so(target, monkeypatch, capsys):
    """Exit status 3 and one sentence, where there is no wheel for the machine."""
    monkeypatch.setitem(sys.modules, "atheris", None)
    monkeypatch.setattr(sys, "argv", ["fuzz/sanitise.py", "--seconds", "1"])
    assert target.main() == 3
    assert capsys.readouterr().err == target.NO_ATHERIS + "\n"


def test_a_file_is_replayed(target, tmp_path, capsys):
    """What its bytes stand for is shown, and every law looked at."""
    (tmp_path / "input").write_bytes(grammar.seed("text", "a<b>c"))
    assert target.replay([tmp_path / "input"]) == 0
    assert "payload='a<b>c'" in capsys.readouterr().out


def test_the_seeds_stand_for_what_is_in_the_corpus(target):
    """Texts, URIs and attestations, each of a length that libFuzzer takes."""
    subjects = [grammar.subject_of(data) for data in target.seeds()]
    assert {subject.kind for subject in subjects} == {"text", "uri", "octets"}
    assert any(
        subject.payload == b"" or json.loads(subject.payload) for subject in subjects if subject.kind == "octets"
    )
    assert len(subjects) > 500
