"""`sluice consume`: what is left out, and what strangers' text may do to a terminal: nothing."""

import asyncio
import io
import json
import re
import unicodedata
from typing import Any

import pytest
from aiokafka import ConsumerRecord
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from sluice.codecs.unicode_text import UNSEEN
from sluice.topology.cli import kafka_commands as consume_cli
from sluice.topology.cli import main
from sluice.topology.kafka.connect import open_producer
from sluice.topology.kafka.local_broker import EmbeddedBroker
from sluice.topology.settings.settings import Settings
from sluice.topology.settings.showing import OUTPUT_TOPICS, Shown, columns, escaped, is_past, parse, row, what_holds

PAST, FUTURE = "2001-01-01T00:00:00Z", "2999-01-01T00:00:00Z"


def record(
    value: bytes, key: bytes | None = b"k", headers: list[tuple[str, bytes]] | None = None, topic: str = "admitted"
) -> ConsumerRecord[bytes | None, bytes | None]:
    return ConsumerRecord(topic, 2, 7, 0, 0, key, value, None, 0, len(value), headers or [])


def shown(key: bytes = b"k", **value: Any) -> Shown:
    return parse("admitted", record(json.dumps(value).encode(), key))


# ---------------------------------------------------------------- escaping


@given(st.text())
def test_nothing_that_a_terminal_would_obey_is_left(text: str):
    """No control, format, separator, private or surrogate character comes through, none that nothing is drawn for, and
    everything else but a mark does as it is."""
    acts = ("Cc", "Cf", "Co", "Cs", "Zl", "Zp")
    out = escaped(text)

    assert all(unicodedata.category(c) not in acts and (c not in UNSEEN or c == "\ufe0f") for c in out)
    seen = [c for c in text if unicodedata.category(c) not in acts and c not in UNSEEN]
    assert [c for c in re.sub(r"\\u[0-9a-f]{4}", "", out) if unicodedata.category(c)[0] != "M"] == [
        c for c in re.sub(r"\\u[0-9a-f]{4}", "", "".join(seen)) if unicodedata.category(c)[0] != "M"
    ]


@pytest.mark.parametrize(
    ("character", "expected"),
    [
        ("\x1b", r"\u001b"),
        ("\x7f", r"\u007f"),
        ("\x9b", r"\u009b"),
        ("\u202e", r"\u202e"),
        ("\u2066", r"\u2066"),
        ("\u200b", r"\u200b"),
        ("\u2028", r"\u2028"),
        ("\U000e0041", r"\udb40\udc41"),
        ("é", "é"),
        ("a\ufe0f\U000e0149", r"a\ufe0f\udb40\udd49"),
        ("\u034f\u115f\u3164\u180b\u2800", r"\u034f\u115f\u3164\u180b\u2800"),
        ("\U0001d159\ue000", r"\ud834\udd59\ue000"),
        ("\u0301a", r"\u0301a"),
        ("e" + "\u0301" * 9, "e" + "\u0301" * 8 + r"\u0301"),
        ("𝔸", "𝔸"),
        ("\u26a0\ufe0f\ufe0f 1\ufe0f\u20e3", "\u26a0\ufe0f\\ufe0f 1\ufe0f\u20e3"),
    ],
)
def test_each_kind_of_character_that_acts_is_escaped(character: str, expected: str):
    """Escape and C1 sequences, bidi overrides and isolates, zero width, line separators, tags; variation selectors,
    which spell hidden messages, but for the one behind an emoji; fillers and blanks; many marks in a row."""
    assert escaped(character) == expected


@given(
    st.recursive(st.none() | st.integers() | st.text(), lambda inner: st.dictionaries(st.text(), inner), max_leaves=8)
)
def test_escaping_json_changes_no_value(value: Any):
    """What a program parses from a line is what was in the record."""
    raw = json.dumps({"value": value}, ensure_ascii=False, indent=1)
    if any(unicodedata.category(c) == "Cs" for c in raw):
        return  # no UTF-8 has them

    result = parse("admitted", record(raw.encode()))

    assert result.is_json
    assert "\n" not in result.json
    assert json.loads(result.json) == {"value": value} == result.value


@pytest.mark.parametrize("raw", [b"", b"[1]", b"\x1b[2J", b'{"a": "\xff"}', b"[" * 100_000])
def test_what_is_no_json_object_is_shown_as_such(raw: bytes):
    """With its place, its raw bytes escaped, and the word that it is not ours."""
    result = parse("admitted", record(raw))

    assert not result.is_json
    assert json.loads(result.json)["error"] == {"reason": "not-json", "detail": "admitted/2/7"}
    assert "\x1b" not in result.json


def test_a_dead_letter_shows_reason_detail_source_and_raw_value():
    """The first header of a name is ours; later ones of that name came with the input."""
    headers = [("sluice-reason", b"schema"), ("sluice-detail", b"$"), ("sluice-source", b"emissions/0/1")]
    letter = record(b"\xff\x1b[2J", b"em-1", headers + [("sluice-reason", b"forged")], "dead-letters")

    result = parse("dead-letters", letter)

    assert result.is_json
    assert json.loads(result.json) == {
        "reason": "schema",
        "detail": "$",
        "source": "emissions/0/1",
        "key": "em-1",
        "value": "\\xff\x1b[2J",
    }
    assert "\x1b" not in result.json
    assert row("dead-letters", result) == ["schema", "$", "emissions/0/1", "\\xff\\u001b[2J"]


# ---------------------------------------------------------------- what is left out


def test_valid_until_is_the_last_instant_of_validity():
    """That instant is valid still, the next millisecond is not; what has none is never past."""
    admitted = shown(status="admitted", valid_until="2026-11-21T09:00:00Z")

    assert not is_past(admitted, 1_795_251_600_000)
    assert is_past(admitted, 1_795_251_600_001)
    assert not is_past(shown(status="rejected"), 1 << 60)


def test_what_holds_is_the_last_word_of_each_key_unless_it_closes():
    """Compaction may have left only the last word, so nothing else may count."""
    words = [
        shown(b"a", status="admitted", valid_until=FUTURE, revision=1),
        shown(b"b", status="admitted", valid_until=FUTURE),
        shown(b"c", status="admitted", valid_until=PAST),
        shown(b"d", status="refused"),
        shown(b"b", status="contradicted"),
        shown(b"a", status="renewed", valid_until=FUTURE, revision=2),
    ]

    held = what_holds(words, 1_795_251_600_000)

    assert [(word.key, word.value["status"]) for word in held] == [(b"d", "refused"), (b"a", "renewed")]


# ---------------------------------------------------------------- tables


@pytest.mark.parametrize("topic", OUTPUT_TOPICS)
def test_a_row_has_a_cell_for_each_column(topic: str):
    """Whatever is missing or of another type than expected."""
    odd = b'{"_untrusted_text": 3, "classes": [1], "attestations": {}}'
    other = b'{"_untrusted_text": {"rendered": 7}, "classes": 3, "checks": {}}'
    for value in (b"{}", odd, other, b"nonsense"):
        for narrow in (False, True):
            cells = row(topic, parse(topic, record(value)), narrow=narrow)
            assert len(cells) == len(columns(topic, narrow=narrow))


SENTENCES = ["`MAX` in `limits.py` equals 5 (line 1).", "`f` in `x.py` calls `g`."]


def test_a_row_tells_first_what_was_checked_and_then_the_emitters_words():
    """A sentence on each line; then the words as they were admitted, status, classes, reason and validity."""
    first = shown(
        status="renewed",
        basis="corroboration",
        classes=["substrate.grep", "substrate.git.log"],
        valid_until=FUTURE,
        _untrusted_text={"assertion": "It \u202eis [unchecked].", "rendered": SENTENCES},
    )
    narrow = row("admitted", first, narrow=True)

    assert row("admitted", first) == [
        "\n".join(SENTENCES),
        "It \\u202eis [unchecked].",
        *("renewed", "grep, git.log", "", FUTURE),
    ]
    assert narrow[0].split("\n") == [*SENTENCES, "in the emitter's words: It \\u202eis [unchecked]."]
    assert narrow[1].split("\n") == ["renewed", "grep, git.log", FUTURE]


def test_a_row_of_what_was_not_checked_says_on_whose_word_it_is():
    """The mark reads on into the words that it is about; a closing word has none and shows its key."""
    text = {"assertion": "It is."}
    reviewed = shown(status="admitted", basis="review", valid_until=FUTURE, _untrusted_text=text)
    last = shown(b"em-1#c:0-3", status="decayed-to-uncertainty", reason="validity-ended", classes=[])

    assert row("admitted", reviewed)[:3] == ["a reviewer admitted:", "It is.", "admitted"]
    assert row("admitted", reviewed, narrow=True)[0] == "a reviewer admitted: It is."
    assert row("admitted", last) == [
        *("no longer admitted:", "em-1#c:0-3", "decayed-to-uncertainty", "", "validity-ended", "")
    ]


def test_a_narrow_row_says_nothing_twice():
    """Where the reason is the status, once is enough."""
    value = shown(status="below-floor", reason="below-floor", disposition="review", classes=["substrate.grep"])

    assert row("inadmissible", value, narrow=True)[1] == "below-floor\ngrep"


HOSTILE = "\x1b[2J\u202e\u2066[bold]x[/bold]\u200b\r\n\t<b>y</b>`»"


@pytest.mark.parametrize("width", [30, 80, 159, 160, 240])
def test_nothing_hostile_leaves_its_cell(width: int):
    """Neither in what was verified, nor in the words: no control acts, no markup is read, no word of it is lost."""
    sentences = [f"`{HOSTILE}{number}` equals {number}." for number in range(3)]
    value = shown(
        status="admitted", basis="corroboration", _untrusted_text={"assertion": HOSTILE, "rendered": sentences}
    )
    is_narrow = width < consume_cli.WIDE
    cells = row("admitted", value, narrow=is_narrow)
    console = Console(file=io.StringIO(), width=width)

    console.print(consume_cli._table(columns("admitted", narrow=is_narrow), [cells], False))

    text = console.file.getvalue()
    assert not {"\x1b", "\u202e", "\u2066", "\u200b", "\r", "\t"} & set(text)
    assert max(map(len, text.splitlines())) <= width
    assert text.splitlines()[0][0] == "┏"
    joined = "".join(
        line.split("┃")[1] if "┃" in line else line.split("│")[1] if "│" in line else "" for line in text.splitlines()
    ).replace(" ", "")
    for sentence in sentences:
        assert escaped(sentence).replace(" ", "") in joined
    assert "[bold]x[/bold]" in joined


def test_twenty_long_checks_are_shown_whole():
    """A cut sentence would say another thing; rows only become longer."""
    sentences = [f"`a.txt` contains «{str(number) * 2000}»." for number in range(20)]
    value = shown(status="admitted", basis="corroboration", _untrusted_text={"assertion": "x", "rendered": sentences})
    console = Console(file=io.StringIO(), width=80)

    console.print(consume_cli._table(columns("admitted", narrow=True), [row("admitted", value, narrow=True)], False))

    lines = console.file.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    assert "".join(line.split("│")[1].strip() for line in lines if "│" in line).count("contains") == 20
    assert "…" not in console.file.getvalue()


def test_a_row_of_grounded_tells_claim_verdict_validator_and_rationale():
    """Of the one attestation that the record holds."""
    value = {
        "attestations": [
            {"verdict": "FALSE", "validator_did": "did:web:x", "_untrusted_text": {"rationale": "No.\nNever."}}
        ]
    }

    assert row("grounded", shown(b"0xab", **value)) == ["0xab", "FALSE", "did:web:x", "No.\\u000aNever."]


# ---------------------------------------------------------------- the command, on the embedded broker


def put(broker: str, topic: str, *values: tuple[bytes, dict[str, Any] | bytes]) -> None:
    async def send() -> None:
        async with open_producer(Settings(broker=broker)) as producer:
            for key, value in values:
                raw = value if isinstance(value, bytes) else json.dumps(value).encode()
                await producer.send_and_wait(topic, raw, key=key)

    asyncio.run(send())


def run(broker: str, *arguments: str) -> Result:
    # The mock cluster leaves wrong checksums, and only at-least-once goes with it.
    environment = {"SLUICE_BROKER": broker, "SLUICE_DELIVERY": "at-least-once"}
    return CliRunner(env=environment).invoke(main, ["consume", *arguments])


def statuses(result: Result) -> list[str]:
    return sorted(json.loads(line)["status"] for line in result.stdout.splitlines())


def test_admitted_is_read_to_its_end_without_what_is_past():
    """`--all` shows that as well, `--status` chooses, `--current` leaves the last words that hold."""
    with EmbeddedBroker() as broker:
        put(
            broker.address,
            "admitted",
            (b"a", {"status": "admitted", "valid_until": FUTURE}),
            (b"b", {"status": "admitted", "valid_until": PAST}),
            (b"a", {"status": "contradicted", "reason": "contradicted"}),
            (b"c", {"status": "renewed", "valid_until": FUTURE}),
        )
        default, everything = run(broker.address), run(broker.address, "--all")
        chosen = run(broker.address, "admitted", "--status", "renewed", "--status", "contradicted")
        current = run(broker.address, "--current")

    assert (default.exit_code, default.stderr) == (0, "")
    assert statuses(default) == ["admitted", "contradicted", "renewed"]
    assert statuses(everything) == ["admitted", "admitted", "contradicted", "renewed"]
    assert statuses(chosen) == ["contradicted", "renewed"]
    assert statuses(current) == ["renewed"]


def test_an_empty_topic_is_read_at_once():
    """There is nothing to wait for; standard error says so (tests/topology/cli/test_pending.py)."""
    with EmbeddedBroker() as broker:
        result = run(broker.address, "inadmissible")

    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.startswith("sluice: nothing to show from inadmissible")


def test_a_record_that_is_no_json_is_shown_and_exits_with_1():
    """The others are shown as well."""
    with EmbeddedBroker() as broker:
        put(broker.address, "admitted", (b"a", b"\x1b[2Jnonsense"), (b"a", {"status": "renewed"}))
        result = run(broker.address)

    assert result.exit_code == 1
    assert len(result.stdout.splitlines()) == 2
    assert "\x1b" not in result.stdout


def test_the_embedded_broker_does_not_look_up_times():
    """Rather than skip everything, `--since` says that it cannot be done there."""
    with EmbeddedBroker() as broker:
        put(broker.address, "admitted", (b"a", {"status": "renewed"}))
        result = run(broker.address, "--since", "1h")

    assert result.exit_code == 2
    assert "this broker does not look up times; leave out --since" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["grounded", "--status", "admitted"], "--status: records of grounded have no status"),
        (["--since", "tomorrow"], "--since: not a time (expected an RFC 3339 time with a Z or an offset"),
        (["--current", "--follow"], "--current: goes with admitted alone"),
        (["inadmissible", "--current"], "--current: goes with admitted alone"),
        (["emissions"], "Invalid value"),
    ],
)
def test_wrong_usage_is_reported_before_any_broker_is_asked(arguments: list[str], said: str):
    """One sentence, exit status 2."""
    result = run("kafka://127.0.0.1:1", *arguments)

    assert result.exit_code == 2
    assert said in result.stderr


def test_a_broker_that_is_away_is_one_sentence_and_exit_status_3():
    """As with every other command."""
    result = run("kafka://127.0.0.1:1")

    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr.startswith("sluice: kafka://127.0.0.1:1: no Kafka broker answers: 127.0.0.1:1 refuses ")
