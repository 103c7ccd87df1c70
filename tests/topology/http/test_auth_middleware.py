"""Who may ask: hosts, origins and scopes, by facts alone."""

import pytest

from sluice.topology.http.auth_middleware import LOCAL, AllowedOrigins, Principal, Quota, is_open, scopes_of
from sluice.topology.http.http_server import ListenConfig

OURS = AllowedOrigins(ListenConfig(allowed_hosts=["sluice.example"], allowed_origins=["https://sluice.example"]))


@pytest.mark.parametrize(
    ("method", "headers", "status"),
    [
        ("GET", {"host": "localhost:8720"}, None),
        ("GET", {"host": "sluice.example"}, None),
        ("GET", {"host": "evil.example"}, 421),
        ("GET", {}, 421),
        ("POST", {"host": "localhost:8720"}, None),  # no browser: no Origin
        ("POST", {"host": "localhost:8720", "origin": "http://localhost:8720"}, None),
        ("POST", {"host": "sluice.example", "origin": "https://sluice.example"}, None),
        ("POST", {"host": "sluice.example", "origin": "http://evil.example"}, 403),
        ("POST", {"host": "localhost:8720", "origin": "http://localhost:9999"}, 403),  # another service of this machine
        ("POST", {"host": "localhost:8720", "origin": "http://localhost:8720.evil.example"}, 403),
        ("POST", {"host": "localhost:8720", "origin": "null"}, 403),
        ("GET", {"host": "localhost:8720", "origin": "null"}, 403),
        ("POST", {"host": "localhost:8720", "sec-fetch-site": "cross-site"}, 403),
        ("POST", {"host": "localhost:8720", "sec-fetch-site": "same-site"}, 403),
    ],
)
def test_a_request_is_for_us_and_from_a_page_of_ours(method, headers, status):
    """A Host that is not ours is DNS rebinding; an Origin that is not ours a forged request."""
    found = OURS.misdirected(method, headers)

    assert (found.status if found else None) == status


def test_a_cookie_changes_nothing_without_an_origin():
    """A foreign page makes a browser send the cookie; what it cannot send is our Origin."""
    headers = {"host": "localhost:8720"}

    assert OURS.misdirected("POST", headers, by_cookie=True).status == 403
    assert OURS.misdirected("GET", headers, by_cookie=True) is None
    assert OURS.misdirected("POST", {**headers, "sec-fetch-site": "same-origin"}, by_cookie=True) is None


def test_a_principal_may_what_its_scopes_say():
    """`admin` may everything; scopes of the adapter are none here."""
    emitter = Principal("1", "app", scopes_of(["emit", "ground"]))

    assert emitter.may("emit")
    assert not emitter.may("read")
    assert emitter.scopes == {"emit"}
    assert LOCAL.may("review")
    assert Principal("2", "root", scopes_of(["admin"])).may("review")


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics", "/openapi.json", "/static/console.css"])
def test_what_says_nothing_of_the_topics_is_open(path):
    assert is_open(path)
    assert not is_open("/v1" + path)


def test_nobody_takes_more_than_their_own():
    shares = Quota(10, 4)

    assert shares.take("a", 4)
    assert not shares.take("a")
    assert shares.take("b", 4)
    assert not shares.take("c", 3)
    assert shares.take("c", 2)
    assert shares.taken == 10


def test_what_is_given_back_can_be_taken():
    shares = Quota(10, 4)
    shares.take("a", 4)
    shares.give("a", 4)
    shares.take("b", 0)

    assert shares.taken == 0
    assert shares._held == {}
    assert shares.take("a", 4)
