"""A policy as TOML: read with the line of each mistake, and written so that reading it gives the same policy."""

from __future__ import annotations

import datetime
import difflib
import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, cast, get_args

from ...codecs.errors import UsageError
from ...codecs.identifiers import IDENTIFIER_PATTERN
from ...codecs.records import MAX_ASSERTIONS, CoverageLevel, Disposition, Effect
from ...codecs.signatures import DEFAULT_ORIGIN, PUBLIC_KEY, normalised, public_key_of
from ...codecs.times import format_duration, format_time, parse_duration, parse_time
from ...codecs.vocabulary import CLASSES_1_0, recognise
from ..judging.checks import TABLE as CHECKS
from . import policy as p
from .keys import Key, Keys, problem_of

Check = Callable[[Any], Any]


class _Each(NamedTuple):
    """A table of names that the operator chooses, and what each of its values takes."""

    check: Check


Path = tuple[str, ...]


class Problem(NamedTuple):
    """One thing wrong with a policy file; `line` counts from 1, 0 where the file as a whole is meant."""

    line: int
    path: str
    sentence: str


class PolicyError(UsageError):
    """A policy file cannot be used; `problems` has everything that is wrong with it."""

    def __init__(self, name: str, problems: Sequence[Problem]) -> None:
        self.problems = list(problems)
        lines = [f"{name}:{line}: {path + ': ' if path else ''}{sentence}" for line, path, sentence in self.problems]
        super().__init__("\n".join(lines))


class _Expected(Exception):
    """A value is not what its key takes; the message says what that is."""


def load_policy(text: str, name: str = "policy") -> p.Policy:
    """The policy of a TOML text.

    Raises:
        PolicyError: with every problem at once, by line.
    """
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        at = re.search(r"at line (\d+)", str(error))
        line = int(at[1]) if at else text.count("\n") + 1  # without a position: at the end of the document
        raise PolicyError(name, [Problem(line, "", f"is not TOML: {error}")]) from None
    reader = _Reader(text)
    made = _policy(reader, tables)
    if reader.problems:
        raise PolicyError(name, sorted(reader.problems))
    return made


def locate(text: str, findings: Iterable[tuple[str, str]]) -> list[Problem]:
    """The findings of `Policy.problems` or `Policy.warnings` with the lines of their keys in the policy's text."""
    reader = _Reader(text)
    return sorted(Problem(reader.line(tuple(path.split(".", 2))), path, why) for path, why in findings)


# ---------------------------------------------------------------- what each key takes


def _duration(value: Any) -> int:
    milliseconds = parse_duration(value) if isinstance(value, str) else None
    if not milliseconds or milliseconds > p.LONGEST:
        raise _Expected('a duration such as "30s", "10m" or "24h", up to "3650d"')
    return milliseconds


def _integer(least: int, most: int) -> Check:
    def check(value: Any) -> int:
        if type(value) is not int or not least <= value <= most:
            raise _Expected(f"a whole number from {least} to {most}")
        return value

    return check


def _fraction(value: Any) -> float:
    if type(value) not in (int, float) or not 0 <= value <= 1:
        raise _Expected("a number from 0 to 1")
    return float(value)


def _one_of(choices: Sequence[str]) -> Check:
    def check(value: Any) -> str:
        if value not in choices or not isinstance(value, str):
            raise _Expected("one of " + ", ".join(f'"{choice}"' for choice in choices))
        return value

    return check


def _strings(value: Any) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in cast("list[Any]", value)):
        raise _Expected("a list of strings")
    return cast("list[str]", value)


def _names(value: Any) -> list[str]:
    return sorted(set(_strings(value)))


def _classes(value: Any) -> list[str]:
    return sorted({_class(item) for item in _strings(value)})


def _groups(value: Any) -> list[list[str]]:
    if not isinstance(value, list):
        raise _Expected("a list of lists of substrate-classes")
    groups = sorted(_classes(group) for group in cast("list[Any]", value))
    named = [name for group in groups for name in group]
    if len(set(named)) != len(named):
        raise _Expected("groups that share no class")
    return groups


def _class(name: str) -> str:
    bare = recognise(name)
    if bare.name is None or bare.terminal:
        raise _Expected("substrate-classes of the vocabulary: " + ", ".join(sorted(CLASSES_1_0)))
    return bare.name


def _public_key(value: Any) -> str:
    key = public_key_of(value) if isinstance(value, str) else None
    if key is None:
        raise _Expected(PUBLIC_KEY)
    return key


_KEY_FORMS = (
    f"{PUBLIC_KEY}, a table with that as public_key, and since, until or revoked, or signed_by and signature, or a "
    "list of such tables"
)
_KEY_TIMES = frozenset(("since", "until", "revoked"))


def _keys(value: Any) -> list[Key]:
    """One key or several: a text, a table with its time, or a list of either."""
    given = cast("list[Any]", value) if isinstance(value, list) else [value]
    if not given:
        raise _Expected(_KEY_FORMS)
    return [_one_key(one) for one in given]


def _one_key(value: Any) -> Key:
    table = cast("dict[str, Any]", value) if isinstance(value, dict) else {"public_key": value}
    if not table.keys() <= {"public_key", *_KEY_TIMES, "signed_by", "signature"} or "public_key" not in table:
        raise _Expected(_KEY_FORMS)
    times = {name: _moment(one) for name, one in table.items() if name in _KEY_TIMES}
    signed_by, signature = table.get("signed_by"), table.get("signature")
    before = None if signed_by is None else _public_key(signed_by)
    if signature is not None and not isinstance(signature, str):
        raise _Expected("a signature in base64")
    try:
        return Key(public_key=_public_key(table["public_key"]), **times, signed_by=before, signature=signature)
    except ValueError as error:
        raise _Expected(f"a key with a time ({error})") from None


def _moment(value: Any) -> int:
    """A time in Unix ms: RFC 3339 as a text or as TOML's own."""
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        return int(value.timestamp() * 1000)
    found = parse_time(value) if isinstance(value, str) else None
    if found is None:
        raise _Expected('a time such as "2026-11-23T09:00:00Z"')
    return found


def _origin(value: Any) -> str:
    if not isinstance(value, str) or not _ORIGIN.fullmatch(value):
        raise _Expected("a name of 1 to 256 printable ASCII characters without blanks")
    return value


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise _Expected("true or false")
    return value


def _refused(value: Any) -> list[str]:
    entries = _names(value)
    for entry in entries:
        if (problem := problem_of(entry)) is not None:
            raise _Expected(problem)
    return entries


def _as_it_is(value: Any) -> Any:
    """What is looked into later."""
    return value


_KEYS = _Each(_keys)
"""A table of keys: a name, and one key or several."""
_EFFECT = _one_of(get_args(Effect))
_DISPOSITION = _one_of(get_args(Disposition))
_CONFUSABLES = _one_of(get_args(p.Confusables))
_PRIVACY = _one_of(get_args(p.Privacy))
_PUBLISHED_VERDICTS = _one_of(get_args(p.PublishedVerdicts))
_REQUIRED = "require_signatures"
_RESERVED = ("consensus_domains", "validators", _REQUIRED, "min_canonicalisation")
"""Keys of `[attestations]` that are no domain's name."""
_KEY_NAME = re.compile(r"[^\s+]{1,256}")
_ORIGIN = re.compile(r"[!-~]{1,256}")
_IDENTIFIER = re.compile(IDENTIFIER_PATTERN)


# ---------------------------------------------------------------- reading


class _Reader:
    """Takes values out of tables, and collects what is wrong with them instead of stopping at the first."""

    def __init__(self, text: str) -> None:
        self.problems: list[Problem] = []
        self._lines = _key_lines(text)

    def line(self, path: Path) -> int:
        """The line of a key, or of the nearest table around it."""
        while path and path not in self._lines:
            path = path[:-1]
        return self._lines.get(path, 1)

    def wrong(self, path: Path, sentence: str) -> None:
        self.problems.append(Problem(self.line(path), ".".join(path), sentence))

    def table(self, tables: Mapping[str, Any], path: Path, known: Sequence[str] | None) -> dict[str, Any]:
        """The table at `path`; empty where it is missing. Keys outside `known` are errors, where that is given."""
        value: Any = tables.get(path[-1], {}) if path else tables
        if not isinstance(value, dict):
            self.wrong(path, f"expected a table, got {_shown(value)}")
            return {}
        found = cast("dict[str, Any]", value)
        if known is None:
            return found
        for key in found:
            if key not in known:
                near = difflib.get_close_matches(key, known, 1)
                hint = f"did you mean {near[0]}?" if near else "known keys: " + ", ".join(known)
                self.wrong((*path, key), f"unknown key; {hint}")
        return {key: found[key] for key in known if key in found}

    def value(self, value: Any, path: Path, check: Check) -> Any:
        """The checked value, or None after an error."""
        try:
            return check(value)
        except _Expected as expected:
            self.wrong(path, f"expected {expected}, got {_shown(value)}")
            return None

    def fields(self, tables: Mapping[str, Any], path: Path, checks: _Each | Mapping[str, Any]) -> dict[str, Any]:
        """The checked values of a table, for those that are there and right.

        Args:
            tables: in which it stands.
            path: of it; the last name is its key.
            checks: by key, what each value takes: a `Check`, or the `checks` of a table within this one.
        """
        checked: dict[str, Any] = {}
        found = self.table(tables, path, None if isinstance(checks, _Each) else list(checks))
        for key in found:
            check = checks.check if isinstance(checks, _Each) else checks[key]
            at = (*path, key)
            if isinstance(check, _Each | Mapping):
                checked[key] = self.fields(found, at, cast("_Each | Mapping[str, Any]", check))
            else:
                checked[key] = self.value(found[key], at, check)
        return {key: value for key, value in checked.items() if value is not None}


def _shown(value: Any) -> str:
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else text[:59] + "…"


_TABLES = (
    *("admissibility", "effect", "disposition", "sanitation", "attestations", "privacy", "observers", "sightings"),
    *("emitters", "judging", "reviewers", "checkpoints", "policies", "origin", "writers", "verdicts"),
)
MAX_SEQUENCE: Final = 2**53 - 1
"""The greatest integer that the canonical form of a policy can say (RFC 8785)."""
_TIMES = ("horizon", "late_horizon", "max_validity", "max_skew", "max_stall", "review_window")


def _policy(reader: _Reader, document: dict[str, Any]) -> p.Policy:
    tables = reader.table(document, (), _TABLES)
    effect = reader.fields(tables, ("effect",), _Each(_EFFECT))
    default: Effect = effect.pop("default", "internal")
    privacy = reader.fields(tables, ("privacy",), {"observation_ids": _PRIVACY, "chain_sources": _PRIVACY})
    return p.Policy(
        admissibility=_admissibility(reader, tables),
        effect_default=default,
        effect={name: value for name, value in effect.items() if value != default},
        disposition=_dispositions(reader, tables),
        sanitation=_sanitation(reader, tables),
        attestations=_attestations(reader, tables),
        privacy=p.PrivacyRules(**privacy),
        observers=_observers(reader, tables),
        require_signatures=_requires_signatures(reader, tables),
        emitters=_emitters(reader, tables),
        sightings=p.Sightings(**reader.fields(tables, ("sightings",), {"classes": _classes})),
        judging=_judging(reader, tables),
        reviewers=_reviewers(reader, tables),
        checkpoints=_checkpoints(reader, tables),
        policies=p.PolicyKeys(
            **reader.fields(tables, ("policies",), {"sequence": _integer(0, MAX_SEQUENCE), "keys": _KEYS})
        ),
        **({"origin": reader.value(tables["origin"], ("origin",), _origin) or ""} if "origin" in tables else {}),
        writers=_writers(reader, tables),
        verdicts=_published_verdicts(reader, tables),
    )


def _published_verdicts(reader: _Reader, tables: Mapping[str, Any]) -> p.PublishedVerdicts:
    if "verdicts" not in tables:
        return p.DEFAULT_POLICY.verdicts
    return reader.value(tables["verdicts"], ("verdicts",), _PUBLISHED_VERDICTS) or p.DEFAULT_POLICY.verdicts


def _emitters(reader: _Reader, tables: Mapping[str, Any]) -> p.Emitters:
    checks = {
        "refuse": _refused,
        _REQUIRED: _boolean,
        "unauthenticated": _EFFECT,
        "keys": _KEYS,
        "vendor": _Each(_vendor),
        "require_vendor": _boolean,
    }
    found = reader.fields(tables, ("emitters",), checks)
    found["vendor"] = dict(sorted(found.get("vendor", {}).items()))
    return p.Emitters(**found)


def _reviewers(reader: _Reader, tables: Mapping[str, Any]) -> p.Reviewers:
    at = ("reviewers",)
    checks = {"keys": _KEYS, "roles": _KEYS, "min_reviewers": _as_it_is, _REQUIRED: _boolean}
    found = reader.fields(tables, at, checks)
    internal, external = _rising(reader, found, (*at, "min_reviewers"), _integer(1, p.MOST_REVIEWERS))
    found["min_reviewers"] = p.LeastReviewers(internal=internal, external=external)
    return p.Reviewers(**found)


def _checkpoints(reader: _Reader, tables: Mapping[str, Any]) -> p.CheckpointKeys:
    keys = reader.fields(tables, ("checkpoints",), {"keys": _KEYS}).get("keys", {})
    for name in keys:
        if not _KEY_NAME.fullmatch(name):
            reader.wrong(("checkpoints", "keys", name), "expected a name as a note has it: without white space and +")
    return p.CheckpointKeys(keys={name: one for name, one in keys.items() if _KEY_NAME.fullmatch(name)})


def _writers(reader: _Reader, tables: Mapping[str, Any]) -> dict[str, list[str]]:
    found = reader.fields(tables, ("writers",), dict.fromkeys(sorted(CLASSES_1_0), _parties))
    return {**p.REFERENCE_WRITERS, **found}


def _parties(value: Any) -> list[str]:
    parties = _names(value)
    if not parties or not set(p.WRITERS).issuperset(parties):
        raise _Expected("a list of some of " + ", ".join(p.WRITERS))
    return parties


def _vendor(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise _Expected("the name of a vendor")
    return value


def _admissibility(reader: _Reader, tables: Mapping[str, Any]) -> p.Admissibility:
    at = ("admissibility",)
    k_by_effect = dict.fromkeys(get_args(Effect), _integer(1, len(CLASSES_1_0)))
    checks = {
        "trust": _one_of(get_args(p.Trust)),
        "k": k_by_effect,
        "min_observers": _as_it_is,
        **dict.fromkeys(_TIMES, _duration),
        "min_confidence": _fraction,
        "max_attempts": _integer(1, 1000),
        "early_settle": _boolean,
        "max_waiting": _integer(1, p.MOST_WAITING),
        "max_waiting_bytes": _integer(1, p.MOST_WAITING_BYTES),
        "max_annotations": _integer(1, MAX_ASSERTIONS),
        "max_unseen": _integer(0, p.MOST_UNSEEN),
        "window": _as_it_is,
        "k_by_check": dict.fromkeys(CHECKS, k_by_effect),
    }
    found = reader.fields(tables, at, checks)
    k = found.get("k", {})
    internal, external = k.get("internal", 2), k.get("external", 3)
    if external < internal:
        reader.wrong((*at, "k"), "external must not be below internal: an effect can only raise the floor")
    floor = p.Floor(internal=internal, external=max(internal, external))
    least = _least_observers(reader, found, (*at, "min_observers"))
    by_check = {name: p.FloorOfCheck(**floor) for name, floor in found.get("k_by_check", {}).items() if floor}
    windows: dict[str, int] = {}
    given = reader.table(found, (*at, "window"), None)
    for name, value in given.items():
        path = (*at, "window", name)
        window = reader.value(value, path, _duration)
        if name != "default" and (recognise(name).name != name or recognise(name).terminal):
            near = difflib.get_close_matches(name, sorted(CLASSES_1_0), 1)
            reader.wrong(path, "unknown substrate-class" + (f"; did you mean {near[0]}?" if near else ""))
        elif window is not None:
            windows[name] = window
    default = windows.pop("default", p.HOUR)
    # A class that has a default of its own keeps it; `default` is for the others.
    own = {name: window for name, window in p.REFERENCE_WINDOWS.items() if window != p.HOUR}
    window = {**dict.fromkeys(sorted(CLASSES_1_0), default), **own, **windows}
    plain = {key: value for key, value in found.items() if key not in ("k", "window", "min_observers", "k_by_check")}
    plain.setdefault("review_window", plain.get("max_validity", p.DAY))
    return p.Admissibility(k=floor, window=window, min_observers=least, k_by_check=by_check, **plain)


def _judging(reader: _Reader, tables: Mapping[str, Any]) -> p.Judging:
    checks = {
        "min_coverage": dict.fromkeys(get_args(Effect), _one_of(get_args(CoverageLevel))),
        "require_checks": _boolean,
        "accept": _names,
        "same_bytes": _boolean,
        "same_root": _integer(0, len(CLASSES_1_0)),
        "groups": _groups,
        "proposers": _Each(_proposer),
    }
    found = reader.fields(tables, ("judging",), checks)
    proposers: dict[str, p.Proposer] = {}
    for name, proposer in found.pop("proposers", {}).items():
        if _IDENTIFIER.fullmatch(name) and name != p.BY_FORM:
            proposers[name] = proposer
        else:
            expected = f'expected an identifier (records.md) other than "{p.BY_FORM}"'
            reader.wrong(("judging", "proposers", name), expected)
    return p.Judging(min_coverage=p.LeastCoverage(**found.pop("min_coverage", {})), proposers=proposers, **found)


def _proposer(value: Any) -> p.Proposer:
    table = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    if "key" not in table or not table.keys() <= {"key", "models"}:
        raise _Expected("a table with key (one or a list), and models")
    return p.Proposer(keys=_keys(table["key"]), models=_names(table.get("models", [])))


def _least_observers(reader: _Reader, found: Mapping[str, Any], at: Path) -> p.LeastObservers:
    """`min_observers`: one number, or one for each effect; what is not named asks for no more than internal does."""
    check = _integer(1, p.MOST_OBSERVERS)
    if isinstance(found.get("min_observers", {}), dict):
        internal, external = _rising(reader, found, at, check)
    else:
        internal = external = reader.value(found["min_observers"], at, check) or 1
    return p.LeastObservers(internal=internal, external=external)


def _rising(reader: _Reader, found: Mapping[str, Any], at: Path, check: Check) -> tuple[int, int]:
    """How many of something each effect asks for: internal (default 1) and external (default internal, never below)."""
    given = reader.fields(found, at, dict.fromkeys(get_args(Effect), check))
    internal = given.get("internal", 1)
    external = given.get("external", internal)
    if external < internal:
        reader.wrong(at, "external must not be below internal: an effect can only raise the floor")
    return internal, max(internal, external)


def _dispositions(reader: _Reader, tables: Mapping[str, Any]) -> dict[str, p.PerEffect]:
    made = dict(p.DEFAULT_POLICY.disposition)
    found = reader.table(tables, ("disposition",), p.INADMISSIBLE)
    for status, value in found.items():
        path = ("disposition", status)
        if isinstance(value, dict):
            either = reader.fields(found, path, dict.fromkeys(get_args(Effect), _DISPOSITION))
            made[status] = p.PerEffect(
                internal=either.get("internal", made[status].internal),
                external=either.get("external", made[status].external),
            )
        else:
            one = reader.value(value, path, _DISPOSITION)
            made[status] = p.PerEffect(internal=one, external=one) if one else made[status]
    return made


def _sanitation(reader: _Reader, tables: Mapping[str, Any]) -> p.Sanitation:
    # [V §4.1] sets the first four; what it does not name may be as long as its longest field.
    most = {**p.CAPS, "assertion": 2000, "title": 2000}
    checks = {
        "confusables": dict.fromkeys(get_args(Effect), _CONFUSABLES),
        "caps": {name: _integer(1, most[name]) for name in p.CAPS},
    }
    found = reader.fields(tables, ("sanitation",), checks)
    confusables = p.ConfusablesByEffect(**found.get("confusables", {}))
    return p.Sanitation(confusables=confusables, caps={**p.CAPS, **found.get("caps", {})})


def _attestations(reader: _Reader, tables: Mapping[str, Any]) -> p.Attestations:
    at = ("attestations",)
    found = reader.table(tables, at, None)
    names = reader.value(found.get("consensus_domains", ["scientific-default"]), (*at, "consensus_domains"), _strings)
    checks = {_REQUIRED: _boolean, "min_canonicalisation": _one_of(("0.2", "0.3"))}
    plain = {key: reader.value(found[key], (*at, key), check) for key, check in checks.items() if key in found}
    validators: dict[str, list[Key]] = {}
    for did, keys in reader.fields(found, (*at, "validators"), _KEYS).items():
        one = normalised(did)
        if one is None:
            reader.wrong((*at, "validators", did), "expected a DID as the name")
        else:
            validators.setdefault(one, []).extend(keys)
    domains: dict[str, p.AttestationDomain] = {}
    for name in found:
        if name in _RESERVED:
            continue
        if name not in (names or ()):
            reader.wrong((*at, name), "unknown key; a domain's own table needs the domain in consensus_domains")
            continue
        checks = {
            "confusables": _CONFUSABLES,
            "confusables_by": _one_of(get_args(p.ConfusablesBy)),
            "composition": _one_of(get_args(p.Composition)),
            "quorum": _integer(1, p.MAX_QUORUM),
        }
        domains[name] = p.AttestationDomain(**reader.fields(found, (*at, name), checks))
    return p.Attestations(
        consensus_domains=sorted(set(names or ())),
        domains=domains,
        validators=validators,
        **{key: value for key, value in plain.items() if value is not None},
    )


def _observers(reader: _Reader, tables: Mapping[str, Any]) -> dict[str, p.Observer]:
    """The entries of `[observers]`; the one key beside them, `require_signatures`, is no observer's name."""
    found = {name: value for name, value in reader.table(tables, ("observers",), None).items() if name != _REQUIRED}
    checks: dict[str, Check] = {
        "public_key": _public_key,
        "keys": _keys,
        "classes": _classes,
        "writable_by": _names,
    }
    return {name: p.Observer(**reader.fields(found, ("observers", name), checks)) for name in found}


def _requires_signatures(reader: _Reader, tables: Mapping[str, Any]) -> bool:
    table = tables.get("observers")
    if not isinstance(table, dict) or _REQUIRED not in table:
        return False  # what is no table is told by `_observers`
    return reader.value(cast("dict[str, Any]", table)[_REQUIRED], ("observers", _REQUIRED), _boolean) or False


# ---------------------------------------------------------------- lines

_BARE = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')"""
_DOTTED = rf"{_BARE}(?:\s*\.\s*{_BARE})*"
_HEADER = re.compile(rf"\s*\[\s*({_DOTTED})\s*\]")
_KEY = re.compile(rf"\s*({_DOTTED})\s*=")
_INNER = re.compile(rf"[{{,]\s*({_DOTTED})\s*=")


def _key_lines(text: str) -> dict[Path, int]:
    """The line of each table and key of a valid TOML text; the first one where two look alike."""
    lines: dict[Path, int] = {}
    table: Path = ()
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            table = _path(header[1])
            lines.setdefault(table, number)
        elif key := _KEY.match(line):
            path = (*table, *_path(key[1]))
            lines.setdefault(path, number)
            for inner in _INNER.finditer(line, key.end()):
                lines.setdefault((*path, *_path(inner[1])), number)
    return lines


def _path(dotted: str) -> Path:
    value: Any = tomllib.loads(f"{dotted} = 0")
    path: list[str] = []
    while isinstance(value, dict):
        key, value = next(iter(cast("dict[str, Any]", value).items()))
        path.append(key)
    return tuple(path)


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
    yield f"early_settle = {_boolean_text(rules.early_settle)}"
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
    yield f"require_signatures = {_boolean_text(policy.attestations.require_signatures)}"
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
    yield f"require_checks = {_boolean_text(judging.require_checks)}"
    yield f"accept = {_texts(judging.accept)}"
    yield f"same_bytes = {_boolean_text(judging.same_bytes)}"
    yield f"same_root = {judging.same_root}"
    yield f"groups = [{', '.join(map(_texts, judging.groups))}]"
    if judging.proposers:
        yield "\n[judging.proposers]"
        for name, proposer in sorted(judging.proposers.items()):
            yield f"{_text(name)} = {{ key = {_key_list(proposer.keys)}, models = {_texts(proposer.models)} }}"
    yield from _emitter_lines(policy.emitters)
    yield from _reviewer_lines(policy.reviewers)
    yield from _keys_by_name("checkpoints.keys", policy.checkpoints.keys)
    if policy.policies.sequence or policy.policies.keys:
        yield f"\n[policies]\nsequence = {policy.policies.sequence}"
    yield from _keys_by_name("policies.keys", policy.policies.keys)
    yield "\n[writers]"
    yield from (f"{_text(name)} = {_texts(parties)}" for name, parties in sorted(policy.writers.items()))
    yield f"\n[observers]\nrequire_signatures = {_boolean_text(policy.require_signatures)}"
    for name, observer in policy.observers.items():
        yield f"\n[observers.{_text(name)}]"
        if observer.public_key is not None:
            yield f"public_key = {_text(observer.public_key)}"
        if observer.keys:
            yield f"keys = {_key_list(observer.keys)}"
        if observer.classes:
            yield f"classes = {_texts(observer.classes)}"
        if observer.writable_by:
            yield f"writable_by = {_texts(observer.writable_by)}"


def _emitter_lines(emitters: p.Emitters) -> Iterator[str]:
    yield f"\n[emitters]\nrefuse = {_texts(emitters.refuse)}"
    yield f"require_signatures = {_boolean_text(emitters.require_signatures)}"
    yield f"require_vendor = {_boolean_text(emitters.require_vendor)}"
    if emitters.unauthenticated is not None:
        yield f"unauthenticated = {_text(emitters.unauthenticated)}"
    yield from _keys_by_name("emitters.keys", emitters.keys)
    if emitters.vendor:
        yield from _table("emitters.vendor", emitters.vendor)


def _reviewer_lines(reviewers: p.Reviewers) -> Iterator[str]:
    least = reviewers.min_reviewers
    yield f"\n[reviewers]\nrequire_signatures = {_boolean_text(reviewers.require_signatures)}"
    yield f"min_reviewers = {{ internal = {least.internal}, external = {least.external} }}"
    yield from _keys_by_name("reviewers.keys", reviewers.keys)
    yield from _keys_by_name("reviewers.roles", reviewers.roles)


def _keys_by_name(name: str, keys: Keys) -> Iterator[str]:
    if keys:
        yield f"\n[{name}]"
        for owner, listed in keys.items():
            yield f"{_text(owner)} = {_key_list(listed)}"


def _key_list(keys: list[Key]) -> str:
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


def _boolean_text(value: bool) -> str:
    return "true" if value else "false"


def _text(value: str) -> str:
    """A TOML string: JSON's escapes are TOML's, which has one more character to be escaped."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
