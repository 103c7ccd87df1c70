"""Proposers: what they propose, and what of a proposal counts for nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sluice.codecs.errors import UsageError
from sluice.codecs.records import Proposal
from sluice.record.proposing import Context, FileProposer, FormProposer, key_of, proposer_of, readable
from sluice.streams.judging.claim_forms import FORMS_VERSION

NOWHERE, DIGEST, AT = Context(), "sha256:" + 64 * "a", "1970-01-01T00:00:01Z"
CONTEXT = Context(("`f` is small.",), ("a.py",))


def test_forms_propose_what_they_read():
    """Also two checks; of any other sentence nothing. A form that says less than its sentence says so."""
    said = ["`f` calls `g`.", "It is nice.", "Commit abc1234 by Ada L touched `a.py`.", "Line 3 of `a.py` is `x`."]
    first, second, third, fourth = FormProposer(lambda: 1_000).propose(said, CONTEXT, DIGEST)
    assert first == Proposal("form", AT, DIGEST, f"forms:{FORMS_VERSION}", ["calls(f, g)"], True)
    assert second is None
    assert third is not None
    assert third.checks == ['commit(abc1234, author="Ada L")', "changed(a.py, abc1234)"]
    assert fourth is not None
    assert (fourth.whole, bool(fourth.left)) == (False, True)


@pytest.mark.parametrize(
    ("checks", "kept", "whole", "left"),
    [
        (["calls( f,g)"], ["calls(f, g)"], True, ""),
        (["calls(f,  g)", "calls(f, g)"], ["calls(f, g)"], True, ""),
        (["calls(f, g)", "nonsense"], ["calls(f, g)"], False, "1 check of the proposal cannot be read."),
        (["", "x", "exists(a.py)"], ["exists(a.py)"], False, "2 checks of the proposal cannot be read."),
        ([f"contains({'x' * 2000})"], [], False, "1 check of the proposal cannot be read."),
        (
            [f"exists(a{number}.py)" for number in range(23)],
            [f"exists(a{number}.py)" for number in range(20)],
            False,
            "3 checks of the proposal cannot be read.",
        ),
        ([], [], False, ""),
    ],
)
def test_of_a_proposal_only_what_can_be_read_counts(checks: list[str], kept: list[str], whole: bool, left: str):
    """With less than all of its checks it does not say all of the statement."""
    found = readable(Proposal("p", AT, DIGEST, checks=checks, whole=True))
    assert (found.checks, found.whole, found.left) == (kept, whole, left)


def row(statement: str, context: Context = NOWHERE, **members: Any) -> str:
    return json.dumps({"key": key_of(statement, context), "proposal": {"by": "reader", **members}})


def test_a_file_gives_the_proposal_of_a_statement_in_its_context(tmp_path: Path):
    """The same words elsewhere are another statement; what is no proposal is left out, and told."""
    path = tmp_path / "kept.jsonl"
    rows = [
        row("`f` calls `g`.", CONTEXT, checks=["calls(f, g)"], whole=True),
        row("`f` calls `h`.", CONTEXT, checks=["calls(f, h)", "?"], whole=True),
        "{",
        "[]",
        row("`x`", checks="calls(f, g)"),
        row("`y`", by="form", checks=["calls(f, g)"]),
        row("`z`", at="yesterday"),
        "",
    ]
    path.write_text("\n".join(rows))
    proposer = FileProposer(str(path), lambda: 1_000)
    one, two, none, other = proposer.propose(
        ["`f` calls `g`.", "`f` calls `h`.", "Nothing."], CONTEXT, DIGEST
    ) + proposer.propose(["`f` calls `g`."], NOWHERE, DIGEST)
    assert one == Proposal("reader", AT, DIGEST, checks=["calls(f, g)"], whole=True)
    assert two == Proposal("reader", AT, DIGEST, checks=["calls(f, h)"], left="1 check of the proposal cannot be read.")
    assert (none, other) == (None, None)
    assert proposer.names == {"reader"}
    assert proposer.left_out == f"5 of the 7 lines of {path} are no proposals."


def test_a_setting_names_a_proposer(tmp_path: Path):
    """Any other gets one sentence."""
    path = tmp_path / "kept.jsonl"
    path.write_bytes(b"")
    assert isinstance(proposer_of("form", lambda: 0), FormProposer)
    file = proposer_of(f"file:{path}", lambda: 0)
    assert isinstance(file, FileProposer)
    assert file.left_out == ""
    for wrong in ("file:", "oracle", f"file:{tmp_path}/none", f"file:{tmp_path}"):
        with pytest.raises(UsageError):
            proposer_of(wrong, lambda: 0)
