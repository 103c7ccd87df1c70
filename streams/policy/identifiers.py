"""What looks like an identifier of a human end-user [S §12]: the memo does not recommend attaching any.

An emission names its emitter: a system, a model, a prompt. A policy says what none of the three may look like. The test
is of the form alone, and linear in the text: nobody is looked up, and a system whose name has that form has to be
given another name, or the policy another list. Kinds:

- `email`: an address stands anywhere in it, `%40` for the `@` as well. Not one: a version behind the `@`
  (`tool@1.2.0`, `model@v2.beta`), and `git@` of a repository's address.
- `phone`: the whole of it is an international number (E.164): `+` and 8 to 15 digits, perhaps behind `tel:`, with the
  separators that an identifier can hold.
- `uuid`: an RFC 9562 UUID stands anywhere in it. Many systems name themselves so: it is off by default.
- anything between slashes, `/^user-\\d+$/`: an RE2 pattern, searched for.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import re2  # pyright: ignore[reportMissingTypeStubs]

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
