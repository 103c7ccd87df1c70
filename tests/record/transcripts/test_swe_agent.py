"""Trajectories of SWE-agent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sluice.record.events import Event, Message, Problem, ToolCall, TurnBegan, TurnEnded
from sluice.record.transcripts import open_transcript, swe_agent

DATA = Path(__file__).parent / "data"


def events(*steps: object) -> list[Event]:
    return list(swe_agent.read([json.dumps({"trajectory": steps}).encode()]))


def test_the_sample_gives_these_events() -> None:
    def tool_call(number: int, command: str, shown: str, cwd: str | None) -> ToolCall:
        return ToolCall(
            call_id=f"step-{number}",
            name="bash",
            arguments={"command": command},
            result=shown,
            ok=True,
            at=None,
            cwd=cwd,
        )

    assert list(open_transcript(DATA / "swe-agent.traj")) == [
        TurnBegan(turn_id="trajectory", at=None),
        Message(text="I look at the cart.", at=None),
        tool_call(1, "cd shop", "", None),
        tool_call(2, "grep -n MAX_ITEMS cart.py", "cart.py:3:MAX_ITEMS = 40\n", "/shop"),
        Message(text="A cart holds at most 40 items (`MAX_ITEMS`).", at=None),
        TurnEnded(at=None),
    ]


def test_the_directory_is_that_of_the_step_before_in_old_trajectories_too() -> None:
    found = events({"action": "a", "observation": "", "state": '{"working_dir": "/x"}\n'}, {"action": "b"})
    assert [each.cwd for each in found if isinstance(each, ToolCall)] == [None, "/x"]


def test_a_step_without_an_observation_has_no_result() -> None:
    (tool_call,) = [each for each in events({"action": "submit"}) if isinstance(each, ToolCall)]
    assert (tool_call.result, tool_call.ok) == (None, False)


def test_a_response_without_an_action_is_what_it_says() -> None:
    found = events({"response": "So.", "thought": "", "action": ""}, {"response": "x\nls", "action": "ls"})
    assert [each.text for each in found if isinstance(each, Message)] == ["So."]


def test_a_file_without_steps_says_so() -> None:
    sentence = "There is no list of steps named trajectory here."
    for document in ({"attempts": [{"trajectory": [{"action": "a"}]}]}, {"trajectory": []}, {}):
        assert list(swe_agent.read([json.dumps(document).encode()])) == [Problem(line=1, sentence=sentence)]


def test_steps_that_are_no_objects_are_problems() -> None:
    found = events([1], {"action": "a", "observation": "x"})
    assert [type(each) for each in found] == [Problem, TurnBegan, ToolCall, TurnEnded]


def test_a_cut_file_loses_only_its_last_step() -> None:
    steps: list[dict[str, Any]] = [{"action": "a", "observation": "x"}, {"action": "b", "observation": "y"}]
    whole = json.dumps({"trajectory": steps}, indent=1).encode()
    found = list(swe_agent.read([whole[: whole.index(b'"y"')]]))
    assert [type(each) for each in found] == [TurnBegan, ToolCall, Problem, TurnEnded]
    assert found[2] == Problem(line=7, sentence="This step is not JSON, or is cut off; it is passed over.")
    between = whole[: whole.index(b'"x"') + 8]  # after the first step
    assert [type(each) for each in swe_agent.read([between])] == [TurnBegan, ToolCall, Problem, TurnEnded]


def test_a_step_of_another_form_is_told() -> None:
    """It counts as not understood; one that says nothing in the form that is known does not."""
    found = events({"utterance": "So."}, {"thought": "", "action": "", "observation": ""}, {"thought": "So."})
    assert [each.sentence for each in found if isinstance(each, Problem)] == [
        "This step has no thought, response or action; it is passed over."
    ]
    assert [each.text for each in found if isinstance(each, Message)][-1] == "So."
