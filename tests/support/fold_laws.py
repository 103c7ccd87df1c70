"""A random world of one lane, and a naive model that says how each of its assertions must fare.

The model is written from the design and shares no code with the fold
(tests/streams/adjudication/test_fold_properties.py).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import strategies as st

from sluice.codecs.times import format_time
from sluice.codecs.vocabulary import CLASSES_1_0
from sluice.streams.adjudication import fold as core
from sluice.streams.policy.policy import (
    INADMISSIBLE,
    Admissibility,
    Floor,
    LeastObservers,
    Observer,
    PerEffect,
    Policy,
)

U = 10_000  # the unit of all times in this world, ms
BASE = 1_800_000_000_000
GIT, GREP, CODE, MTIME = CLASSES = (
    "substrate.git.log",
    "substrate.grep",
    "substrate.code.read",
    "substrate.fs.mtime",
)
UNKNOWN = "substrate.unheard-of"
TERMINALS = ("unverified-inference", "decayed-to-uncertainty")
SPANS = ((0, 5), (6, 11))
IDS = ("o1", "o2", "abcdef1", "abcdef12")

# ---------------------------------------------------------------- histories

Block = tuple[int, int, list[tuple[str, dict[str, Any]]]]
"""Time, watermark, and the records: topic and value."""


class World:
    """Makes policies and histories out of choices, whoever makes them: Hypothesis, or a seeded generator."""

    def __init__(self, choose: Callable[[Sequence[Any]], Any]) -> None:
        self.choose = choose

    def mostly(self, value: Any, *others: Any, weight: int = 6) -> Any:
        """Mostly one value, now and then another."""
        return self.choose([value] * weight + list(others))

    def beside(self) -> int:
        """A bound is met exactly, or missed by a millisecond on either side."""
        return self.mostly(0, -1, 1, weight=4)

    def policy(self) -> Policy:
        choose, internal = self.choose, self.mostly(2, 1, 1, 3, weight=3)
        dispositions = ["review", "review", "re-emit", "refuse", "discard"]
        return Policy(
            admissibility=Admissibility(
                trust=self.mostly("observed", "declared", "both", "both"),
                k=Floor(internal=internal, external=choose(range(internal, 4))),
                horizon=U * choose([1, 2, 3]),
                late_horizon=U * choose([1, 2]),
                max_unseen=self.mostly(100, 0, 1),
                max_validity=U * choose([3, 5, 7, 9]),
                max_skew=U * choose([0, 1]),
                min_confidence=self.mostly(0.0, 0.5),
                max_attempts=choose([1, 2, 3]),
                review_window=U * choose([1, 3, 5]),
                min_observers=LeastObservers(internal=(least := self.mostly(1, 2)), external=self.mostly(least, 2, 3)),
                window={
                    **dict.fromkeys(CLASSES_1_0, U * choose([2, 4])),
                    **{name: U * choose([1, 3, 5]) for name in CLASSES if choose([True, False])},
                },
            ),
            effect={"bot": "external"},
            disposition={
                status: PerEffect(internal=choose(dispositions), external=choose(dispositions))
                for status in INADMISSIBLE
            },
            observers={"captured": Observer(writable_by=["bot"]), "narrow": Observer(classes=[GREP])},
            verdicts=self.mostly("settled", "all", "none"),
        )

    def history(self, length: int, lag: bool = True) -> list[Block]:
        """Blocks with growing times, and watermarks that lag behind where `lag` allows it."""
        time, watermark, blocks = BASE, BASE - U, []
        sent: list[dict[str, Any]] = []  # repeated now and then: duplicates, and what is too old
        for _ in range(length):
            time = max(time, time + self.choose([0, 0, 0, 0, 1, 1, 2, 4]) * U + self.beside())
            watermark = max(watermark, time - (self.mostly(0, 1, 3) * U if lag else 0))
            records: list[tuple[str, Any]] = []
            for _ in range(self.choose([0, 1, 3, 5])):
                topic = self.mostly("observations", "emissions", "reviews", weight=6) if sent else "emissions"
                records.append((topic, getattr(self, topic)(time, sent)))
            blocks.append((time, watermark, records))
        return blocks

    def emissions(self, now: int, sent: list[dict[str, Any]]) -> dict[str, Any]:
        if sent and self.mostly(False, True, weight=3):
            return self.choose(sent)
        emitted = now - self.mostly(0, 1, 2, 4, -1) * U - self.beside()
        sent.append(
            {
                "emission_id": self.mostly("em-0", "em-1", "em-2", weight=2),
                "attempt": self.mostly(0, 1, weight=2),
                "emitted_at": emitted,
                "text": "First other",
                "emitter": self.mostly({}, {"system": "bot"}),
                "assertions": [
                    {
                        "span": {"chars": list(span)},
                        "kind": self.mostly("assertion", "denial", "refusal", weight=12),
                        "provenance": [self.annotation(emitted) for _ in range(self.choose([0, 1, 1, 2, 3]))],
                        "confidence": self.mostly(None, 0.3, 0.5),
                        "effect": self.mostly(None, "external", "internal"),
                    }
                    for span in self.mostly(SPANS[:1], SPANS[1:], SPANS)
                ],
            }
        )
        return sent[-1]

    def annotation(self, emitted: int) -> dict[str, Any]:
        known = self.mostly(True, False, weight=12)
        return {
            "substrate_class": self.choose(CLASSES if known else (*TERMINALS, UNKNOWN)),
            "observation_id": self.choose((None, *IDS)),
            "ts": self.choose([None, *(emitted - n * U for n in (-2, -1, 0, 0, 1, 2, 5))]),
        }

    def subject(self, sent: list[dict[str, Any]]) -> dict[str, Any]:
        emission = self.choose(sent[-3:])
        return {
            "emission_id": emission["emission_id"],
            "span": self.choose(emission["assertions"])["span"]
            if self.mostly(True, False)
            else {"chars": list(SPANS[1])},
            "attempt": emission["attempt"] if self.mostly(True, False) else 1,
        }

    def observations(self, now: int, sent: list[dict[str, Any]]) -> dict[str, Any]:
        declared = {note["observation_id"] for claim in sent[-1]["assertions"] for note in claim["provenance"]}
        return {
            "observation_id": self.choose([*IDS, *sorted(declared - {None}) * 3]),
            "substrate_class": self.mostly(GREP, GIT, CODE, MTIME, UNKNOWN, weight=2),
            "observed_at": now - self.mostly(0, 1, 2, 4, -1, weight=8) * U - self.mostly(0, 1, -1, weight=12),
            "observer": self.mostly("anyone", "another", "captured", "narrow", weight=4),
            "subject": self.subject(sent),
            "outcome": self.mostly(
                "corroborates", "contradicts", *["unknown-observation"] * 3, "absent", "unavailable", weight=10
            ),
            "confidence": self.mostly(1.0, 0.3, 0.5, weight=9),
        }

    def reviews(self, now: int, sent: list[dict[str, Any]]) -> dict[str, Any]:
        return {**self.subject(sent), "decision": self.choose(["admit", "refuse"])}


@st.composite
def worlds(draw: st.DrawFn, lag: bool = True) -> tuple[Policy, list[Block]]:
    world = World(lambda options: draw(st.sampled_from(options)))
    return world.policy(), world.history(draw(st.integers(2, 8)), lag)


# ---------------------------------------------------------------- the naive fold

FATES = ("duplicate", "late", "unmatched", "not-counted", "discarded", "unreviewed", "dead-letters")
Claim = dict[str, Any]
Key = tuple[str, int, int]  # emission id and span: what a Kafka key names


class Naive:
    """What decides, told again (docs/reference/decisions.md), with nothing remembered but the history itself."""

    def __init__(self, policy: Policy) -> None:
        self.policy, self.rules, self.windows = policy, policy.admissibility, policy.admissibility.window
        self.now = self.made = 0
        self.attempts: dict[tuple[str, int], dict[str, Any]] = {}
        self.claims: list[Claim] = []
        self.aside: list[dict[str, Any]] = []
        self.words: dict[Key, list[tuple[Any, ...]]] = defaultdict(list)
        self.dead: list[str] = []
        self.fates: Counter[str] = Counter()

    def block(self, time: int, watermark: int, records: list[tuple[str, Any]]) -> None:
        self.now = time
        self.let_time_pass(watermark)
        for topic, value in records:
            reason = getattr(self, topic)(value)
            if reason is not None:
                self.fates["dead-letters"] += 1
                self.dead.append(reason)
        for claim in self.claims:
            if claim.pop("moved_on", False) and claim["state"] == "admitted":
                self.speak(claim, "renewed", claim["basis"])

    def let_time_pass(self, watermark: int) -> None:
        while over := [
            (item["until"], item["order"], item)
            for item in [*self.claims, *self.aside]
            if item["until"] is not None
            and {"pending": watermark, "aside": watermark}.get(item["state"], self.now) > item["until"]
        ]:
            item = min(over, key=lambda entry: entry[:2])[2]
            if item["state"] == "aside":
                self.aside.remove(item)
                self.fates["unmatched"] += 1
            elif item["state"] == "pending" and not self.wait_on(item):
                self.refuse(item, *self.end(item))
            elif item["state"] == "admitted":
                self.close(item, "decayed-to-uncertainty", "validity-ended")
            elif item["state"] == "review":
                self.fates["unreviewed"] += 1
                self.end_request(item, "expired")
                self.over(item)

    def wait_on(self, claim: Claim) -> bool:
        """What is annotated and that nobody has looked at waits once more, where not so many do already."""
        others = sum(one["state"] == "pending" and one["late"] and not one["looked"] for one in self.claims)
        if self.is_seen(claim) or claim["late"] or others >= self.rules.max_unseen:
            return False
        claim.update(late=True, until=claim["until"] + self.rules.late_horizon)
        return True

    def is_seen(self, claim: Claim) -> bool:
        return claim["looked"] or not claim["said"]["provenance"] or self.rules.trust == "declared"

    # -- inputs

    def emissions(self, value: dict[str, Any]) -> str | None:
        name, number, emitted = value["emission_id"], value["attempt"], value["emitted_at"]
        stated = [note["ts"] or 0 for claim in value["assertions"] for note in claim["provenance"]]
        if max([emitted, *stated]) > self.now + self.rules.max_skew:
            return "clock-skew"
        if emitted < self.now - self.rules.max_validity:
            return "too-old"
        if self.known(name, number):
            if self.attempts[name, number]["value"] != value:
                return "conflicting-emission"
            self.fates["duplicate"] += 1
            return None
        newest = self.newest(name)
        if number > (newest + 1 if newest >= 0 else self.rules.max_attempts):
            return "attempt-out-of-order"
        superseded = newest > number
        for claim in self.claims:
            if claim["key"][0] == name and claim["attempt"] < number and claim["state"] == "pending":
                self.refuse(claim, "rejected", "superseded")
            elif claim["key"][0] == name and claim["attempt"] < number and claim["state"] == "review":
                self.end_request(claim, "superseded", number)
                self.over(claim)
        for claim in self.claims:  # of an attempt that was forgotten: nobody can name them any more
            claim["forgotten"] = claim.get("forgotten") or (claim["key"][0], claim["attempt"]) == (name, number)
        self.attempts[name, number] = {"value": value, "until": emitted + self.rules.max_validity}
        new = [self.claim(value, one) for one in value["assertions"]]
        self.claims += new
        for claim in new:
            self.begin(claim, superseded)
        return None

    def claim(self, value: dict[str, Any], one: dict[str, Any]) -> Claim:
        bot = value["emitter"].get("system") == "bot"
        external = bot or one["effect"] == "external"
        return {
            "key": (value["emission_id"], *one["span"]["chars"]),
            "attempt": value["attempt"],
            "state": "pending",
            "until": self.now + self.rules.horizon,
            "order": self.next_order(),
            "effect": "external" if external else "internal",
            "k": self.rules.k.external if external else self.rules.k.internal,
            "n": self.rules.min_observers.external if external else self.rules.min_observers.internal,
            "emitted": value["emitted_at"],
            "longest": self.now + self.rules.max_validity,
            "bot": bot,
            "said": one,
            "heard": [],
            "late": False,
            "looked": False,
            "judged": True,
            "revision": 0,
            "basis": "declaration" if self.rules.trust == "declared" else "corroboration",
            "valid": None,
        }

    def next_order(self) -> int:
        self.made += 1
        return self.made

    def begin(self, claim: Claim, superseded: bool) -> None:
        came = [one for one in self.aside if (one["key"], one["attempt"]) == (claim["key"], claim["attempt"])]
        self.aside = [one for one in self.aside if one not in came]
        if superseded or claim["said"]["kind"] == "refusal":
            claim["judged"] = False
            self.fates["late"] += len(came)
            if superseded:
                self.refuse(claim, "rejected", "superseded")
            else:
                self.speak(claim, "refused", "emitter")
                self.over(claim)
            return
        said = [one["observation"] for one in came]
        negatives = [
            one["outcome"]
            for one in sorted(said, key=lambda one: one["outcome"] != "corroborates")
            if self.apply(claim, one) and one["outcome"] != "corroborates"
        ]
        declared = [note["substrate_class"] for note in claim["said"]["provenance"]]
        terminal = next((one for one in declared if one in TERMINALS), None)
        if terminal is not None:
            self.refuse(claim, terminal, "declared-terminal")
        elif UNKNOWN in declared:
            self.refuse(claim, "unverified-inference", "unknown-class")
        elif (claim["said"]["confidence"] or 1) < self.rules.min_confidence:
            self.refuse(claim, "rejected", "low-confidence")
        elif "unknown-observation" in negatives:
            self.refuse(claim, "rejected", "fabricated-annotation")
        elif "contradicts" in negatives:
            self.refuse(claim, "contradicted", "contradicted")
        else:
            self.admit_if_enough(claim)

    def observations(self, value: dict[str, Any]) -> str | None:
        subject, cls = value["subject"], value["substrate_class"]
        if value["observed_at"] > self.now + self.rules.max_skew:
            return "clock-skew"
        if value["observer"] == "narrow" and cls != GREP:
            return "unauthorised-observer"
        key, attempt = (subject["emission_id"], *subject["span"]["chars"]), subject["attempt"]
        claim = self.find(key, attempt)
        waits = value["outcome"] == "absent" and self.rules.trust != "declared" and claim is None
        if cls == UNKNOWN or (value["outcome"] in ("absent", "unavailable") and not waits):
            self.fates["not-counted"] += 1
            if cls != UNKNOWN and claim is not None:
                self.note_look(claim, value)
            return None
        if claim is None and any(one["observation"] == value for one in self.aside):
            self.fates["duplicate"] += 1
        elif claim is None:
            waiting = {"key": key, "attempt": attempt, "state": "aside", "observation": value}
            self.aside.append({**waiting, "until": self.now + self.rules.horizon, "order": self.next_order()})
        elif claim["state"] in ("review", "closed"):
            self.fates["late"] += 1
        elif self.apply(claim, value):
            self.act(claim, value["outcome"])
        return None

    def act(self, claim: Claim, outcome: str) -> None:
        admitted = claim["state"] == "admitted"
        if outcome == "corroborates":
            if admitted:
                self.move_on(claim, self.validity(claim))
            else:
                self.admit_if_enough(claim)
            return
        word = ("contradicted",) * 2 if outcome == "contradicts" else ("rejected", "fabricated-annotation")
        (self.close if admitted else self.refuse)(claim, *word)

    def reviews(self, value: dict[str, Any]) -> str | None:
        claim = self.find((value["emission_id"], *value["span"]["chars"]), value["attempt"])
        if claim is None or claim["state"] == "closed":
            return "late-review"
        if value["decision"] == "admit" and claim["state"] != "review":
            return "unrequested-review"
        until = self.now + self.rules.max_validity
        if claim["state"] == "review":
            self.end_request(claim, "reviewed", value["decision"])
        if claim["state"] == "admitted":
            claim["basis"] = "review"
            self.close(claim, "rejected", "review")
        elif value["decision"] == "admit":
            claim["basis"] = "review"
            self.admit(claim, until)
        else:
            self.refuse(claim, "rejected", "review")
        return None

    # -- what is known

    def known(self, name: str, number: int) -> bool:
        """The memory of an attempt: until it would be too old, and while anything of it lives."""
        attempt = self.attempts.get((name, number))
        return attempt is not None and (self.now <= attempt["until"] or self.is_live(name, number))

    def is_live(self, name: str, number: int) -> bool:
        mine = (claim for claim in self.claims if (claim["key"][0], claim["attempt"]) == (name, number))
        return any(claim["state"] != "closed" for claim in mine)

    def newest(self, name: str) -> int:
        return max((number for one, number in self.attempts if one == name and self.known(one, number)), default=-1)

    def find(self, key: Key, attempt: int) -> Claim | None:
        if not self.known(key[0], attempt):
            return None
        claims = (one for one in self.claims if (one["key"], one["attempt"]) == (key, attempt))
        return next((one for one in claims if not one.get("forgotten")), None)

    # -- counting

    def apply(self, claim: Claim, said: dict[str, Any]) -> bool:
        """Takes an observation into the history; whether it says anything that counts and was not known."""
        may_count = self.may_count(claim, said)
        self.note_look(claim, said)
        news = may_count and said["outcome"] != "absent"
        if may_count and said["outcome"] == "corroborates":
            before = self.counted(claim), self.witnesses(claim)
            claim["heard"].append({**said, "renews": claim["state"] == "admitted"})
            news = (self.counted(claim), self.witnesses(claim)) != before
        elif news:
            news = self.negative_holds(claim, said)
        self.fates["not-counted"] += not news
        return news

    def may_count(self, claim: Claim, said: dict[str, Any]) -> bool:
        captured = claim["bot"] and said["observer"] == "captured"
        return said["confidence"] >= self.rules.min_confidence and not captured

    def note_look(self, claim: Claim, said: dict[str, Any]) -> None:
        """Whoever may count has looked, whatever they found."""
        if claim["state"] == "pending" and said["outcome"] != "unavailable" and self.may_count(claim, said):
            claim["looked"] = True

    def negative_holds(self, claim: Claim, said: dict[str, Any]) -> bool:
        cls, ts = said["substrate_class"], said["observed_at"]
        if ts < claim["emitted"] - self.windows[cls]:
            return False
        since = [one for one in claim["heard"] if one["observed_at"] > ts]
        if said["outcome"] == "contradicts":
            return not any(one["substrate_class"] == cls for one in since)
        return any(
            note["substrate_class"] == cls and same_id(note, said) and not any(same_id(note, one) for one in since)
            for note in claim["said"]["provenance"]
        )

    def counted(self, claim: Claim) -> dict[str, int]:
        """The classes that count, each with its newest time."""
        found: dict[str, int] = {}
        for cls, ts, _ in self.fresh(claim):
            found[cls] = max(ts, found.get(cls, ts))
        return found

    def fresh(self, claim: Claim) -> list[tuple[str, int, str]]:
        """Class, time and observer of all evidence that counts."""
        return [
            (cls, ts, observer)
            for cls, ts, renews, observer in self.evidence(claim)
            if ts >= claim["emitted"] - self.windows[cls]
            and (renews or ts <= claim["emitted"] + self.rules.horizon + self.rules.late_horizon)
        ]

    def observers(self, claim: Claim) -> list[int]:
        """Until when each observer's evidence holds, the longest first."""
        ends: dict[str, int] = {}
        for cls, ts, observer in self.fresh(claim):
            ends[observer] = max(ts + self.windows[cls], ends.get(observer, -1))
        return sorted(ends.values(), reverse=True)

    def enough(self, claim: Claim) -> bool:
        """k classes, and, where observers are counted at all, n of them [S §11.3]."""
        lone = claim["n"] == 1 or self.rules.trust == "declared"
        return len(self.counted(claim)) >= claim["k"] and (lone or len(self.observers(claim)) >= claim["n"])

    def witnesses(self, claim: Claim) -> set[tuple[str, int, str]]:
        """The n observers of each class with the newest evidence: what else is heard of it is no news."""
        if claim["n"] == 1 or self.rules.trust == "declared":
            return set()
        newest: dict[tuple[str, str], int] = {}
        for cls, ts, observer in self.fresh(claim):
            newest[cls, observer] = max(ts, newest.get((cls, observer), ts))
        return {
            one
            for cls in CLASSES
            for one in sorted(
                ((cls, ts, observer) for (name, observer), ts in newest.items() if name == cls),
                key=lambda one: (-one[1], one[2]),
            )[: claim["n"]]
        }

    def evidence(self, claim: Claim) -> list[tuple[str, int, bool, str]]:
        """Class, time, whether it came after admission, and whose it is: all that the trust mode takes for evidence."""
        notes = [note for note in claim["said"]["provenance"] if claim["judged"] and note["substrate_class"] in CLASSES]
        if self.rules.trust == "declared":
            return [(note["substrate_class"], note["ts"], False, "") for note in notes if note["ts"]]
        return [
            (one["substrate_class"], one["observed_at"], one["renews"], one["observer"])
            for one in claim["heard"]
            if self.rules.trust == "observed"
            or any(
                note["substrate_class"] == one["substrate_class"]
                and (note["observation_id"] is None or same_id(note, one))
                for note in notes
            )
        ]

    def validity(self, claim: Claim) -> int:
        if not self.enough(claim):
            return -1
        ends = sorted((ts + self.windows[cls] for cls, ts in self.counted(claim).items()), reverse=True)
        lone = claim["n"] == 1 or self.rules.trust == "declared"
        by = claim["longest"] if lone else self.observers(claim)[claim["n"] - 1]
        return min(ends[claim["k"] - 1], by, claim["longest"])

    def end(self, claim: Claim) -> tuple[str, str]:
        """The verdict at the end of the pending time."""
        count = len(self.counted(claim))
        if count and not self.enough(claim):
            return "below-floor", "below-floor"
        aged = any(ts < claim["emitted"] - self.windows[cls] for cls, ts, *_ in self.evidence(claim))
        if count or aged:
            return "decayed-to-uncertainty", "aged-out"
        if not self.is_seen(claim):
            return "unverified-inference", "not-looked-at"
        return ("unverified-inference" if claim["said"]["provenance"] else "unannotated"), "no-corroboration"

    # -- verdicts

    def admit_if_enough(self, claim: Claim) -> None:
        if self.validity(claim) >= self.now:
            self.admit(claim, self.validity(claim))

    def admit(self, claim: Claim, until: int) -> None:
        claim.update(state="admitted", until=until, valid=until)
        self.speak(claim, "admitted", claim["basis"])

    def move_on(self, claim: Claim, until: int) -> None:
        if until > claim["until"]:
            claim.update(until=until, valid=until, moved_on=True)

    def close(self, claim: Claim, status: str, reason: str) -> None:
        self.speak(claim, status, claim["basis"], reason)
        self.over(claim)

    def over(self, claim: Claim) -> None:
        if claim["state"] != "closed" and self.policy.verdicts != "none":
            attempt = self.attempts[claim["key"][0], claim["attempt"]]
            attempt["until"] = max(attempt["until"], self.now)  # its end is told at the end of the block
        claim.update(state="closed", until=None)

    def refuse(self, claim: Claim, status: str, reason: str) -> None:
        given = getattr(self.policy.disposition[status], claim["effect"])
        if given == "re-emit" and claim["attempt"] + 1 >= self.rules.max_attempts:
            given = "review"
        if given == "discard":
            self.fates["discarded"] += 1
            self.over(claim)
            return
        claim["revision"] += 1
        words, counted = self.words[claim["key"]], sorted(self.counted(claim))
        start = (claim["attempt"], claim["revision"], status, reason)
        words.append(("inadmissible", *start, given, counted))
        asks = reason not in ("superseded", "review")
        topic = {"review": "review-requests", "re-emit": "re-emission-requests"}.get(given)
        if asks and topic:
            words.append((topic, *start, given, counted, *self.missing(claim)))
        self.over(claim)
        # Where a newer attempt is known, the last word under a key is not an earlier one's.
        if given == "refuse" and claim["attempt"] >= self.newest(claim["key"][0]):
            claim["revision"] -= 1  # one decision, told twice
            self.speak(claim, "refused", "policy", reason)
        if asks and given == "review":
            claim.update(state="review", until=self.now + self.rules.review_window, asked=reason)

    def missing(self, claim: Claim) -> tuple[int, list[str]]:
        """How many classes more it would have needed, and those that bore it out."""
        counted = self.counted(claim)
        seen = {cls for cls, *_ in self.evidence(claim)} if self.rules.trust == "declared" else set()
        seen = {cls for cls in seen if cls in counted} | {one["substrate_class"] for one in claim["heard"]}
        return max(0, claim["k"] - len(counted)), sorted(seen)

    def end_request(self, claim: Claim, how: str, by: Any = None) -> None:
        """The last word on a request for a review: how it ended, and by what."""
        counted = sorted(self.counted(claim))
        start = ("review-requests", claim["attempt"], claim["revision"], how, claim["asked"], "review", counted)
        self.words[claim["key"]].append((*start, *self.missing(claim), *([] if by is None else [by])))

    def speak(self, claim: Claim, status: str, basis: str, reason: str | None = None) -> None:
        """A word on `admitted`; where it is the attempt's own, earlier lives under the key end without one."""
        claim["revision"] += 1
        until = None if claim["valid"] is None else format_time(claim["valid"])
        start = (claim["attempt"], claim["revision"], status, reason)
        self.words[claim["key"]].append(("admitted", *start, basis, sorted(self.counted(claim)), until))
        for other in self.claims:
            if other["key"] == claim["key"] and other["attempt"] < claim["attempt"]:
                self.over(other)


def same_id(note: dict[str, Any], said: dict[str, Any]) -> bool:
    """Equal ids; of a commit, a prefix of seven digits will do."""
    declared, seen = note["observation_id"], said["observation_id"]
    if declared is None:
        return False
    shorter, longer = sorted((declared, seen), key=len)
    prefix = note["substrate_class"] == GIT and len(shorter) >= 7 and longer.startswith(shorter)
    return declared == seen or prefix


# ---------------------------------------------------------------- the two compared


def decisions_of(outputs: list[Any]) -> dict[Key, list[tuple[Any, ...]]]:
    """The words of a real fold as the naive one writes them, by key."""
    words: dict[Key, list[tuple[Any, ...]]] = defaultdict(list)
    for topic, _, value, _ in outputs:
        if topic == "dead-letters":
            continue
        start = (topic, value["attempt"], value["revision"], value["status"], value.get("reason"))
        if topic == "admitted":
            rest: tuple[Any, ...] = (value["basis"], value["classes"], value.get("valid_until"))
        else:
            rest = (value["disposition"], value["classes"])
        if topic.endswith("-requests"):
            rest += (value["missing_floor"], value["classes_seen"])
            rest += tuple(value[name] for name in ("decision", "superseded_by") if name in value)
        words[value["emission_id"], *value["span"]["chars"]].append((*start, *rest))
    return words


def run(new_lane: Any, policy: Policy, history: list[Block]) -> tuple[Any, list[Any]]:
    """A real lane after a history, and all its outputs."""
    lane = new_lane(policy, BASE - U)
    outputs = [output for time, watermark, records in history for output in lane.block(time, records, watermark)]
    return lane, outputs


def run_naive(policy: Policy, history: list[Block]) -> Naive:
    naive = Naive(policy)
    for time, watermark, records in history:
        naive.block(time, watermark, records)
    return naive


def differences(new_lane: Any, policy: Policy, history: list[Block]) -> tuple[Any, Any] | None:
    """What the real fold and the naive one say, where they differ: words by key, dead letters, fates."""
    naive = run_naive(policy, history)
    lane, outputs = run(new_lane, policy, history)
    dead = [one.headers["sluice-reason"] for one in outputs if one.topic == "dead-letters"]
    counted = core.counters(lane.state)
    live = sum(claim["state"] != "closed" for claim in naive.claims)
    fates = {**{name: naive.fates[name] for name in FATES}, "lives": live, "waiting": len(naive.aside)}
    real = (dict(decisions_of(outputs)), dead, {name: counted.get(name, 0) for name in fates})
    expected = (dict(naive.words), naive.dead, fates)
    return None if real == expected else (real, expected)


def smallest(history: list[Block], still: Callable[[list[Block]], object]) -> list[Block]:
    """Leaves out blocks and records for as long as `still` holds: a failure that can be read."""
    for place, (time, watermark, records) in enumerate(history):
        fewer = [(time, watermark, records[:one] + records[one + 1 :]) for one in range(len(records))]
        for shorter in (
            history[:place] + history[place + 1 :],
            *([*history[:place], block, *history[place + 1 :]] for block in fewer),
        ):
            if still(shorter):
                return smallest(shorter, still)
    return history
