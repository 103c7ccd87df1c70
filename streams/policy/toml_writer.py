"""Writes a policy as the TOML file that `toml_reader.load_policy` reads back as that policy, every key filled in."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from ...codecs.signatures import DEFAULT_ORIGIN
from ...codecs.times import format_duration, format_time
from . import policy as p
from .keys import Key, Keys


def to_toml(policy: p.Policy) -> str:
    """The policy as a file: what an operator may change and apply again. Reading it gives an equal policy."""
    return "\n".join(_lines(policy)) + "\n"


def _lines(policy: p.Policy) -> Iterator[str]:
    rules = policy.admissibility
    if policy.origin != DEFAULT_ORIGIN:
        yield f"origin = {_text(policy.origin)}\n"
    yield f"verdicts = {_text(policy.verdicts)}\n"
    yield "[admissibility]"
    yield f"trust = {_text(rules.trust)}"
    yield f"k = {{ internal = {rules.k.internal}, external = {rules.k.external} }}"
    for name in ("horizon", "late_horizon", "max_validity", "max_skew", "max_stall", "review_window"):
        yield f"{name} = {_text(format_duration(getattr(rules, name)))}"
    yield f"min_confidence = {rules.min_confidence!r}"
    yield f"max_attempts = {rules.max_attempts}"
    yield f"early_settle = {_boolean(rules.early_settle)}"
    yield f"max_waiting = {rules.max_waiting}"
    yield f"max_waiting_bytes = {rules.max_waiting_bytes}"
    yield f"max_annotations = {rules.max_annotations}"
    yield f"max_unseen = {rules.max_unseen}"
    least = rules.min_observers
    yield f"min_observers = {{ internal = {least.internal}, external = {least.external} }}"
    if rules.k_by_check:
        yield "\n[admissibility.k_by_check]"
        for name, floor in sorted(rules.k_by_check.items()):
            given = (("internal", floor.internal), ("external", floor.external))
            yield f"{name} = {{ {', '.join(f'{effect} = {k}' for effect, k in given if k is not None)} }}"
    yield from _table("admissibility.window", {name: format_duration(w) for name, w in sorted(rules.window.items())})
    yield from _table("effect", {"default": policy.effect_default, **policy.effect})
    yield "\n[disposition]"
    for status, either in policy.disposition.items():
        yield f"{status} = {{ internal = {_text(either.internal)}, external = {_text(either.external)} }}"
    yield "\n[sanitation]"
    confusables, caps = policy.sanitation.confusables, policy.sanitation.caps
    yield f"confusables = {{ internal = {_text(confusables.internal)}, external = {_text(confusables.external)} }}"
    yield f"caps = {{ {', '.join(f'{name} = {cap}' for name, cap in caps.items())} }}"
    yield "\n[attestations]"
    yield f"consensus_domains = {_texts(policy.attestations.consensus_domains)}"
    yield f"require_signatures = {_boolean(policy.attestations.require_signatures)}"
    yield f"min_canonicalisation = {_text(policy.attestations.min_canonicalisation)}"
    yield from _keys_by_name("attestations.validators", policy.attestations.validators)
    for name, domain in policy.attestations.domains.items():
        yield f"\n[attestations.{_text(name)}]\nconfusables = {_text(domain.confusables)}"
        if domain.confusables_by != "letter":
            yield f"confusables_by = {_text(domain.confusables_by)}"
        if domain.composition != "most" or domain.quorum != 1:
            yield f"composition = {_text(domain.composition)}\nquorum = {domain.quorum}"
    privacy = policy.privacy
    yield from _table("privacy", {"observation_ids": privacy.observation_ids, "chain_sources": privacy.chain_sources})
    if policy.sightings.classes:
        yield f"\n[sightings]\nclasses = {_texts(policy.sightings.classes)}"
    judging = policy.judging
    least_covered = judging.min_coverage
    yield "\n[judging]"
    yield f"min_coverage = {{ internal = {_text(least_covered.internal)}, external = {_text(least_covered.external)} }}"
    yield f"require_checks = {_boolean(judging.require_checks)}"
    yield f"accept = {_texts(judging.accept)}"
    yield f"same_bytes = {_boolean(judging.same_bytes)}"
    yield f"same_root = {judging.same_root}"
    yield f"groups = [{', '.join(map(_texts, judging.groups))}]"
    if judging.proposers:
        yield "\n[judging.proposers]"
        for name, proposer in sorted(judging.proposers.items()):
            yield f"{_text(name)} = {{ key = {_keys(proposer.keys)}, models = {_texts(proposer.models)} }}"
    yield from _emitters(policy.emitters)
    yield from _reviewers(policy.reviewers)
    yield from _keys_by_name("checkpoints.keys", policy.checkpoints.keys)
    if policy.policies.sequence or policy.policies.keys:
        yield f"\n[policies]\nsequence = {policy.policies.sequence}"
    yield from _keys_by_name("policies.keys", policy.policies.keys)
    yield "\n[writers]"
    yield from (f"{_text(name)} = {_texts(parties)}" for name, parties in sorted(policy.writers.items()))
    yield f"\n[observers]\nrequire_signatures = {_boolean(policy.require_signatures)}"
    for name, observer in policy.observers.items():
        yield f"\n[observers.{_text(name)}]"
        if observer.public_key is not None:
            yield f"public_key = {_text(observer.public_key)}"
        if observer.keys:
            yield f"keys = {_keys(observer.keys)}"
        if observer.classes:
            yield f"classes = {_texts(observer.classes)}"
        if observer.writable_by:
            yield f"writable_by = {_texts(observer.writable_by)}"


def _emitters(emitters: p.Emitters) -> Iterator[str]:
    yield f"\n[emitters]\nrefuse = {_texts(emitters.refuse)}"
    yield f"require_signatures = {_boolean(emitters.require_signatures)}"
    yield f"require_vendor = {_boolean(emitters.require_vendor)}"
    if emitters.unauthenticated is not None:
        yield f"unauthenticated = {_text(emitters.unauthenticated)}"
    yield from _keys_by_name("emitters.keys", emitters.keys)
    if emitters.vendor:
        yield from _table("emitters.vendor", emitters.vendor)


def _reviewers(reviewers: p.Reviewers) -> Iterator[str]:
    least = reviewers.min_reviewers
    yield f"\n[reviewers]\nrequire_signatures = {_boolean(reviewers.require_signatures)}"
    yield f"min_reviewers = {{ internal = {least.internal}, external = {least.external} }}"
    yield from _keys_by_name("reviewers.keys", reviewers.keys)
    yield from _keys_by_name("reviewers.roles", reviewers.roles)


def _keys_by_name(name: str, keys: Keys) -> Iterator[str]:
    if keys:
        yield f"\n[{name}]"
        for owner, listed in keys.items():
            yield f"{_text(owner)} = {_keys(listed)}"


def _keys(keys: list[Key]) -> str:
    return f"[{', '.join(map(key_entry, keys))}]"


def key_entry(key: Key) -> str:
    """A key as a list of keys has it: an inline table."""
    times = (("since", key.since), ("until", key.until), ("revoked", key.revoked))
    given = "".join(f", {name} = {_text(format_time(time))}" for name, time in times if time is not None)
    if key.signed_by is not None and key.signature is not None:
        given += f", signed_by = {_text(key.signed_by)}, signature = {_text(key.signature)}"
    return f"{{ public_key = {_text(key.public_key)}{given} }}"


def _table(name: str, values: Mapping[str, str]) -> Iterator[str]:
    yield f"\n[{name}]"
    for key, value in values.items():
        yield f"{key if key.isidentifier() and key.isascii() else _text(key)} = {_text(value)}"


def _texts(values: list[str]) -> str:
    return f"[{', '.join(map(_text, values))}]"


def _boolean(value: bool) -> str:
    return "true" if value else "false"


def _text(value: str) -> str:
    """A TOML string: JSON's escapes are TOML's, which has one more character to be escaped."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
