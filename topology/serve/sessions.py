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


SIGN_IN_COOKIE: Final = "sluice-sign-in"
"""What a sign-in at an identity provider has to remember; a Lax one, which comes back with the browser."""


def name_of(cookie: str, *, is_secure: bool) -> str:
    """The name of a cookie. With `__Host-` a browser takes it from this very host over TLS alone: no other service
    below the same domain can put one of its own in its place.
    """
    return f"__Host-{cookie}" if is_secure else cookie


class Seal:
    """Text that a browser keeps and cannot change: its bytes, and a MAC over them.

    Args:
        key: of the MAC, 32 bytes.
        purpose: what is sealed; a seal of another purpose is none.
    """

    def __init__(self, key: bytes, purpose: str) -> None:
        self._key, self._purpose = key, purpose.encode() + b" "

    def sealed(self, body: bytes) -> str:
        """The text."""
        text = urlsafe_b64encode(body).decode().rstrip("=")
        return f"{text}.{self._mac(text)}"

    def opened(self, sealed: str) -> bytes | None:
        """The bytes; None where we did not seal them."""
        text, _, mac = sealed.partition(".")
        if not hmac.compare_digest(mac.encode(errors="replace"), self._mac(text).encode()):
            return None
        try:
            return urlsafe_b64decode(text + "=" * (-len(text) % 4))
        except ValueError:
            return None

    def _mac(self, text: str) -> str:
        return hmac.new(self._key, self._purpose + text.encode(errors="replace"), sha256).hexdigest()


class _Signed(msgspec.Struct, frozen=True, array_like=True):
    id: str
    name: str
    scopes: list[str]
    subject: str
    until: int
    realm: str = ""


class Sessions:
    """Makes and reads cookies.

    Args:
        key: of the MAC, 32 bytes.
        now: Unix ms.
        still: whether a token is still valid, by its id; sessions of people have none.
        realm: of the identity provider and its rules: a session of a person counts in it alone; empty: nobody's does.
        is_secure: browsers reach us over TLS.
    """

    def __init__(
        self,
        key: bytes,
        now: Callable[[], int],
        still: Callable[[str], bool] = lambda _id: True,
        realm: str = "",
        *,
        is_secure: bool = False,
    ) -> None:
        self._seal, self._now, self._still = Seal(key, "sluice-session/1"), now, still
        self._realm = sha256(realm.encode()).hexdigest() if realm else ""
        self.is_secure = is_secure
        self.name = name_of(COOKIE, is_secure=is_secure)

    def cookie(self, principal: Principal) -> str:
        """The cookie's value."""
        until = self._now() + HOURS * 3_600_000
        scopes, realm = sorted(principal.scopes), self._realm if principal.subject else ""
        signed = _Signed(principal.id, principal.name, scopes, principal.subject, until, realm)
        return self._seal.sealed(msgspec.json.encode(signed))

    def of(self, header: str) -> Principal | None:
        """Who a request's Cookie header signs in; None where nobody."""
        body = self._seal.opened(value_of(header, self.name))
        if body is None:
            return None
        try:
            signed = msgspec.json.decode(body, type=_Signed)
        except (msgspec.MsgspecError, ValueError):
            return None
        if self._now() >= signed.until or not self._still_in(signed):
            return None
        return Principal(signed.id, signed.name, frozenset(signed.scopes), by_cookie=True, subject=signed.subject)

    def _still_in(self, signed: _Signed) -> bool:
        """Whether what signed somebody in still would."""
        if not signed.subject:
            return self._still(signed.id)
        return bool(self._realm) and signed.realm == self._realm


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
        if not path.exists():
            _make(path)
        with open_plain(path) as file:
            key = file.read(MOST_BYTES)
    except OSError as error:
        raise UsageError(f"the key of sessions cannot be had: {error.strerror}", path=str(path)) from None
    if len(key) < KEY_BYTES:
        raise UsageError("this is no key of sessions", path=str(path), expected=f"at least {KEY_BYTES} random bytes")
    return key


def _make(path: Path) -> None:
    """Writes a new key; another process's stays, if it was faster."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    with os.fdopen(os.open(fresh, os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o600), "wb") as file:
        file.write(secrets.token_bytes(KEY_BYTES))
    try:
        os.link(fresh, path)  # whole at once, and never over one that is there
    except FileExistsError:
        pass
    finally:
        fresh.unlink()
