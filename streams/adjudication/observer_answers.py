"""Whether every observer has answered about an assertion, so that it need not wait out its horizon (docs/verdicts.md,
`early_settle`).

The fold waits for every observer that the policy lists, for each class that the assertion declares and the observer may
speak for. Only signed answers count, whatever the observer found; the outcome `unavailable` is no answer. In some cases
the fold cannot know that all answers have come. The assertion then waits for its horizon:

- it declares no class;
- it annotates a class twice, so that one answer may be about either annotation;
- the policy binds one of its classes to sightings;
- for one of its classes the policy lists no observer, or lists an observer without a key;
- the policy accepts other judges, whose observations come after those of the checks.

Pure.
"""

from __future__ import annotations

from ...codecs.records import Observation
from ..policy.policy import BUILT_IN, Policy
from .emission_state import CLASSES, NUMBER_OF, AssertionState


def awaited(policy: Policy, state: AssertionState) -> frozenset[str]:
    """Who has to answer about an assertion, for which class (`_answer`); empty where only its horizon settles it."""
    numbers = [one.number for one in state.declared]
    bound = {NUMBER_OF[name] for name in policy.sightings.classes}
    if len(set(numbers)) < len(numbers) or not bound.isdisjoint(numbers) or policy.judging.accept != [BUILT_IN]:
        return frozenset()
    found: set[str] = set()
    for number in numbers:
        speakers = {
            name: one for name, one in policy.observers.items() if not one.classes or CLASSES[number] in one.classes
        }
        if not speakers or not all(one.all_keys for one in speakers.values()):
            return frozenset()
        found.update(_answer(number, name) for name in speakers)
    return frozenset(found)


def note(policy: Policy, state: AssertionState, observation: Observation, cls: str) -> bool:
    """Notes an answer; True where it was the last one.

    Args:
        policy: in force.
        state: the assertion, pending.
        observation: about it, and heard under this policy: an observer who has a key has signed it, or else the
            sighting that it is bound to, which counts only for classes that are bound.
        cls: its bare class.
    """
    if not may_count(policy, observation):
        return False
    wanted, one = awaited(policy, state), _answer(NUMBER_OF[cls], observation.observer)
    if one not in wanted:
        return False
    if one not in state.answers:
        state.basis = [*state.answers, one]
    return wanted.issubset(state.answers)


def may_count(policy: Policy, observation: Observation) -> bool:
    """Whether an observation is an answer that somebody may be waiting for, whatever it is about: of an observer that
    has a key in the policy, whose look was answered, and decided by the checks."""
    observer = policy.observers.get(observation.observer)
    signs = observer is not None and bool(observer.all_keys)
    return signs and observation.outcome != "unavailable" and observation.judge is None


def _answer(number: int, observer: str) -> str:
    return f"{number} {observer}"
