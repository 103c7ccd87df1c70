"""Hardening of URIs [V §4.5]."""

from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.codecs import unicode_text
from sluice.streams.sanitise import _uri
from sluice.streams.sanitise._uri import harden_uri, is_private


@pytest.mark.parametrize(
    ("uri", "shown"),
    [
        ("https://example.org", "example.org"),
        ("https://example.org:8443/a/b.html", "example.org"),
        ("https://example.org/a?b=c&d#e", "example.org"),
        ("https://example.org?q", "example.org"),
        ("HTTPS://Example.ORG/", "example.org"),
        ("https://192.0.2.7/", "192.0.2.7"),
        ("https://[2001:db8::7]/", "[2001:db8::7]"),
        ("https://xn--e1afmkfd.example/", "xn--e1afmkfd.example"),
        ("https://example.org/%C3%A9%20x", "example.org"),
        ("urn:doi:10.1000/182", "urn"),
        ("URN:ISBN:0-395-36341-1", "urn"),
        ("urn:pmid:12345678", "urn"),
        ("arxiv:2101.00001v2", "arxiv"),
        ("arxiv:hep-th/9901001", "arxiv"),
        ("did:web:university.example", "university.example"),
        ("did:key:z6Mk#z6Mk", "did"),
        ("did:web:a.example%3A3000:path?service=x", "a.example"),
    ],
)
def test_a_good_uri_is_shown_behind_its_host(uri, shown):
    """The host is the real authority's, never user information; without an authority it is the scheme."""
    assert harden_uri(uri) == (f"[{shown}] → {uri}", None)


@pytest.mark.parametrize(
    ("uri", "refusal"),
    [
        ("", "empty"),
        ("https://good.org@evil.example/", "userinfo"),
        ("https://user:password@evil.example:8080/", "userinfo"),
        ("https://good.org%2F@evil.example/", "userinfo"),
        ("https://localhost/", "private-host"),
        ("did:web:127.0.0.1%3A8443:a", "private-host"),
        ("http://example.org/", "scheme"),
        ("javascript:alert(1)", "scheme"),
        ("data:text/html,x", "scheme"),
        ("file:///etc/passwd", "scheme"),
        ("urn:uuid:6e8bc430-9c3a-11d9-9669-0800200c9a66", "scheme"),
        ("urn:doi:", "scheme"),
        ("ftp://example.org/", "scheme"),
        ("https:///path", "not-rfc3986"),
        ("https:example.org", "host"),
        ("https://ex%61mple.org/", "host"),
        ("https://example.org/a b", "not-rfc3986"),
        ("https://example.org/\n", "not-rfc3986"),
        ("https://example.org\n", "not-rfc3986"),
        ("https://example.org\\@evil.example", "not-rfc3986"),
        ("https://exämple.org/", "not-rfc3986"),
        ("https://example.org/\u202e", "not-rfc3986"),
        ("https://example.org/<b>", "not-rfc3986"),
        ("https://example.org/%zz", "not-rfc3986"),
        ("https://example.org:port/", "not-rfc3986"),
        ("https://[::1/", "not-rfc3986"),
        ("//example.org/", "not-rfc3986"),
        ("example.org", "not-rfc3986"),
        ("arxiv:", "not-rfc3986"),
        ("arxiv://evil.example/", "not-rfc3986"),
        ("did:web", "not-rfc3986"),
        ("did:web:", "not-rfc3986"),
        ("https://example.org/" + "a" * 1005, "too-long"),
        ("https://example.org/%E2%80%8B", "encoded-invisible"),
        ("https://example.org/?q=%E2%80%AEx", "encoded-invisible"),
        ("https://example.org/%25E2%2580%258B", "encoded-invisible"),
        ("https://example.org/%252525E2%25252580%2525258B", "encoded-invisible"),
        ("https://example.org/%F3%A0%81%81", "encoded-invisible"),
        ("https://example.org/%00", "encoded-control"),
        ("https://example.org/%0d%0aX: y", "not-rfc3986"),
        ("https://example.org/%0d%0aX:y", "encoded-control"),
        ("https://example.org/%1b[8m", "not-rfc3986"),
        ("https://example.org/%C2%9B", "encoded-control"),
        ("https://example.org/%3Cscript%3E", "encoded-markup"),
        ("https://example.org/%253Cscript%253E", "encoded-markup"),
        ("https://example.org/%EF%BC%9Cscript%EF%BC%9E", "encoded-markup"),
        ("https://example.org/%5Ba%5D%28b%29", "encoded-markup"),
        ("https://example.org/%3C%7Cim_start%7C%3E", "encoded-markup"),
        ("https://example.org/?q=%5BINST%5D", "encoded-markup"),
        ("https://example.org/%E2%80%B9%E2%88%A3im_start%E2%88%A3%E2%80%BA", "encoded-markup"),
        *((f"https://{host}/", "host") for host in ("a.example;b.example", "a.example&b.example", "a'b.example")),
        *(
            (f"https://{host}/", "host")
            for host in ("(a).example", "a..example", ".example", "-a.example", "a-.example")
        ),
        (f"https://{'a' * 64}.example/", "host"),
        ("did:web:a.example%2Fb.example", "host"),
        ("did:web:a%40b.example", "host"),
    ],
)
def test_a_bad_uri_is_refused_with_a_word(uri, refusal):
    """Syntax, scheme, length, and what percent signs hide, however often they are themselves encoded."""
    assert harden_uri(uri) == (None, refusal)


def test_the_longest_uri_is_let_through():
    """1,024 bytes are allowed, one more is not."""
    uri = "https://example.org/"
    assert harden_uri(uri + "a" * (1024 - len(uri)))[1] is None
    assert harden_uri(uri + "a" * (1025 - len(uri)))[1] == "too-long"


CHARACTERS = st.sampled_from("abz019-._~:/?#[]@!$&'()*+,;=%AF \n<>\\é\u200b")
URIS = st.one_of(
    st.tuples(
        st.sampled_from(["https://", "https:", "http://", "urn:doi:", "did:", "arxiv:", "x:", "", "//"]),
        st.text(CHARACTERS, max_size=20),
    ).map("".join),
    st.text(max_size=20),
)


@given(URIS)
def test_what_passes_is_a_uri_without_anything_hidden(uri):
    """Of what is let through, a parser takes every part for valid, and decoding brings nothing to light."""
    shown, refusal = harden_uri(uri)
    assert (shown is None) == (refusal is not None)
    if shown is None:
        return
    parsed = urlsplit(uri)
    assert parsed.scheme in ("https", "urn", "did", "arxiv")
    assert shown.startswith(f"[{parsed.hostname if '[' not in uri else f'[{parsed.hostname}]'}]") or not parsed.netloc
    assert uri.isascii()
    assert uri.isprintable()
    assert shown.endswith(f"] → {uri}")
    assert not unicode_text.find_invisible(shown)


@given(st.sampled_from(["https://", "urn:doi:", "arxiv:"]), st.text("abz019-._~:/", max_size=20))
def test_the_short_cut_gives_what_the_parser_gives(scheme, rest):
    """Plain URIs need no parser, and get the same answer."""
    uri = scheme + rest
    plain = harden_uri(uri)
    none = type("None_", (), {"fullmatch": staticmethod(lambda _: None)})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_uri, "_PLAIN", none)
        patch.setattr(_uri, "_PLAIN_NAME", none)
        assert harden_uri(uri) == plain


@pytest.mark.parametrize(
    ("uri", "reason"),
    [
        ("https://@evil.example/", "host"),
        ("HTTPS://@evil.example", "host"),
        ("https://@evil.example:443/a@b", "host"),
        ("https://@@evil.example/", "not-rfc3986"),
        ("https://@[evil.example/", "not-rfc3986"),
        ("https://@evil.example/\n", "not-rfc3986"),
        ("https://@evil.example/\u00e9", "not-rfc3986"),
    ],
)
def test_nobody_before_an_at_is_refused_for_what_it_is(uri, reason):
    """Empty user information is valid RFC 3986 (3.2.1), and good for nothing but two readings of the host."""
    assert harden_uri(uri) == (None, reason)


@pytest.mark.parametrize(
    "host",
    [
        *("kubernetes", "router", "mylocal", "example.", "a.b.svc", "git.corp", "nas.home", "a.private"),
        *("127.0.0.1.nip.io", "localtest.me", "a.lvh.me", "10-0-0-1.sslip.io"),
        *("localhost", "LOCALHOST", "localhost.", "a.localhost", "printer.local", "db.internal", "ip6-localhost"),
        *("127.0.0.1", "127.0.0.1.", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "0"),
        *("017700000001", "00000000000000000177.0.0.1", "10.1.2.3", "172.31.0.1", "192.168.0.1", "169.254.169.254"),
        *("010.8.8.8", "0xa9fea9fe", "100.64.0.1", "224.0.0.1", "255.255.255.255", "1.2.3.4.5", "999.1.1.1"),
        *("[::1]", "[::]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[fe80::1]"),
        *("[fd12::1]", "[fec0::1]", "[ff02::1]", "[64:ff9b::7f00:1]", "[64:ff9b:1::1]", "[2002:7f00:1::]", "[v1.x]"),
        "[2001:0:0:0:0:0:80ff:fffe]",  # Teredo, of 127.0.0.1
    ],
)
def test_a_host_of_the_readers_own_network_is_private(host):
    """In every spelling that some client reads as one."""
    assert is_private(host)


@pytest.mark.parametrize(
    "host",
    [
        *(
            "example.org",
            "localhost.example.org",
            "a-local.org",
            "mylocal.example",
            "svc.example",
            "8.8.8.8",
            "134744072",
            "0x08080808",
        ),
        *("172.32.0.1", "11.0.0.1", "[2606:4700::1111]", "[2001:4860:4860::8888]", "[64:ff9b::808:808]", "1.example"),
    ],
)
def test_other_hosts_are_public(host):
    """Also those that only look like one of these."""
    assert not is_private(host)
