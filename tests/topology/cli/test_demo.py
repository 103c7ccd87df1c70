"""`sluice demo`: the account it keeps, what it shows, and the whole of it as a process of its own."""

import fcntl
import io
import json
import os
import pty
import re
import runpy
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiokafka import ConsumerRecord
from builders import encoded, observation_value
from click.testing import CliRunner
from rich.console import Console

from sluice.codecs.errors import UsageError
from sluice.codecs.identifiers import Span, span_key
from sluice.topology.cli import demo, demo_view, main
from sluice.topology.cli.demo_view import DISCARDED, Board, prepare_all
from sluice.topology.settings.settings import Settings

pytestmark = pytest.mark.slow

EXAMPLES = runpy.run_path(str(Path(__file__).parents[1] / "test_examples.py"))
SLUICE = str(Path(sys.executable).with_name("sluice"))
NOW = 1_795_248_000_000  # 2026-11-21T08:00:00Z
LATER = NOW + 10_000
READ_SECONDS = 300.0
"""A terminal that shows nothing for so long will not show it."""

LINES = [
    b'{"emission_id": "em-1", "text": "It is so. [substrate.grep; path=a.txt] It is \\u202enot\\u202c so."}',
    b'{"emission_id": "em-2", "assertions": [{"assertion": "One [bold]thing[/bold].", "span": {"path": "/x"}}]}',
    b"",
    b'{"emission_id": "em-3", "text"',
]
POLICY = (
    '[admissibility]\nhorizon = "1s"\nlate_horizon = "1s"\nmax_validity = "2h"\n[disposition]\nunannotated = "review"\n'
)


def record(value: bytes, key: str | None = None, **headers: str) -> ConsumerRecord[bytes | None, bytes | None]:
    named = [(f"sluice-{name}", text.encode()) for name, text in headers.items()]
    raw = None if key is None else key.encode()
    return ConsumerRecord("t", 0, 0, NOW, 0, raw, value, None, -1, len(value), named)


def word(key: str, status: str, revision: int = 1, **fields: Any) -> ConsumerRecord[bytes | None, bytes | None]:
    value = {"emission_id": key.partition("#")[0], "attempt": 0, "status": status, "revision": revision, **fields}
    return record(json.dumps(value).encode(), key)


def board(lines: list[bytes] = LINES) -> Board:
    return Board(prepare_all(lines, NOW))


def end_of_line_4(held: Board) -> None:
    held.apply("dead-letters", record(LINES[3], reason="not-json", detail="the value is not JSON"))


# ---------------------------------------------------------------- the account


def test_everything_that_is_sent_is_awaited() -> None:
    """Each assertion waits for its word, each bad line for its dead letter; empty lines are none."""
    held = board()
    assert held.missing() == ["em-1#c:0-9", "em-1#c:10-25", "em-2#p:/x", "line 4"]
    assert not held.settled(LATER)


def test_a_bad_line_is_sent_as_it_stands() -> None:
    """What a careful producer refuses goes out unchanged, under its emission id where it has one."""
    sent = prepare_all([b'{"emission_id": "em-9", "assertions": 3}', b"[", b'{"emission_id": 7}'], NOW)
    assert [one.record.value for one in sent] == [
        b'{"emission_id": "em-9", "assertions": 3}',
        b"[",
        b'{"emission_id": 7}',
    ]
    assert [one.record.key for one in sent] == [b"em-9", b"line-2", b"line-3"]
    assert all(one.fault is not None for one in sent)


def test_it_is_settled_when_everything_has_its_word() -> None:
    """Words and dead letters in any order settle the account."""
    held = board()
    end_of_line_4(held)
    for key in ("em-2#p:/x", "em-1#c:10-25", "em-1#c:0-9"):
        assert not held.settled(LATER)
        held.apply("inadmissible", word(key, "unannotated", reason="no-corroboration"))
    assert held.settled(LATER)
    assert held.missing() == []


def test_the_last_word_is_the_one_of_the_highest_revision() -> None:
    """A later revision replaces an earlier one, whichever topic is read first; the same one again changes nothing."""
    held = board()
    held.apply("admitted", word("em-2#p:/x", "decayed-to-uncertainty", 2, reason="validity-ended"))
    held.apply("admitted", word("em-2#p:/x", "admitted", 1))
    held.apply("admitted", word("em-2#p:/x", "refused", 2))
    assert [entry.status for entry in held.entries] == ["", "", "decayed-to-uncertainty"]


def test_a_verdict_says_more_than_the_refusal_that_stands_for_it() -> None:
    """Where the policy puts a refusal on `admitted`, the assertion's word is the verdict, in whichever order."""
    held = board()
    verdict, refusal = (word("em-2#p:/x", status, reason="contradicted") for status in ("contradicted", "refused"))
    held.apply("admitted", refusal)
    held.apply("inadmissible", verdict)
    held.apply("admitted", refusal)
    assert held.entries[-1].status == "contradicted"


def test_words_about_something_else_are_passed_over() -> None:
    """Other emissions, other attempts, and dead letters of others change nothing."""
    held = board()
    held.apply("admitted", word("em-7#c:0-9", "admitted"))
    held.apply("admitted", word("em-1#c:0-9", "admitted", attempt=1))
    held.apply("dead-letters", record(b"else", reason="schema"))
    held.apply("review-requests", word("em-7#c:0-9", "rejected"))
    assert (held.changed, held.requests, held.letters) == (0, 0, [])


def test_what_ends_soon_is_waited_for() -> None:
    """An admission that lasts beyond the demo settles an assertion; one that ends within it does not yet."""
    held = board(LINES[1:2])
    held.apply("admitted", word("em-2#p:/x", "admitted", valid_until="2026-11-21T08:00:05.000Z"))
    assert not held.settled(LATER)
    assert held.settled(NOW)


def test_a_dead_letter_buries_the_assertions_of_its_record() -> None:
    """An emission that was well formed and refused all the same has no assertions any more."""
    sent = prepare_all(LINES[:2], NOW)
    held = Board(sent)
    held.apply("dead-letters", record(sent[0].record.value, reason="too-old", detail="$.emitted_at: expected …"))
    assert [entry.key for entry in held.entries] == ["em-2#p:/x"]
    assert [(letter.line, letter.reason) for letter in held.letters] == [(1, "too-old")]
    assert held.emissions == 1


def test_a_repetition_is_no_second_record_and_other_bytes_are() -> None:
    """The same line again waits for nothing; other text under the same id and attempt waits for a dead letter."""
    other = b'{"emission_id": "em-2", "text": "Another thing."}'
    held = board([LINES[1], LINES[1], other])
    assert held.repeated == [(2, 1)]
    assert held.missing() == ["em-2#p:/x", "line 3"]
    held.apply("dead-letters", record(prepare_all([other], NOW)[0].record.value, reason="conflicting-emission"))
    assert held.missing() == ["em-2#p:/x"]


def test_what_is_refused_is_refused_each_time() -> None:
    """A bad line that stands there twice has two dead letters; so has an emission that is too old twice."""
    bad = record(LINES[3], reason="not-json", detail="")
    held = board([LINES[3], LINES[3]])
    held.apply("dead-letters", bad)
    assert held.missing() == ["line 2"]
    held.apply("dead-letters", bad)
    assert [letter.line for letter in held.letters] == [1, 2]
    old = board([LINES[1], LINES[1]])
    for _ in range(2):
        old.apply("dead-letters", record(prepare_all(LINES[1:2], NOW)[0].record.value, reason="too-old", detail=""))
    assert (old.settled(LATER), old.repeated, len(old.letters)) == (True, [], 2)


def test_a_line_that_no_broker_takes_is_wrong_usage() -> None:
    """A line larger than an input may be is named before anything is sent."""
    with pytest.raises(UsageError, match="line 2 cannot be sent"):
        prepare_all([LINES[0], b'{"emission_id": "em-8", "text": "%s"}' % (b"x" * 1_000_000)], NOW)


def test_what_the_policy_discards_counts_as_reported() -> None:
    """As many silent assertions as the lanes have discarded are those; fewer or more say nothing."""
    held = board()
    held.discarded(3)
    assert not held.settled(LATER)  # a dead letter is out
    end_of_line_4(held)
    held.discarded(2)
    assert not held.settled(LATER)
    held.discarded(3)
    assert held.settled(LATER)
    assert {entry.status for entry in held.entries} == {DISCARDED}


# ---------------------------------------------------------------- what is shown


def test_lines_escape_what_a_terminal_would_obey() -> None:
    """Text that turns round is shown as escapes, one line an assertion, and the summary counts."""
    held = board()
    end_of_line_4(held)
    why = {"reason": "below-floor", "disposition": "review"}
    held.apply("inadmissible", word("em-1#c:10-25", "below-floor", classes=["substrate.grep"], **why))
    shown = list(demo_view.lines(held))
    assert " ".join(shown[1].split()) == (
        "below-floor below-floor grep em-1#c:10-25 borne out by 1 class, not checked: It is \\u202enot\\u202c so."
    )
    assert "  line 4: not-json: the value is not JSON" in shown
    assert "No word about 2: em-1#c:0-9, em-2#p:/x" in shown
    assert "    1  below-floor" in shown


@pytest.mark.parametrize("width", [80, 200])
def test_the_table_shows_brackets_as_they_are(width: int) -> None:
    """An assertion is no markup; on a narrow screen everything is there as well."""
    held = board(LINES[1:2])
    fields = {"classes": ["substrate.grep", "substrate.code.read"], "valid_until": "2026-11-21T09:00:05.000Z"}
    held.apply("admitted", word("em-2#p:/x", "admitted", **fields))
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(demo_view.table(held, width))
    text = " ".join(console.export_text().split())
    for said in ("One [bold]thing[/bold].", "admitted", "grep, code.read", "09:00:05"):
        assert said in text


CHECKED = {
    "basis": "corroboration",
    "classes": ["substrate.code.read", "substrate.git.log"],
    "valid_until": "2026-11-21T09:00:05.000Z",
    "_untrusted_text": {
        "assertion": "[unchecked] [bold]thing[/bold].",
        "rendered": ["`a` in `x.py` equals 1.", "`a.txt` contains «[bold]thing[/bold]»."],
    },
}


def test_what_was_checked_stands_before_the_emitters_words() -> None:
    """In a line of a pipe each sentence, then the words as they were admitted: not as they were sent."""
    held = board(LINES[1:2])
    held.apply("admitted", word("em-2#p:/x", "admitted", **CHECKED))
    line = next(demo_view.lines(held))
    assert " ".join(line.split()) == (
        "admitted until 09:00:05 code.read, git.log em-2#p:/x `a` in `x.py` equals 1. `a.txt` contains "
        "«[bold]thing[/bold]». in the emitter's words: [unchecked] [bold]thing[/bold]."
    )


@pytest.mark.parametrize("width", [60, 100, 159, 160, 220])
def test_the_table_says_what_was_checked(width: int) -> None:
    """On any screen, before the emitter's words; no sentence is cut in the final table."""
    held = board(LINES[1:2])
    held.apply("admitted", word("em-2#p:/x", "admitted", **CHECKED))
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(demo_view.table(held, width))
    lines = [line.strip() for line in console.export_text().splitlines()]
    text = " ".join(" ".join(lines).split())
    assert max(map(len, lines)) <= width
    if width < demo_view.WIDE:
        own = text.index("in the emitter's")
        assert text.index("`a` in `x.py`") < text.index("`a.txt` contains") < own < text.index("[unchecked] [bold]")
    else:
        assert lines[1].startswith("status     what was checked")
        assert any(line.startswith("admitted   `a` in `x.py` equals 1. ") for line in lines)
        assert "contains «[bold]thing[/bold]»." in text


def consumed_observation(name: str, outcome: str, **detail: Any) -> ConsumerRecord[bytes | None, bytes | None]:
    span = {"path": "/x"}
    value = observation_value(f"substrate.{name}", outcome, emission_id="em-2", span=span, at=NOW, detail=detail)
    return record(encoded(value), "em-2")


def test_where_one_looked_and_what_was_seen_stands_below() -> None:
    """File and line, by which kinds of evidence; of what does not hold, the check; observations settle nothing."""
    held = board(LINES[1:2])
    there = {"check": "contains(One)", "holds": True, "path": "a.txt", "lines": [3, 3]}
    for name in ("grep", "code.read"):
        held.apply("observations", consumed_observation(name, "corroborates", checks=[there]))
    assert (held.changed, held.missing()) == (0, ["em-2#p:/x"])
    assert demo_view.seen_lines(held.entries[0]) == []
    held.apply("admitted", word("em-2#p:/x", "admitted", unchecked=[[0, 3]], **CHECKED))
    assert list(demo_view.lines(held))[1:3] == [
        "    seen: a.txt:3 bears it out (grep, code.read)",
        "    not checked: «One»",
    ]
    false = {"check": "contains(Two)", "holds": False, "path": "a.txt", "lines": [3, 4], "reason": "false"}
    held.apply("observations", consumed_observation("grep", "contradicts", checks=[false]))
    held.apply("inadmissible", word("em-2#p:/x", "contradicted", 2))
    below = demo_view.seen_lines(held.entries[0])
    assert below[0] == "seen: a.txt:3-4 says otherwise (grep)"
    assert below[-1].startswith("not so: contains(Two): ")
    assert not any("not checked" in line for line in below)


def test_observations_of_others_and_broken_ones_change_nothing() -> None:
    """Nor does what a stranger writes there reach a terminal unescaped."""
    held = board(LINES[1:2])
    held.apply("inadmissible", word("em-2#p:/x", "contradicted"))
    held.apply("observations", record(b"{"))
    held.apply("observations", record(b'{"subject": 3}'))
    assert demo_view.seen_lines(held.entries[0]) == []
    hostile = {"check": "contains(\x1b[2J)", "holds": False, "path": "\u202e\n", "lines": [1, 1]}
    held.apply("observations", consumed_observation("grep", "contradicts", checks=[hostile] * 20))
    below = "".join(demo_view.seen_lines(held.entries[0]))
    assert below
    assert not {"\x1b", "\u202e", "\n"} & set(below)
    held.apply(
        "observations",
        consumed_observation("grep", "contradicts", checks=[{**hostile, "path": f"{n}"} for n in range(20)]),
    )
    assert len(demo_view.seen_lines(held.entries[0])) == demo_view.MOST_SEEN + 1


def test_a_closing_word_keeps_the_words_as_they_were_admitted() -> None:
    """What no check spoke of does not come back with the end of the admission."""
    held = board(LINES[1:2])
    held.apply("admitted", word("em-2#p:/x", "admitted", **CHECKED))
    held.apply("admitted", word("em-2#p:/x", "decayed-to-uncertainty", 2, reason="validity-ended"))
    line = " ".join(next(demo_view.lines(held)).split())
    assert line.endswith("em-2#p:/x no longer admitted: [unchecked] [bold]thing[/bold].")


def test_what_is_discarded_or_has_no_word_yet_shows_its_words_alone() -> None:
    """Of these no record says what was checked."""
    held = board(LINES[1:2])
    assert next(demo_view.lines(held)).endswith("em-2#p:/x  One [bold]thing[/bold].")
    held.discarded(1)
    assert next(demo_view.lines(held)).endswith("em-2#p:/x  One [bold]thing[/bold].")


@pytest.mark.parametrize("width", [60, 200])
def test_hostile_sentences_break_no_line_of_the_screen(width: int) -> None:
    """Neither live, where each row is one line, nor in the table, nor in a pipe."""
    hostile = "\x1b[2J\u202e\n\r[red]`»" * 50
    frame = {"assertion": hostile, "rendered": [hostile] * 20}
    held = board(LINES[1:2])
    held.apply("admitted", word("em-2#p:/x", "admitted", basis="corroboration", _untrusted_text=frame))
    for shown in (demo_view.live(held, width, 24), demo_view.table(held, width)):
        console = Console(width=width, record=True, file=io.StringIO())
        console.print(shown)
        text = console.export_text()
        assert not {"\x1b", "\u202e", "\r"} & set(text)
        assert max(map(len, text.splitlines())) <= width
    console = Console(width=width, height=24, record=True, file=io.StringIO())
    console.print(demo_view.live(held, width, 24))
    assert len(console.export_text().splitlines()) <= 6
    assert "\n" not in next(demo_view.lines(held))


def test_the_live_screen_holds_what_fits() -> None:
    """However many words have come, the screen is no longer than it is high; the newest are there."""
    lines = [b'{"emission_id": "em-%d", "text": "Thing %d."}' % (n, n) for n in range(50)]
    held = board(lines)
    for n in range(50):
        held.apply("inadmissible", word(f"em-{n}#c:0-{len(f'Thing {n}.')}", "unannotated"))
    console = Console(width=100, height=24, record=True, file=io.StringIO())
    console.print(demo_view.live(held, 100, 24))
    shown = console.export_text()
    assert len(shown.splitlines()) <= 24
    assert "Thing 49." in shown
    assert "50 of 50 assertions have their word; 0 dead letters" in shown


# ---------------------------------------------------------------- settings


def test_a_real_broker_gets_topics_under_a_prefix_of_the_demos_own() -> None:
    """Two demos on one Kafka never meet: prefix and group are new each time; the embedded one needs neither."""
    one, two = (demo.settings_for(Settings(), "kafka://b:1", "/r", "/s") for _ in range(2))
    assert re.fullmatch(r"demo-[0-9a-f]{6}-", one.topic_prefix)
    assert one.topic_prefix != two.topic_prefix
    assert one.app_id.startswith(one.topic_prefix)
    assert (one.delivery, one.broker) == ("exactly-once", "kafka://b:1")
    own = demo.settings_for(Settings(topic_prefix="x.", partitions=9), None, "/r", "/s")
    assert (own.delivery, own.partitions, own.topic_prefix) == ("at-least-once", 4, "")


# ---------------------------------------------------------------- the command, where it cannot run


def run(*arguments: str, **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SLUICE, "demo", *arguments], capture_output=True, text=True, timeout=READ_SECONDS, check=False, **more
    )


def test_a_folder_that_is_not_there_is_wrong_usage(tmp_path: Path) -> None:
    """Exit status 2 and one sentence that names the folder."""
    done = run("--repo", str(tmp_path / "none"))
    assert done.returncode == 2
    assert done.stderr == (
        f"sluice: {tmp_path}/none: there is no such folder; name a repository or a folder with --root\n"
    )


def test_emissions_that_are_not_there_are_wrong_usage(tmp_path: Path) -> None:
    """Exit status 2 and one sentence that names the file."""
    done = run("--emissions", str(tmp_path / "none"))
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert f"{tmp_path}/none" in done.stderr


def test_a_broker_that_is_not_there_is_not_to_be_reached(tmp_path: Path) -> None:
    """Exit status 3 and one sentence, without a traceback or a log line, and nothing is left behind."""
    done = run("--broker", "kafka://127.0.0.1:1", env={**os.environ, "TMPDIR": str(tmp_path)})
    assert done.returncode == 3
    assert re.fullmatch(r"sluice: kafka://127\.0\.0\.1:1: no Kafka broker answers: .*; .*\n", done.stderr)
    assert list(tmp_path.iterdir()) == []


def test_without_the_examples_emissions_have_to_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed package has no examples: one sentence says what to do."""
    monkeypatch.setattr(demo, "examples", lambda: None)
    done = CliRunner().invoke(main, ["demo"], prog_name="sluice")
    assert done.exit_code == 2
    assert "no example emissions" in str(done.exception or done.output) + done.output
    assert "--emissions FILE" in str(done.exception or "") + done.output


# ---------------------------------------------------------------- the command, from end to end


Whole = tuple[subprocess.CompletedProcess[str], Path]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """One run on the examples and a checkout, as `--json`: what it said, how long it took, and its temporary folder."""
    checkout = EXAMPLES["make_checkout"](tmp_path_factory.mktemp("checkout"))
    temporary = tmp_path_factory.mktemp("tmp")
    done = run("--repo", str(checkout), "--json", env={**os.environ, "TMPDIR": str(temporary)})
    return done, temporary


def test_the_demo_finds_what_observers_and_fold_find(
    whole: Whole,
) -> None:
    """Each assertion's last record, one a line and nothing else, with the verdict of the examples' own table."""
    done, _ = whole
    assert done.returncode == 0, done.stderr
    verdicts: dict[str, tuple[str, str]] = {}
    for line in done.stdout.splitlines():
        value = json.loads(line)
        key = f"{value['emission_id']}#{span_key(msgspec.convert(value['span'], Span))}"
        verdicts[EXAMPLES["name_of"](value, key)] = EXAMPLES["verdict_of"](value)
    assert verdicts == EXAMPLES["EXPECTED"]
    assert list(verdicts) == list(EXAMPLES["EXPECTED"])  # in the order in which they were emitted


def test_the_demo_is_quiet_and_leaves_nothing(
    whole: Whole,
) -> None:
    """Two lines of progress beside the data, no log; the state is removed."""
    done, temporary = whole
    assert [line.partition(" ")[0] for line in done.stderr.splitlines()] == ["sluice:", "sluice:"]
    assert list(temporary.iterdir()) == []


def test_without_arguments_a_real_answer_is_vetted_first() -> None:
    """Then the stream; of both it is said what was checked and where, in words that a stranger understands."""
    done = run()
    assert done.returncode == 0, done.stderr
    first, _, second = done.stdout.partition("\n2. The stream")
    assert first.startswith("1. An answer about this repository")
    assert re.search(r"\n\d+ statements: .*admitted.*contradicted", first)
    assert re.search(r"\n    seen: codecs/records\.py, line \d+ \(code\.read\)\n", first)
    assert re.search(r"\n    seen: codecs/records\.py:\d+ says otherwise \(", second)
    assert re.search(r"\n    not so: equals\(MAX_ASSERTIONS, 5000\): ", second)
    assert "assertions in" in second


def test_a_pipe_gets_lines_and_the_time_is_bounded(tmp_path: Path) -> None:
    """On a plain folder, with emissions and a policy of one's own: a line each, the summary, and where to go next."""
    (tmp_path / "a.txt").write_text("nothing")
    (tmp_path / "em.jsonl").write_bytes(b"\n".join(LINES))
    (tmp_path / "policy.toml").write_text(POLICY)
    done = run(
        *("--repo", str(tmp_path), "--emissions", str(tmp_path / "em.jsonl"), "--policy", str(tmp_path / "policy.toml"))
    )
    assert done.returncode == 0, done.stderr
    shown = done.stdout.splitlines()
    assert shown[0].startswith(DISCARDED)  # unverified-inference, which this policy discards
    assert [line.partition(" ")[0] for line in shown[1:3]] == ["unannotated", "unannotated"]
    assert "3 assertions in 2 emissions:" in shown
    assert "1 dead letter, raw, as they came:" in shown
    assert "Next:" in shown


LEAVES_A_TASK = """
import asyncio, sys
from sluice.topology.cli import main
from sluice.topology.cli import demo
from sluice.topology.cli.demo_view import Board, prepare_all

async def never_ends():
    while True:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            pass
        finally:
            await asyncio.sleep(0)

async def run(*given):
    run.left = asyncio.create_task(never_ends())
    await asyncio.sleep(0)
    return Board(prepare_all((), 0))

demo.run = run
sys.exit(main(["demo", "--json", "--emissions", sys.argv[1]]))
"""


def test_a_task_that_does_not_end_does_not_hold_the_demo(tmp_path: Path) -> None:
    """Where the broker is gone, a task of a client's may outlast its cancellation: what was found is still told."""
    emissions = tmp_path / "none.jsonl"
    emissions.write_bytes(b"")
    command = [sys.executable, "-c", LEAVES_A_TASK, str(emissions)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=READ_SECONDS, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


LEAVES_A_THREAD = """
import sys, threading
from sluice.topology.cli import main
from sluice.topology.cli import demo
from sluice.topology.cli.demo_view import Board, prepare_all
from sluice.topology.kafka.transport import LaneConsumerThread

class Service:
    def _start_thread(self):
        threading.Event().wait()

async def run(*given):
    LaneConsumerThread.Worker(Service()).start()
    return Board(prepare_all((), 0))

demo.run = run
sys.exit(main(["demo", "--json", "--emissions", sys.argv[1]]))
"""


def test_a_consumer_that_nobody_stopped_does_not_hold_the_process(tmp_path: Path) -> None:
    """Seen on a slow machine with `sluice demo | head`: the time to stop was over before Faust had stopped its thread,
    and the process, done with everything, waited for that thread for good."""
    emissions = tmp_path / "none.jsonl"
    emissions.write_bytes(b"")
    command = [sys.executable, "-c", LEAVES_A_THREAD, str(emissions)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=READ_SECONDS, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


def test_ctrl_c_on_a_terminal_ends_it_soon(tmp_path: Path) -> None:
    """The table fills while it runs; Ctrl-C ends everything within two seconds, and nothing is left behind."""
    master, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 140, 0, 0))
    process = subprocess.Popen(
        [SLUICE, "demo", "--repo", str(tmp_path)],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        start_new_session=True,
        env={**os.environ, "TMPDIR": str(tmp_path), "TERM": "xterm"},
    )
    os.close(terminal)
    try:
        seen = _read_until(master, b"assertions have their word")
        assert b"Traceback" not in seen
        process.send_signal(signal.SIGINT)
        process.wait(150)
        assert process.returncode == 130
        assert list(tmp_path.iterdir()) == []
    finally:
        process.kill()
        process.wait()
        os.close(master)


def _read_until(master: int, wanted: bytes) -> bytes:
    """What a terminal shows, up to the first sight of `wanted`."""
    seen, end = b"", time.monotonic() + READ_SECONDS
    while wanted not in seen:
        assert time.monotonic() < end, seen[-500:]
        seen += os.read(master, 65_536)
    return seen
