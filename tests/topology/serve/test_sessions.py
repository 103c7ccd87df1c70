"""Who is signed in: a cookie that nobody else can make, and that ends."""

import pytest

from sluice.codecs.errors import UsageError
from sluice.topology.http.auth_middleware import Principal
from sluice.topology.http.sign_in import COOKIE, Sessions, session_key

WHO = Principal("abc", "desk", frozenset({"read", "review"}))


def test_a_cookie_signs_in_whom_it_was_made_for():
    """At any replica with the same key."""
    value = Sessions(b"k" * 32, lambda: 0).cookie(WHO)

    assert Sessions(b"k" * 32, lambda: 1).of(f"x=y; {COOKIE}={value}") == WHO._replace(by_cookie=True)


@pytest.mark.parametrize(
    "change", [lambda v: v[:-1] + "0g"[v[-1] == "0"], lambda v: "A" + v, lambda v: "", lambda v: "."]
)
def test_a_changed_cookie_signs_nobody_in(change):
    """Nor one of another key."""
    sessions = Sessions(b"k" * 32, lambda: 0)
    value = sessions.cookie(WHO)

    assert sessions.of(f"{COOKIE}={change(value)}") is None
    assert Sessions(b"l" * 32, lambda: 0).of(f"{COOKIE}={value}") is None


def test_a_session_ends_with_its_hours_and_with_its_token():
    """A revoked token takes its sessions along."""
    now = [0]
    valid = {"abc"}
    sessions = Sessions(b"k" * 32, lambda: now[0], valid.__contains__)
    header = f"{COOKIE}={sessions.cookie(WHO)}"

    assert sessions.of(header) is not None
    valid.clear()
    assert sessions.of(header) is None
    valid.add("abc")
    now[0] = 8 * 3_600_000
    assert sessions.of(header) is None


def test_the_key_is_made_once_for_its_owner(tmp_path):
    """A file that is too short is no key."""
    path = tmp_path / "state" / "session.key"

    key = session_key(path)

    assert session_key(path) == key
    assert path.stat().st_mode & 0o777 == 0o600
    path.write_bytes(b"short")
    with pytest.raises(UsageError, match="no key of sessions"):
        session_key(path)
