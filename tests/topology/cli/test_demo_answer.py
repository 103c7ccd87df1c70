"""The demo's answer of a model: its session is what its calls give here, and its statements get these verdicts.

Whoever changes a file that it speaks of runs `python tools/make_answer.py`; where a verdict of the table changes, the
answer in `examples/answer.md` and `examples/answer.jsonl` is out of date.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import make_answer
import pytest

from sluice.topology.cli import demo_view
from sluice.topology.settings.settings import Settings

EXAMPLES = make_answer.ROOT / "examples"

EXPECTED = {
    "The limits are constants in `codecs/`.": "unannotated",
    "`MAX_ASSERTIONS` is 1000 in `codecs/records.py`.": "admitted",
    "An assertion carries at most 20 checks (`MAX_CHECKS`).": "unverified-inference",
    "`MAX_CHECK_LENGTH` is 4000 in `codecs/records.py`.": "contradicted",
    "`codecs/records.py` defines `CheckIndex`.": "admitted",
    "`codecs/blocks.py` defines `MAX_EVENTS`.": "admitted",
    "`MAX_EVENTS` is 4000 in `codecs/blocks.py`.": "admitted",
    "`codecs/blocks.py` defines `seal_block`.": "unverified-inference",
    "A larger input than `MAX_INPUT_BYTES` is cut to its first kilobyte.": "unverified-inference",
    "`MAX_EVENTS` was chosen after long measurements on production ledgers.": "unverified-inference",
    "`judging.same_root` is 2 in `policies/strict.toml`.": "admitted",
    "`judging.require_checks` is false in `policies/strict.toml`.": "contradicted",
    "`policies/strict.toml` contains `min_observers`.": "admitted",
    "With it, `commit` checks need a single kind of evidence for internal effects.": "unverified-inference",
    "`policies/strict.toml` has 2 occurrences of `internal`.": "contradicted",
    "The keys that it leaves out are those of `policies/reference.toml`.": "unverified-inference",
    '`admissibility.horizon` is "10m" in `policies/reference.toml`.': "admitted",
    "Alice Example asked for these values in `ISSUE-4711`.": "unannotated",
}


@pytest.fixture(scope="module")
def vetted() -> demo_view.Answered:
    return demo_view.vetted(EXAMPLES, Settings(root=str(make_answer.ROOT)))


def test_every_result_is_what_its_call_gives_now():
    """Else somebody has changed what the model read: `python tools/make_answer.py` reads it again."""
    text = make_answer.SESSION.read_text("utf-8")
    calls = list(make_answer.blocks(make_answer.records(text), "tool_use"))
    results = list(make_answer.blocks(make_answer.records(text), "tool_result"))
    assert len(calls) == len(results) > 4
    for call, result in zip(calls, results, strict=True):
        assert result["tool_use_id"] == call["id"]
        now = make_answer.result_of(make_answer.ROOT, call)
        assert result["content"] == now, (
            f"run {make_answer.COMMAND}: {call['name']} {call['input']} gives something else"
        )
    assert make_answer.made(text) == text


def test_a_checkout_that_has_drifted_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Status 1 where a call gives something else than the session says."""
    session = make_answer.records(make_answer.SESSION.read_text("utf-8"))
    next(make_answer.blocks(session, "tool_result"))["content"] = "MAX_EVENTS = 17"
    (tmp_path / "answer.jsonl").write_text("".join(json.dumps(record) + "\n" for record in session), "utf-8")
    monkeypatch.setattr(make_answer, "SESSION", tmp_path / "answer.jsonl")
    assert make_answer.main(["--check"]) == 1
    assert make_answer.main([]) == 0
    assert make_answer.main(["--check"]) == 0


def test_the_statements_get_the_verdicts_of_the_table(vetted: demo_view.Answered):
    """On the checkout as it is; true ones, and the mistakes that models make."""
    assert {verdict.text: verdict.label for verdict in vetted.verdicts} == EXPECTED
    assert 12 <= len(EXPECTED) <= 20


def test_a_false_one_says_where_it_is_false(vetted: demo_view.Answered):
    """The check, the file and the line, and which kinds of evidence say so."""
    (wrong,) = (verdict for verdict in vetted.verdicts if "MAX_CHECK_LENGTH" in verdict.text)
    assert [one.check for one in wrong.missing] == ["equals(MAX_CHECK_LENGTH, 4000, path=codecs/records.py)"]
    lines = (make_answer.ROOT / "codecs" / "records.py").read_text("utf-8").splitlines()
    assert {(one.path, lines[one.lines[0] - 1]) for one in wrong.seen if one.lines} == {
        ("codecs/records.py", "MAX_CHECK_LENGTH = 2000")
    }
    assert {one.substrate_class for one in wrong.seen} == {"substrate.code.read", "substrate.grep"}


def test_the_page_is_the_question_and_the_answer_of_the_session(vetted: demo_view.Answered):
    """Word for word."""
    session = make_answer.records(make_answer.SESSION.read_text("utf-8"))
    (text,) = (block["text"] for block in make_answer.blocks(session, "text"))
    question = session[0]["message"]["content"]
    assert (EXAMPLES / "answer.md").read_text("utf-8") == f"> {question}\n\n{text}\n"
    assert vetted.question == question
    assert vetted.calls == len(list(make_answer.blocks(session, "tool_use")))


def test_the_session_is_of_no_machine_and_no_time():
    """Its paths lie in the checkout, so it is about whichever checkout it stands in, as that is now."""
    session = make_answer.records(make_answer.SESSION.read_text("utf-8"))
    assert not any({"cwd", "timestamp"} & set(record) for record in session)
    for call in make_answer.blocks(session, "tool_use"):
        given = [call["input"][name] for name in ("file_path", "path") if name in call["input"]]
        assert given
        assert not any(re.match(r"[/~.]", path) for path in given)


def test_the_answer_is_shown_of_its_own_checkout_alone(tmp_path: Path):
    """Another repository is not what it speaks of; nor has an installed package without examples one."""
    assert demo_view.is_about(EXAMPLES, str(make_answer.ROOT))
    assert not demo_view.is_about(EXAMPLES, str(tmp_path))
    assert not demo_view.is_about(None, str(make_answer.ROOT))
    assert not demo_view.is_about(tmp_path, str(tmp_path.parent))
