"""What looks like an identifier of an end-user, by its form alone [S §12]."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.streams.policy.keys import KINDS, looks_like, problem_of

ALL = tuple(KINDS)
ADDRESSES = ["alice@example.com", "a.b-c_d~e@mail.example.co.uk", "user%40example.com", "to:alice@example.com/x"]
ADDRESSES += ["alice=x@163.com", "bob@xn--bcher-kva.example", "a+tag@example.org", "mailto:a@b.cd"]
PHONES = ["+14155550123", "tel:+44-20-7946-0958", "+49.30.901820"]
UUIDS = ["f81d4fae-7dec-11d0-a765-00a0c91e6bf6", "user:F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6"]
SYSTEMS = [
    *("release-notes-bot", "gpt-5.1", "claude-sonnet@20250219", "tool@1.2.0", "model@v2.beta", "org/repo@main"),
    *("git@github.com:org/prompts.git", "git+ssh://git@github.com/org/repo", "pkg@sha256:0f1e", "a@b", "@scope/pkg"),
    *("summarise-changelog", "s3://bucket/prompt", "2026-11-21", "+1", "v1+build.5", "a" * 256, "0" * 32),
]


@pytest.mark.parametrize("name", ADDRESSES)
def test_an_e_mail_address_is_one_wherever_it_stands(name: str) -> None:
    """Also with the @ percent-encoded, and within a longer name."""
    assert looks_like(name, ("email",)) == "an e-mail address"


@pytest.mark.parametrize("name", PHONES)
def test_a_phone_number_is_the_whole_name(name: str) -> None:
    """International, with any separators that an identifier can hold."""
    assert looks_like(name, ("phone",)) == "a phone number"
    assert looks_like(f"bot{name}", ("phone",)) is None


@pytest.mark.parametrize("name", UUIDS)
def test_a_uuid_is_one_wherever_it_stands(name: str) -> None:
    """In either case."""
    assert looks_like(name, ("uuid",)) == "a UUID"


@pytest.mark.parametrize("name", SYSTEMS)
def test_plausible_names_of_systems_look_like_none_of_them(name: str) -> None:
    """Versions and addresses of repositories have an @ too."""
    assert looks_like(name, ALL) is None


@pytest.mark.parametrize("name", ADDRESSES + PHONES + UUIDS)
def test_only_what_is_listed_is_refused(name: str) -> None:
    """An empty list refuses nobody."""
    assert looks_like(name, ()) is None


def test_a_pattern_is_searched_for() -> None:
    """RE2, between slashes; the sentence does not repeat it."""
    refuse = (r"/^user-\d+$/",)

    assert looks_like("user-12", refuse) == "what the policy's emitters.refuse names"
    assert looks_like("user-12x", refuse) is None


@pytest.mark.parametrize("entry", ["", "emial", "/", "//", "/(/", "/a", "a/", r"/(?=x)/", "/" + "a" * 200 + "/"])
def test_what_is_neither_a_kind_nor_a_pattern_is_reported(entry: str) -> None:
    """A misspelt kind that silently matched nothing would be found out by nobody; look-ahead is not RE2."""
    assert problem_of(entry) is not None


@given(st.text("abc019@%40.+-:/=~_", max_size=256))
def test_any_name_is_judged(name: str) -> None:
    """In time that is linear in it: 256 characters, whatever they are."""
    assert looks_like(name, (*ALL, r"/(a*)*b/")) in {None, *(words for _, words in KINDS.values())} | {
        "what the policy's emitters.refuse names"
    }
