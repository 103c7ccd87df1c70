"""Who is signed in at the console: a cookie that says it, and a MAC of the service's over it.

A replica knows what another one has signed in: they share the key, and keep nothing.
"""

from __future__ import annotations

import hmac
import os
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from hashlib import sha256
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import Final

import msgspec

from ...codecs.errors import UsageError
from ..settings.files import open_plain
from .access import Principal

COOKIE: Final = "sluice-session"
HOURS: Final = 8
KEY_BYTES: Final = 32
MOST_BYTES: Final = 65_536


class _Signed(msgspec.Struct, frozen=True, array_like=True):
    id: str
    name: str
    scopes: list[str]
    subject: str
    until: int


class Sessions:
    """Makes and reads cookies.

    Args:
        key: of the MAC, 32 bytes.
        now: Unix ms.
        still: whether a token is still valid, by its id; sessions of people have none.
    """

    def __init__(self, key: bytes, now: Callable[[], int], still: Callable[[str], bool] = lambda _id: True) -> None:
        self._key, self._now, self._still = key, now, still

    def cookie(self, principal: Principal) -> str:
        """The cookie's value."""
        until = self._now() + HOURS * 3_600_000
        signed = _Signed(principal.id, principal.name, sorted(principal.scopes), principal.subject, until)
        body = urlsafe_b64encode(msgspec.json.encode(signed)).decode().rstrip("=")
        return f"{body}.{self._mac(body)}"

    def of(self, header: str) -> Principal | None:
        """Who a request's Cookie header signs in; None where nobody."""
        value = value_of(header, COOKIE)
        body, _, mac = value.partition(".")
        if not hmac.compare_digest(mac.encode(errors="replace"), self._mac(body).encode()):
            return None
        try:
            signed = msgspec.json.decode(urlsafe_b64decode(body + "=" * (-len(body) % 4)), type=_Signed)
        except (msgspec.MsgspecError, ValueError):
            return None
        if self._now() >= signed.until or not (signed.subject or self._still(signed.id)):
            return None
        return Principal(signed.id, signed.name, frozenset(signed.scopes), by_cookie=True, subject=signed.subject)

    def _mac(self, body: str) -> str:
        return hmac.new(self._key, b"sluice-session/1 " + body.encode(errors="replace"), sha256).hexdigest()


def value_of(header: str, name: str) -> str:
    """The value of one cookie; an empty text where there is none."""
    try:
        cookie = SimpleCookie(header)
    except CookieError:
        return ""
    return cookie[name].value if name in cookie else ""


def session_key(path: Path) -> bytes:
    """The key of a file, which is made where it is missing, for its owner alone.

    Raises:
        UsageError: it holds no key, or none can be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            number = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o600)
        except FileExistsError:
            with open_plain(path) as file:
                key = file.read(MOST_BYTES)
        else:
            key = secrets.token_bytes(KEY_BYTES)
            with os.fdopen(number, "wb") as file:
                file.write(key)
    except OSError as error:
        raise UsageError(f"the key of sessions cannot be had: {error.strerror}", path=str(path)) from None
    if len(key) < KEY_BYTES:
        raise UsageError("this is no key of sessions", path=str(path), expected=f"at least {KEY_BYTES} random bytes")
    return key
