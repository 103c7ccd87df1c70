"""People who sign in at an identity provider: OpenID Connect's code flow, with PKCE, state and nonce (OIDC Core 1.0).

What a sign-in has to remember until the browser comes back stands in a cookie with a MAC of the service's, so that any
replica can end what another began. The provider is the one that the operator names: its metadata and keys are fetched
from it alone, without following redirects, in little time and of little size. An ID token counts where a key of the
provider has signed it by an algorithm with public keys, for us, for this sign-in, and it has not ended.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import secrets
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple
from urllib.parse import quote, urlsplit

import httpx2
import msgspec
import structlog
from authlib.oauth2.rfc6749.parameters import prepare_grant_uri
from authlib.oauth2.rfc7636 import create_s256_code_challenge
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from ...codecs.errors import UsageError
from .access import Principal
from .scope_rules import Rule, scopes_allowed
from .sessions import Seal

CALLBACK: Final = "/sign-in/callback"
SECONDS: Final = 600
"""So long a sign-in may take, from our page back to it."""
LEEWAY_SECONDS: Final = 60
"""By which the provider's clock may differ."""
PATIENCE_SECONDS: Final = 10.0
MAX_ANSWER: Final = 300_000
"""Bytes of what the provider answers."""
KEPT_SECONDS: Final = 3600.0
"""So long its metadata and keys are kept."""
AGAIN_SECONDS: Final = 30.0
"""So often at the most its keys are fetched anew for a key that is not known."""
REST_SECONDS: Final = 3.0
"""So long a provider that did not answer is not asked again."""
AT_ONCE: Final = 8
ALGORITHMS: Final = (
    "RS256",
    "RS384",
    "RS512",
    "PS256",
    "PS384",
    "PS512",
    "ES256",
    "ES384",
    "ES512",
    "EdDSA",
    "Ed25519",
)
"""With public keys. A symmetric one, or none, would let whoever knows the client's secret, or nobody, sign."""

_PLAIN: Final = {"accept": "application/json", "accept-encoding": "identity"}

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


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
    """A sign-in that goes to the provider.

    Attributes:
        url: there.
        kept: the cookie's value, which the browser brings back.
    """

    url: str
    kept: str


class SignInError(Exception):
    """Nobody was signed in; `str()` says why in one sentence, for the person.

    Attributes:
        status: of HTTP.
    """

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


class People:
    """Signs people in at one provider.

    Args:
        provider: as the operator names it.
        seal: the service's MAC.
        now: Unix ms.
    """

    def __init__(self, provider: Provider, seal: Seal, now: Callable[[], int]) -> None:
        self.provider = provider
        self._seal, self._now = seal, now
        self._metadata: tuple[float, dict[str, Any]] | None = None
        self._keys: tuple[float, KeySet] | None = None
        self._away_until = 0.0
        self._turn, self._room = asyncio.Lock(), asyncio.Semaphore(AT_ONCE)

    async def begin(self) -> Begun:
        """Sends a browser to the provider.

        Raises:
            SignInError: the provider is away.
        """
        metadata = await self._known()
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        url = prepare_grant_uri(
            metadata["authorization_endpoint"],
            self.provider.client_id,
            "code",
            redirect_uri=self.provider.redirect,
            scope=self.provider.asked,
            state=state,
            nonce=nonce,
            code_challenge=create_s256_code_challenge(verifier),
            code_challenge_method="S256",
        )
        kept = msgspec.json.encode(_Remembered(state, nonce, verifier, self._now() + 1000 * SECONDS))
        return Begun(url, self._seal.sealed(kept))

    async def end(self, kept: str, query: Mapping[str, str]) -> Principal:
        """Who comes back from the provider.

        Args:
            kept: the cookie's value.
            query: of the request.

        Raises:
            SignInError: nobody.
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
                asyncio.timeout(PATIENCE_SECONDS),
                httpx2.AsyncClient(follow_redirects=False, timeout=PATIENCE_SECONDS, headers=_PLAIN) as client,
                client.stream(method, url, **more) as answer,
            ):
                async for piece in answer.aiter_bytes():
                    body += piece
                    if len(body) > MAX_ANSWER:
                        raise ValueError("the answer is too large")
                status = answer.status_code
            found = msgspec.json.decode(body)
            if not isinstance(found, dict):
                raise ValueError("the answer is no JSON object")
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
    """Whether secrets may go to a URL: over TLS, or to this machine; the latter from an issuer there only.

    Args:
        url: what is looked at.
        like: the issuer; empty: none.
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
    return parts.scheme == "http" and _is_loopback(host) and (not like or like.startswith("http://"))


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _signs(key: Any) -> bool:
    """Whether a key of the provider's may sign tokens: public, and not for encryption."""
    return isinstance(key, dict) and key.get("kty") in ("RSA", "EC", "OKP") and key.get("use", "sig") == "sig"
