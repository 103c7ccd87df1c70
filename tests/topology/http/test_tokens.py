"""Bearer tokens: hashed at rest, scoped, and gone at once when they are revoked."""

import json
import os
import time

import pytest
from click.testing import CliRunner

from sluice.codecs.errors import UsageError
from sluice.topology.cli import main
from sluice.topology.http.tokens import Tokens, new_token, read_tokens, revoke

HOUR = 3_600_000


@pytest.fixture
def file(tmp_path):
    """A file of tokens that is not there yet."""
    return tmp_path / "tokens.json"


def test_a_token_is_known_by_its_hash_alone(file):
    """The file is its owner's, and holds no token."""
    text, made = new_token(file, "lab-1", ["ground"], None)

    assert text not in file.read_text()
    assert text.rpartition("_")[2] not in file.read_text()
    assert file.stat().st_mode & 0o077 == 0
    assert Tokens(file).of(text) == made


def test_tokens_differ(file):
    assert len({new_token(file, "lab-1", ["ground"], None)[0] for _ in range(20)}) == 20
    assert len(read_tokens(file)) == 20


def test_what_is_no_token_opens_nothing(file):
    text, made = new_token(file, "lab-1", ["ground"], None)
    tokens = Tokens(file)

    for wrong in ("", "x", text[:-1], text + "x", text.upper(), f"slm_{made.id}_{'A' * 43}", made.sha256, text + "\n"):
        assert tokens.of(wrong) is None


def test_a_revoked_token_opens_nothing_from_then_on(file):
    """A server that runs sees it with the next request; so it does a new one."""
    text, made = new_token(file, "lab-1", ["ground"], None)
    tokens = Tokens(file)
    assert tokens.of(text) is not None

    revoke(file, made.id)
    other, _ = new_token(file, "lab-1", ["ground"], None)

    assert tokens.of(text) is None
    assert tokens.of(other) is not None


def test_an_expired_token_opens_nothing(file):
    text, made = new_token(file, "lab-1", ["ground"], 10 * HOUR)

    assert Tokens(file, now=lambda: 10 * HOUR - 1).of(text) == made
    assert Tokens(file, now=lambda: 10 * HOUR).of(text) is None


@pytest.mark.parametrize("how", ["gone", "damaged", "another kind"])
def test_without_its_file_nobody_comes_in(file, how):
    """A file that is lost or damaged opens nothing."""
    text, _ = new_token(file, "lab-1", ["ground"], None)
    tokens = Tokens(file)
    assert tokens.of(text)
    if how == "gone":
        file.unlink()
    else:
        file.write_text("{" if how == "damaged" else '{"tokens": 5}')
        os.utime(file, ns=(1, 1))

    assert tokens.of(text) is None
    if how != "gone":
        with pytest.raises(UsageError, match="no list of tokens"):
            new_token(file, "lab-2", ["ground"], None)


def run(*arguments):
    return CliRunner().invoke(main, ["mcp", "token", *map(str, arguments)])


def test_the_command_makes_lists_and_revokes(file):
    """The token is printed once, alone on standard output; the list shows no hash."""
    made = run("new", "--tokens", file, "--name", "lab-1", "--scope", "ground", "--expires", "90d")
    assert made.exit_code == 0, made.stderr
    (text,) = made.stdout.split()
    token = Tokens(file).of(text)
    assert (token.name, token.scopes) == ("lab-1", ["ground"])

    assert run("revoke", "--tokens", file, token.id).exit_code == 0
    (listed,) = map(json.loads, run("list", "--tokens", file).stdout.splitlines())
    assert (listed["id"], listed["state"], listed["scopes"]) == (token.id, "revoked", ["ground"])
    assert token.sha256 not in json.dumps(listed)


@pytest.mark.parametrize(("given", "days"), [((), 90), (("--expires", "7d"), 7), (("--expires", "never"), None)])
def test_a_token_ends_after_90_days_unless_reported_otherwise(file, given, days):
    """One without an end has to be asked for by that word; the command says until when it is good."""
    before = time.time_ns() // 1_000_000
    made = run("new", "--tokens", file, "--name", "lab-1", *given)
    after = time.time_ns() // 1_000_000

    (token,) = read_tokens(file)
    if days is None:
        assert token.expires_at is None
        assert "never ends" in made.stderr
    else:
        assert before <= token.expires_at - days * 24 * HOUR <= after
        assert ", until 2" in made.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("new", "--name", "two words"), "not a name"),
        (("new", "--name", "x", "--expires", "soon"), "not a duration"),
        (("revoke", "0" * 12), "no token of this id"),
    ],
)
def test_wrong_usage_is_one_sentence(file, arguments, said):
    result = run(arguments[0], "--tokens", file, *arguments[1:])

    assert result.exit_code == 2
    assert said in result.stderr


def test_the_command_has_the_scopes_of_the_server():
    """Named twice, so that the command line need not load the SDK."""
    from sluice.topology.cli import serving_commands
    from sluice.topology.http.mcp_server import SCOPES

    assert serving_commands.SCOPES == SCOPES
