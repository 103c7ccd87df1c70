"""The page on the policy, for make_reference.py: the reference policy, and what each key takes and is for.

What a key takes is what its own error says; what it is for the code does not say, so it stands here, and a key without
it is an error.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from make_reference_records import MADE, cell

from sluice.streams.judging.checks import TABLE as CHECKS
from sluice.streams.policy.policy import DEFAULT_POLICY
from sluice.streams.policy.policy_toml import PolicyError, load_policy, to_toml

KEYS: Mapping[str, str] = {
    "admissibility.trust": "what counts: what observers saw, what emitters declare, or only what both say",
    "admissibility.k": "how many distinct fresh classes an assertion needs, by effect",
    "admissibility.horizon": "how long an assertion waits for evidence",
    "admissibility.late_horizon": "how much longer an assertion waits at which nobody has looked by its horizon",
    "admissibility.max_unseen": "how many assertions of a lane may wait so; what exceeds it ends at its horizon",
    "admissibility.max_validity": "how long anything stays admitted at the most",
    "admissibility.max_skew": "how far ahead of the broker's clock a record may be",
    "admissibility.max_stall": "how long beyond its horizon something pending waits for inputs that stand still",
    "admissibility.review_window": "how long a reviewer's word is waited for; by default `max_validity`",
    "admissibility.min_confidence": "the least confidence of a grounded value",
    "admissibility.max_attempts": "how many attempts an emission has, the first one included",
    "admissibility.early_settle": "whether an assertion is settled once every listed observer has answered",
    "admissibility.max_waiting": "how many observations of one observer wait for one emission",
    "admissibility.max_waiting_bytes": "how many bytes of evidence wait in a lane, in equal shares",
    "admissibility.max_annotations": "how many assertions an emission may have, and annotations of all of them",
    "admissibility.min_observers": "how many distinct observers the evidence must come from, by effect; or one number",
    "admissibility.k_by_check": "how many distinct fresh classes one check needs, by effect, if that differs from `k`",
    "judging.min_coverage": "how much of a sentence its checks must speak of, by effect: `whole`, `part` or `none`",
    "judging.require_checks": "whether observations that verify no check count for nothing",
    "judging.accept": "whose word counts: `checks` for the built-in ones, else the names of judges",
    "judging.same_bytes": "whether grep and code.read of one content count once",
    "judging.same_root": "how many of k one root may give; 0 for no bound",
    "judging.proposers.NAME": "who may say that the checks of an assertion say all of it: its `key`, or keys, and the "
    "`models` or vendors by which it proposes",
    "judging.groups": "groups of classes that count once",
    "admissibility.window": "how long evidence of a class stays fresh; `default` is for the classes not named",
    "effect.default": "the effect of an emission whose emitter is not named here and that names none itself",
    "effect.EMITTER": "the least effect of what this emitter writes",
    "disposition": "what becomes of it, by effect; or one word for both",
    "sanitation.confusables": "what look-alike characters in an assertion lead to, by effect",
    "sanitation.caps": "how long a field may be, in bytes (`quotes`: how many of them)",
    "attestations.consensus_domains": "the domains that attestations may name",
    "attestations.validators": "with what the validator of this DID signs; where any is listed and signatures are "
    "required, nobody else is taken",
    "attestations.require_signatures": "whether unsigned attestations are refused; without a list a `did:key` signs "
    "with its own key",
    "attestations.min_canonicalisation": "the earliest canonical form that is taken",
    "attestations.DOMAIN.confusables": "what look-alike characters lead to in this domain's attestations",
    "attestations.DOMAIN.confusables_by": "which look-alikes are meant: every letter's, or those in words of "
    "mixed scripts",
    "attestations.DOMAIN.composition": "how validators' verdicts come to one: the most frequent, a majority, or all",
    "attestations.DOMAIN.quorum": "how many validators have to have spoken before there is one",
    "privacy.observation_ids": "how observation ids leave: as they are, as an HMAC, or not at all",
    "privacy.chain_sources": "likewise the sources of a chain",
    "emitters.refuse": "what a field of an emitter may not look like: `email`, `phone`, `uuid`, or an RE2 pattern "
    "between slashes",
    "emitters.require_signatures": "whether emitters without a key are refused",
    "emitters.require_vendor": "whether what a service says counts only for emitters whose vendor is named",
    "emitters.unauthenticated": "the least effect of what an emitter without a key writes",
    "emitters.keys.NAME": "with what the emitter of this name signs; several where each has its time",
    "reviewers.require_signatures": "whether reviewers without a key are refused",
    "reviewers.min_reviewers": "how many distinct reviewers have to admit, by effect",
    "reviewers.keys.NAME": "with what the reviewer of this name signs",
    "reviewers.roles.NAME": "with what a service signs for the reviewers that its records name",
    "checkpoints.keys.NAME": "with what workers of this key's name sign checkpoints",
    "policies.sequence": "greater than that of the policy before it, where that one lists keys",
    "policies.keys.NAME": "with what the policy that follows is signed (`sluice policy apply --key`); where nobody is "
    "listed, none is",
    "origin": "the deployment's name, which signatures are bound to: the setting `origin`",
    "observers.NAME.keys": "more keys of this observer, each with its time",
    "emitters.vendor": "whose inference system it is: what a service of that owner says counts for none of its "
    "statements",
    "writers": "who can write to what the class looks at; `policy check` warns where an emitter could",
    "observers.require_signatures": "whether observers without a key are refused",
    "observers.NAME.public_key": "with what this observer signs",
    "observers.NAME.classes": "the classes it may speak for; all where none is named",
    "observers.NAME.writable_by": "emitters that can write to what it looks at: its word counts for none of theirs",
    "verdicts": "what is told on `verdicts`: every change, only what is settled and what becomes of it, or nothing",
    "sightings.classes": "the classes whose annotations are cited, so that sightings can be bound to them",
}
MORE = (
    ("admissibility", "window", "default"),
    ("admissibility", "k_by_check", "commit", "internal"),
    ("effect", "EMITTER"),
    *(
        ("attestations", "scientific-default", key)
        for key in ("confusables", "confusables_by", "composition", "quorum")
    ),
    ("judging", "proposers", "NAME"),
    ("sightings", "classes"),
    *(("observers", "NAME", key) for key in ("public_key", "keys", "classes", "writable_by")),
    ("emitters", "unauthenticated"),
    ("emitters", "require_vendor"),
    ("emitters", "keys", "NAME"),
    ("reviewers", "keys", "NAME"),
    ("reviewers", "roles", "NAME"),
    ("checkpoints", "keys", "NAME"),
    ("policies", "sequence"),
    ("policies", "keys", "NAME"),
    ("attestations", "validators", "did:web:NAME"),
    ("origin",),
    ("emitters", "vendor", "EMITTER"),
)
"""Keys that the reference policy does not have."""


TABLES_OF_ATTESTATIONS = ("consensus_domains", "validators", "require_signatures", "min_canonicalisation")
"""Keys of `[attestations]` that are no domain's name."""


def policy() -> str:
    """The reference policy as a file, and each key with what it takes, in the words of its own error."""
    text = to_toml(DEFAULT_POLICY)
    rows: dict[str, tuple[str, str]] = {}
    for path in (*_leaves(tomllib.loads(text), ()), *MORE):
        found = [key for key in KEYS if _is_below(path, key)]
        if len(found) != 1:
            raise SystemExit(f"what is the policy's key {'.'.join(path)} for? Say so in KEYS")
        rows.setdefault(_any(path), (_wanted(path), found[0]))
    lines = [f"| `{key}` | {cell(takes)} | {KEYS[of]} |" for key, (takes, of) in rows.items()]
    return (
        f"# Policy\n\n{MADE}A policy is a TOML file. Every key has a default, and an unknown one is an error; `sluice "
        "policy check FILE` tells all errors at once. The hash of what it comes to stands in every decision.\n\n"
        f"## The reference policy\nWhat holds where a file says nothing (`sluice policy show` prints what is in force "
        f"in this form):\n```toml\n{text}```\n\n"
        "## Keys\n| key | takes | what it is for |\n| --- | --- | --- |\n" + "\n".join(lines) + "\n"
    )


def _leaves(value: Any, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    if not isinstance(value, dict):
        yield path
        return
    for key, below in value.items():
        yield from _leaves(below, (*path, key))


def _any(path: tuple[str, ...]) -> str:
    """The key, with the names that stand for others of their kind in capitals."""
    table, *names = path
    kinds = {"internal": "EFFECT", "external": "EFFECT", "scientific-default": "DOMAIN"}
    kinds |= dict.fromkeys(DEFAULT_POLICY.admissibility.window, "CLASS")
    kinds |= dict.fromkeys(DEFAULT_POLICY.disposition, "STATUS")
    kinds |= dict.fromkeys(CHECKS, "CHECK")
    return ".".join([table, *(kinds.get(name, name) for name in names)])


def _is_below(path: tuple[str, ...], key: str) -> bool:
    named = tuple(key.split("."))
    if path[0] == "attestations" and path[1] not in TABLES_OF_ATTESTATIONS:
        return named == ("attestations", "DOMAIN", *path[2:])
    return path[: len(named)] == named


def _wanted(path: tuple[str, ...]) -> str:
    """What a key takes: what the error for an impossible value says was expected."""
    *tables, key = path
    table = f"[{'.'.join(map(json.dumps, tables))}]\n" if tables else ""
    impossible = f"{table}{json.dumps(key)} = 1979-05-27\n"
    try:
        load_policy(impossible)
    except PolicyError as error:
        for problem in error.problems:
            if problem.sentence.startswith("expected "):
                return problem.sentence.removeprefix("expected ").partition(", got ")[0]
    raise SystemExit(f"no error says what the policy's key {'.'.join(path)} takes")
