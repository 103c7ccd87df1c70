"""The old key signs the new one: whose successor stands, and whose does not (docs/security.md)."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from msgspec.structs import replace

from sluice.codecs.notes import Signer
from sluice.streams.policy.keys import Key, standing, succession_bytes
from sluice.streams.policy.policy import DEFAULT_POLICY, CheckpointKeys, policy_of_document
from sluice.streams.policy.policy_toml import load_policy, to_toml

NAME, ORIGIN = "sluice/prod", "sluice"
FIRST, SECOND, THIRD, THIEF = (Signer(NAME, name.encode().ljust(32, b".")) for name in ("1", "2", "3", "thief"))


def public(signer: Signer) -> str:
    return base64.b64encode(signer.verifier.public_key).decode()


def root(signer: Signer, **times: Any) -> Key:
    return Key(public_key=public(signer), **times)


def successor(signer: Signer, before: Signer, *, by: Signer | None = None, name: str = NAME, **times: Any) -> Key:
    """A key that says to follow another; `by` is who signed that in truth."""
    signature = (by or before).sign_bytes(succession_bytes(name, public(signer), times.pop("origin", ORIGIN)))
    text = base64.b64encode(signature).decode()
    return Key(public_key=public(signer), signed_by=public(before), signature=text, **times)


def test_a_chain_of_successors_stands():
    """In whatever order they are listed."""
    keys = [successor(THIRD, SECOND), successor(SECOND, FIRST), root(FIRST)]
    assert standing(NAME, keys, ORIGIN) == keys


@pytest.mark.parametrize(
    "false",
    [
        successor(SECOND, FIRST, by=THIEF),
        successor(SECOND, THIEF),
        successor(SECOND, FIRST, name="sluice/other"),
        successor(SECOND, FIRST, origin="elsewhere"),
        successor(SECOND, SECOND),
        replace(successor(SECOND, FIRST), signature="AAAA"),
        replace(successor(SECOND, FIRST), public_key=public(THIEF)),
    ],
    ids=["by a thief", "of an unlisted key", "of another name", "elsewhere", "of itself", "no signature", "moved"],
)
def test_what_the_old_key_did_not_sign_does_not_stand(false: Key):
    """Nor what follows upon it; and the policy cannot come into force."""
    keys = [root(FIRST), false, successor(THIRD, SECOND)]
    assert standing(NAME, keys, ORIGIN) == [root(FIRST)]
    policy = replace(DEFAULT_POLICY, checkpoints=CheckpointKeys(keys={NAME: keys}))
    assert [at for at, _ in policy.problems()] == [f"checkpoints.keys.{NAME}"]


@pytest.mark.parametrize(
    ("since", "expected"), [(99, True), (100, False), (101, False), (None, False)], ids=["before", "at", "after", "-"]
)
def test_a_revoked_key_has_no_successors_from_then_on(since: int | None, expected: bool):
    """Its thief can sign too, and nobody knows when."""
    keys = [root(FIRST, revoked=100), successor(SECOND, FIRST, since=since)]
    assert (keys[1] in standing(NAME, keys, ORIGIN)) is expected


def test_two_that_sign_one_another_do_not_stand():
    """Somebody has to be first."""
    keys = [successor(SECOND, FIRST), successor(FIRST, SECOND)]
    assert standing(NAME, keys, ORIGIN) == []


def test_a_policy_keeps_them():
    """As a file and as a document; a policy without them has the hash that it always had."""
    keys = {NAME: [root(FIRST, until=100), successor(SECOND, FIRST, since=100)]}
    policy = replace(DEFAULT_POLICY, checkpoints=CheckpointKeys(keys=keys))
    assert load_policy(to_toml(policy)) == policy
    assert policy_of_document(policy.document) == policy
    assert policy.problems() == []
    assert b"signed_by" not in replace(policy, checkpoints=CheckpointKeys(keys={NAME: [root(FIRST)]})).document


@pytest.mark.parametrize("entry", ['signed_by = "KEY"', 'signature = "AA=="', 'signed_by = "no", signature = "AA=="'])
def test_half_a_succession_is_an_error_of_the_file(entry: str):
    text = f'[checkpoints.keys]\nw = {{ public_key = "{public(FIRST)}", {entry.replace("KEY", public(SECOND))} }}\n'
    with pytest.raises(Exception, match=r"checkpoints\.keys"):
        load_policy(text)
