"""Policy files: every error at once, each with its line; and two files that mean the same are the same policy."""

from __future__ import annotations

import random
from typing import Any

import pytest
from msgspec.structs import replace

from sluice.codecs.errors import UsageError
from sluice.streams.policy.keys import Key
from sluice.streams.policy.policy import (
    CAPS,
    DEFAULT_POLICY,
    AttestationDomain,
    Attestations,
    Observer,
    PerEffect,
    Proposer,
    policy_of_document,
)
from sluice.streams.policy.policy_toml import PolicyError, Problem, load_policy, locate, to_toml

REFERENCE = """
[admissibility]
trust = "observed"
k = { internal = 2, external = 3 }
horizon = "10m"
max_validity = "24h"
max_skew = "30s"
max_stall = "1h"
min_confidence = 0.0
max_attempts = 3
# review_window: as max_validity
[admissibility.window]            # W per class
default = "1h"
"substrate.fs.mtime" = "10m"
"substrate.do.sse-count" = "1m"
[effect]                          # the least effect, by emitter.system
default = "internal"
[disposition]                     # by status, then by effect where they differ
unverified-inference = "discard"
unannotated = "discard"
below-floor = "review"
decayed-to-uncertainty = "re-emit"
contradicted = { internal = "review", external = "refuse" }
rejected = "review"
[sanitation]
confusables = { internal = "replace", external = "reject" }
caps = { rationale = 2000, qualifications = 2000, quote = 1000, quotes = 5, assertion = 2000, title = 300 }
[attestations]
consensus_domains = ["scientific-default"]
[privacy]
observation_ids = "clear"
chain_sources = "clear"
[observers]
"""
"""policies/reference.toml without its two examples, an emitter and an observer."""

KEY = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
EXAMPLES = """
[effect]
"release-notes-bot" = "external"
[observers]
[observers.observer-2]
public_key = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
classes = ["1.0.substrate.grep"]
writable_by = ["release-notes-bot"]
"""


def test_the_reference_file_is_the_default_policy() -> None:
    """Every key has a default, and the reference file says each of them."""
    assert load_policy(REFERENCE) == DEFAULT_POLICY == load_policy("")
    assert load_policy(REFERENCE).hash == load_policy("").hash


def test_emitters_and_observers_are_listed_as_needed() -> None:
    """An anchored class is the bare one."""
    assert load_policy(EXAMPLES) == replace(
        DEFAULT_POLICY,
        effect={"release-notes-bot": "external"},
        observers={
            "observer-2": Observer(public_key=KEY, classes=["substrate.grep"], writable_by=["release-notes-bot"])
        },
    )


def test_a_policy_comes_back_from_the_document_that_the_ledger_carries() -> None:
    """Whatever the file said, and however."""
    policy = load_policy(EXAMPLES)

    assert policy_of_document(policy.document) == policy


def test_the_review_window_is_as_long_as_max_validity_where_none_is_named() -> None:
    """The default follows the other key."""
    assert load_policy('[admissibility]\nmax_validity = "2h"').admissibility.review_window == 7_200_000
    assert load_policy('[admissibility]\nreview_window = "2h"').admissibility.review_window == 7_200_000
    assert load_policy("").admissibility.review_window == DEFAULT_POLICY.admissibility.max_validity


def test_one_disposition_is_for_both_effects_and_a_table_for_those_it_names() -> None:
    """What the table leaves out keeps its default."""
    policy = load_policy('[disposition]\nrejected = "refuse"\ncontradicted = { internal = "discard" }')

    assert policy.disposition["rejected"] == PerEffect(internal="refuse", external="refuse")
    assert policy.disposition["contradicted"] == PerEffect(internal="discard", external="refuse")
    assert policy.disposition["below-floor"] == DEFAULT_POLICY.disposition["below-floor"]


def test_a_window_that_is_not_named_keeps_its_default() -> None:
    """Naming one class's W leaves the others; `default` changes those without one of their own."""
    rules = load_policy('[admissibility.window]\ndefault = "2h"\n"substrate.grep" = "5m"')

    windows = rules.admissibility.window
    assert (windows["substrate.grep"], windows["substrate.fs.mtime"], windows["substrate.git.log"]) == (
        300_000,
        600_000,
        7_200_000,
    )


def test_caps_may_be_lowered() -> None:
    """Those that are not named keep the contract's [V §4.1]."""
    assert load_policy("[sanitation]\ncaps = { quotes = 2 }").sanitation.caps == {**CAPS, "quotes": 2}


def test_a_domain_says_how_its_verdicts_come_to_one() -> None:
    """A majority of three, for instance."""
    text = '[attestations]\nconsensus_domains = ["a"]\n[attestations.a]\ncomposition = "majority"\nquorum = 3'

    assert load_policy(text).attestations.domains == {"a": AttestationDomain(composition="majority", quorum=3)}


@pytest.mark.parametrize(("key", "value"), [("quorum", "0"), ("quorum", "true"), ("composition", '"loudest"')])
def test_a_domains_rule_is_checked(key: str, value: str) -> None:
    """With the line."""
    text = f'[attestations]\nconsensus_domains = ["a"]\n[attestations.a]\n{key} = {value}'

    with pytest.raises(PolicyError, match=f"4: attestations.a.{key}"):
        load_policy(text)


def test_a_consensus_domain_may_have_a_table_of_its_own() -> None:
    """What is not said in it is the default."""
    text = '[attestations]\nconsensus_domains = ["b", "a"]\n[attestations.a]\nconfusables = "flag"'

    assert load_policy(text).attestations == Attestations(
        consensus_domains=["a", "b"], domains={"a": AttestationDomain(confusables="flag")}
    )


# ---------------------------------------------------------------- the same policy, written otherwise

SAME = [
    ('[admissibility]\nhorizon = "600s"\nmin_confidence = 0', ""),
    ('admissibility.horizon = "10m"\nadmissibility.k.internal = 2', ""),
    ("[admissibility]\nk = { external = 3 }\n[admissibility.window]\n[effect]\n[privacy]", ""),
    (
        '[attestations]\nconsensus_domains = ["a", "b", "a"]',
        "# sets\n[attestations]\nconsensus_domains = [\n  'b',\n  'a',\n]\n",
    ),
    (
        '[observers.o]\nclasses = ["substrate.grep", "substrate.git.log"]',
        '[observers]\no = { classes = ["1.0.substrate.git.log", "substrate.grep"] }',
    ),
    ('[observers.o]\nwritable_by = ["a", "b"]', '[observers.o]\nwritable_by = ["b", "a", "b"]'),
    ('[disposition]\nrejected = "refuse"', '[disposition.rejected]\nexternal = "refuse"\ninternal = "refuse"'),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_two_files_that_mean_the_same_have_the_same_hash(one: str, other: str) -> None:
    """Units, quoting, dotted keys, defaults written out, repetitions and order in sets do not matter."""
    assert load_policy(one).hash == load_policy(other).hash


def test_the_hash_does_not_depend_on_order_or_formatting() -> None:
    """The reference file with its tables, and the keys in them, shuffled and commented."""
    tables = [part.strip().splitlines() for part in (REFERENCE + EXAMPLES).split("\n[") if part]
    merged: dict[str, list[str]] = {}
    for head, *keys in tables:
        merged.setdefault("[" + head.strip("[").partition("]")[0] + "]", []).extend(keys)
    expected = load_policy("\n".join("\n".join([head, *keys]) for head, keys in merged.items())).hash

    for seed in range(20):
        shuffling = random.Random(seed)
        heads = list(merged)
        shuffling.shuffle(heads)
        text = ""
        for head in heads:
            keys = list(merged[head])
            shuffling.shuffle(keys)
            text += f"\n# a comment\n  {head}\n" + "\n\n".join(f"\t{key}  " for key in keys)
        assert load_policy(text).hash == expected


# ---------------------------------------------------------------- errors


def problems(text: str) -> list[Problem]:
    with pytest.raises(PolicyError) as caught:
        load_policy(text, "my.toml")
    return caught.value.problems


WRONG: list[tuple[str, int, str, str]] = [
    ("[admisibility]\n", 1, "admisibility", "unknown key; did you mean admissibility?"),
    ("\n[admissibility]\nhorizont = '1m'", 3, "admissibility.horizont", "unknown key; did you mean horizon?"),
    ("[privacy]\nxyz = 1", 2, "privacy.xyz", "unknown key; known keys: observation_ids, chain_sources"),
    ("[admissibility]\ntrust = 'blind'", 2, "admissibility.trust", 'expected one of "observed", "declared", "both"'),
    ("[admissibility]\ntrust = 3", 2, "admissibility.trust", "got 3"),
    (
        "[admissibility]\nhorizon = 10",
        2,
        "admissibility.horizon",
        'up to "3650d", got 10',
    ),
    ("[admissibility]\nhorizon = '0s'", 2, "admissibility.horizon", 'got "0s"'),
    ("[admissibility]\nhorizon = '10 m'", 2, "admissibility.horizon", 'got "10 m"'),
    ("[admissibility]\nmax_stall = true", 2, "admissibility.max_stall", "a duration"),
    ("[admissibility]\nmin_confidence = 1.5", 2, "admissibility.min_confidence", "a number from 0 to 1, got 1.5"),
    ("[admissibility]\nmin_confidence = nan", 2, "admissibility.min_confidence", "a number from 0 to 1"),
    ("[admissibility]\nmin_confidence = true", 2, "admissibility.min_confidence", "a number from 0 to 1"),
    ("[admissibility]\nmax_attempts = 0", 2, "admissibility.max_attempts", "a whole number from 1 to 1000, got 0"),
    ("[admissibility]\nmax_attempts = 2.0", 2, "admissibility.max_attempts", "a whole number"),
    ("[admissibility]\nk = 2", 2, "admissibility.k", "expected a table, got 2"),
    ("[admissibility]\nk = { internal = 0 }", 2, "admissibility.k.internal", "a whole number from 1 to 7, got 0"),
    ("[admissibility]\nk = { internal = 8 }", 2, "admissibility.k.internal", "a whole number from 1 to 7, got 8"),
    ("[admissibility.k]\n\nexternl = 3", 3, "admissibility.k.externl", "did you mean external?"),
    (
        "[admissibility]\nk = { internal = 3, external = 2 }",
        2,
        "admissibility.k",
        "external must not be below internal",
    ),
    ("[admissibility]\nk = { internal = 4 }", 2, "admissibility.k", "external must not be below internal"),
    (
        "[admissibility.window]\n'substrate.gerp' = '1m'",
        2,
        "admissibility.window.substrate.gerp",
        "unknown substrate-class; did you mean substrate.grep?",
    ),
    ("[admissibility.window]\nunverified-inference = '1m'", 2, "admissibility.window.unverified-inference", "unknown"),
    ("[admissibility.window]\ndefault = 'soon'", 2, "admissibility.window.default", "a duration"),
    ("[effect]\nbot = 'huge'", 2, "effect.bot", 'one of "internal", "external", got "huge"'),
    ("[disposition]\nrejectd = 'review'", 2, "disposition.rejectd", "did you mean rejected?"),
    ("[disposition]\nrejected = 'forget'", 2, "disposition.rejected", '"discard", "review", "re-emit", "refuse"'),
    ("[disposition]\nrejected = { all = 'review' }", 2, "disposition.rejected.all", "unknown key"),
    ("[disposition]\nrejected = { internal = 1 }", 2, "disposition.rejected.internal", "got 1"),
    ("[sanitation]\nconfusables = { internal = 'x' }", 2, "sanitation.confusables.internal", '"flag"'),
    ("[sanitation]\ncaps = { quote = 1001 }", 2, "sanitation.caps.quote", "a whole number from 1 to 1000, got 1001"),
    ("[sanitation.caps]\nquotes = 6", 2, "sanitation.caps.quotes", "a whole number from 1 to 5, got 6"),
    ("[sanitation.caps]\nrationale = 2001", 2, "sanitation.caps.rationale", "from 1 to 2000"),
    ("[sanitation.caps]\nqualifications = 0", 2, "sanitation.caps.qualifications", "from 1 to 2000"),
    ("[attestations]\nconsensus_domains = 'x'", 2, "attestations.consensus_domains", "a list of strings"),
    ("[attestations.other]\nconfusables = 'flag'", 1, "attestations.other", "needs the domain in consensus_domains"),
    ("[attestations.scientific-default]\nx = 1", 2, "attestations.scientific-default.x", "unknown key"),
    ("[privacy]\nchain_sources = 'secret'", 2, "privacy.chain_sources", '"clear", "hashed", "omitted"'),
    ("[observers]\no = 1", 2, "observers.o", "expected a table, got 1"),
    ("[observers.o]\nclasses = ['substrate.x']", 2, "observers.o.classes", "substrate-classes of the vocabulary"),
    ("[observers.o]\nclasses = ['unverified-inference']", 2, "observers.o.classes", "substrate-classes"),
    ("[observers.o]\npublic_key = ''", 2, "observers.o.public_key", "an Ed25519 public key"),
    ("[observers]\n\nrequire_signatures = 1", 3, "observers.require_signatures", "expected true or false, got 1"),
    ("[observers.require_signatures]\nclasses = []", 1, "observers.require_signatures", "expected true or false"),
    ("[admissibility]\nmin_observers = 0", 2, "admissibility.min_observers", "a whole number from 1 to 16, got 0"),
    ("[admissibility.min_observers]\nexternal = 17", 2, "admissibility.min_observers.external", "from 1 to 16"),
    ("[admissibility.min_observers]\nall = 2", 2, "admissibility.min_observers.all", "unknown key"),
    (
        "[admissibility]\nmin_observers = { internal = 2, external = 1 }",
        2,
        "admissibility.min_observers",
        "not be below",
    ),
    ("[emitters]\nrefuse = ['emial']", 2, "emitters.refuse", "one of email, phone, uuid, or an RE2 pattern"),
    ("[emitters]\nrefuse = ['/(/']", 2, "emitters.refuse", "an RE2 pattern between slashes"),
    ("[emitters]\nallow = []", 2, "emitters.allow", "unknown key; known keys: refuse"),
    ("[observers.o]\nwritable_by = [1]", 2, "observers.o.writable_by", "a list of strings"),
    ("effect = 1", 1, "effect", "expected a table, got 1"),
]


@pytest.mark.parametrize(("text", "line", "path", "part"), WRONG)
def test_each_kind_of_error_is_reported_with_its_line(text: str, line: int, path: str, part: str) -> None:
    """Where it stands, which key it is, what was expected and what is there; and nothing else is complained of."""
    (problem,) = problems(text)

    assert (problem.line, problem.path) == (line, path)
    assert part in problem.sentence


def test_all_errors_are_reported_at_once_in_the_order_of_their_lines() -> None:
    """As many sentences as there are mistakes, in one error of wrong usage."""
    text = "\n".join(
        ["[privacy]", "ids = 1", "[admissibility]", "trust = 'x'", "horizon = 1", "k = { internal = 0 }", "[effct]"]
    )

    found = problems(text)

    assert [(one.line, one.path) for one in found] == [
        (2, "privacy.ids"),
        (4, "admissibility.trust"),
        (5, "admissibility.horizon"),
        (6, "admissibility.k.internal"),
        (7, "effct"),
    ]


def test_the_error_names_the_file_before_each_line() -> None:
    """An editor can jump to it; the exit status is that of a wrong configuration."""
    with pytest.raises(UsageError) as caught:
        load_policy("[privacy]\nx = 1\n\n[effect]\na = 2", "conf/my.toml")

    lines = str(caught.value).splitlines()
    assert [line.split(" ")[0] for line in lines] == ["conf/my.toml:2:", "conf/my.toml:5:"]
    assert lines[0] == "conf/my.toml:2: privacy.x: unknown key; known keys: observation_ids, chain_sources"


@pytest.mark.parametrize(("text", "line"), [("[a\nb = 1", 1), ("[privacy]\nx = \n", 2), ("a = 1\na = 2\n", 2)])
def test_what_is_not_toml_is_reported_with_its_line(text: str, line: int) -> None:
    """The parser's own words, at its own line."""
    (problem,) = problems(text)

    assert problem.line == line
    assert problem.sentence.startswith("is not TOML")


def test_a_long_value_is_shown_shortened() -> None:
    """A megabyte pasted into the wrong key does not fill the terminal."""
    (problem,) = problems(f"[admissibility]\nhorizon = '{'x' * 500}'")

    assert len(problem.sentence) < 150


@pytest.mark.parametrize(
    ("text", "path", "line"),
    [
        ('[privacy]\nobservation_ids = "hashed"', "privacy", 1),
        ('[admissibility]\n\ntrust = "declared"', "admissibility.trust", 3),
        ("[admissibility]\nk = { internal = 1 }", "admissibility.k.internal", 2),
        ("admissibility.k.internal = 1", "admissibility.k.internal", 1),
        ('[admissibility]\nmax_validity = "5m"\nhorizon = "4m"\n[admissibility.window]\n\n"substrate.fs.mtime" = "2m"',
         "admissibility.max_validity", 2),
    ],
)  # fmt: skip
def test_findings_about_a_whole_policy_are_given_the_lines_of_their_keys(text: str, path: str, line: int) -> None:
    """So that a warning leads to the key that it is about."""
    policy = load_policy(text)

    found = locate(text, [*policy.problems(), *policy.warnings()])

    assert (line, path) in [(one.line, one.path) for one in found]


def test_a_key_inside_a_text_of_several_lines_misleads_nobody() -> None:
    """Positions are for messages only: at worst a line is that of the first key that looks alike."""
    text = '[observers.o]\npublic_key = """\nclasses = nonsense\n"""\nclasses = ["x"]'

    key, classes = problems(text)

    assert (key.path, key.line) == ("observers.o.public_key", 2)
    assert classes.path == "observers.o.classes"


@pytest.mark.parametrize("value", [[], ["a"], [1], {"a": 1}, 1, 1.5, True, "", "x", "1h"])
@pytest.mark.parametrize(
    "key",
    [
        *("admissibility", "admissibility.k", "admissibility.window", "admissibility.trust", "effect", "disposition"),
        *("sanitation.caps", "attestations", "attestations.consensus_domains", "privacy", "observers", "observers.o"),
        "observers.o.classes",
    ],
)
def test_no_value_anywhere_breaks_the_reader(key: str, value: Any) -> None:
    """Whatever stands at a key: a policy, or an error that says so."""
    shown = {True: "true"}.get(value, repr(value)) if not isinstance(value, dict | list) else repr(value)
    text = f"{key} = {shown.replace(': ', ' = ') if isinstance(value, dict) else shown}"

    try:
        load_policy(text)
    except PolicyError as error:
        assert all(one.line == 1 and one.sentence for one in error.problems)  # noqa: PT017


def test_sightings_name_their_classes() -> None:
    """In any order, anchored or bare, each once; none is the default."""
    text = '[sightings]\nclasses = ["substrate.grep", "1.0.substrate.grep", "substrate.code.read"]\n'

    assert load_policy(text).sightings.classes == ["substrate.code.read", "substrate.grep"]
    assert load_policy("").sightings.classes == []
    assert load_policy("[sightings]\n").hash == load_policy("").hash


@pytest.mark.parametrize("line", ['classes = ["substrate.nowhere"]', 'classes = "substrate.grep"', "class = []"])
def test_what_sightings_do_not_know_is_reported_with_its_line(line: str) -> None:
    """A class that nobody sees would cite nothing for ever."""
    with pytest.raises(PolicyError) as caught:
        load_policy(f"[sightings]\n{line}\n")

    assert [problem.line for problem in caught.value.problems] == [2]


PROPOSER_KEY = "AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA="


def test_a_proposer_has_a_key_and_models() -> None:
    """And comes back from what is written of it."""
    text = f'[judging.proposers]\ncritic = {{ key = "{PROPOSER_KEY}", models = ["model-b", "model-b"] }}\n'
    policy = load_policy(text)

    assert policy.judging.proposers == {"critic": Proposer(keys=[Key(public_key=PROPOSER_KEY)], models=["model-b"])}
    assert load_policy(to_toml(policy)) == policy == policy_of_document(policy.document)


@pytest.mark.parametrize(
    "entry",
    [
        'critic = "AA=="', "critic = {}", 'critic = { models = ["m"] }', 'critic = { key = "no" }',
        f'critic = {{ key = "{PROPOSER_KEY}", model = "m" }}', f'"a critic" = {{ key = "{PROPOSER_KEY}" }}',
        f'form = {{ key = "{PROPOSER_KEY}" }}',
    ],
)  # fmt: skip
def test_what_is_no_proposer_is_reported_with_its_line(entry: str) -> None:
    """`form` stands for what a claim form covers, so no proposer can pass for one."""
    assert [one.line for one in problems(f"[judging.proposers]\n{entry}\n")] == [2]
