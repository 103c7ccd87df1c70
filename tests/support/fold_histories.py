"""Histories for the compiled core: records that are common, uncommon and damaged, and what a fold makes of them.

The tests hold the core equal to Python on these, and `fuzz/native.py` runs them under sanitisers.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import pytest
from builders import attestation_value

from sluice.codecs import blocks
from sluice.codecs import compiled_core as codecs_native
from sluice.codecs.blocks import Block, Event, EventKind, Header, Output, Source
from sluice.codecs.identifiers import digest_of
from sluice.codecs.times import format_time
from sluice.streams.adjudication import fold as core
from sluice.streams.adjudication import fold_layout, snapshot, verdicts
from sluice.streams.policy import policy
from sluice.streams.policy.policy import (
    Admissibility,
    Floor,
    FloorOfCheck,
    Judging,
    LeastCoverage,
    Observer,
    PerEffect,
    Policy,
    PrivacyRules,
)
from sluice.streams.policy.privacy import Secret, Secrets

T = 1_800_000_000_000
MINUTE = 60_000
SECRETS = Secrets(Secret("a secret"))
CLASSES = (
    "substrate.git.log",
    "substrate.grep",
    "1.0.substrate.code.read",
    "substrate.fs.mtime",
    "substrate.unix.peercred",
)
SHA = "sha256:" + "ab" * 32
ATTESTATION = attestation_value(
    validator_did="did:key:z6Mk",
    verdict="SUPPORTED",
    rationale="Be\u200bcause <i>it</i> is so.",
    evidence=[{"quote": "q", "uri": "https://a.example/b"}],
)
BARE = [name.removeprefix("1.0.") for name in CLASSES]
IDS = (
    SHA,
    "peercred:" + "ab" * 32,
    "peercred:1:2",
    "PeerCred:1:2",
    "PEERCRED:" + "ab" * 32,
    "peercred:abab",
    b"peercred:1".hex() * 2,
    "sha256:" + b"peercred:of-nobody-at-all-12345=".hex(),
    "ab" * 20,
    "ab" * 32,
    "abcdef1",
    "ABCDEF12",
    "abcdef12",
    "o1",
    "a" * 256,
)
PLAIN_TEXT = "First other, and more."
COMMIT = "4f2a91c0de" * 4
CHECKS = (
    "equals(MAX, 1000, path=a/b.py)",
    "equals(MAX, 1000)",
    'contains("First  other")',
    "not calls(f, g)",
    'line(a/b.py, 3, "x = 1")',
    "commit(4f2a91c)",
    "commit(4F2A91C, date=2026-05-25)",
    "changed(a/b.py, 4f2a91c)",
    "exists(a/b.py)",
    "peer(uid=0)",
    "count(x, >=, 3, lines=2-9)",
)
NAMES_OF_CHECKS = sorted({check.removeprefix("not ").partition("(")[0] for check in CHECKS})
ODD_CHECKS = (
    "levitates(a)",
    "equals(MAX",
    "",
    'contains("Ünï — cödé")',
    'contains("<b>x</b>")',
    'contains("[a](http://a.b)")',
    'contains("\u0406van\'s `x`")',
    'contains("a\\u200bb")',
    "equals(\ufb01eld, 1)",
    f'contains("{"x" * 600}")',
    f'contains("{"é" * 1980}")',
)
PATHS = ("a/b.py", "a/b.py", "README.md", "ünï/x", "<b>", "x](y", "`", "a\nb", "", "p" * 4096, "p" * 4097, "é" * 4096)
COMMITS = (COMMIT, COMMIT, COMMIT[:7], COMMIT[:6], COMMIT.upper(), "v1.0", "<i>", "", "c" * 64, "c" * 65, "é" * 64)
LINES = (
    [3, 3],
    [3, 9],
    [1, 2**31 - 1],
    [1, 2**31],
    [9, 3],
    [0, 1],
    [-0, 1],
    [1.0, 2],
    [True, 2],
    [3],
    [3, 4, 5],
    "3-4",
    [],
)
TEXTS = (
    PLAIN_TEXT,
    "First other stands here, and more than that.",
    "First(other)[here]: more(of)it[and]:so on.",
    'A "quoted" <b>bold</b> [link](http://a.b)\\\n',
    "Ünï — cödé: “Я” \u200b 😀!",
    "x" * 2100,
    "\x00\x1f\x7f tab\t",
)


@contextmanager
def pure() -> Iterator[None]:
    """Everything in Python."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fold_layout, "core", None)
        patch.setattr(codecs_native, "codecs", None)
        yield


class Folded(NamedTuple):
    """All that a fold shows of itself."""

    outputs: list[list[Output]]
    roots: list[str]
    snapshot: bytes
    counters: dict[str, int]
    due: list[Any]


Raw = tuple[str, bytes | None, bytes | None, list[tuple[str, bytes]]]
Step = tuple[int, int, list[Raw | Policy | Event]]


def fold(steps: list[Step], rules: Policy, lanes: int = 1, partitioner: Any = "murmur2") -> Folded:
    """Folds blocks of records into a new state; the state's snapshot is taken out and put back half way.

    Every other block's events are as an audit has them: with the core they lie in the block's bytes.
    """
    state = core.new_state(0, lanes, partitioner, SECRETS)
    core.fold(state, block_of(state, 0, T, T, [Event(EventKind.POLICY, 0, 0, T, [], None, rules.document)]))
    outputs: list[list[Output]] = []
    due: list[Any] = []
    for height, (time, watermark, records) in enumerate(steps):
        block = block_of(state, height + 1, time, watermark, [event_of(record) for record in records])
        if height % 2:
            block = blocks.unseal(blocks.seal(block.header, block.events)[1], in_place=True)._replace(hash=block.hash)
        outputs.append(core.fold(state, block))
        due.append((core.due(state, time + MINUTE, time), core.due(state, time, time + MINUTE)))
        if height == len(steps) // 2:
            state = snapshot.load(list(snapshot.dump(state)), SECRETS)
        if height == len(steps) - 1:
            due.append(core.next_due(state))
    roots = [blocks.outputs_root(some) for some in outputs]
    return Folded(outputs, roots, b"".join(snapshot.dump(state)), core.counters(state), due)


def event_of(record: Raw | Policy | Event) -> Event:
    if isinstance(record, Event):
        return record
    if isinstance(record, Policy):
        return Event(EventKind.POLICY, 0, 0, T, [], None, record.document)
    topic, key, value, headers = record
    return Event(EventKind.RECORD, core.INPUTS.index(topic), 0, T, headers, key, value)


def block_of(state: Any, height: int, time: int, watermark: int, events: list[Event]) -> Block:
    header = Header(
        lane=0,
        lanes=state.lanes,
        height=height,
        prev=blocks.GENESIS,
        time=time,
        watermark=watermark,
        policy=state.policy_hash,
        fold=core.fold_version(key=state.key_in_force),
        sources=[Source(topic, 0, 0) for topic in core.INPUTS],
        outputs=blocks.GENESIS,
    )
    return Block(header, events, f"sha256:{height:064x}")


def same(steps: list[Step], rules: Policy, **lane: Any) -> Folded:
    """Folds with and without the core, and shows that nothing tells them apart."""
    found = fold(steps, rules, **lane)
    with pure():
        expected = fold(steps, rules, **lane)
    assert found == expected
    return found


def handed_to_python(steps: list[Step], rules: Policy) -> list[str]:
    """What the core hands to Python of these blocks, in order: inputs, timers, renewals and verdicts, by the name of
    the method that takes them. Without a core that is everything."""
    handed: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        for owner, name in (
            *((core._Folding, name) for name in ("take_in", "end_waiting", "expire")),
            *((verdicts.Verdicts, name) for name in ("_assertion_state", "_publish")),
        ):
            method = getattr(owner, name)
            patch.setattr(
                owner, name, lambda *given, name=name, method=method: (handed.append(name), method(*given))[1]
            )
        fold(steps, rules)
    return handed


# ---------------------------------------------------------------- histories


class World:
    """Records of a small world, common and uncommon, chosen by a seeded generator."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.oddity = self.random.choice((1, 3, 12, 40))  # one in so many records more is uncommon
        self.checked = self.random.choice((0, 1, 2, 4))  # of four assertions and observations so many speak of checks
        self.now = T
        self.names = 0
        self.sent: list[Raw | Policy] = []

    def choose(self, *values: Any) -> Any:
        return self.random.choice(values)

    def rarely(self, value: Any, otherwise: Any, one_in: int = 8) -> Any:
        return value if self.random.randrange(one_in * self.oddity) == 0 else otherwise

    def policy(self) -> Policy:
        internal = self.choose(1, 2, 2, 3)
        dispositions = ["review", "re-emit", "refuse", "discard"]
        return Policy(
            admissibility=Admissibility(
                trust=self.rarely("both", self.rarely("declared", "observed", 2), 4),
                k=Floor(internal=internal, external=self.choose(*range(internal, 4))),
                horizon=self.choose(1, 5) * MINUTE,
                max_validity=self.choose(3, 8, 30) * MINUTE,
                window={**policy.REFERENCE_WINDOWS, **{name: self.choose(1, 3, 6) * MINUTE for name in BARE}},
                max_skew=self.choose(0, MINUTE),
                min_confidence=self.rarely(0.5, 0.0, 3),
                max_attempts=self.choose(1, 2, 3),
                review_window=self.choose(1, 4) * MINUTE,
                min_observers=self.rarely(policy.LeastObservers(internal=1, external=2), policy.LeastObservers(), 3),
                k_by_check=self.k_by_check(internal),
            ),
            effect={"bot": self.choose("internal", "external")},
            effect_default=self.rarely("external", "internal"),
            disposition={
                status: PerEffect(internal=self.choose(*dispositions), external=self.choose(*dispositions))
                for status in policy.INADMISSIBLE
            },
            sanitation=policy.Sanitation(
                caps={**policy.CAPS, "assertion": self.rarely(7, 2000, 3)},
                confusables=policy.ConfusablesByEffect(internal=self.choose("replace", "flag", "reject")),
            ),
            emitters=policy.Emitters(
                self.choose([], ["email"], ["email"], ["uuid", "/^x$/"]),
                vendor=self.rarely({"bot": "Acme"}, {}, 4),
                require_vendor=self.rarely(True, False, 6),
            ),
            sightings=policy.Sightings(self.rarely([BARE[0]], [], 4)),
            require_signatures=self.rarely(True, False, 6),
            verdicts=self.choose("all", "settled", "none"),
            observers=self.choose(
                {},
                {
                    "captured": Observer(writable_by=["bot"]),
                    "narrow": Observer(classes=BARE[:2]),
                    "keyed": Observer(public_key="A" * 43 + "="),
                },
            ),
            judging=self.judging(),
            privacy=PrivacyRules(
                observation_ids=self.rarely(self.choose("omitted", "hashed"), "clear", 3),
                chain_sources=self.rarely(self.choose("omitted", "hashed"), "clear", 3),
            ),
        )

    def k_by_check(self, internal: int) -> dict[str, FloorOfCheck]:
        """For some checks a k of their own, lower and higher than the effect's; mostly for none."""
        named = self.random.sample(NAMES_OF_CHECKS, self.choose(0, 0, 0, 1, 3, len(NAMES_OF_CHECKS)))
        return {name: FloorOfCheck(internal=self.choose(1, internal, 3), external=3) for name in named}

    def judging(self) -> Judging:
        levels = ["none", "part", "part", "whole"]
        return Judging(
            min_coverage=LeastCoverage(internal=self.choose(*levels), external=self.choose(*levels)),
            require_checks=self.rarely(True, False, 5),
            accept=self.rarely(self.choose([], ["arbiter"], ["arbiter", "checks"]), ["checks"], 3),
            same_bytes=self.rarely(True, False, 5),
            same_root=self.rarely(2, 0, 5),
            groups=self.rarely([BARE[:2]], [], 5),
        )

    def steps(self, length: int) -> list[Step]:
        found: list[Step] = []
        watermark = T
        for _ in range(length):
            self.now += self.choose(0, 0, 1, 1000, 1000, MINUTE, 3 * MINUTE)
            watermark = max(watermark, self.now - self.choose(0, 0, MINUTE))
            records = [self.record() for _ in range(self.choose(0, 5, 10, 15))]
            found.append((self.now, watermark, records))
        return found

    def record(self) -> Raw | Policy:
        if self.sent and self.rarely(True, False, 12):
            return self.choose(*self.sent[-20:])
        made = self.choose(self.emission, self.observation, self.observation, self.observation)()
        if self.rarely(True, False, 30):
            made = self.review()
        topic, name, value = made
        data = self.written(value)
        key = self.rarely(self.choose(None, b"other"), name.encode(), 40)
        headers = self.choose([], [("a", b"b")], [("traceparent", b"00-ab-cd-01")], [("traceparent", b"\xff")])
        self.sent.append((topic, key, self.rarely(self.damaged(data), data, 25), headers))
        return self.rarely(self.policy(), self.sent[-1], 20)

    def written(self, value: Any) -> bytes:
        return json.dumps(
            value,
            ensure_ascii=self.choose(True, False),
            indent=self.rarely(1, None),
            separators=self.choose((",", ":"), None),
        ).encode()

    def damaged(self, data: bytes) -> bytes:
        place = self.random.randrange(len(data))
        return data[:place] + self.choose(b"", b'"', b"\xff", b"\\u12", b" ", b"}") + data[place + self.choose(0, 1) :]

    def time(self, *offsets: int) -> Any:
        at = self.now + self.choose(*offsets) * MINUTE + self.choose(0, 0, 0, 0, -1, -250, self.rarely(1, 0))
        return self.choose(at, format_time(at), format_time(at), format_time(at)[:-1].ljust(20, ".") + "1239Z")

    def name(self, new: bool = False) -> str:
        self.names += new and self.choose(True, True, False)
        return f"em-{max(0, self.names - self.random.randrange(1 if new else 6))}"

    def emission(self) -> tuple[str, str, Any]:
        text = self.rarely(self.choose(*TEXTS), PLAIN_TEXT, 3)
        spans = self.choose([(0, 5)], [(0, 5)], [(0, 5), (6, 11)], self.rarely([(0, len(text))], [(6, 11), (0, 5)]))
        value: dict[str, Any] = {
            "emission_id": self.name(new=True),
            "emitted_at": self.time(0, 0, 0, -1, -2, self.rarely(-9, 0)),
            "text": text,
            "attempt": self.rarely(1, 0),
            "emitter": self.choose(
                None,
                {},
                {"system": "bot", "model": "m"},
                {"system": "a@b.org"},
                {"model": "a%40b.org"},
                {"system": "x", "prompt": None},
            ),
            "assertions": [self.assertion(span, text) for span in spans],
        }
        self.drop(value, "attempt", "emitter")
        self.also(
            value,
            ("effect", "external"),
            ("vocabulary", "1.0"),
            ("vocabulary", "2.0"),
            ("contexts", self.choose({}, {"c": "Ünï"}, {"c": 1}, {"not one": ""})),
            ("group", self.choose("answer-1", "answer-1", None, "not one", "", 5)),
            ("part", self.choose(0, 7, None, -1, 1.5, 1_000_001)),
            ("final", self.choose(True, False, None, 1)),
        )
        return "emissions", value["emission_id"], value

    def assertion(self, span: tuple[int, int], text: str) -> dict[str, Any]:
        notes = [self.annotation() for _ in range(self.choose(0, 1, 2, 2, 6))]
        value: dict[str, Any] = {"span": {"chars": list(span)}, "provenance": notes}
        if len(notes) == 1:
            value["provenance"] = self.choose(notes, notes[0])
        self.also(
            value,
            ("kind", self.choose("denial", "refusal", "assertion")),
            ("effect", self.choose("external", None)),
            ("confidence", self.choose(0.3, 0.5, 1, None, 1e-7, -0.0)),
            ("assertion", self.choose(text[slice(*span)], "no", None)),
            ("grounded", self.choose(True, False, None)),
            ("span_key", "c:1-2"),
            ("chain", self.chain()),
            ("cites", self.choose(None, {"context": "c", "strictly": True})),
            ("provenance", None),
            ("checks", self.choose(None, [], [1], "equals(a, 1)", ["a"] * 20, ["a"] * 21, ["x" * 2000], ["é" * 2001])),
        )
        if self.random.randrange(4) < self.checked:
            value["checks"] = [self.check() for _ in range(self.choose(1, 1, 2, 3))]
        return value

    def check(self) -> str:
        return self.rarely(self.choose(*ODD_CHECKS), self.choose(*CHECKS), 3)

    def chain(self) -> list[Any] | None:
        steps: list[dict[str, Any]] = [
            {
                "step": "retrieval",
                "source": "a<b>c</b>",
                "timestamp": self.time(0, -1, self.rarely(9, 0)),
                "data": ["x"],
            },
            {"step": "agent-handoff", "agent_name": "a", "confidence": self.choose(0.3, 0.6, 1)},
            {"step": "derived", "operator": "+", "left": [{"step": "retrieval", "source": "é"}], "right": []},
            {"step": self.rarely("unheard-of", "prompt-transform", 4), "model": "m", "tokens": 7},
            {"step": "severed", "reason": "r"},
        ]
        return self.choose(None, [], steps[:1], steps[:2], steps[1:3], steps[:4], steps)

    def annotation(self) -> dict[str, Any]:
        value: dict[str, Any] = {
            "substrate_class": self.rarely(
                self.choose("substrate.none", "unverified-inference"), self.choose(*CLASSES), 20
            ),
            "observation_id": self.choose(*IDS, None),
            "ts": self.time(0, 0, -1),
        }
        self.drop(value, "observation_id", "ts")
        self.also(
            value,
            ("locator", {"path": "a/b", "lines": [1, 2.5], "é": {}}),
            ("unknown", True),
            ("terminal", True),
            ("computed", True),
        )
        return value

    def observation(self) -> tuple[str, str, Any]:
        name = self.name()
        value: dict[str, Any] = {
            "observation_id": self.choose(*IDS),
            "substrate_class": self.rarely("substrate.none", self.choose(*CLASSES), 20),
            "observed_at": self.time(0, 0, 0, -1, self.rarely(-70, 0), self.rarely(2, 0)),
            "observer": self.rarely(
                self.choose("captured", "narrow", "keyed"), self.choose("observer-1", "observer-2")
            ),
            "subject": {"emission_id": name, "span": {"chars": self.choose([0, 5], [0, 5], [0, 5], [6, 11])}},
            "outcome": self.rarely(
                self.choose("contradicts", "unknown-observation", "absent", "unavailable"),
                self.choose(*["corroborates"] * 9, "terms-present", "absent", "absent", "unavailable"),
            ),
        }
        if self.random.randrange(4) < self.checked:
            self.speak_of_checks(value)
        elif value["outcome"] == "absent":
            value["detail"] = self.missing()
        self.also(
            value,
            ("tier", self.choose("identity-bound", "pseudonymous")),
            ("confidence", self.choose(0.2, 0.5, 1)),
            ("detail", self.choose(None, {"a": [True, None, 'x\\"y', {"b": -12.5}]}, self.missing())),
            (
                "attestation",
                self.choose(None, {"verdict": "VERIFIED"}, ATTESTATION, {**ATTESTATION, "more": [1.5, "é"]}),
            ),
            ("signature", self.choose(None, "AAAA", 1)),
            ("sighting", self.choose({"observation_id": SHA}, 1)),
            ("more", [[], {}, "\u2028"]),
        )
        if self.rarely(True, False):
            value["subject"]["attempt"] = self.choose(0, 1)
        if self.random.randrange(3) == 0:
            value["subject"]["digest"] = self.rarely(
                self.choose(None, "", "sha256:" + "AB" * 32, 1), self.digest_of(name)
            )
        return "observations", name, value

    def digest_of(self, name: str) -> str:
        """Of the first record that was sent under an id, mostly; else of one that never was."""
        sent = (one for one in self.sent if not isinstance(one, Policy))
        found = next((value for topic, key, value, _ in sent if (topic, key) == ("emissions", name.encode())), None)
        return self.rarely(SHA, SHA if found is None else digest_of(found))

    def missing(self) -> dict[str, Any]:
        """What an observer did not find; now and then what only a hostile one would say."""
        terms = [
            self.choose("1000", "MAX", "<b>x</b>", "\u202e", "é" * 200, "", " ") for _ in range(self.choose(0, 1, 7))
        ]
        return {
            "missing": self.rarely(self.choose(None, "x", [1, None, {}], ["x"] * 1000), terms),
            "reason": self.choose("terms-missing", "check-fails", "ignore all of it", 1, None),
        }

    def speak_of_checks(self, value: dict[str, Any]) -> None:
        """What an observer says who held checks against what it saw; now and then what only a hostile one would."""
        spans = [self.choose([0, 3], [2, 5], [4, 5], [3, 9]) for _ in range(self.choose(0, 1, 1, 2, 3))]
        odd_spans = self.choose(
            [[5, 5]], [[9, 2]], [[0, 10**12]], [[-1, 2]], [[0]], [[0, 1, 2]], [[0, 1.5]], [[0, 1]] * 1001
        )
        value["verified"] = self.rarely(
            self.choose([], None, [19], [20], [-1], [0.0], ["0"], [1, 0, 1], [0] * 21),
            self.choose([0], [0], [0, 1], [1], [0, 1, 2]),
        )
        value["coverage"] = self.choose(
            "whole", "whole", "part", "part", self.rarely(self.choose("none", "half", None), "part")
        )
        if value["coverage"] != "whole":
            value["unchecked"] = self.rarely(odd_spans, spans, 4)
        reported_check = [self.reported_check() for _ in range(self.choose(1, 2, 3))]
        value["detail"] = {
            "checks": self.rarely(self.choose(None, {}, "x", [], [1, "x", None]), reported_check),
            "terms": ["x"],
        }
        value["detail"] |= self.missing()
        value["looked_at"] = {
            "root": self.rarely(self.choose(None, "r" * 256, "r" * 257, 1), self.choose("main", "other")),
            "path": self.rarely(self.choose(*PATHS), "a/b.py"),
            "content": self.choose(SHA, None),
            "commit": self.rarely(self.choose("é" * 64, "c" * 65), COMMIT),
            "owner": self.rarely(self.choose("o" * 256, "o" * 257, 1), self.choose(None, "Acme", "Example Ltd")),
        }
        self.drop(value, "coverage", "unchecked", "detail", "looked_at")
        self.also(
            value,
            ("refuted", self.choose([], [], None, [0], [7], [20], "0")),
            ("judge", self.choose("arbiter", None, "no one")),
            ("looked_at", self.choose({}, None, "x", {"root": "a", "more": [1]})),
        )

    def reported_check(self) -> dict[str, Any]:
        one = {
            "check": self.rarely(self.choose(1, None, "", "no check"), self.choose(*CHECKS[:2]), 2),
            "holds": self.choose(True, True, False, None),
            "reason": self.choose("differs", "not-found", self.rarely(self.choose("x", 1, None), "ambiguous")),
            "path": self.rarely(self.choose(*PATHS, None, 1, ["a"]), "a/b.py", 2),
            "lines": self.rarely(self.choose(*LINES), self.choose([3, 3], [3, 9]), 2),
            "commit": self.rarely(self.choose(*COMMITS, None, 2), self.choose(COMMIT, "ab" * 20), 2),
        }
        self.drop(one, "path", "lines", "commit")
        return one

    def review(self) -> tuple[str, str, Any]:
        name = self.name()
        value = {"emission_id": name, "span": {"chars": [0, 5]}, "decision": self.choose("admit", "refuse")}
        return "reviews", name, value

    def drop(self, value: dict[str, Any], *names: str) -> None:
        for name in names:
            if self.rarely(True, False, 4):
                value.pop(name, None)

    def also(self, value: dict[str, Any], *members: tuple[str, Any]) -> None:
        for name, content in members:
            if self.rarely(True, False, 6):
                value[name] = content
