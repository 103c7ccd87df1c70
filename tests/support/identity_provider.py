"""A small identity provider on loopback: OpenID Connect's code flow with PKCE, and whatever it is told to do."""

from __future__ import annotations

import secrets
from base64 import b64decode
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlencode

import uvicorn
from authlib.oauth2.rfc7636 import create_s256_code_challenge
from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route


class IdentityProvider:
    """Everybody who comes is signed in as `claims` say.

    Attributes:
        url: the issuer.
        now: the time in Unix seconds.
        claims: of whoever comes; they change what an ID token has otherwise.
        metadata: changes what discovery tells.
        query: changes what the browser comes back with.
        status: of every answer; 200 while all is well.
        asked: the paths that were asked for.
        signs: makes an ID token of claims.
    """

    def __init__(self, client_id: str = "sluice", secret: str = "s:cret/") -> None:
        self.client_id, self.secret = client_id, secret
        self.url, self.status, self.asked = "", 200, list[str]()
        self.now: Callable[[], float] = lambda: 0.0
        self.claims: dict[str, Any] = {}
        self.metadata: dict[str, Any] = {}
        self.query: dict[str, str] = {}
        self.key = RSAKey.generate_key(2048, {"kid": "one", "use": "sig", "alg": "RS256"})
        self.signs: Callable[[dict[str, Any]], str] = lambda claims: jwt.encode(
            {"alg": "RS256", "kid": self.key.kid}, claims, self.key
        )
        self._codes: dict[str, dict[str, str]] = {}

    async def discovery(self, _: Request) -> Response:
        """Where everything is."""
        found = {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "jwks_uri": f"{self.url}/keys",
        }
        return JSONResponse({**found, **self.metadata})

    async def keys(self, _: Request) -> Response:
        """The public ones."""
        return JSONResponse(KeySet([self.key]).as_dict(private=False))

    async def authorize(self, request: Request) -> Response:
        """Sends the browser back with a code."""
        asked = dict(request.query_params)
        assert asked["client_id"] == self.client_id
        assert (asked["response_type"], asked["code_challenge_method"]) == ("code", "S256")
        code = secrets.token_urlsafe(8)
        self._codes[code] = asked
        back = {"code": code, "state": asked["state"], "iss": self.url, **self.query}
        return RedirectResponse(asked["redirect_uri"] + "?" + urlencode(back), 303)

    async def token(self, request: Request) -> Response:
        """Gives an ID token for a code, once, to whoever has the verifier and our secret."""
        form = await request.form()
        asked = self._codes.pop(str(form["code"]), None)
        basic = b64decode(request.headers.get("authorization", "").removeprefix("Basic ")).decode()
        if asked is None or basic != f"{self.client_id}:s%3Acret%2F":
            return JSONResponse({"error": "invalid_grant"}, 400)
        if create_s256_code_challenge(str(form["code_verifier"])) != asked["code_challenge"]:
            return JSONResponse({"error": "invalid_grant"}, 400)
        if form["redirect_uri"] != asked["redirect_uri"]:
            return JSONResponse({"error": "invalid_grant"}, 400)
        now = int(self.now())
        claims = {
            "iss": self.url,
            "sub": "ada",
            "aud": self.client_id,
            "iat": now,
            "exp": now + 300,
            "nonce": asked["nonce"],
            **self.claims,
        }
        token = self.signs({name: value for name, value in claims.items() if value is not None})
        return JSONResponse({"access_token": "opaque", "token_type": "Bearer", "id_token": token})

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """ASGI."""
        if scope["type"] == "http":
            self.asked.append(scope["path"])
            if self.status != 200:
                await Response("no", self.status, {"location": "/elsewhere"})(scope, receive, send)
                return
        await self._inside(scope, receive, send)

    @property
    def _inside(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/.well-known/openid-configuration", self.discovery),
                Route("/keys", self.keys),
                Route("/authorize", self.authorize),
                Route("/token", self.token, methods=["POST"]),
            ]
        )


@asynccontextmanager
async def providing(provider: IdentityProvider) -> AsyncIterator[IdentityProvider]:
    """The provider at a free port of loopback."""
    config = uvicorn.Config(provider, port=0, lifespan="off", log_config=None, ws="none")
    config.load()
    server = uvicorn.Server(config)
    server.lifespan = config.lifespan_class(config)
    await server.startup()
    port = server.servers[0].sockets[0].getsockname()[1]
    provider.url = f"http://127.0.0.1:{port}"
    try:
        yield provider
    finally:
        await server.shutdown()
