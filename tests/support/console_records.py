"""Records that fill every page of the console: what emitters, lanes, observers and people would have written.

Nothing in them depends on the day but the time that they are given.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from adapter_view import attested, claim
from builders import emission_value, observation_value, review_value

from sluice.codecs.times import format_time

SENTENCES = (
    "`RETRIES` in settings.py is 3.",
    "The time-out is 30 seconds.",
    "Nobody has reported an error since May.",
    "The service restarts by itself.",
)
TEXT = " ".join(SENTENCES)
STATUSES = ("admitted", "admitted", "contradicted", "below-floor")
CLASSES = ("substrate.code.read", "substrate.grep", "substrate.git.log", "substrate.grep")
CHECKS = {0: "equals(RETRIES, 3, path=settings.py)", 2: "absent(error, path=errors.log)"}
EVIL = "<script>document.title='taken'</script>\u202e<img src=x onerror=\"document.title='taken'\">"


class Written(NamedTuple):
    """A record: its topic, its key, its members."""

    topic: str
    key: str
    value: dict[str, Any]


def span(number: int) -> list[int]:
    """Where a sentence of `TEXT` stands."""
    start = sum(len(one) + 1 for one in SENTENCES[:number])
    return [start, start + len(SENTENCES[number])]


def span_key(number: int) -> str:
    """The span key of a sentence of `TEXT`."""
    return "c:{}-{}".format(*span(number))


def console_emission(emission_id: str, system: str, now: int) -> Written:
    """`TEXT` with an annotation for each sentence, and with checks for two."""
    assertions = [
        {
            "span": {"chars": span(number)},
            "provenance": {
                "substrate_class": CLASSES[number],
                "observation_id": "sha256:" + f"{number}b7e" * 16,
                "locator": {"path": "settings.py"},
            },
        }
        for number in range(len(SENTENCES))
    ]
    for number, text in CHECKS.items():
        assertions[number]["checks"] = [text]
    value = emission_value(emission_id, TEXT, at=format_time(now), assertions=assertions, emitter={"system": system})
    return Written("emissions", emission_id, value)


def verdicts(
    emission_id: str, system: str, now: int, statuses: tuple[str, ...] = STATUSES, *, settled: bool = True
) -> Written:
    """What was decided about the sentences of an emission."""
    assertions = [
        {
            "span_key": span_key(number),
            "attempt": 0,
            "status": status,
            "effect": "internal",
            "reason": "too-few-classes" if status == "below-floor" else None,
            "classes_seen": [CLASSES[number]],
            "missing_floor": 1 if status == "below-floor" else 0,
            "valid_until": format_time(now + 3_600_000) if status == "admitted" else None,
        }
        for number, status in enumerate(statuses)
    ]
    value = {
        "emission_id": emission_id,
        "attempt": 0,
        "settled": settled,
        "emitter": system,
        "decided_at": format_time(now),
        "assertions": assertions,
    }
    return Written("verdicts", emission_id, value)


def request(emission_id: str, text: str = SENTENCES[3], number: int = 3, **more: Any) -> Written:
    """A sentence that is up for review."""
    value = {
        "@type": "sluice:InadmissibleAssertion",
        "emission_id": emission_id,
        "attempt": 0,
        "span": {"chars": span(number)},
        "status": "below-floor",
        "reason": "too-few-classes",
        "effect": "internal",
        "revision": 1,
        "missing_floor": 1,
        "classes_seen": [CLASSES[number]],
        "_untrusted_text": {"assertion": text},
        **more,
    }
    return Written("review-requests", f"{emission_id}#{span_key(number)}", value)


def console_observation(emission_id: str, number: int, outcome: str, now: int, **more: Any) -> Written:
    """What an observer answered about a sentence."""
    seen = {"observation_id": "sha256:" + f"{number}b7e" * 16, "locator": {"path": "settings.py"}, **more}
    about = {"emission_id": emission_id, "span": {"chars": span(number)}, "at": now}
    return Written("observations", emission_id, observation_value(CLASSES[number], outcome, **about, **seen))


def console_review(emission_id: str, reviewer: str, decision: str, reason: str, number: int = 3) -> Written:
    """What a person decided about a sentence."""
    about = {"emission_id": emission_id, "span": {"chars": span(number)}, "attempt": 0}
    return Written("reviews", emission_id, review_value(decision, **about, reviewer=reviewer, reason=reason))


CLAIM = claim("trial")
"""What the validators of `console_records` attest to."""
PLACE = {"root": "service", "path": "settings.py", "commit": "4f2a91c07d"}


def check(text: str, holds: bool, **where: Any) -> dict[str, Any]:
    """One check as an observer's answer shows it."""
    return {"check": text, "holds": holds, "path": "settings.py", "lines": [14, 14], "commit": PLACE["commit"], **where}


def console_records(now: int, name: str = "em") -> list[Written]:
    """Emissions of three emitters with every colour of verdict, three requests, answers, a review.

    Args:
        now: Unix ms.
        name: what the ids begin with; the first emission is `NAME-release-notes`.
    """
    first, second, third = f"{name}-release-notes", f"{name}-ticket-4711", f"{name}-summary-12"
    return [
        console_emission(first, "docs-bot", now),
        console_emission(second, "support-bot", now),
        console_emission(third, "research-bot", now),
        console_observation(
            first,
            *(0, "corroborates", now - 4000),
            detail={
                "checks": [check(CHECKS[0], True)],
                "found": ["RETRIES"],
                "missing": [],
            },
            verified=[0],
            looked_at=PLACE,
        ),
        console_observation(first, 1, "terms-present", now - 240_000, detail={"found": ["30"], "missing": []}),
        console_observation(
            first,
            *(2, "contradicts", now - 60_000),
            detail={
                "checks": [check(CHECKS[2], False, path="errors.log", lines=[212, 214])],
                "found": ["error", "May"],
                "missing": [],
            },
            refuted=[0],
            looked_at={**PLACE, "path": "errors.log"},
        ),
        console_observation(
            first, 3, "absent", now - 7_200_000, detail={"found": [], "missing": ["restarts by itself"]}
        ),
        request(first),
        request(second, reason="unannotated", text="A refund was sent on Monday."),
        request(third, text="The trial had 212 participants.\u200b"),
        console_review(third, "token:ada", "admit", "seen in the source"),
        Written("grounded", CLAIM, json.loads(attested("The trial had 212 participants.", about="trial", by="lab"))),
        Written(
            "grounded", CLAIM, json.loads(attested("Two left early.", about="trial", by="press", verdict="DISPUTED"))
        ),
        verdicts(first, "docs-bot", now + 4000),
        verdicts(second, "support-bot", now + 7000, ("admitted", "rejected", "admitted", "below-floor")),
        verdicts(third, "research-bot", now + 9000, ("admitted", "admitted", "pending", "below-floor"), settled=False),
    ]
