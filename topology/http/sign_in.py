"""How people sign in at the console: the session's cookie, and OpenID Connect at an identity provider (OIDC Core 1.0).

A session is a cookie with a MAC of the service's: a replica knows what another one has signed in, since they share the
key, and keep nothing.

The code flow goes with PKCE, state and nonce; what a sign-in has to remember until the browser
comes back stands in such a cookie too. The provider is the one that the operator names: its metadata and keys are
fetched from it alone, without following redirects, in little time and of little size. An ID token counts where a key of
the provider has signed it by an algorithm with public keys, for us, for this sign-in, and it has not ended. The rules
of the operator say what its claims allow.
"""

from __future__ import annotations

import asyncio
import hmac
import os
import secrets
from base64 import b64encode, urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import Any, Final, NamedTuple, cast
from urllib.parse import quote, urlsplit

import httpx2
import msgspec
import structlog
from authlib.oauth2 import rfc7636
from authlib.oauth2.rfc6749 import parameters
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from ...codecs.errors import UsageError
from ..settings.files import open_plain
from .auth_middleware import SCOPES, Principal
from .http_server import is_loopback

ANYBODY = "*"


class Rule(NamedTuple):
    """What a person with this value in this claim may do.

    `claim` is a name such as `groups`; dots go into objects (`realm_access.roles`). `value` is of the claim, or one of
    its list; `*` for any.
    """

    claim: str
    value: str
    scopes: frozenset[str]


def parse_rule(text: str) -> Rule:
    """A rule as it is written: `CLAIM=VALUE:SCOPE[,SCOPE…]`.

    Raises:
        UsageError: it is none.
    """
    left, colon, right = text.rpartition(":")
    claim, equals, value = left.partition("=")
    scopes = frozenset(right.split(","))
    if not (colon and equals and claim and value) or not scopes <= frozenset(SCOPES):
        raise UsageError(
            "this is no rule",
            path="--oidc-allow",
            expected=f"CLAIM=VALUE:SCOPE[,SCOPE], each scope of {', '.join(SCOPES)}",
            got=text,
        )
    return Rule(claim, value, scopes)


def scopes_allowed(rules: Sequence[Rule], claims: Mapping[str, Any]) -> frozenset[str]:
    """All that the rules give for these claims."""
    found: frozenset[str] = frozenset()
    for rule in rules:
        values = _values(claims, rule.claim)
        if (rule.value == ANYBODY and values) or rule.value in values:
            found |= rule.scopes
    return found


def _values(claims: Mapping[str, Any], name: str) -> list[str]:
    """The texts of a claim; a boolean as JSON writes it."""
    value: object = claims.get(name)
    if value is None:
        value = claims
        for part in name.split("."):
            value = cast("Mapping[str, object]", value).get(part) if isinstance(value, Mapping) else None
    listed = cast("list[object]", value) if isinstance(value, list) else [value]
    return [text if isinstance(text, str) else str(text).lower() for text in listed if isinstance(text, str | bool)]


COOKIE: Final = "sluice-session"
SESSION_HOURS: Final = 8
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
    """Text that a browser keeps and cannot change: its bytes, and a MAC with a key of 32 bytes over them.

    A seal of another purpose is none.
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
        until = self._now() + SESSION_HOURS * 3_600_000
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


CALLBACK: Final = "/sign-in/callback"
SIGN_IN_SECONDS: Final = 600
"""So long a sign-in may take, from our page back to it."""
LEEWAY_SECONDS: Final = 60
"""By which the provider's clock may differ."""
PROVIDER_SECONDS: Final = 10.0
MAX_ANSWER: Final = 300_000
"""Bytes of what the provider answers."""
KEPT_SECONDS: Final = 3600.0
"""So long its metadata and keys are kept."""
AGAIN_SECONDS: Final = 30.0
"""So often at the most its keys are fetched anew for a key that is not known."""
REST_SECONDS: Final = 3.0
"""So long a provider that did not answer is not asked again."""
PROVIDER_REQUESTS: Final = 8
ALGORITHMS: Final = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "EdDSA", "Ed25519"),
)
"""With public keys. A symmetric one, or none, would let a client that knows the client's secret sign, or any client."""

_PLAIN: Final = {"accept": "application/json", "accept-encoding": "identity"}

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


_grant_uri = cast("Callable[..., str]", parameters.prepare_grant_uri)
_code_challenge = cast("Callable[[str], str]", rfc7636.create_s256_code_challenge)


class Provider(NamedTuple):
    """The identity provider as the operator names it.

    Attributes:
        issuer: its URL, as its tokens have it.
        client_id, client_secret: ours; a public client has no secret.
        public_url: of this service, as browsers reach it.
        rules: which claims allow what.
        asked: the scopes that the provider is asked for.
    """

    issuer: str
    client_id: str
    client_secret: str
    public_url: str
    rules: Sequence[Rule]
    asked: str = "openid profile email"

    def check(self) -> None:
        """
        Raises:
            UsageError: a URL is none, or goes in clear over a network; nobody could be allowed anything.
        """
        for path, url in (("--oidc-issuer", self.issuer), ("--public-url", self.public_url)):
            if not is_safe(url):
                raise UsageError(
                    "no URL that is safe", path=path, expected="https://…, or http:// on loopback", got=url
                )
        if not self.client_id:
            raise UsageError("the provider has to know us", path="--oidc-client-id", expected="the client's id")
        if not self.rules:
            raise UsageError(
                "whoever signs in could do nothing", path="--oidc-allow", hint="such as groups=reviewers:read,review"
            )

    @property
    def redirect(self) -> str:
        """Where the provider sends browsers back to."""
        return self.public_url.rstrip("/") + CALLBACK

    @property
    def realm(self) -> str:
        """Names the provider and its rules: a session of other ones is none."""
        rules = sorted(f"{one.claim}={one.value}:{','.join(sorted(one.scopes))}" for one in self.rules)
        return "\n".join([self.issuer, self.client_id, *rules])


class Begun(NamedTuple):
    """A sign-in that goes to the provider: the URL there, and the cookie's value, which the browser brings back."""

    url: str
    kept: str


class SignInError(Exception):
    """No person was signed in; `str()` says why in one sentence, for the person; `status` is of HTTP."""

    def __init__(self, why: str, status: int = 403) -> None:
        super().__init__(why)
        self.status = status


AWAY: Final = "The identity provider does not answer: try again in a moment."


class _Remembered(msgspec.Struct, frozen=True, array_like=True):
    """What a sign-in has to know when the browser comes back; `until` is Unix ms."""

    state: str
    nonce: str
    verifier: str
    until: int


class OidcClient:
    """Signs people in at one provider; `seal` is the service's MAC, `now` gives Unix ms."""

    def __init__(self, provider: Provider, seal: Seal, now: Callable[[], int]) -> None:
        self.provider = provider
        self._seal, self._now = seal, now
        self._metadata: tuple[float, dict[str, Any]] | None = None
        self._keys: tuple[float, KeySet] | None = None
        self._away_until = 0.0
        self._turn, self._room = asyncio.Lock(), asyncio.Semaphore(PROVIDER_REQUESTS)

    async def begin(self) -> Begun:
        """Sends a browser to the provider.

        Raises:
            SignInError: the provider is away.
        """
        metadata = await self._known()
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        url = _grant_uri(
            metadata["authorization_endpoint"],
            self.provider.client_id,
            "code",
            redirect_uri=self.provider.redirect,
            scope=self.provider.asked,
            state=state,
            nonce=nonce,
            code_challenge=_code_challenge(verifier),
            code_challenge_method="S256",
        )
        kept = msgspec.json.encode(_Remembered(state, nonce, verifier, self._now() + 1000 * SIGN_IN_SECONDS))
        return Begun(url, self._seal.sealed(kept))

    async def end(self, kept: str, query: Mapping[str, str]) -> Principal:
        """The person who comes back from the provider with this query; `kept` is the cookie's value.

        Raises:
            SignInError: nobody is signed in.
        """
        remembered = self._remembered(kept)
        if remembered is None or not hmac.compare_digest(query.get("state", "").encode(), remembered.state.encode()):
            raise SignInError("This sign-in was not begun here, or took too long: begin again.")
        if query.get("iss", self.provider.issuer) != self.provider.issuer:
            raise SignInError("This answer is of another identity provider: begin again.")
        if error := query.get("error", ""):
            raise SignInError(f"The identity provider did not sign you in ({error[:80]}).")
        code = query.get("code", "")
        if not code or len(code) > 4096:
            raise SignInError("The identity provider answered without a code: begin again.")
        claims = await self._claims(code, remembered)
        subject, name = claims["sub"], claims.get("name") or claims.get("preferred_username") or claims.get("email")
        scopes = scopes_allowed(self.provider.rules, claims)
        if not scopes:
            raise SignInError("You are known, and no rule of this service allows you anything: ask whoever runs it.")
        shown = name if isinstance(name, str) else subject
        return Principal(f"oidc:{subject}", shown[:80], scopes, by_cookie=True, subject=subject)

    def _remembered(self, kept: str) -> _Remembered | None:
        body = self._seal.opened(kept)
        if body is None:
            return None
        try:
            found = msgspec.json.decode(body, type=_Remembered)
        except msgspec.MsgspecError:
            return None
        return found if self._now() < found.until else None

    async def _claims(self, code: str, remembered: _Remembered) -> Mapping[str, Any]:
        metadata = await self._known()
        answer = await self._token(metadata, code, remembered.verifier)
        text: Any = answer.get("id_token")
        if not isinstance(text, str):
            raise SignInError("The identity provider gave no ID token: begin again.")
        try:
            token = await self._verified(text)
            claims = CodeIDToken(
                token.claims,
                token.header,
                {
                    "iss": {"essential": True, "value": self.provider.issuer},
                    "aud": {"essential": True, "value": self.provider.client_id},
                },
                {
                    "nonce": remembered.nonce,
                    "client_id": self.provider.client_id,
                    "access_token": answer.get("access_token"),
                },
            )
            claims.validate(self._now() / 1000, LEEWAY_SECONDS)
        except (JoseError, ValueError, TypeError, KeyError) as error:
            log.warning("an ID token does not count", why=type(error).__name__, claim=str(error)[:80])
            raise SignInError("The identity provider's answer does not count: begin again.") from None
        subject: Any = claims.get("sub")
        if not isinstance(subject, str) or not 0 < len(subject) <= 255:
            raise SignInError("The identity provider's answer names nobody: begin again.")
        return claims

    async def _verified(self, text: str) -> jwt.Token:
        """The token, whose signature is of one of the provider's keys."""
        try:
            return jwt.decode(text, await self._keys_of(KEPT_SECONDS), algorithms=ALGORITHMS)
        except (JoseError, ValueError):
            # The provider may have changed its keys.
            return jwt.decode(text, await self._keys_of(AGAIN_SECONDS), algorithms=ALGORITHMS)

    # ------------------------------------------------------------ the provider

    async def _known(self) -> dict[str, Any]:
        """Its metadata (OpenID Connect Discovery 1.0)."""
        async with self._turn:
            clock = asyncio.get_running_loop().time()
            if self._metadata is not None and clock < self._metadata[0]:
                return self._metadata[1]
            if clock < self._away_until:
                raise SignInError(AWAY, 503)
            self._away_until = clock + REST_SECONDS  # unless it answers
            url = self.provider.issuer.rstrip("/") + "/.well-known/openid-configuration"
            found = await self._asked("GET", url)
            if found.get("issuer") != self.provider.issuer:
                log.error("the metadata are of another issuer", got=str(found.get("issuer"))[:200])
                raise SignInError(AWAY, 503)
            for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
                if not isinstance(found.get(name), str) or not is_safe(found[name], like=self.provider.issuer):
                    log.error("the metadata name no safe URL", member=name, got=str(found.get(name))[:200])
                    raise SignInError(AWAY, 503)
            self._metadata, self._away_until = (clock + KEPT_SECONDS, found), 0.0
            return found

    async def _keys_of(self, seconds: float) -> KeySet:
        """Its keys, not older than this."""
        metadata = await self._known()
        async with self._turn:
            clock = asyncio.get_running_loop().time()
            if self._keys is None or clock - self._keys[0] > seconds:
                found = await self._asked("GET", metadata["jwks_uri"])
                self._keys = clock, KeySet.import_key_set({"keys": [one for one in found["keys"] if _signs(one)]})
            return self._keys[1]

    async def _token(self, metadata: Mapping[str, Any], code: str, verifier: str) -> dict[str, Any]:
        """What the code is worth (RFC 6749, section 4.1.3; RFC 7636)."""
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self.provider.redirect,
            "code_verifier": verifier,
        }
        headers: dict[str, str] = {}
        client, secret = self.provider.client_id, self.provider.client_secret
        methods: Any = metadata.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
        if not secret:
            form["client_id"] = client
        elif "client_secret_basic" in methods:
            pair = f"{quote(client, safe='')}:{quote(secret, safe='')}".encode()
            headers["authorization"] = "Basic " + b64encode(pair).decode()
        else:
            form |= {"client_id": client, "client_secret": secret}
        return await self._asked("POST", metadata["token_endpoint"], data=form, headers=headers)

    async def _asked(self, method: str, url: str, **more: Any) -> dict[str, Any]:
        """The JSON object that an address of the provider answers.

        Raises:
            SignInError: it is away, or refuses.
        """
        body = bytearray()
        try:
            async with (
                self._room,
                asyncio.timeout(PROVIDER_SECONDS),
                httpx2.AsyncClient(follow_redirects=False, timeout=PROVIDER_SECONDS, headers=_PLAIN) as client,
                client.stream(method, url, **more) as answer,
            ):
                async for piece in answer.aiter_bytes():
                    body += piece
                    if len(body) > MAX_ANSWER:
                        raise ValueError("the answer is too large")
                status = answer.status_code
            found = msgspec.json.decode(body, type=dict[str, Any])
        except (httpx2.HTTPError, httpx2.InvalidURL, TimeoutError, OSError, ValueError, msgspec.MsgspecError) as error:
            log.warning("the identity provider does not answer", url=url, why=str(error)[:200] or type(error).__name__)
            raise SignInError(AWAY, 503) from None
        if status != 200:
            log.warning("the identity provider refuses", url=url, status=status, error=str(found.get("error"))[:80])
            if method == "POST" and status < 500:
                raise SignInError("The identity provider does not take this sign-in: begin again.")
            raise SignInError(AWAY, 503)
        return found


def is_safe(url: str, like: str = "") -> bool:
    """Returns whether secrets may go to a URL: over TLS, or to this machine.

    Of an address that an issuer names (`like`), the latter counts only where the issuer is on this machine.
    """
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        _ = parts.port
    except ValueError:
        return False
    if not host or parts.username is not None or parts.fragment or not url.isascii() or (parts.query and not like):
        return False
    if parts.scheme == "https":
        return True
    return parts.scheme == "http" and is_loopback(host) and (not like or like.startswith("http://"))


def _signs(key: object) -> bool:
    """Returns whether a key of the provider's may sign tokens: public, and not for encryption."""
    members = cast("dict[str, object]", key) if isinstance(key, dict) else {}
    return members.get("kty") in ("RSA", "EC", "OKP") and members.get("use", "sig") == "sig"
