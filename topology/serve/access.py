"""Which requests are allowed: principals, scopes, origins. Pure: facts of a request in, a refusal or none out.

The order is the gate's (gate.py): the Host is ours; a browser's Origin is ours; the client is known; it stays within
the rate; the body is small. Each route asks for the scope that it needs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple, get_args

from ..mcp.door import LOOPBACK, Door, without_port

Scope = Literal["emit", "read", "review", "admin"]
SCOPES: Final[tuple[str, ...]] = get_args(Scope)
UNSAFE: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})
OPEN: Final = ("/healthz", "/readyz", "/metrics", "/openapi.json", "/static/", "/sign-in", "/sign-in/", "/sign-out")
"""Paths that say nothing of what is on the topics: every client that reaches the service may ask for them."""

HEALTH: Final = "/healthz"
"""Says that the process lives, and costs nothing."""
PROBES: Final = (HEALTH, "/readyz", "/metrics")
"""Asked by orchestrators and scrapers, which know a replica by its address alone: under whatever Host."""


class Principal(NamedTuple):
    """Who asks.

    Attributes:
        id: of the token, or the subject of a person: what limits are kept by, and what a review is signed with.
        name: for people.
        scopes: what it may do.
        by_cookie: it was signed in by a browser's cookie, which a foreign page could make the browser send.
        subject: of a person, as the identity provider has it; empty for tokens.
    """

    id: str
    name: str
    scopes: frozenset[str]
    by_cookie: bool = False
    subject: str = ""

    def may(self, scope: Scope) -> bool:
        """Whether it has a scope; `admin` has all."""
        return scope in self.scopes or "admin" in self.scopes


LOCAL: Final = Principal("local", "local", frozenset(SCOPES))
"""Every client on this machine, where no file of tokens is named."""


class Misdirected(NamedTuple):
    """A request that is for somebody else, or from a page that may not ask."""

    status: int
    why: str
    counted_as: str


def is_secure(door: Door) -> bool:
    """Whether browsers reach us over TLS: ours, or that of a proxy whose https Origin is allowed."""
    return door.certificate is not None or any(one.lower().startswith("https://") for one in door.allowed_origins)


class Places:
    """Which hosts and origins are ours.

    Args:
        door: its `allowed_hosts` and `allowed_origins` besides loopback.
    """

    def __init__(self, door: Door) -> None:
        self._hosts = {host.lower() for host in (*LOOPBACK, *door.allowed_hosts)}
        self._origins = {origin.lower() for origin in door.allowed_origins}
        self._scheme = "https" if door.certificate else "http"

    def misdirected(self, method: str, headers: Mapping[str, str], *, by_cookie: bool = False) -> Misdirected | None:
        """Why a request may not be answered; None where it may.

        Args:
            method: of HTTP.
            headers: by lower-case name.
            by_cookie: it comes with a cookie: what changes something needs an Origin then.
        """
        host = headers.get("host", "").lower()
        if host not in self._hosts and without_port(host) not in self._hosts:
            return Misdirected(421, "this is not the host that was asked for", "host")
        origin = headers.get("origin", "").lower()
        if origin:
            if origin in self._origins or origin == f"{self._scheme}://{host}":
                return None
            return Misdirected(403, "this origin may not ask", "origin")
        if method in UNSAFE:
            site = headers.get("sec-fetch-site", "")
            if site not in ("", "same-origin", "none") or (by_cookie and site != "same-origin"):
                return Misdirected(403, "this origin may not ask", "origin")
        return None


def is_open(path: str) -> bool:
    """Whether a path is answered to whoever asks."""
    return any(path == one or (one.endswith("/") and path.startswith(one)) for one in OPEN)


def bearer_of(headers: Mapping[str, str]) -> str:
    """The bearer token of a request; an empty text without one."""
    scheme, _, presented = headers.get("authorization", "").partition(" ")
    return presented.strip() if scheme.lower() == "bearer" else ""


def scopes_of(listed: Sequence[str]) -> frozenset[str]:
    """Those scopes of a token that are the service's."""
    return frozenset(listed) & frozenset(SCOPES)
