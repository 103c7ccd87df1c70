"""The arithmetic of the benchmarks: what they compare, count and parse. No broker, no clock."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from statistics import mean
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import capacity
import completeness
import contestants
import hand_over
import instructions
import join
import latency
import many_lanes
import pytest
import ratios
import report
import restoring
import run
import throughput
import transactions
import workload
from contestants import Contestant
from hypothesis import given
from hypothesis import strategies as st
from measuring import FailedError, Result, fill, measure
from usage import Sample, Usage, cpu_between, usage

from sluice.streams.judging.checks import canonical, parse_check
from sluice.streams.policy.policy_toml import load_policy

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"

NOW = "2026-11-21T09:00:00Z"


def result(family: str, rate: int, **more: object) -> Result:
    return Result(family=family, guarantees="none", inputs=2800, inputs_per_second=rate, complete=True, **more)


# ---------------------------------------------------------------- the input


CORPUS = BENCHMARKS / "yield" / "corpus"


@given(st.integers(1, 60))
def test_counts_of_the_input_are_those_of_its_records(emissions: int) -> None:
    """`inputs_of`, `is_settled` and `admitted_names` say what `records` makes."""
    made = [list(workload.records(number, NOW)) for number in range(emissions)]
    assert workload.inputs_of(emissions) == sum(map(len, made))
    found = [Counter(span_of(value) for _, _, value in one[1:]) for one in made]
    names = {f"em-{number}/{start}" for number, some in enumerate(found) for start, n in some.items() if n == 2}
    assert workload.admitted_names(emissions) == names
    assert [workload.is_settled(number) for number in range(emissions)] == [min(some.values()) == 2 for some in found]


def span_of(observation: bytes) -> int:
    return json.loads(observation)["subject"]["span"]["chars"][0]


def test_the_input_is_like_real_answers() -> None:
    """Within a fifth of the answers of `yield/corpus` in statements, characters, words, names and checks, in distinct
    words of every second statement within a half; nothing comes twice, and every check is canonical."""
    real = [json.loads(line) for line in (CORPUS / "statements.jsonl").read_text("utf-8").splitlines()]
    proposed = [
        json.loads(line)["proposal"]["checks"]
        for name in "ab"
        for line in (CORPUS / f"proposals-{name}.jsonl").read_text("utf-8").splitlines()
    ]
    answers = [workload.answer_of(number) for number in range(len({one["id"].partition("#")[0] for one in real}))]
    statements = [(answer.text[slice(*one.span)], one.checks) for answer in answers for one in answer.statements]
    texts, ours = [one["text"] for one in real], [text for text, _ in statements]
    checks = [check for _, some in statements for check in some]

    def shape(texts: list[str], checks: list[list[str]]) -> list[float]:
        said = [check for some in checks for check in some]
        return [
            len(texts),
            *(
                mean(map(len, texts)),
                mean(len(text.split()) for text in texts),
                mean(text.count("`") for text in texts),
            ),
            *(mean(map(len, checks)), mean(map(len, said)), mean("path=" in check for check in said)),
        ]

    assert shape(ours, [some for _, some in statements]) == pytest.approx(shape(texts, proposed), rel=0.2)
    words, others = (len(set(re.findall(r"\w+", " ".join(some[::2]).lower()))) for some in (ours, texts))
    assert words == pytest.approx(others, rel=0.5)
    assert len(set(ours)) == len(ours)
    assert len(set(checks)) > 0.98 * len(checks)
    assert [canonical(parse_check(check)) for check in checks] == checks


def test_the_input_of_a_run_is_as_many_records_as_it_says() -> None:
    """35,000 emissions come with their evidence as about 290,000 records."""
    assert workload.inputs_of(35_000) == pytest.approx(35_000 * workload.INPUTS, rel=0.01)


RECORDS = list(workload.records(7, NOW))


@given(st.permutations(RECORDS), st.booleans())
def test_peers_admit_once_in_any_order(order: list[tuple[str, bytes, bytes]], twice: bool) -> None:
    """A peer's join admits each statement with two classes exactly once, whatever comes first, duplicates included."""
    seen, made = join.Seen(), list[dict[str, Any]]()
    for topic, key, value in order * (1 + twice):
        made += map(json.loads, join.advance(seen, topic == "emissions", value, 0, key.decode()))
    assert sorted(f"em-7/{one['span']['chars'][0]}" for one in made) == sorted(workload.admitted_of(7))
    text = workload.answer_of(7).text
    for one in made:
        assert one["text"] == text[slice(*one["span"]["chars"])]
        assert one["classes"] == sorted(workload.CLASSES)


@pytest.mark.parametrize(("at", "admitted"), [(join.WINDOW, 1), (join.WINDOW + 1, 0)])
def test_peers_count_what_is_within_the_window(at: int, admitted: int) -> None:
    """An observation an hour away counts, one a millisecond further does not."""
    seen, (emission, first, second) = join.Seen(), RECORDS[:3]
    join.advance(seen, True, emission[2], 0, "em-7")
    join.advance(seen, False, first[2], 0, "em-7")
    assert len(join.advance(seen, False, second[2], at, "em-7")) == admitted


def test_one_class_is_not_two() -> None:
    """Two observations of one class do not admit."""
    emission, first = RECORDS[:2]
    seen = join.Seen()
    for record in (emission, first, first):
        assert not join.advance(seen, record is emission, record[2], 0, "em-7")


# ---------------------------------------------------------------- completeness


def values(*ids: str, status: str | None = None) -> list[bytes]:
    said = {"span": {"chars": [0, 9]}} | ({"status": status} if status else {})
    return [json.dumps({"emission_id": one, **said}).encode() for one in ids]


def test_the_same_ids_once_each_are_complete() -> None:
    """Order and status `admitted` do not matter."""
    verdict = completeness.judge([*values("b"), *values("a", status="admitted")], {"a/0", "b/0"})
    assert verdict.complete
    assert verdict == (0, 0, 0)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (values("a"), (1, 0, 0)),
        (values("a", "b", "b", "b"), (0, 2, 0)),
        (values("a", "b", "c"), (0, 0, 1)),
        ([*values("a"), *values("b", status="rejected")], (1, 0, 0)),
        ([*values("a", "b"), *values("a", status="renewed")], (0, 0, 0)),
    ],
)
def test_what_is_missing_doubled_or_foreign_is_counted(found: list[bytes], expected: tuple[int, int, int]) -> None:
    """Each fault has its own count, and only admissions count."""
    verdict = completeness.judge(found, {"a/0", "b/0"})
    assert verdict == expected
    assert verdict.complete is (not expected[0] and not expected[2])


# ---------------------------------------------------------------- measuring


def sample(at: float, cpu: float, resident: int = 0, ends: int = 0) -> Sample:
    return Sample(at, Usage(cpu, resident), cpu / 2, ends)


def test_start_up_is_not_measured() -> None:
    """Time and CPU count from the first record to the last output; memory over all."""
    samples = [sample(0, 0, 9_000_000), sample(10, 5), sample(12, 7), sample(20, 9)]
    found = Result(family="sluice", guarantees="", inputs=1_000_000)
    fill(found, samples, 10.0, 12.0, completeness.Verdict(0, 0, 0))
    assert (found.seconds, found.inputs_per_second, found.cpu_us_per_input) == (2.0, 500_000, 2.0)
    assert (found.broker_cpu_us_per_input, found.peak_mb, found.complete) == (1.0, 9, True)


def test_between_samples_cpu_lies_on_a_line() -> None:
    """A time between two looks gets its share, and one outside of all the nearest look's."""
    samples = [sample(0, 0), sample(10, 10)]
    assert cpu_between(samples, 2, 7)[0] == pytest.approx(5)
    assert cpu_between(samples, -5, 50)[0] == pytest.approx(10)


def test_usage_counts_descendants() -> None:
    """A process's children are in its usage; of one that has ended there is nothing."""
    script = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'print(1, flush=True); input()'])"
    process = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    alone = int(Path(f"/proc/{process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    assert usage(process.pid).resident > alone * 1.5
    process.communicate(b"\n")
    assert usage(process.pid) == (0.0, 0)


# ---------------------------------------------------------------- ratios


def test_ratios_are_of_the_best_settings() -> None:
    """The best of sluice over the best of each family; the audit over live; None where something is missing."""
    results = {
        "sluice, 1 process": result("sluice", 20_000, cpu_us_per_input=20.0),
        "sluice, 2 processes": result("sluice", 30_000, cpu_us_per_input=30.0),
        "Kafka Streams, rocksdb": result("kafka_streams", 10_000, cpu_us_per_input=70.0),
        "Kafka Streams, memory": result("kafka_streams", 15_000, cpu_us_per_input=60.0),
        "plain Faust": result("plain_faust", 1_000),
        "Bytewax": Result(family="bytewax", guarantees="none", failed="no network"),
    }
    found = ratios.ratios(results, {"sluice, 1 process": 60_000.0}, {"sluice, 1 process": 45_000.0})
    assert found["kafka_streams_exactly_once"] == 2.0
    assert found["kafka_streams_cpu"] == 0.5
    assert found["plain_faust"] == 30.0
    assert found["audit_over_live"] == 2.0
    assert found["audit_command_over_live"] == 1.5
    assert found["bytewax"] is None
    assert found["aiokafka_floor"] is None


def test_of_each_contestant_the_middle_run_counts() -> None:
    """Of two the slower one; one that lost something comes before all that did not; of audits the median."""
    lossy = result("sluice", 9_000)
    lossy.complete = False
    runs = {
        "one": [result("sluice", 5)],
        "two": [result("sluice", 7), result("sluice", 6)],
        "three": [result("sluice", 3), lossy, result("sluice", 4)],
    }
    found = run.Found(runs, {"one": [run.Audit(30.0, 20.0), run.Audit(10.0, 9.0), run.Audit(40.0, 1.0)]}, {}, {})
    assert {name: one.inputs_per_second for name, one in found.results.items()} == {"one": 5, "two": 6, "three": 3}
    assert found.audited("refolded") == {"one": 30.0}
    assert found.audited("whole") == {"one": 9.0}


def test_who_takes_long_does_not_run_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nor who could not run; everybody else runs in every turn, one after the other."""
    took = {"quick": 2.0, "long": 11.0, "broken": 0.0}
    order: list[str] = []

    def measured(contestant: contestants.Contestant, *_: object, **__: object) -> Result:
        order.append(contestant.name)
        return result("x", 1, seconds=took[contestant.name], failed="no" if contestant.name == "broken" else "")

    monkeypatch.setattr(run, "measure", measured)
    wanted = [contestants.Contestant(name, "x", "none", lambda _: [], lambda _: {}) for name in took]
    found = run.compete(SimpleNamespace(), tmp_path, wanted, run.parse(["--runs", "3"]))
    assert order == ["quick", "long", "broken", "quick", "quick"]

    order.clear()
    run.compete(SimpleNamespace(), tmp_path, wanted, run.parse(["--runs", "2", "--emissions", "200000"]))
    assert order == ["quick", "long", "broken", "quick", "long"]  # ten seconds for 100,000 emissions
    assert {name: len(runs) for name, runs in found.runs.items()} == {"quick": 3, "long": 1, "broken": 1}


def latency_of(p99: float, rate: int, who: Contestant) -> latency.Latency:
    """What a turn under load found."""
    return latency.Latency(
        p50=p99 / 2,
        p90=p99,
        p99=p99,
        most=p99,
        samples=1,
        lost=0,
        inputs_per_second=rate,
        achieved_inputs_per_second=rate,
        contestant=who.name,
    )


def test_both_have_the_same_loads_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of what each takes at its best; the middle turn counts, and the goal is held at the first load."""
    asked: list[tuple[str, int, float]] = []
    said = {"sluice, 2 processes": iter([90, 10, 30, 8, 9, 7]), "Kafka Streams, memory, 2 threads": iter([60] * 6)}

    def measured(
        address: str, prefix: str, rate: int, seconds: float, who: Contestant, now: str, *, warm: float
    ) -> latency.Latency:
        asked.append((who.name, rate, warm))
        p99 = next(said[who.name])
        return latency_of(p99, rate, who)

    monkeypatch.setattr(run, "measure_latency", measured)
    ours, theirs = result("sluice", 9_000), result("kafka_streams", 4_000)
    results = {"sluice, 2 processes": ours, "Kafka Streams, memory, 2 threads": theirs}
    found = run.latency_beside(SimpleNamespace(address="a"), results, 1)

    assert [rate for _, rate, _ in asked] == [4_500] * 6 + [2_000] * 6
    assert {name for name, *_ in asked[::2]} == {"sluice, 2 processes"}
    assert [(one["family"], one["p99"]) for one in found] == [
        ("sluice", 30),
        ("kafka_streams", 60),
        ("sluice", 8),
        ("kafka_streams", 60),
    ]
    assert ratios.p99_over_peer(found) == 0.5
    assert ratios.p99_over_peer(found[:1]) is None
    # Where one had no result at a load, the next load counts.
    assert ratios.p99_over_peer([found[0], *found[2:]]) == round(8 / 60, 3)
    assert (
        "| 4,500 | sluice, 2 processes | 15.0 | 30 | 4,500 | 0 |"
        in report.beside_markdown({"latency_beside": found})[1]
    )
    assert run.latency_beside(SimpleNamespace(address="a"), {"sluice, 2 processes": ours}, 1) == []


def test_a_setting_that_lost_something_is_no_best() -> None:
    """It competes only where no setting of its family was complete."""
    lossy, whole = result("sluice", 9_000), result("sluice", 5_000)
    lossy.complete = False
    assert ratios.best({"a": lossy, "b": whole}, "sluice") is whole
    assert ratios.best({"a": lossy}, "sluice") is lossy


def test_goals_are_met_at_their_limits() -> None:
    """The limit itself will do; what was not measured is not known to be met."""
    reported = {goal.name: goal.met for goal in ratios.goals({"kafka_streams_exactly_once": 1.5}, {"p50": 60.1})}
    assert reported["rate over Kafka Streams' best"] is True
    assert reported["latency p50, ms"] is False
    assert reported["latency p99, ms"] is None


@given(st.lists(st.floats(0, 1e6), min_size=1).map(sorted), st.floats(0.01, 1))
def test_a_percentile_is_the_least_value_that_covers_its_part(ordered: list[float], part: float) -> None:
    """At least that part of the values is not above it, and it is one of them."""
    found = latency.percentile(ordered, part)
    assert sum(value <= found for value in ordered) >= part * len(ordered)
    assert found in ordered


def test_the_median_of_three_is_the_middle() -> None:
    """And the 99th percentile of a hundred is the 99th."""
    assert latency.percentile([1, 2, 3], 0.5) == 2
    assert latency.percentile(range(1, 101), 0.99) == 99


def test_of_the_turns_that_count_the_middle_one_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """What warms the broker up counts as little as the best turn does, and every turn is kept."""
    said = iter([900, 800, 700, 1, 300, 100, 200])

    def measured(address: str, prefix: str, rate: int, seconds: float, who: Contestant, now: str) -> latency.Latency:
        p99 = next(said)
        return latency_of(p99, rate, who)

    monkeypatch.setattr(run, "measure_latency", measured)
    found = run.latency_of(SimpleNamespace(address="a"), {"sluice, 2 processes": result("sluice", 9_000)}, 1)

    assert (found["p50"], found["p99"]) == (100, 200)
    assert (found["inputs_per_second"], found["contestant"]) == (4_500, "sluice, 2 processes")
    assert [turn["p99"] for turn in found["turns"]] == [900, 800, 700, 1, 300, 100, 200]
    assert "150.0 and 300; 50.0 and 100; 100.0 and 200" in report.turns_of(found)


# ---------------------------------------------------------------- reports


def test_who_did_not_run_says_why_in_the_table_and_the_plot() -> None:
    """Nobody is silently left out, and a name cannot break the plot."""
    failed = Result(family="x", guarantees="none", failed="<no> Maven")
    results = {"a <b>": result("sluice", 5), "Kafka Streams": failed}
    assert "not run: <no> Maven" in report.markdown(results)
    plot = report.svg(results, "&")
    assert "&lt;no&gt; Maven" in plot
    assert "a &lt;b&gt;" in plot
    assert len(ElementTree.fromstring(plot).findall("{http://www.w3.org/2000/svg}rect")) == 2  # the ground, and one bar


def test_a_section_is_replaced_and_nothing_else() -> None:
    """Writing twice is writing once; a page without the section is an error."""
    page = "x\n<!-- measured: a -->\nold\n<!-- end -->\ny\n<!-- measured: b -->\nkeep\n<!-- end -->\n"
    once = report.with_section(page, "a", "new")
    assert once == page.replace("old", "new")
    assert report.with_section(once, "a", "new") == once
    with pytest.raises(ValueError, match="no section"):
        report.with_section(page, "c", "new")


def test_the_page_has_every_section_that_is_written() -> None:
    """`--write-docs` finds its places in docs/capacity.md."""
    page = run.CAPACITY.read_text("utf-8")
    for name in ("need", "peers", "scaling"):
        assert "x-y-z" in report.with_section(page, name, "x-y-z")


# ---------------------------------------------------------------- capacity


def test_need_grows_with_the_rate_and_memory_with_validity() -> None:
    """Ten times the emissions write ten times the bytes; half the validity is half the live assertions."""
    measured = capacity.Measured(rate=83_000, cpu_us=20, bytes_by_topic={"ledger": 100.0, "admitted": 300.0})
    one, ten = capacity.need(1_000, measured), capacity.need(10_000, measured)
    assert (one.processes, one.partitions, ten.processes) == (1, 2, 2)
    assert one.broker == 1_000 * 400 * 3
    assert ten.broker == pytest.approx(10 * one.broker)
    assert capacity.need(1_000, measured._replace(validity=1800)).live == one.live // 2


def test_disk_bytes_are_counted_by_topic(tmp_path: Path) -> None:
    """Segments of all partitions of a prefix's topics, without their indexes."""
    for name, size in (("p.ledger-0", 5), ("p.ledger-11", 7), ("p.re-emission-requests-0", 2), ("q.ledger-0", 100)):
        (tmp_path / "log" / name).mkdir(parents=True)
        (tmp_path / "log" / name / "0.log").write_bytes(b"x" * size)
        (tmp_path / "log" / name / "0.index").write_bytes(b"x" * 1000)
    assert capacity.disk_bytes(tmp_path, "p.") == {"ledger": 12, "re-emission-requests": 2}


def test_bytes_are_spoken_with_a_decimal_unit() -> None:
    """Three digits, and the unit that fits."""
    assert [capacity.spoken(size) for size in (0, 999, 2_190_000_000_000, 5e15)] == ["0 B", "999 B", "2.19 TB", "5 PB"]


# ---------------------------------------------------------------- the guard


def test_counts_are_read_from_what_the_tools_say() -> None:
    """callgrind's and perf's own words; anything else is an error that repeats their last line."""
    assert instructions.parse_callgrind("==9== Events    : Ir\n==9== Collected : 123456\n") == 123456
    assert instructions.parse_perf("# started on\n\n987,,instructions:u,12,100.00,,\n") == 987
    with pytest.raises(instructions.CountError, match="not supported"):
        instructions.parse_perf("<not supported>,,instructions:u,0,100.00,,\n")
    with pytest.raises(instructions.CountError, match="says nothing"):
        instructions.parse_callgrind("")


@pytest.mark.parametrize(("counted", "held"), [(104.9, True), (95.1, True), (105.1, False), (94.9, False)])
def test_five_per_cent_either_way_is_a_finding(counted: float, held: bool) -> None:
    """A stale figure would hide the next regression, so a gain must be stored as well."""
    assert instructions.verdict(counted, 100)[0] is held


def test_without_a_counter_the_guard_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    """Exit 3 and one sentence, no figure."""
    monkeypatch.setattr(instructions, "tools", dict)
    monkeypatch.setattr(instructions, "EMISSIONS", 2)
    assert instructions.guard(tmp_path, update=False) == 3
    assert "neither valgrind nor perf" in capsys.readouterr().err


def test_the_guard_stores_and_compares(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    """3 where nothing is stored, 0 against the stored figure, 1 beyond the tolerance."""
    counted = [("perf", 1000.0)] * 3 + [("perf", 1100.0), ("callgrind", 1000.0)]
    monkeypatch.setattr(instructions, "per_input", lambda: counted.pop(0))
    found = [instructions.guard(tmp_path, update=update) for update in (False, True, False, False, False)]
    assert found == [3, 0, 0, 1, 3]
    assert "slower" in capsys.readouterr().out


def test_a_count_under_another_key_is_compared_with_nothing(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    """What verdict records cost is the difference of two such counts; none may be stored as the guard's."""
    monkeypatch.setattr(instructions, "per_input", lambda told: ("callgrind", {"none": 900.0, "settled": 1000.0}[told]))
    assert [instructions.tell(told) for told in ("none", "settled")] == [0, 0]
    assert "900 instructions an input" in capsys.readouterr().out
    for arguments in (["--verdicts", "none"], ["--quick", "--update", "--verdicts", "none"]):
        with pytest.raises(SystemExit):
            run.parse(arguments)


# ---------------------------------------------------------------- what verdict records cost


def test_what_a_setting_takes_more_is_the_middle_of_ratios_within_a_turn() -> None:
    """A turn on a slow machine counts as much as one on a fast one: only its own runs are compared."""
    turns = [
        {
            told: result("sluice", 1000, cpu_us_per_input=slow * cost)
            for told, cost in (("none", 8.0), ("settled", more))
        }
        for slow, more in ((1.0, 8.4), (3.0, 8.8), (1.5, 10.0))
    ]
    found = throughput.costs(turns)
    assert (found["none"]["more"], found["settled"]["more"]) == (0.0, 0.1)
    assert (found["none"]["cpu_us_per_input"], found["none"]["least_us_per_input"]) == (12.0, 8.0)


@pytest.mark.parametrize(
    ("told", "records", "fine"),
    [("none", 0, True), ("none", 1, False), ("settled", 80, True), ("settled", 79, False), ("all", 80, False)],
)
def test_a_run_that_tells_another_number_of_verdicts_does_not_count(told, records: int, fine: bool) -> None:
    """A worker that ignored its policy would show no cost at all."""
    if fine:
        throughput.demand_told(told, records, 80)
    else:
        with pytest.raises(FailedError, match=f"wrote {records} records"):
            throughput.demand_told(told, records, 80)


def test_a_contestant_that_tells_so_much_has_that_policy(tmp_path: Path) -> None:
    """Its file is one that the policy's reader takes."""
    course = contestants.Course("kafka://127.0.0.1:1", "p.", tmp_path, 4)
    environment = contestants.sluice_telling("none", 1).environment(course)
    assert load_policy(Path(environment["SLUICE_POLICY"]).read_text("utf-8")).verdicts == "none"


# ---------------------------------------------------------------- who takes part


def test_everybody_whom_the_issue_names_takes_part() -> None:
    """Each family of the ratios has a contestant, names are unique, and Kafka Streams has its four settings."""
    families = [one.family for one in contestants.CONTESTANTS]
    assert set(families) == {"sluice", *ratios.FAMILIES}
    assert families.count("kafka_streams") == 4
    assert len({one.name for one in contestants.CONTESTANTS}) == len(families)


def test_no_setting_from_outside_reaches_a_contestant(monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable of the caller's would make two runs incomparable."""
    monkeypatch.setenv("SLUICE_POLICY", "strict.toml")
    found = contestants.environment_with({"SLUICE_BROKER": "kafka://x:1"})
    assert found["SLUICE_BROKER"] == "kafka://x:1"
    assert "SLUICE_POLICY" not in found


def test_a_build_is_taken_again_only_for_the_same_sources(tmp_path: Path) -> None:
    """A changed source makes it anew."""
    source = tmp_path / "Join.java"
    source.write_text("one")
    assert not contestants._is_built(tmp_path, [source])
    contestants._mark_built(tmp_path, [source])
    assert contestants._is_built(tmp_path, [source])
    source.write_text("two")
    assert not contestants._is_built(tmp_path, [source])


def test_whose_set_up_fails_says_why(tmp_path: Path) -> None:
    """A command that is not there, or fails, is a sentence for the table."""
    with pytest.raises(contestants.SetupError, match="does not run"):
        contestants._run([str(tmp_path / "nothing")])
    with pytest.raises(contestants.SetupError, match="fails: out of luck"):
        contestants._run(["/bin/sh", "-c", "echo out of luck; exit 1"])


def test_without_maven_kafka_streams_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who cannot be set up has a result with the reason, and needs no broker for it."""
    monkeypatch.setattr(contestants, "BUILT", tmp_path)
    monkeypatch.setattr(contestants.shutil, "which", lambda name: None)
    contestants.streams_jars.cache_clear()
    who = contestants.kafka_streams("memory", 1)
    broker = SimpleNamespace(address="kafka://127.0.0.1:1")
    reported: list[str] = []
    found = measure(who, broker, "x.", emissions=1, partitions=1, now=NOW, tell=lambda what, *_: reported.append(what))
    assert "there is no `mvn`" in found.failed
    assert reported == ["set up"]


def test_the_command_line_refuses_what_makes_no_sense() -> None:
    """Numbers are from 1 on, and --update belongs to --quick; --scale has a smaller input."""
    for given_ in (["--emissions", "0"], ["--update"]):
        with pytest.raises(SystemExit):
            run.parse(given_)
    assert run.parse([]).emissions == 35_000
    assert run.parse(["--scale"]).emissions == 7_000


# ---------------------------------------------------------------- pauses of lanes, restarts


def test_a_pause_is_the_time_between_two_blocks() -> None:
    """It counts where the later block comes within the time looked at, or has not come by its end."""
    times = [0, 50, 100, 900, 950, 2000]

    assert hand_over.longest(times, 0, 950) == 800
    assert hand_over.longest(times, 901, 960) == 50
    assert hand_over.longest(times, 901, 1999) == 1049
    assert hand_over.longest(times, 901, 2000) == 1050
    assert hand_over.longest([], 100, 700) == 600
    assert hand_over.longest([800, 900], 100, 700) == 600


def test_a_hand_over_is_from_the_last_block_before_a_claim_to_the_first_behind_it() -> None:
    """Two claims with no block between them are one; one that nobody has written behind lasts until the end."""
    block, claim = hand_over.Record, lambda at: hand_over.Record(at, True)
    ledger = [claim(5), block(10), block(60), claim(400), block(700), block(750), claim(800), claim(900), block(1000)]

    assert hand_over.hand_overs(ledger, 100, 2000) == [640, 250]
    assert hand_over.hand_overs(ledger, 500, 2000) == [250]
    assert hand_over.hand_overs(ledger, 1001, 2000) == []
    assert hand_over.hand_overs([*ledger, claim(1100)], 1001, 2000) == [1000]
    assert hand_over.hand_overs([claim(5)], 0, 2000) == []


@given(st.integers(1, 16), st.integers(1, 20), st.integers(0, 10_000))
def test_every_lane_gets_as_many_emissions_that_are_admitted(lanes: int, each: int, first: int) -> None:
    """Each under a key that belongs to its lane, and none twice."""
    found = hand_over.numbers_by_lane(lanes, each, first)

    assert [len(numbers) for numbers in found.values()] == [each] * lanes
    numbers = [number for some in found.values() for number in some]
    assert len(set(numbers)) == len(numbers)
    assert min(numbers) >= first


def test_the_page_tells_what_restarts_cost() -> None:
    """One line for each size of a ledger."""
    one = {"inputs": 1_000_000, "blocks": 400, "seconds": 8.5, "cpu_seconds": 9.1, "inputs_per_cpu_second": 109_890}
    document = {"at": NOW, "cores": 2, "load": 0.1, "restores": [{**one, "resident_mb": 300}]}

    assert restoring.section(document).endswith("| 1,000,000 | 400 | 8.5 | 9.1 | 109,890 | 300 |")


# ---------------------------------------------------------------- many lanes


@pytest.mark.parametrize(
    ("value", "is_commit"),
    [
        (bytes.fromhex("000000000000000003e8000000004e2004") + bytes(20), True),
        (bytes.fromhex("000100000000000003e8000000004e2004") + bytes(20), True),
        (bytes.fromhex("000000000000000003e8000000004e2001") + bytes(20), False),  # under way
        (bytes.fromhex("000000000000000003e8000000004e2005") + bytes(20), False),  # aborted
        (b"\x00\x00", False),
        (None, False),
    ],
)
def test_a_commit_is_told_from_the_other_steps(value: bytes | None, is_commit: bool) -> None:
    """As Kafka writes its log of transactions; an id that ended leaves a record without a value."""
    assert transactions.is_commit(value) is is_commit


def test_many_lanes_are_told_beside_one_another() -> None:
    """Who did not run says why, and who was not put under load has no latency."""
    ran = {"inputs_per_second": 90_000, "cpu_us_per_input": 8.0, "broker_cpu_us_per_input": 3.0, "complete": True}
    late = {"p50": 50.0, "p99": 120.0, "achieved_inputs_per_second": 44_990}
    lanes = [
        {"partitions": 64, "name": "a", "result": {**ran, "transactions_per_second": 400}, "latency": late},
        {"partitions": 64, "name": "b", "result": ran, "latency": {}},
        {"partitions": 64, "name": "c", "result": {"failed": "no Maven"}, "latency": {}},
    ]
    page = many_lanes.section(
        {"at": NOW, "python": "3", "cores": 2, "load": 0.1, "emissions": 100, "lanes": lanes}
    ).splitlines()

    assert page[-3] == "| 64 | a | 90,000 | 8.0 | 3.0 | 400 | 50.0 | 120.0 | 44,990 | yes |"
    assert page[-2] == "| 64 | b | 90,000 | 8.0 | 3.0 | 0 |  |  |  | yes |"
    assert page[-1].endswith("| not run: no Maven |")
    assert {line.count("|") for line in page[2:]} == {11}
