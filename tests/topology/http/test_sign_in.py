"""Who is signed in: a cookie that nobody else can make, and that ends."""

import re
from contextlib import asynccontextmanager
from urllib.parse import parse_qsl, urlsplit

import httpx2
import pytest
from identity_provider import IdentityProvider, providing
from joserfc import jwt
from joserfc.jwk import OctKey, RSAKey

from sluice.codecs.errors import UsageError
from sluice.topology.http import sign_in as oidc_module
from sluice.topology.http.auth_middleware import Principal
from sluice.topology.http.http_server import ListenConfig
from sluice.topology.http.review_rules import reviewer_of
from sluice.topology.http.service_process import Service
from sluice.topology.http.sign_in import (
    COOKIE,
    Provider,
    Rule,
    Sessions,
    is_safe,
    parse_rule,
    scopes_allowed,
    session_key,
)

WHO = Principal("abc", "desk", frozenset({"read", "review"}))


def test_a_cookie_signs_in_whom_it_was_made_for():
    value = Sessions(b"k" * 32, lambda: 0).cookie(WHO)

    assert Sessions(b"k" * 32, lambda: 1).of(f"x=y; {COOKIE}={value}") == WHO._replace(by_cookie=True)


@pytest.mark.parametrize(
    "change", [lambda v: v[:-1] + "0g"[v[-1] == "0"], lambda v: "A" + v, lambda v: "", lambda v: "."]
)
def test_a_changed_cookie_signs_nobody_in(change):
    sessions = Sessions(b"k" * 32, lambda: 0)
    value = sessions.cookie(WHO)

    assert sessions.of(f"{COOKIE}={change(value)}") is None
    assert Sessions(b"l" * 32, lambda: 0).of(f"{COOKIE}={value}") is None


def test_a_session_ends_with_its_hours_and_with_its_token():
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


RULES = [Rule("groups", "reviewers", frozenset({"read", "review"})), Rule("email", "*", frozenset({"read"}))]
ORIGIN = {"origin": "http://localhost"}


@pytest.fixture
async def login(fake):
    """The provider, in the time of the fake."""
    provider = IdentityProvider()
    provider.now = lambda: fake.now / 1000
    provider.claims = {"groups": ["reviewers"], "name": "Ada L."}
    async with providing(provider):
        yield provider


@pytest.fixture
def site(service, tokens, login):
    """The service, which knows the provider."""
    tokens("read")

    @asynccontextmanager
    async def site(**options):
        known = Provider(login.url, login.client_id, login.secret, "http://localhost", RULES)
        async with service(tokens=tokens.file, provider=known, **options) as client:
            yield client

    return site


async def _there(client):
    """Goes to the provider; the way back."""
    begun = await client.get("/sign-in/oidc")
    assert begun.status_code == 303, begun.text
    async with httpx2.AsyncClient() as browser:
        return (await browser.get(begun.headers["location"])).headers["location"]


async def _sign_in(client):
    return await client.get(await _there(client))


def _said(answer):
    return re.search(r'role="status">([^<]*)<', answer.text)[1]


# ---------------------------------------------------------------- all is well


async def test_a_person_signs_in_and_out(site, view):
    """By the code flow; afterwards nothing of it is left but the session."""
    async with site() as client:
        page = await client.get("/sign-in")
        done = await _sign_in(client)
        queue = await client.get("/queue")
        cookies = done.headers.get_list("set-cookie")
        out = await client.post("/sign-out", headers=ORIGIN)
        after = await client.get("/queue")

    assert "Sign in at 127.0.0.1" in page.text
    assert (done.status_code, "Ada L." in done.text) == (200, True)
    assert 'content="0; url=/"' in done.text
    assert queue.status_code == 200
    assert any(one.startswith('sluice-sign-in=""') and "Max-Age=0" in one for one in cookies)
    assert any("HttpOnly" in one and "SameSite=strict" in one for one in cookies if one.startswith("sluice-session="))
    assert (out.status_code, after.status_code, after.headers["location"]) == (303, 303, "/sign-in")


async def test_the_subject_stands_in_the_signed_part_of_a_review(site, view, fake):
    from sluice.codecs.notes import Signer
    from sluice.codecs.signatures import Signing, domain_of, signed

    signer = Signer("sluice/test", bytes(range(32)))
    view.emit()
    view.lease(view.ask(), "ada")
    form = {"key": "em-1#c:0-10", "attempt": "0", "decision": "admit", "reason": "seen"}
    async with site(signing=Signing(signer, "origin"), undo=60) as client:
        await _sign_in(client)
        decided = await client.post("/queue/decide", data=form, headers=ORIGIN)
        await client.outbox.close()

    (record,) = fake.records("reviews")
    bare = {name: value for name, value in record.items() if name != "signature"}
    assert decided.status_code == 303
    assert record["reviewer"] == "ada"
    assert signed(bare, signer, domain_of("reviews", "origin"))["signature"] == record["signature"]
    forged = {**bare, "reviewer": "eve"}
    assert signed(forged, signer, domain_of("reviews", "origin"))["signature"] != record["signature"]


async def test_behind_tls_its_cookies_are_secure(service, tokens, login):
    """Also where a proxy ends TLS: the address that browsers use says so."""
    known = Provider(login.url, login.client_id, login.secret, "https://sluice.example", RULES)
    host = {"host": "sluice.example"}
    names = {"allowed_hosts": ["sluice.example"], "allowed_origins": ["https://sluice.example"]}
    text, _ = tokens("read")
    async with service(tokens=tokens.file, provider=known, **names) as client:
        begun = await client.get("/sign-in/oidc", headers=host)
        origin = {**host, "origin": "https://sluice.example"}
        by_token = await client.post("/sign-in", data={"token": text}, headers=origin)

    assert begun.headers["set-cookie"].startswith("__Host-sluice-sign-in=")
    assert by_token.headers["set-cookie"].startswith("__Host-sluice-session=")
    for one in (begun, by_token):
        assert "Secure" in one.headers["set-cookie"]
        assert "strict-transport-security" in one.headers
    assert dict(parse_qsl(urlsplit(begun.headers["location"]).query))["redirect_uri"] == (
        "https://sluice.example/sign-in/callback"
    )


async def test_new_keys_of_the_provider_are_fetched(site, login, view, monkeypatch):
    """When a token is signed by one that is not known, and not more often than it may."""
    monkeypatch.setattr(oidc_module, "AGAIN_SECONDS", -1.0)
    async with site() as client:
        await _sign_in(client)
        login.key = RSAKey.generate_key(2048, {"kid": "two", "use": "sig", "alg": "RS256"})
        done = await _sign_in(client)

    assert done.status_code == 200
    assert login.asked.count("/keys") == 2


# ---------------------------------------------------------------- nobody


@pytest.mark.parametrize(
    "claims",
    [
        {"nonce": "another"},
        {"nonce": None},
        {"aud": "another"},
        {"aud": ["sluice", "another"]},  # and no azp
        {"aud": None},
        {"iss": "https://evil.example"},
        {"exp": 1},
        {"exp": None},
        {"exp": "soon"},
        {"iat": 10**12},
        {"nbf": 10**12},
        {"azp": "another"},
        {"sub": None},
        {"sub": ""},
        {"sub": 7},
        {"sub": "x" * 256},
    ],
)
async def test_a_token_that_is_not_for_this_sign_in_signs_nobody_in(site, login, view, claims):
    """Ended, of another, for another, of another sign-in: one sentence, and no session."""
    login.claims |= claims
    async with site() as client:
        done = await _sign_in(client)
        after = await client.get("/queue")

    assert done.status_code == 403
    assert _said(done).endswith("begin again.")
    assert after.headers["location"] == "/sign-in"


@pytest.mark.filterwarnings("ignore:JWS algorithm")
async def test_a_token_of_another_key_or_algorithm_signs_nobody_in(site, login, view):
    """Unsigned, signed with our own secret, or by whoever."""
    stranger = RSAKey.generate_key(2048, {"kid": "one"})
    ways = [
        lambda claims: jwt.encode({"alg": "none"}, claims, OctKey.import_key(b"x" * 32), algorithms=["none"]),
        lambda claims: jwt.encode({"alg": "HS256"}, claims, OctKey.import_key(login.secret.encode() * 8)),
        lambda claims: jwt.encode({"alg": "RS256", "kid": "one"}, claims, stranger),
        lambda claims: "nonsense",
        lambda claims: None,
    ]
    found = []
    async with site() as client:
        for way in ways:
            login.signs = way
            found.append((await _sign_in(client)).status_code)
        after = await client.get("/queue")

    assert found == [403] * 5
    assert after.headers["location"] == "/sign-in"


async def test_a_sign_in_that_was_begun_elsewhere_ends_nowhere(site, login, view, fake):
    """Another browser's, a changed or missing state, one that took too long, one that comes twice."""
    async with site() as client:
        way = await _there(client)
        for changed in (way.replace("state=", "state=x"), "/sign-in/callback", "/sign-in/callback?code=1"):
            answer = await client.get(changed)
            assert (answer.status_code, _said(answer)) == (
                403,
                "This sign-in was not begun here, or took too long: begin again.",
            )
        login.query = {"iss": "https://evil.example"}
        mixed = await _sign_in(client)
        login.query = {}
        way = await _there(client)
        client.cookies.clear()
        foreign = await client.get(way)
        way = await _there(client)
        fake.advance("11m")
        late = await client.get(way)
        view.tell()
        way = await _there(client)
        kept = dict(client.cookies)
        first = await client.get(way)
        client.cookies.update(kept)
        twice = await client.get(way)

    assert [one.status_code for one in (mixed, foreign, late, first, twice)] == [403, 403, 403, 200, 403]
    assert _said(mixed) == "This answer is of another identity provider: begin again."
    assert _said(twice) == "The identity provider does not take this sign-in: begin again."


async def test_a_refusal_of_the_provider_is_told(site, login, view):
    login.query = {"error": "<b>access_denied"}
    async with site() as client:
        answer = await _sign_in(client)

    assert answer.status_code == 403
    assert "(&lt;b&gt;access_denied)" in answer.text


async def test_somebody_whom_no_rule_allows_anything_is_told(site, login, view):
    login.claims = {"groups": ["others"]}
    async with site() as client:
        answer = await _sign_in(client)

    assert answer.status_code == 403
    assert "no rule of this service allows you anything" in _said(answer)
    assert "sluice-session" not in str(answer.headers.get_list("set-cookie"))


@pytest.mark.parametrize("status", [500, 404, 302])
async def test_a_provider_that_is_away_is_told(site, login, view, status, monkeypatch):
    """At the beginning, and at the end of a sign-in; a redirect is not followed. Back, it signs people in."""
    monkeypatch.setattr(oidc_module, "REST_SECONDS", 0.0)
    async with site() as client:
        login.status = status
        before = await client.get("/sign-in/oidc")
        login.status = 200
        way = await _there(client)
        login.status = 500
        middle = await client.get(way)
        login.status = 200
        back = await _sign_in(client)

    assert [one.status_code for one in (before, middle, back)] == [503, 503, 200]
    assert _said(before) == _said(middle) == "The identity provider does not answer: try again in a moment."
    assert "/elsewhere" not in login.asked


async def test_nobody_answers_at_the_providers_address(service, tokens):
    """A closed port; it is not asked again at once by everybody who comes."""
    known = Provider("http://127.0.0.1:1", "sluice", "", "http://localhost", RULES)
    tokens("read")
    async with service(tokens=tokens.file, provider=known) as client:
        found = [(await client.get("/sign-in/oidc")).status_code for _ in range(2)]

    assert found == [503, 503]


@pytest.mark.parametrize(
    "metadata",
    [
        {"issuer": "https://evil.example"},
        {"token_endpoint": "http://169.254.169.254/latest"},
        {"jwks_uri": "file:///etc/passwd"},
        {"jwks_uri": "http://user@127.0.0.1/"},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"authorization_endpoint": None},
    ],
)
async def test_metadata_that_lead_elsewhere_are_not_followed(site, login, view, metadata):
    """No secret goes in clear, or to an address that the issuer could not be at."""
    login.metadata = metadata
    async with site() as client:
        answer = await client.get("/sign-in/oidc")

    assert answer.status_code == 503


async def test_an_answer_without_end_is_broken_off(site, login, view):
    login.metadata = {"padding": "x" * 400_000}
    async with site() as client:
        answer = await client.get("/sign-in/oidc")

    assert answer.status_code == 503


async def test_where_no_provider_is_named_there_is_none(service, tokens, view):
    tokens("read")
    async with service(tokens=tokens.file) as client:
        answers = [await client.get(path) for path in ("/sign-in/oidc", "/sign-in/callback?code=1&state=2")]

    assert [one.status_code for one in answers] == [404, 404]
    assert "There is no identity provider here" in _said(answers[0])


async def test_a_session_ends_with_the_rules_that_it_was_made_under(service, tokens, login, view):
    """Whoever changes them, or takes the provider away, has no old sessions left."""
    tokens("read")
    async with service(
        tokens=tokens.file, provider=Provider(login.url, "sluice", login.secret, "http://localhost", RULES)
    ) as client:
        await _sign_in(client)
        kept = dict(client.cookies)
        inside = await client.get("/")
    others = [Provider(login.url, "sluice", login.secret, "http://localhost", RULES[:1]), None]
    found = []
    for one in others:
        async with service(tokens=tokens.file, provider=one) as client:
            client.cookies.update(kept)
            found.append((await client.get("/")).status_code)

    assert (inside.status_code, found) == (200, [303, 303])


# ---------------------------------------------------------------- facts


@pytest.mark.parametrize(
    ("claims", "scopes"),
    [
        ({"groups": ["reviewers", "x"]}, {"read", "review"}),
        ({"groups": "reviewers"}, {"read", "review"}),
        ({"groups": "reviewers2"}, set()),
        ({"groups": {"reviewers": True}}, set()),
        ({"email": "ada@example.org"}, {"read"}),
        ({"email": ["a"], "groups": ["reviewers"]}, {"read", "review"}),
        ({"email": None}, set()),
        ({"email": []}, set()),
        ({}, set()),
    ],
)
def test_claims_allow_what_rules_say(claims, scopes):
    assert scopes_allowed(RULES, claims) == scopes


def test_a_rule_is_read_as_it_is_written():
    """Values may hold colons and equals; claims may lie in objects."""
    assert parse_rule("groups=urn:x:y=z:read,review") == Rule("groups", "urn:x:y=z", frozenset({"read", "review"}))
    nested = parse_rule("realm_access.roles=desk:review")
    assert scopes_allowed([nested], {"realm_access": {"roles": ["desk"]}}) == {"review"}
    assert scopes_allowed([parse_rule("email_verified=true:read")], {"email_verified": True}) == {"read"}
    for wrong in ("groups", "groups=x", "groups=x:", "=x:read", "groups=:read", "groups=x:read,all", "groups=x:read,"):
        with pytest.raises(UsageError, match="this is no rule"):
            parse_rule(wrong)


@pytest.mark.parametrize("subject", ["token:desk-1", "local", "sha256:" + "0" * 64, "a b", "x" * 300])
def test_a_subject_is_never_taken_for_a_token(subject):
    """A provider at which people choose their names could name one as a token is named."""
    reviewer = reviewer_of(Principal("oidc:x", "x", frozenset(), subject=subject))

    assert reviewer != subject
    assert re.fullmatch("sha256:[0-9a-f]{64}", reviewer)
    assert reviewer_of(Principal("oidc:x", "x", frozenset(), subject="ada@example.org")) == "ada@example.org"


@pytest.mark.parametrize(
    ("url", "safe"),
    [
        ("https://login.example", True),
        ("https://login.example/realms/x", True),
        ("http://127.0.0.1:8080", True),
        ("http://[::1]:8080", True),
        ("http://login.example", False),
        ("http://localhost.evil.example", False),
        ("https://", False),
        ("https://user:x@login.example", False),
        ("https://login.example?x=1", False),
        ("https://login.example:port", False),
        ("ftp://login.example", False),
        ("", False),
    ],
)
def test_secrets_go_to_safe_addresses_only(url, safe):
    assert is_safe(url) is safe


def test_what_is_missing_is_told_at_the_start(tmp_path):
    good = Provider("https://login.example", "sluice", "", "https://sluice.example", RULES)
    door = ListenConfig(tokens=tmp_path / "tokens.json")
    for wrong in (
        good._replace(issuer="http://login.example"),
        good._replace(public_url="sluice.example"),
        good._replace(client_id=""),
        good._replace(rules=[]),
    ):
        with pytest.raises(UsageError):
            Service(door, tmp_path / "v", tmp_path / "k", provider=wrong).check()
    with pytest.raises(UsageError, match="file of tokens"):
        Service(ListenConfig(), tmp_path / "v", tmp_path / "k", provider=good).check()
    Service(door, tmp_path / "v", tmp_path / "k", provider=good).check()


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--oidc-issuer=https://login.example"], "--public-url"),
        (["--oidc-client-id=sluice"], "which identity provider?"),
        (["--public-url=http://sluice.example"], "no URL that is safe"),
        (["--public-url=https://sluice.example/console"], "no URL that is safe"),
        (["--oidc-issuer=https://a.example", "--public-url=https://b.example", "--oidc-scope=email"], "no ID token"),
        (
            ["--oidc-issuer=https://a.example", "--public-url=https://b.example", "--oidc-client-secret-file=gone"],
            "the secret cannot be read",
        ),
        (["--oidc-issuer=https://a.example", "--public-url=https://b.example", "--oidc-allow=all"], "this is no rule"),
    ],
)
def test_flags_that_do_not_fit_are_told(flags, said):
    from click.testing import CliRunner

    from sluice.topology.cli import main

    result = CliRunner().invoke(main, ["serve", *flags])

    assert result.exit_code == 2
    assert said in result.stderr


def test_the_public_url_is_not_what_is_bound_to(monkeypatch):
    """A proxy's name is no address of this machine: `--host` says what is bound to, the URL who may be asked for."""
    from click.testing import CliRunner

    from sluice.topology.cli import main

    services: list[Service] = []
    monkeypatch.setattr("sluice.topology.http.service_process.run_service", lambda _, service: services.append(service))
    result = CliRunner().invoke(main, ["serve", "--host=127.0.0.2", "--public-url=https://sluice.example"])

    assert result.exit_code == 0, result.stderr
    door = services[0].door
    assert (door.host, door.allowed_hosts, door.allowed_origins) == (
        "127.0.0.2",
        ("sluice.example",),
        ("https://sluice.example",),
    )
