"""Records of wrong shapes on the topics that the service reads: each page is answered and shows no markup of theirs."""

import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from json_mutations import mutated

MARKUP = '"><script>alert(1)</script>'
VALUES = (
    st.sampled_from([None, True, 0, -1, 10**30, 1.5, "", "\0", "text", MARKUP, "x" * 300, "em-1", "\u202e"])
    | st.builds(list)
    | st.builds(lambda: [[], None])
    | st.builds(lambda: {"a": MARKUP})
)
DECIDED: dict[str, Any] = {
    "emission_id": "em-1",
    "attempt": 0,
    "revision": 1,
    "span": {"chars": [0, 10]},
    "kind": "claim",
    "status": "contradicted",
    "reason": "contradicted",
    "effect": "internal",
    "emitter": {"system_id": "model:a"},
    "valid_until": "2026-07-01T00:00:00.000Z",
    "checks": ["calls(f, g)"],
    "classes": ["substrate.grep"],
    "classes_seen": ["substrate.grep"],
    "missing_floor": 1,
    "evidence": [
        {
            "observation_id": "git:0a1b2c3d",
            "class": "substrate.grep",
            "observer_id": "grep-1",
            "outcome": "contradicts",
            "refuted": [0],
            "detail": {
                "checks": [{"check": "calls(f, g)", "holds": False, "found": "x = 1", "under": ["a"], "lines": [1, 2]}]
            },
        }
    ],
    "_untrusted_text": {"assertion": "It is out.", "rendered": ["a"], "unchecked": ["b"]},
    "_meta": {"truncated": []},
}
VERDICTS: dict[str, Any] = {
    "emission_id": "em-1",
    "attempt": 0,
    "settled": True,
    "emitter": {"system_id": "model:a"},
    "assertions": [
        {
            "attempt": 0,
            "span_key": "c:0-10",
            "status": "contradicted",
            "effect": "internal",
            "reason": "contradicted",
            "revision": 1,
            "classes_seen": ["substrate.grep"],
            "missing": {"floor": 1},
            "kind": "claim",
            "at": "2026-07-01T00:00:00.000Z",
        }
    ],
}
LEASE: dict[str, Any] = {"emission_id": "em-1", "span_key": "c:0-10", "holder": "a", "seconds": 300}
TOPICS = {
    "admitted": DECIDED,
    "inadmissible": DECIDED,
    "review-requests": DECIDED,
    "verdicts": VERDICTS,
    "review-leases": LEASE,
}
PAGES = (
    "/",
    "/queue",
    "/queue/item?key=em-1%23c:0-10",
    "/queue/bulk",
    "/insight",
    "/look-up?q=em-1",
    "/emissions/em-1",
    "/v1/emissions/em-1",
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=30)
@given(
    changed=st.lists(
        st.sampled_from(sorted(TOPICS)).flatmap(
            lambda topic: st.tuples(st.just(topic), mutated(TOPICS[topic], VALUES))
        ),
        min_size=1,
        max_size=4,
    )
)
async def test_no_record_ends_a_page(service: Any, view: Any, changed: list[tuple[str, Any]]):
    """Whatever the writer of an output topic puts there."""
    view.emit()
    for topic, record in changed:
        view.put(topic, "em-1" if topic == "verdicts" else "em-1#c:0-10", json.dumps(record).encode())
    async with service() as client:
        for page in PAGES:
            answer = await client.get(page)
            assert answer.status_code in (200, 404), (page, answer.status_code, changed)
            assert "<script>alert" not in answer.text or page.startswith("/v1/"), (page, changed)
