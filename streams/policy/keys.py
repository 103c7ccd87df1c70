r"""What looks like an identifier of a human end-user [S §12]: the memo does not recommend attaching any.

An emission names its emitter: a system, a model, a prompt. A policy says what none of the three may look like. The test
is of the form alone, and linear in the text: nobody is looked up, and a system whose name has that form has to be
given another name, or the policy another list. Kinds:

- `email`: an address stands anywhere in it, `%40` for the `@` as well. Not one: a version behind the `@`
  (`tool@1.2.0`, `model@v2.beta`), and `git@` of a repository's address.
- `phone`: the whole of it is an international number (E.164): `+` and 8 to 15 digits, perhaps behind `tel:`, with the
  separators that an identifier can hold.
- `uuid`: an RFC 9562 UUID stands anywhere in it. Many systems name themselves so: it is off by default.
- anything between slashes, `/^user-\d+$/`: an RE2 pattern, searched for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import msgspec
import re2  # pyright: ignore[reportMissingTypeStubs]

from ...codecs.canonical import fast_canonical
from ...codecs.signatures import Domain, is_signature, is_signed_by_any, signed_bytes
from ...codecs.times import LATEST

_re2: Final[Any] = re2  # it has no types
_MOST_PATTERN: Final = 200
"""Characters of a pattern: it is asked of every emission."""
_EMAIL: Final = re.compile(
    r"(?<![A-Za-z0-9._~%+-])(?P<local>[A-Za-z0-9._~+=-]{1,64})(?:@|%40)"
    r"(?P<domain>(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,63})(?![A-Za-z0-9-]|\.[A-Za-z0-9])"
)
_VERSION: Final = re.compile(r"v\d|\d+\.\d", re.IGNORECASE)
_PHONE: Final = re.compile(r"(?:tel:)?\+(?:[._/-]?\d){8,15}", re.IGNORECASE)
_UUID: Final = re.compile(r"(?<![0-9A-Za-z])[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}(?![0-9A-Za-z])")


def _is_email(name: str) -> bool:
    if "@" not in name and "%40" not in name:  # nearly always
        return False
    return any(one["local"] != "git" and not _VERSION.match(one["domain"]) for one in _EMAIL.finditer(name))


def _is_phone(name: str) -> bool:
    return _PHONE.fullmatch(name) is not None


def _is_uuid(name: str) -> bool:
    return _UUID.search(name) is not None


KINDS: Final[dict[str, tuple[Callable[[str], bool], str]]] = {
    "email": (_is_email, "an e-mail address"),
    "phone": (_is_phone, "a phone number"),
    "uuid": (_is_uuid, "a UUID"),
}
"""The kinds that have a name: the test, and what it is called in a sentence."""


def problem_of(entry: str) -> str | None:
    """What was expected of an entry of `[emitters] refuse`, where it is none; else None."""
    if entry in KINDS:
        return None
    if len(entry) < 3 or len(entry) > _MOST_PATTERN or entry[0] != "/" or entry[-1] != "/":
        return f"one of {', '.join(KINDS)}, or an RE2 pattern of up to {_MOST_PATTERN} characters between slashes"
    try:
        _pattern(entry)
    except _re2.error as error:
        why = error.args[0]
        return f"an RE2 pattern between slashes ({why.decode(errors='replace') if isinstance(why, bytes) else why})"
    return None


@lru_cache(maxsize=4096)  # emitters are few, and name themselves in every emission: 0.1 us instead of 1
def looks_like(name: str, refuse: tuple[str, ...]) -> str | None:
    """What a name looks like that it must not look like, in words; None where it is none of that."""
    for entry in refuse:
        test, words = KINDS.get(entry) or (_pattern(entry), "what the policy's emitters.refuse names")
        if test(name):
            return words
    return None


@lru_cache(maxsize=256)
def _pattern(entry: str) -> Callable[[str], bool]:
    options = _re2.Options()
    options.log_errors = False
    search = _re2.compile(entry[1:-1], options).search
    return lambda name: search(name) is not None


class Key(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """One public key and its time; times are Unix milliseconds, None where it has no such bound.

    Attributes:
        public_key: base64 of its 32 bytes.
        since: signatures count from here on.
        until: signatures count before this.
        revoked: the same, and the key is not trusted any more.
        signed_by: the public key that this one follows; None where the policy alone vouches for it.
        signature: base64 of that key's signature over name and public key (`succession_bytes`).
    """

    public_key: str
    since: int | None = None
    until: int | None = None
    revoked: int | None = None
    signed_by: str | None = None
    signature: str | None = None

    def __post_init__(self) -> None:
        if (self.signed_by is None) != (self.signature is None):
            raise ValueError("a key has signed_by and signature together")
        given = [one for one in (self.since, self.until, self.revoked) if one is not None]
        if not all(0 <= one <= LATEST for one in given):
            raise ValueError("times of a key are Unix milliseconds")
        if self.since is not None and self.until is not None and self.until <= self.since:
            raise ValueError("a key's until lies behind its since")

    def counts_at(self, time: int) -> bool:
        """Whether a signature with this key counts at that time (Unix ms)."""
        ends = [one for one in (self.until, self.revoked) if one is not None]
        return (self.since is None or self.since <= time) and all(time < one for one in ends)


Keys = dict[str, list[Key]]
"""The keys of each name."""


def succession_bytes(name: str, public_key: str, origin: str) -> bytes:
    """Returns what a key of `name` signs to be followed by `public_key` (base64 of 32 bytes); elsewhere than in the
    deployment named `origin` the signature does not hold."""
    form = fast_canonical({"name": name, "public_key": public_key})
    return signed_bytes(Domain("policies", "succession", origin), form)


def standing(name: str, keys: Sequence[Key], origin: str) -> list[Key]:
    """Returns the `keys` of a `name` that count: all but successors whose signature does not hold in the deployment
    `origin`, in their order."""
    stands = [key for key in keys if key.signed_by is None]
    waiting = [key for key in keys if key.signed_by is not None]
    while found := [key for key in waiting if any(_is_signed_by(key, one, name, origin) for one in stands)]:
        stands += found
        waiting = [key for key in waiting if key not in found]
    return [key for key in keys if key in stands]


def counted(name: str, keys: Sequence[Key], origin: str) -> Sequence[Key]:
    """Returns the same as `standing` of `name`, `keys` and `origin`, but fast enough for each record: where no key is a
    successor, the usual case, all keys count."""
    if all(key.signed_by is None for key in keys):
        return keys
    return _standing(name, tuple(keys), origin)


@lru_cache(maxsize=1024)  # a signature for each successor, instead of one for each record and successor
def _standing(name: str, keys: tuple[Key, ...], origin: str) -> tuple[Key, ...]:
    return tuple(standing(name, keys, origin))


def _is_signed_by(key: Key, before: Key, name: str, origin: str) -> bool:
    if key.signed_by != before.public_key or key.signature is None:
        return False
    # A signature does not show when it was made, and a thief can sign as well as the owner. So the successor has to
    # begin before the key was revoked.
    if before.revoked is not None and (key.since is None or key.since >= before.revoked):
        return False
    return is_signature(before.public_key, key.signature, succession_bytes(name, key.public_key, origin))


def is_signed(keys: Iterable[Key], time: int, signature: str | None, record: bytes | None, domain: Domain) -> bool:
    """Returns whether one of these `keys` signed a `record`, as it came, with its `signature` for this `domain`, and
    counts at `time` (Unix ms)."""
    if signature is None or record is None:
        return False
    counting = [key.public_key for key in keys if key.counts_at(time)]
    return is_signed_by_any(counting, signature, record, domain)


def what_came(signature: str | None) -> str:
    """What a fault says came in place of a signature that holds."""
    return "none" if signature is None else "one that does not hold"


def same_key(keys: Mapping[str, Sequence[Key]]) -> list[tuple[str, str]]:
    """Pairs of names that have one and the same key: who holds it speaks under both."""
    owners: dict[str, str] = {}
    found: list[tuple[str, str]] = []
    for name, listed in sorted(keys.items()):
        for public_key in sorted({one.public_key for one in listed}):
            if (other := owners.setdefault(public_key, name)) != name:
                found.append((other, name))
    return found
