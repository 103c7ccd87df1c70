"""The example emissions: what kinds there are, that none says what is right, and what observers and fold make of them.

The table at the end of this file is where their verdicts stand; the demo's tests read it too.
"""

import json
import os
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from sluice.codecs import records
from sluice.codecs.decode import decode_emission
from sluice.codecs.errors import DeadLetterReason, Fault
from sluice.codecs.identifiers import span_key
from sluice.codecs.records import Annotation, Assertion, Cites, Emission, Emitter, Reason, Status
from sluice.codecs.vocabulary import CLASSES_1_0, TERMINALS, recognise
from sluice.streams.policy.policy_toml import load_policy
from sluice.topology.cli.demo import DEMO_POLICY
from sluice.topology.cli.demo_view import Sent, prepare_all
from sluice.topology.engine.folds import FoldFilter
from sluice.topology.kafka.input_records import prepare
from sluice.topology.observers.look import look
from sluice.topology.settings.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
EMISSIONS = ROOT / "examples" / "emissions.jsonl"
POLICY = ROOT / "examples" / "policy.toml"
NOW = 1_795_248_000_000  # 2026-11-21T08:00:00Z
WRITTEN = NOW // 1000 - 86_400
"""When the files of the checkout were written and committed, Unix seconds."""
FIRST_COMMIT = "Lay the ground: package layout, locked dependencies, records and blocks"
FIRST_INLINE = '''"""placeholder until the grammar helper lands"""
from .records import Emission
def parse_inline(emission: Emission) -> Emission:
    raise NotImplementedError
'''


def raw_lines() -> list[bytes]:
    return EMISSIONS.read_bytes().splitlines()


def sent() -> list[Sent]:
    return prepare_all(raw_lines(), NOW)


def emissions() -> list[Emission]:
    """Every emission that a producer would take, in the JSON form."""
    found = [decode_emission(one.record.value) for one in sent() if one.fault is None]
    return [one for one in found if isinstance(one, Emission)]


def assertions() -> list[Assertion]:
    return [assertion for emission in emissions() for assertion in emission.assertions or ()]


def annotations() -> list[Annotation]:
    return [annotation for assertion in assertions() for annotation in assertion.annotations]


def make_checkout(folder: Path) -> Path:
    """A git checkout with what the emissions speak about, as it stands in this tree: two commits.

    The first one is like the repository's own: without what came later, and with a stub of what was rewritten since.
    """
    named = {str((annotation.locator or {}).get("path", "")) for annotation in annotations()}
    for path in sorted(name for name in named if name and not name.startswith(("/", "."))):
        if (ROOT / path).is_file():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / path, folder / path)
    now = (folder / "codecs/inline.py").read_text("utf-8")
    (folder / "codecs/inline.py").write_text(FIRST_INLINE, "utf-8")
    git(folder, "init", "--quiet")
    git(folder, "add", "Makefile", "codecs")
    git(folder, "commit", "--quiet", "-m", FIRST_COMMIT)
    (folder / "codecs/inline.py").write_text(now, "utf-8")
    shutil.copytree(ROOT / "examples", folder / "examples")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "Add the rest")
    for path in folder.rglob("*"):
        if path.is_file():
            os.utime(path, (WRITTEN, WRITTEN))  # long before anybody speaks of it
    return folder


def git(folder: Path, *arguments: str) -> None:
    who = {f"GIT_{role}_{what}": "a@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    who |= {f"GIT_{role}_DATE": f"{WRITTEN} +0000" for role in ("AUTHOR", "COMMITTER")}
    alone = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", *arguments], cwd=folder, env={**os.environ, **who, **alone}, check=True, timeout=30)


def verdict_of(record: dict[str, Any]) -> tuple[str, str]:
    """Status and reason; a renewal is an admission whose evidence came in two steps."""
    status = "admitted" if record["status"] == "renewed" else record["status"]
    return status, record.get("reason", "")


def name_of(record: dict[str, Any], key: str) -> str:
    return key + (f"@{record['attempt']}" if record["attempt"] else "")


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_checkout(tmp_path_factory.mktemp("checkout"))


# ---------------------------------------------------------------- what kinds there are


def test_there_are_enough_statements_in_both_encodings() -> None:
    """At least 40 assertions in about 25 emissions: with spans, in line, as the memo's objects, and structured."""
    encodings: Counter[str] = Counter()
    for line in raw_lines():
        if isinstance(prepare(line, "emissions", NOW), Fault):
            continue
        value = json.loads(line)
        given = value.get("assertions")
        encodings[
            "in line" if given is None else "memo" if "span" not in given[0] else next(iter(given[0]["span"]))
        ] += 1
    assert len(assertions()) >= 40
    assert sum(encodings.values()) >= 25
    assert encodings["in line"] >= 5
    assert {"in line", "memo", "chars", "tokens", "path"} <= set(encodings)


def test_every_kind_of_statement_occurs() -> None:
    """Assertions, denials, refusals; annotated once, several times, and not at all; external ones; a later attempt."""
    kinds = Counter(assertion.kind for assertion in assertions())
    assert all(kinds[kind] >= 2 for kind in get_args(records.Kind))
    number = Counter(min(len(assertion.annotations), 2) for assertion in assertions())
    assert all(number[n] >= 5 for n in (0, 1, 2))
    assert any(len(assertion.annotations) > 3 for assertion in assertions())
    assert any(assertion.effect == "external" for assertion in assertions())
    assert any(emission.effect == "external" for emission in emissions())
    assert any(emission.attempt == 1 for emission in emissions())


def test_every_class_and_both_terminals_and_unknown_classes_occur() -> None:
    """All seven classes and both terminals are named, and classes of no vocabulary, an anchor of a later one too."""
    found = {recognise(annotation.substrate_class).name for annotation in annotations()}
    unknown = {one.substrate_class for one in annotations() if recognise(one.substrate_class).name is None}
    assert found - {None} == TERMINALS | CLASSES_1_0
    assert {"substrate.web.search", "2.0.substrate.grep"} <= unknown
    assert re.search(r"\[UNVERIFIED-INFERENCE\]", EMISSIONS.read_text("utf-8"))


def test_chains_citations_and_other_scripts_occur() -> None:
    """Chains with and without a retrieval, strict citations, umlauts, CJK, an emoji, a look-alike, a bidi override."""
    text = "".join(emission.text or "" for emission in emissions())
    assert all(character in text for character in "ß“許🎉\u0410\u202e")
    raw = EMISSIONS.read_text("utf-8")
    assert not re.search("[\u202a-\u202e\u2066-\u2069\u0400-\u04ff]", raw), "these stand as escapes in the file"
    assert sum(assertion.cites is not None and assertion.cites.strictly for assertion in assertions()) == 2
    steps = {type(step).__name__ for assertion in assertions() for step in assertion.chain or ()}
    assert {"Retrieval", "PromptTransform", "AgentHandoff", "Derived", "Severed"} <= steps


def test_bad_records_are_bad_in_different_ways() -> None:
    """A producer that looks first refuses three of them, each for another reason."""
    assert [one.fault.reason for one in sent() if one.fault] == ["not-json", "span-out-of-range", "schema"]


def test_times_are_left_to_whoever_sends() -> None:
    """Only records that are bad, or that need it to be so, bring their own `emitted_at`."""
    timed = [line for line in raw_lines() if b'"emitted_at"' in line]
    assert len(timed) == 5
    assert raw_lines().index(timed[-1]) - raw_lines().index(timed[0]) == 4


# ---------------------------------------------------------------- none says what is right


def test_no_emission_carries_its_verdict() -> None:
    """No status and no reason is named anywhere in the file, but terminals, in the place of a class."""
    raw = EMISSIONS.read_text("utf-8")
    for terminal in TERMINALS:
        raw = re.sub(rf'\[{terminal}\]|"substrate_class": "{terminal}"', "", raw, flags=re.IGNORECASE)
    words = {*get_args(Status), *get_args(Reason), *get_args(DeadLetterReason)}
    # «review» is also what some of the bots do.
    named = {word for word in words - {"review"} if re.search(rf"(?<![\w-]){word}(?![\w-])", raw, re.IGNORECASE)}
    assert named == set()


def test_every_field_is_one_of_the_records() -> None:
    """No field beside those of docs/reference/records.md, in which a verdict could hide."""
    for line in raw_lines():
        if isinstance(prepare(line, "emissions", NOW), Fault):
            continue
        value = json.loads(line)
        given = value.get("assertions", [])
        provenance = [one.get("provenance", []) for one in given]
        for struct, objects in (
            (Emission, [value]),
            (Emitter, [value["emitter"]]),
            (Assertion, given),
            (Annotation, [one for some in provenance for one in (some if isinstance(some, list) else [some])]),
            (Cites, [one["cites"] for one in given if "cites" in one]),
        ):
            known = {field.encode_name for field in msgspec.structs.fields(struct)} - {
                "unknown",
                "terminal",
                "span_key",
            }
            assert {name for one in objects for name in one} <= known


# ---------------------------------------------------------------- the policy


def test_the_policy_is_the_built_in_one() -> None:
    """What an installed package uses without the examples is what the file says."""
    assert load_policy(POLICY.read_text("utf-8")) == DEMO_POLICY


def test_the_policy_discards_nothing_and_has_nothing_unwise_in_it() -> None:
    """Each assertion's fate is written, and `sluice policy check` has nothing to say."""
    assert all("discard" not in (either.internal, either.external) for either in DEMO_POLICY.disposition.values())
    assert DEMO_POLICY.problems() == []
    assert DEMO_POLICY.warnings() == []


# ---------------------------------------------------------------- what observers and fold make of them


def look_and_fold(root: Path) -> tuple[dict[str, tuple[str, str]], dict[int, str]]:
    """Each assertion's last status and reason, and each dead letter's reason by line."""
    settings = Settings()
    records_: list[dict[str, Any]] = []
    lines: dict[bytes, int] = {}
    for one in sent():
        lines.setdefault(one.record.value, one.line)
        records_.append({"topic": "emissions", "key": one.record.key.decode(), "value": one.record.value.decode()})
    observed = [
        {"at": NOW + 2_000, "topic": "observations", "value": msgspec.to_builtins(observation)}
        for emission in emissions()
        for observation in look(emission, settings, root, lambda: NOW + 1_000)
    ]
    filtering = FoldFilter(DEMO_POLICY)
    words: dict[str, tuple[str, str]] = {}
    letters: dict[int, str] = {}
    inputs = [{"at": NOW, **record} for record in records_] + observed + [{"at": NOW + 10_000}]
    for line in inputs:
        for output in filtering.line(json.dumps(line).encode()):
            assert not isinstance(output, Fault)
            value = json.loads(bytes(output["value"])) if isinstance(output["value"], msgspec.Raw) else output["value"]
            if output["topic"] == "dead-letters":
                raw = value if isinstance(value, str) else bytes(output["value"]).decode()
                letters[lines[raw.encode()]] = output["headers"]["sluice-reason"]
            elif output["topic"] in ("admitted", "inadmissible"):
                words[name_of(value, output["key"])] = verdict_of(value)
    return words, letters


def test_observers_and_fold_find_out_what_is_right(checkout: Path) -> None:
    """On a git checkout each assertion gets the verdict of the table, and each bad record its dead letter."""
    words, letters = look_and_fold(checkout)
    assert words == EXPECTED
    assert list(letters.values()) == EXPECTED_LETTERS


def test_the_mix_is_a_healthy_one() -> None:
    """About a fifth is admitted, as a whole, and every status that can occur on one look does."""
    statuses = Counter(status for status, _ in EXPECTED.values())
    assert 15 <= statuses["admitted"] <= 30
    assert set(statuses) == set(get_args(Status)) - {"renewed"}
    reasons = {reason for _, reason in EXPECTED.values() if reason}
    of_sessions = {"session-failed", "session-only", "narrower-run", "stale-run", "no-run"}
    assert reasons == set(get_args(Reason)) - {"review", "aged-out"} - of_sessions


def test_every_assertion_is_in_the_table() -> None:
    """The table is complete: whoever adds a statement says here what comes of it."""
    buried = {"em-last-year", "em-ahead"}
    first: dict[tuple[str, int], Emission] = {}
    for emission in emissions():
        first.setdefault((emission.emission_id, emission.attempt), emission)
    keys = {
        f"{emission.emission_id}#{span_key(assertion.span)}" + (f"@{emission.attempt}" if emission.attempt else "")
        for emission in first.values()
        if emission.emission_id not in buried
        for assertion in emission.assertions or ()
        if assertion.span is not None
    }
    assert keys == set(EXPECTED)


ADMITTED = ("admitted", "")
NO_CORROBORATION = ("unverified-inference", "no-corroboration")
UNKNOWN_CLASS = ("unverified-inference", "unknown-class")
UNVERIFIED = ("unverified-inference", "declared-terminal")
DECAYED = ("decayed-to-uncertainty", "declared-terminal")
BELOW_FLOOR = ("below-floor", "below-floor")
PARTLY_CHECKED = ("below-floor", "partly-checked")
NOT_LOOKED_AT = ("unverified-inference", "not-looked-at")
NOT_CHECKED = ("unverified-inference", "not-checked")
UNANNOTATED = ("unannotated", "no-corroboration")
CONTRADICTED = ("contradicted", "contradicted")
REFUSED = ("refused", "")

EXPECTED_LETTERS = ["not-json", "span-out-of-range", "schema", "too-old", "clock-skew", "conflicting-emission"]
EXPECTED: dict[str, tuple[str, str]] = {
    "em-licence-summary#c:0-36": PARTLY_CHECKED,
    "em-licence-summary#c:37-94": PARTLY_CHECKED,
    "em-licence-summary#c:95-148": NO_CORROBORATION,
    "em-licence-summary#c:149-205": UNANNOTATED,
    "em-setup-answers#c:0-58": ADMITTED,
    "em-setup-answers#c:59-97": CONTRADICTED,
    "em-setup-answers#c:98-159": CONTRADICTED,
    "em-setup-answers#c:160-207": UNANNOTATED,
    "em-limits-review#c:0-48": ADMITTED,
    "em-limits-review#c:49-114": NO_CORROBORATION,
    "em-limits-review#c:115-184": CONTRADICTED,
    "em-limits-review#c:185-250": NO_CORROBORATION,
    "em-vocabulary-notes#c:0-58": ADMITTED,
    "em-vocabulary-notes#c:59-145": UNKNOWN_CLASS,
    "em-vocabulary-notes#c:146-192": UNKNOWN_CLASS,
    "em-vocabulary-notes#c:193-241": UNVERIFIED,
    "em-vocabulary-notes#c:242-306": DECAYED,
    "em-absences#c:0-63": ADMITTED,
    "em-absences#c:64-122": ADMITTED,
    "em-absences#c:123-188": CONTRADICTED,
    "em-absences#c:189-236": UNANNOTATED,
    "em-people#c:0-55": REFUSED,
    "em-people#c:56-101": UNVERIFIED,
    "em-people#c:102-167": DECAYED,
    "em-people#c:168-229": REFUSED,
    "em-release-notes-draft#c:0-92": PARTLY_CHECKED,
    "em-release-notes-draft#c:93-165": BELOW_FLOOR,
    "em-release-notes-draft#c:166-239": BELOW_FLOOR,
    "em-release-notes-draft#c:240-280": UNKNOWN_CLASS,
    "em-release-summary#c:0-68": ("rejected", "confusable-text"),
    "em-release-summary#c:69-157": PARTLY_CHECKED,
    "em-uebersetzung#c:0-86": PARTLY_CHECKED,
    "em-uebersetzung#c:87-134": PARTLY_CHECKED,
    "em-uebersetzung#c:135-181": UNANNOTATED,
    "em-makefile-tour#c:0-34": ADMITTED,
    "em-makefile-tour#c:35-92": NO_CORROBORATION,
    "em-makefile-tour#c:93-137": NO_CORROBORATION,
    "em-package-facts#p:/package/licence": ADMITTED,
    "em-package-facts#p:/package/build": ADMITTED,
    "em-package-facts#p:/package/layout": NO_CORROBORATION,
    "em-package-facts#p:/advice/0": CONTRADICTED,
    "em-memo-objects#p:/assertions/0": NO_CORROBORATION,
    "em-memo-objects#p:/assertions/1": ADMITTED,
    "em-token-offsets#t:bpe-50k:0-12": ADMITTED,
    "em-token-offsets#t:bpe-50k:12-21": NOT_LOOKED_AT,
    "em-licence-quotes#c:0-84": PARTLY_CHECKED,
    "em-licence-quotes#c:85-134": ("rejected", "citation-violation"),
    "em-design-claims#c:0-62": ("rejected", "ungrounded"),
    "em-design-claims#c:63-106": ADMITTED,
    "em-design-claims#c:107-161": ("rejected", "ungrounded"),
    "em-design-claims#c:162-222": ("rejected", "low-confidence"),
    "em-history#c:0-98": NOT_CHECKED,
    "em-history#c:99-178": NO_CORROBORATION,
    "em-history#c:179-252": ("rejected", "fabricated-annotation"),
    "em-history#c:253-320": NO_CORROBORATION,
    "em-file-times#c:0-45": ("decayed-to-uncertainty", "validity-ended"),
    "em-file-times#c:46-97": CONTRADICTED,
    "em-elsewhere#c:0-38": NOT_LOOKED_AT,
    "em-elsewhere#c:39-118": BELOW_FLOOR,
    "em-elsewhere#c:119-146": NOT_LOOKED_AT,
    "em-elsewhere#c:147-178": NOT_LOOKED_AT,
    "em-deploy-advice#c:0-53": ADMITTED,
    "em-deploy-advice#c:54-138": BELOW_FLOOR,
    "em-deploy-advice#c:139-187": NO_CORROBORATION,
    "em-makefile-answer#c:0-38": ("rejected", "superseded"),
    "em-targets#c:0-77": UNANNOTATED,
    "em-targets#c:79-117": ADMITTED,
    "em-targets#c:119-162": UNKNOWN_CLASS,
    "em-words-alone#c:0-88": NOT_CHECKED,
    "em-words-alone#c:89-120": CONTRADICTED,
    "em-words-alone#c:121-150": CONTRADICTED,
    "em-words-alone#c:151-197": ADMITTED,
    "em-words-alone#c:198-255": PARTLY_CHECKED,
    "em-words-alone#c:256-304": CONTRADICTED,
    "em-words-alone#c:305-343": NO_CORROBORATION,
    "em-words-alone#c:344-382": BELOW_FLOOR,
    "em-words-alone#c:383-408": NOT_LOOKED_AT,
    "em-release-floor#c:0-78": PARTLY_CHECKED,
    "em-release-floor#c:79-129": ("decayed-to-uncertainty", "validity-ended"),
    "em-makefile-answer#c:0-37@1": ADMITTED,
}
"""`emission#span` (`@attempt` after the first) to status and reason."""
