"""docs/limits.md, `max_waiting`: evidence of emissions that never come is bounded, and nothing of it is lost unsaid."""

from fold_lines import adjudicate, emission, observation

GIT = "substrate.git.log"
GREP = "substrate.grep"
ADMITTED = ("admitted", "admitted", None)
POLICY = """
[admissibility]
max_waiting = 5

[observers.lab]
"""


def test_beyond_the_bound_it_is_a_dead_letter():
    """An observer's own evidence still counts, whoever else has filled the others' share."""
    flood = [observation(0, GREP, observer=f"stranger-{number}", observation_id=f"o-{number}") for number in range(12)]
    own = [observation(1, name, observer="lab", observation_id=f"lab-{name}") for name in (GIT, GREP)]

    outputs = adjudicate([*flood, *own, emission(2)], POLICY)

    assert outputs.dead == ["too-many-waiting"] * 7
    assert outputs.words == [ADMITTED]


def test_the_same_observation_twice_is_one():
    """A replay fills nothing."""
    same = [observation(0, GREP, observer="stranger", observation_id="o") for _ in range(12)]

    outputs = adjudicate([*same, observation(1, GIT, observer="stranger"), emission(2)], POLICY)

    assert outputs.dead == []
    assert outputs.words == [ADMITTED]
