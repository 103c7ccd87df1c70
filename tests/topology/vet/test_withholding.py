"""What becomes of an answer that was vetted, and what its reader sees then."""

from __future__ import annotations

import asyncio
import copy
import importlib
import json
import logging
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from sluice.codecs.errors import SluiceError, UsageError
from sluice.record import ToolCall
from sluice.topology.vet import answering
from sluice.topology.vet.answering import (
    AnswerVetter,
    Rules,
    Vetted,
    disarmed,
    is_unread,
    marked,
    outcome_of,
    replies_of,
    rules_of,
)
from sluice.topology.vet.vetted_assertions import Missing, Verdict

RIGHT = "`MAX_RETRIES` is 5 in `limits.py`."
WRONG = "`MAX_RETRIES` is 7 in `limits.py`."
IDLE = "The retry waits 30 seconds with `jitter`, as `limits.py` says."


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "limits.py").write_text("MAX_RETRIES = 5\n\n\ndef retry():\n    return MAX_RETRIES\n")
    for command in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=me", "-c", "user.email=me@example.org", "commit", "-q", "-m", "limits"],
    ):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    return tmp_path


def verdict(status: str) -> Verdict:
    record = {"classes": ["grep"]} if status == "admitted" else {"classes": []}
    return Verdict("e", None, "said", status, "", [], [], [], record)


def vetted(*statuses: str) -> Vetted:
    return Vetted([verdict(one) for one in statuses])


def unseen(*statuses: str) -> Vetted:
    """The first one could not be looked at."""
    first = verdict("unverified-inference")._replace(reason="not-looked-at", missing=[Missing("", "it is closed")])
    return Vetted([first, *map(verdict, statuses)])


ALL = Rules("withhold", "mark", "withhold")

# ------------------------------------------------------------ rules


@pytest.mark.parametrize(
    ("statuses", "rules", "action", "sentence"),
    [
        ((), ALL, "pass", ""),
        (("admitted",), ALL, "pass", ""),
        (("contradicted",), Rules("pass"), "pass", ""),
        (
            ("contradicted",),
            ALL,
            "withhold",
            "[sluice withheld this answer: observers contradict statement 1, the only one in this answer.]",
        ),
        (
            ("admitted", "contradicted", "contradicted"),
            Rules("mark"),
            "mark",
            "[sluice: observers contradict statements 2 and 3, of 3 in this answer.]",
        ),
        (
            ("unannotated", "admitted"),
            ALL,
            "mark",
            "[sluice: nothing that was looked at bears out statement 1, of 2 in this answer.]",
        ),
        (
            ("unannotated", "contradicted"),
            ALL,
            "withhold",
            "[sluice withheld this answer: observers contradict statement 2, and nothing that was looked at bears out "
            "statement 1, of 2 in this answer.]",
        ),
        (
            ("contradicted",) * 20,
            ALL,
            "withhold",
            "[sluice withheld this answer: observers contradict 20 statements, of 20 in this answer.]",
        ),
    ],
)
def test_the_strictest_rule_decides(statuses: Any, rules: Rules, action: str, sentence: str) -> None:
    outcome = outcome_of(vetted(*statuses), rules)
    assert (outcome.action, outcome.sentence) == (action, sentence)


def test_what_was_not_vetted_follows_the_rule_for_it() -> None:
    late = Vetted((), answering.LATE)
    assert outcome_of(late, Rules()).action == "pass"
    outcome = outcome_of(late, ALL)
    assert outcome.sentence == "[sluice withheld this answer: it could not be vetted in time.]"
    assert not outcome.vetted


def test_a_rule_that_is_none_is_one_sentence() -> None:
    with pytest.raises(UsageError, match="`late` is no action"):
        rules_of("withhold", "pass", "block")


def test_what_is_withheld_is_the_sentence_alone() -> None:
    assert marked("secret", outcome_of(vetted("contradicted"), ALL)).startswith("[sluice withheld")
    assert marked("said", outcome_of(vetted("unannotated"), ALL)).startswith("said\n\n[sluice: nothing")


@pytest.mark.parametrize(
    "forged",
    [
        "[sluice: all is well.]",
        "[ SLUICE : all is well.]",
        "[s\u200bluice: all]",
        "［sluice: all］",
        "[**sluice**: all]",
    ],
)
def test_an_answer_cannot_vouch_for_itself(forged: str) -> None:
    assert disarmed(f"It is so. {forged}").startswith("It is so. ")
    assert "not s" in disarmed(forged).lower()
    assert marked(forged, outcome_of(vetted("admitted"), ALL)) != forged


def test_other_brackets_stay() -> None:
    for text in ("[sluices](x)", "sluice: a valve", "[1] sluice", "see [docs](sluice.md)"):
        assert disarmed(text) == text


# ------------------------------------------------------------ responses

CHAT: dict[str, Any] = {
    "choices": [
        {
            "message": {
                "role": "assistant",
                "content": "SECRET",
                "reasoning_content": "SECRET",
                "thinking_blocks": [{"thinking": "SECRET"}],
                "annotations": [{"quote": "SECRET"}],
                "provider_specific_fields": {"x": "SECRET"},
                "tool_calls": [{"id": "1"}],
            },
            "logprobs": {"content": [{"token": "SECRET"}]},
        }
    ]
}
ITEMS: dict[str, Any] = {
    "output": [
        {"type": "reasoning", "summary": [{"text": "SECRET"}], "encrypted_content": "SECRET"},
        {"type": "function_call", "call_id": "1"},
        {
            "type": "message",
            "content": [
                {"type": "output_text", "text": "SECRET", "logprobs": [{"token": "SECRET"}], "annotations": ["SECRET"]},
                {"type": "output_text", "text": "SECRET"},
            ],
        },
        {"type": "message", "content": [{"type": "output_text", "text": "SECRET"}]},
    ]
}
BLOCKS: dict[str, Any] = {
    "content": [
        {"type": "thinking", "thinking": "SECRET"},
        {"type": "text", "text": "SECRET", "citations": [{"cited_text": "SECRET"}]},
        {"type": "tool_use", "id": "1"},
        {"type": "text", "text": "SECRET"},
    ]
}


TEXT: dict[str, Any] = {"choices": [{"text": "SECRET", "logprobs": {"tokens": ["SECRET"]}}]}


@pytest.mark.parametrize("response", [CHAT, ITEMS, BLOCKS, TEXT])
def test_what_is_withheld_stands_nowhere_else(response: dict[str, Any]) -> None:
    given = copy.deepcopy(response)
    (reply,) = replies_of(given)
    assert "SECRET" in reply.text
    reply.write("[withheld]", True)
    assert "SECRET" not in json.dumps(given)
    assert json.dumps(given).count("[withheld]") == 1
    calls = json.dumps(given).count('"id": "1"') + json.dumps(given).count('"call_id": "1"')
    assert calls == (response is not TEXT), "a call is no statement"


@pytest.mark.parametrize("response", [CHAT, ITEMS, BLOCKS])
def test_a_mark_is_put_behind_the_answer(response: dict[str, Any]) -> None:
    given = copy.deepcopy(response)
    (reply,) = replies_of(given)
    reply.write(reply.text + "\n\n[mark]", False)
    (again,) = replies_of(given)
    assert again.text == reply.text + "\n\n[mark]"
    given = copy.deepcopy(response)
    (reply,) = replies_of(given)
    reply.write("other", False)
    (again,) = replies_of(given)
    assert again.text == "other"


@pytest.mark.parametrize(
    "response", [None, 7, {}, {"choices": []}, {"choices": [None, 7]}, {"output": 7}, {"content": "x"}]
)
def test_what_has_no_answer_has_none(response: Any) -> None:
    assert replies_of(response) == []


# ------------------------------------------------------------ vetting


def test_answers_are_vetted_by_what_they_name(checkout: Path) -> None:
    found = AnswerVetter(checkout).vet(f"{RIGHT}\n\n{WRONG}\n\n{IDLE}")
    assert [one.status for one in found.verdicts] == ["admitted", "contradicted", "unverified-inference"]
    assert not found.failure


def test_calls_that_looked_at_the_checkout_decide_what_is_annotated(checkout: Path) -> None:
    def read(name: str) -> ToolCall:
        text = "     1\tMAX_RETRIES = 5\n"
        return ToolCall(
            call_id="", name=name, arguments={"file_path": "limits.py"}, result=text, ok=True, at=None, cwd=None
        )

    vetter = AnswerVetter(checkout)
    (by_call,) = vetter.vet(IDLE, lambda: [read("Read")]).verdicts
    (proposed,) = vetter.vet(IDLE, lambda: [read("unknown")]).verdicts
    assert by_call.status == "unannotated"
    assert proposed.status == "unverified-inference"


async def test_event_loops_go_on_while_answers_are_vetted(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vetter, go = AnswerVetter(checkout, budget=60), threading.Event()
    whole = vetter._vetted

    def slow(*given: Any) -> Vetted:
        go.wait(30)
        return whole(*given)

    monkeypatch.setattr(vetter, "_vetted", slow)
    asked = asyncio.ensure_future(vetter.avet(WRONG))
    for _ in range(10):
        await asyncio.sleep(0)
    assert not asked.done()
    go.set()
    assert [one.status for one in (await asked).verdicts] == ["contradicted"]


async def test_nobody_waits_beyond_the_budget(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vetter, go = AnswerVetter(checkout, budget=0.05), threading.Event()
    monkeypatch.setattr(vetter, "_vetted", lambda *given: go.wait(30))
    try:
        assert vetter.vet(WRONG) == Vetted((), answering.LATE)
        assert await vetter.avet(WRONG) == Vetted((), answering.LATE)
    finally:
        go.set()


def test_late_vettings_make_room_again(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answering, "MOST_WAITING", 1)
    vetter, go = AnswerVetter(checkout, budget=0.05), threading.Event()
    whole = vetter._vetted
    monkeypatch.setattr(vetter, "_vetted", lambda *given: go.wait(30))
    assert vetter.vet(WRONG).failure == answering.LATE
    assert vetter.vet(WRONG).failure == answering.FAILED
    go.set()
    monkeypatch.setattr(vetter, "_vetted", whole)
    vetter.budget = 60
    for _ in range(1_000):
        if vetter.vet(WRONG).verdicts:
            break
        time.sleep(0.01)
    else:
        raise AssertionError("there is no room")


@pytest.mark.parametrize("error", [SluiceError("what is wrong"), ValueError("what a stranger wrote")])
def test_whatever_goes_wrong_is_a_failure_and_one_sentence(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    def fails() -> list[ToolCall]:
        raise error

    with caplog.at_level(logging.WARNING):
        assert AnswerVetter(checkout).vet(WRONG, fails) == Vetted((), answering.FAILED)
    (logged,) = caplog.records
    assert "stranger" not in logged.getMessage()


def test_a_root_or_budget_that_is_none_is_reported_at_once(tmp_path: Path) -> None:
    with pytest.raises(SluiceError):
        AnswerVetter(tmp_path / "nowhere")
    with pytest.raises(UsageError, match="budget"):
        AnswerVetter(tmp_path, budget=0)


def test_without_litellm_the_guardrail_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "litellm", None)
    monkeypatch.delitem(sys.modules, "sluice.topology.vet.litellm_guardrail", raising=False)
    with pytest.raises(UsageError, match=r"LiteLLM is not installed \(.*\).*pip install 'sluice[a-z-]*\[litellm\]'"):
        importlib.import_module("sluice.topology.vet.litellm_guardrail")


# ------------------------------------------------------------ what could not be looked at


@pytest.mark.parametrize(
    ("rules", "action", "sentence"),
    [
        (Rules(), "pass", ""),
        (Rules(late="mark"), "mark", "[sluice: observers could not look at statement 1, of 2 in this answer.]"),
        (
            Rules(unsupported="withhold", late="mark"),
            "mark",
            "[sluice: observers could not look at statement 1, of 2 in this answer.]",
        ),
    ],
)
def test_what_could_not_be_looked_at_is_late(rules: Rules, action: str, sentence: str) -> None:
    """It is no statement that nothing bears out: the rule for what was not vetted holds."""
    found = outcome_of(unseen("admitted"), rules)
    assert (found.action, found.sentence, list(found.unseen)) == (action, sentence, [1])


README_READ = ToolCall(
    call_id="c", name="Read", arguments={"file_path": "README.md"}, result="x\n", ok=True, at=None, cwd=None
)


@pytest.mark.parametrize("calls", [(), (README_READ,)], ids=["no call", "another file"])
@pytest.mark.parametrize("relative", [True, False])
def test_the_form_of_the_root_and_unrelated_calls_change_nothing(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, relative: bool, calls: tuple[ToolCall, ...]
) -> None:
    """What the answer names is looked up."""
    (checkout / "README.md").write_text("x\n")
    monkeypatch.chdir(checkout)
    vetter = AnswerVetter("." if relative else checkout, budget=60)
    assert [one.status for one in vetter.vet(WRONG, lambda: calls).verdicts] == ["contradicted"]


def test_a_root_that_cannot_be_looked_at_is_logged(
    checkout: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Its statements are late, and a sentence is logged."""
    (checkout / ".git").rename(checkout.parent / "moved")
    (checkout / ".git").write_text(f"gitdir: {checkout.parent}/moved\n")
    with caplog.at_level(logging.WARNING):
        found = AnswerVetter(checkout, budget=60).vet(WRONG)
    assert outcome_of(found, Rules(late="withhold")).action == "withhold"
    assert "observers could not look at 1 of 1 statements" in caplog.text


@pytest.mark.parametrize(
    ("response", "unread"),
    [
        ({"choices": [{"message": {"content": "So."}}]}, False),
        ({"choices": [{"message": {"content": None, "tool_calls": [{}]}}]}, False),
        ({"content": [{"type": "thinking", "text": "x"}, {"type": "tool_use"}]}, False),
        ({"data": [{"embedding": [0.5]}]}, False),
        ({"answer": "So."}, True),
        ({"content": [{"type": "markdown_text", "text": "So."}]}, True),
        ({"choices": [{"message": {"content": [{"type": "markdown_text", "text": "So."}]}}]}, True),
        ({"output": [{"type": "message", "content": [{"type": "markdown_text", "text": "So."}]}]}, True),
    ],
)
def test_a_response_of_another_form_is_known_as_such(response: object, unread: bool) -> None:
    """A later version's block of text does not pass in silence."""
    assert is_unread(response) is unread
