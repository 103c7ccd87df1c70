"""Every step on a stranger's text is linear in its length (fuzz/cost.py): the families that once were not.

The law compares the processor time of one step at two lengths; no test here asserts on how long anything takes.
"""

import cost
import pytest


@pytest.mark.parametrize(
    ("step", "head", "body", "tail"),
    [
        ("strict typing", "", "A" * 48 + "\n", "!"),  # lines of base64 that lead to nothing
        ("strict typing", "", "Ab1/" * 19 + "\n", "!"),
        ("strict typing", "", "[a](", ""),
        ("strict typing", "", "[", ""),
        ("strict typing", "", "`a", ""),
        ("strict typing", "", "\"'", ""),
        ("strict typing", "", "<", ""),
        ("terms", "", "%41", ""),  # each number was looked for in the whole text
        ("terms", "", "$1", ""),
        ("terms", "", "a@", ""),
        ("terms", "", " ", ""),
        ("cleaning", "", "<a ", ""),
        ("the canonical hash", "", "a\u0301", ""),
        ("the form that is signed", "", "a\u0301", ""),
        ("identifiers", "", "%41", ""),
        ("identifiers", "", "a.b@", "!"),
        ("DIDs", "", "%2E", ""),
        ("a citation held against a sighting", "", "a b ", ""),
    ],
)
def test_what_strangers_write_costs_linear_time(step, head, body, tail):
    """Eight times the text takes about eight times as long."""
    cost.check_cost(step, cost.STEPS[step], cost.Family(head, body, tail))


def test_a_step_that_is_quadratic_is_found():
    """The law can fail."""
    with pytest.raises(AssertionError, match="more than linear time"):
        cost.check_cost(
            "a loop in a loop", lambda text: [text.count("b") for _ in range(len(text) // 20)], cost.Family("", "a", "")
        )


@pytest.mark.parametrize("end", ["", "\n", "\n\n", "\n!"])
def test_an_encoded_payload_over_many_lines_is_found_whatever_ends_it(end):
    """Also where no shorter line comes behind it."""
    from sluice.streams.sanitise._typing import problem_of

    line = "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWZnaGlqa2xtbm9wcXJzdHV2"
    assert problem_of(f"It holds.\n{line}\n{line}\n{line}{end}", "strict") == "holds a base64-encoded payload"
