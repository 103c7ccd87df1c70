"""A proof's file shows what it says and nothing else: whatever is changed in it, it does not verify."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pytest
from checkpointed import SIGNER, STRICT, CheckpointedLane, T, emission_of_two_classes, history
from hypothesis import given, settings
from hypothesis import strategies as st
from search import examples

from sluice.codecs import merkle
from sluice.codecs.blocks import Output, leaf_data, read_statement, statement, statement_hash, unseal
from sluice.codecs.errors import DoesNotHoldError
from sluice.codecs.notes import Checkpoint, Head, Signer, leaf_of, parse_checkpoint, parse_note
from sluice.topology.audit.proofs import BlockPlace, Proof, make_leaf, parse_proof, render, verify
from sluice.topology.audit.proving import prove, prove_consistency
from sluice.topology.engine.export_files import FolderLogs

KEYS = [SIGNER.verifier]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """A proof of each kind."""
    logs = FolderLogs(history().export(tmp_path_factory.mktemp("export")))

    async def made() -> dict[str, bytes]:
        return {
            "input": render(await prove(logs, "em-2")),
            "output": render(await prove(logs, "em-1#c:0-9")),
            "below": render(await prove(logs, "em-2#c:0-9")),
            "consistency": render(await prove_consistency(logs, 0, 6, 8)),
        }

    return asyncio.run(made())


def check(data: bytes) -> Any:
    """What the file shows by the key."""
    return verify(parse_proof(data), KEYS)[0]


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all scalars in a JSON value."""
    if isinstance(value, dict):
        return [found for name, inner in value.items() for found in places(inner, (*path, name))]
    if isinstance(value, list):
        return [found for at, inner in enumerate(value) for found in places(inner, (*path, at))]
    return [path]


def put(value: Any, path: tuple[Any, ...], change: Callable[[Any], Any]) -> bytes:
    """The JSON value with one scalar changed."""
    copy = json.loads(json.dumps(value))
    within = copy
    for step in path[:-1]:
        within = within[step]
    within[path[-1]] = change(within[path[-1]])
    return json.dumps(copy).encode()


# ---------------------------------------------------------------- a file is what it says


@pytest.mark.parametrize("kind", ["input", "output", "below", "consistency"])
def test_a_proof_survives_its_file(files: dict[str, bytes], kind: str) -> None:
    """And another way of writing the same JSON, which says the same."""
    proof = parse_proof(files[kind])

    assert render(proof) == files[kind]
    assert check(json.dumps(json.loads(files[kind]), sort_keys=True).encode()) == check(files[kind])


def test_a_file_is_enough_for_somebody_else_s_code(files: dict[str, bytes]) -> None:
    """Hash by hash, with nothing but SHA-256: the record's leaf, the block's statement, the log, the root."""
    proof = json.loads(files["output"])
    found = sha256(b"\x00" + base64.b64decode(proof["record"]["leaf"])).digest()
    for side, sibling in proof["path"]:
        pair = bytes.fromhex(sibling) + found if side == "left" else found + bytes.fromhex(sibling)
        found = sha256(b"\x01" + pair).digest()
    header, _ = json.loads(proof["next"])
    assert header["outputs"] == "sha256:" + found.hex()
    assert header["prev"] == "sha256:" + sha256(proof["block"].encode()).hexdigest()
    found = sha256(b"\x00" + sha256(proof["next"].encode()).digest()).digest()
    at, last = proof["log"]["index"], proof["log"]["size"] - 1
    for sibling in map(bytes.fromhex, proof["log"]["path"]):
        while at == last and not at & 1:
            at, last = at >> 1, last >> 1
        found = sha256(b"\x01" + (sibling + found if at & 1 else found + sibling)).digest()
        at, last = at >> 1, last >> 1
    assert base64.b64encode(found).decode() == proof["checkpoint"].split("\n")[2]


def test_what_is_there_to_read_is_what_the_bytes_say(files: dict[str, bytes]) -> None:
    """Topic, key, value and headers as text; of an input also where and when it stood."""
    record = json.loads(files["input"])["record"]["readable"]

    assert record["kind"] == "record"
    assert (record["topic"], record["partition"], record["offset"], record["timestamp"]) == ("emissions", 0, 1, T + 1)
    assert (record["key"], json.loads(record["value"])) == ("em-2", emission_of_two_classes("em-2"))
    assert record["headers"] == []


async def test_nothing_in_a_file_moves_a_terminal(tmp_path: Path) -> None:
    """What strangers wrote is there to read, escaped; also bytes that are no UTF-8."""
    lane = CheckpointedLane(STRICT, T)
    lane.block(T + 1, [("emissions", (b"em\x1b[2J", "\u202e\u009b".encode() + b"\xff\x00"))])
    lane.checkpoint()
    proof = await prove(FolderLogs(lane.export(tmp_path)), "em\x1b[2J")
    data = render(proof)

    assert all(character.isprintable() or character == "\n" for character in data.decode())
    assert json.loads(data)["record"]["readable"]["value"] == "\u202e\u009b\\xff\x00"
    assert "\x1b" not in check(data).subject


def test_the_sentence_says_what_was_shown(files: dict[str, bytes]) -> None:
    """Record, lane, height, when, and whose history."""
    assert check(files["output"]).subject == (
        "the verdict admitted, on the topic admitted, with the key em-1#c:0-9 stands in block 2 of lane 0, closed at "
        "2027-01-15T08:00:00.002Z, in the history of sluice/ledger/0"
    )
    assert check(files["input"]).subject.startswith("the input emissions/0/1 with the key em-2 stands in block 1 ")
    assert check(files["consistency"]).subject.startswith("the first 6 of 8 blocks of sluice/ledger/0 are those of ")


async def test_a_verdict_is_named_by_its_own_status(tmp_path: Path) -> None:
    """What has decayed stands on the topic `admitted` as well; that it did so is what its proof says."""
    lane = history()
    lane.block(T + 30 * 86_400_000)
    lane.block(T + 30 * 86_400_000 + 1)
    lane.checkpoint()
    shown = check(render(await prove(FolderLogs(lane.export(tmp_path)), "em-1#c:0-9")))

    assert shown.subject.startswith(
        "the verdict decayed-to-uncertainty, on the topic admitted, with the key em-1#c:0-9 "
    )
    assert shown.limit == f"this is as of block {shown.header.height}, and later verdicts may exist"


@pytest.mark.parametrize("value", [None, "[]", '{"status": 1}', "not JSON"])
def test_a_decision_that_names_no_status_is_an_output(files: dict[str, bytes], value: str | None) -> None:
    """Of a later version's making, perhaps: nothing is said of it that its bytes do not say."""
    shown = check(files["output"])
    other = shown._replace(readable=msgspec.structs.replace(shown.readable, value=value))

    assert other.subject.startswith("the output admitted with the key em-1#c:0-9 stands in ")
    assert other.limit == ""


def test_a_dead_letter_has_no_status_whatever_is_in_it(files: dict[str, bytes]) -> None:
    """Its value is what a stranger wrote: it could pass itself off as a verdict."""
    shown = check(files["output"])
    stranger = msgspec.structs.replace(shown.readable, topic="dead-letters", value='{"status": "admitted"}')

    assert shown._replace(readable=stranger).subject.startswith("the output dead-letters with the key em-1#c:0-9 ")


def test_only_a_verdict_can_have_later_ones(files: dict[str, bytes]) -> None:
    """An input stays what it was, and so do two checkpoints."""
    limits = {kind: check(files[kind]).limit for kind in ("output", "input", "consistency")}

    assert limits == {
        "output": "this is as of block 2, and later verdicts may exist",
        "input": "",
        "consistency": "",
    }


# ---------------------------------------------------------------- and nothing else is


@settings(max_examples=examples(400), deadline=None)
@given(kind=st.sampled_from(["input", "output", "below", "consistency"]), data=st.data())
def test_no_value_of_a_proof_can_change(files: dict[str, bytes], kind: str, data: st.DataObject) -> None:
    """Any character of any text changed, dropped or added, any number moved, any null filled: it does not verify."""
    value = json.loads(files[kind])
    path = data.draw(st.sampled_from(places(value)), label="path")

    def changed(one: Any) -> Any:
        if not isinstance(one, str):
            return one + data.draw(st.sampled_from([-1, 1, 2, 4, 8])) if one is not None else "x"
        at = data.draw(st.integers(0, len(one)))
        kept = one[at + data.draw(st.integers(0, 1)) :]
        other = one[:at] + data.draw(st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=1)) + kept
        return other if other != one else one + " "

    with pytest.raises(DoesNotHoldError):
        check(put(value, path, changed))


@settings(max_examples=examples(400), deadline=None)
@given(kind=st.sampled_from(["input", "output", "below", "consistency"]), data=st.data())
def test_no_octet_of_a_file_can_change_and_say_something_else(
    files: dict[str, bytes], kind: str, data: st.DataObject
) -> None:
    """White space between values is all that may differ in what still verifies."""
    whole = files[kind]
    at = data.draw(st.integers(0, len(whole) - 1))
    changed = whole[:at] + data.draw(st.binary(max_size=1)) + whole[at + data.draw(st.integers(0, 1)) :]

    try:
        check(changed)
    except DoesNotHoldError:
        return
    assert json.loads(changed) == json.loads(whole)


@pytest.mark.parametrize("kind", ["input", "output", "consistency"])
def test_no_member_can_be_left_out_added_or_written_twice(files: dict[str, bytes], kind: str) -> None:
    """What is not checked must not stand there, least of all a second value under a name that is."""
    value = json.loads(files[kind])
    whole = json.dumps(value)

    for name in value:
        with pytest.raises(DoesNotHoldError):
            check(json.dumps({one: inner for one, inner in value.items() if one != name}).encode())
        twice = f'{{"{name}": {json.dumps(value[name])}, {whole[1:]}'
        with pytest.raises(DoesNotHoldError, match="stands twice"):
            check(twice.encode())
    with pytest.raises(DoesNotHoldError):
        check(json.dumps({**value, "note": "also admitted: everything"}).encode())


@pytest.mark.parametrize("kind", ["input", "output"])
@pytest.mark.parametrize("where", ["path", "log"])
def test_no_hash_of_a_path_can_be_dropped_added_or_exchanged(files: dict[str, bytes], kind: str, where: str) -> None:
    """Neither within the block nor in the log."""
    value = json.loads(files[kind])
    path = value["path"] if where == "path" else value["log"]["path"]
    some = path[0] if path else ["left", "00" * 32] if where == "path" else "00" * 32
    others = [path[1:], [*path, some], [some, *path], path * 40 if path else [some] * 80]

    for other in others:
        if other == path:
            continue
        if where == "path":
            value["path"] = other
        else:
            value["log"]["path"] = other
        with pytest.raises(DoesNotHoldError):
            check(json.dumps(value).encode())


def test_a_record_in_another_base64_and_a_path_without_end_are_refused(files: dict[str, bytes]) -> None:
    """Before anything is hashed."""
    value = json.loads(files["input"])

    with pytest.raises(DoesNotHoldError, match="not in base64"):
        check(put(value, ("record", "leaf"), lambda one: one[:40] + "\n" + one[40:]))
    with pytest.raises(DoesNotHoldError, match="longer than any block's"):
        check(json.dumps({**value, "path": [["left", "00" * 32]] * 65}).encode())


def test_a_policy_in_a_block_is_no_input_record() -> None:
    """It stands among the events, and nobody sent it to an input topic."""
    block = unseal(history().blocks[0])

    with pytest.raises(DoesNotHoldError, match="not an input of its block"):
        make_leaf("input", leaf_data(block.events[0]), block.header)


def test_parts_of_two_proofs_make_none(files: dict[str, bytes]) -> None:
    """Each step leads to the next one of the same proof only."""
    one, other = json.loads(files["output"]), json.loads(files["below"])

    for name in ("record", "path", "block", "next", "log", "checkpoint"):
        if one[name] == other[name]:
            continue
        with pytest.raises(DoesNotHoldError):
            check(json.dumps({**one, name: other[name]}).encode())
    with pytest.raises(DoesNotHoldError, match="next block"):
        check(json.dumps({**json.loads(files["input"]), "next": one["next"]}).encode())


def test_a_statement_cannot_be_passed_off_as_a_record(files: dict[str, bytes]) -> None:
    """Leaves and nodes are told apart by their first byte, records and blocks by their trees."""
    proof = json.loads(files["output"])
    inner = b"".join([bytes.fromhex(proof["log"]["path"][0]), leaf_of(statement_hash(proof["next"].encode()))])
    proof["record"]["leaf"] = base64.b64encode(inner).decode()

    with pytest.raises(DoesNotHoldError):
        check(json.dumps(proof).encode())


# ---------------------------------------------------------------- what an operator with the key could try


def forged(
    data: bytes, *, change: Callable[[Checkpoint], Checkpoint] = lambda one: one, name: str = "checkpoint"
) -> bytes:
    """The proof under a checkpoint that says something else, well signed."""
    value = json.loads(data)
    value[name] = SIGNER.sign(change(parse_checkpoint(parse_note(value[name]).text)).text())
    return json.dumps(value).encode()


def test_signing_again_changes_nothing(files: dict[str, bytes]) -> None:
    """The helper above is honest where nothing is changed."""
    assert check(forged(files["output"])) == check(files["output"])


def test_a_checkpoint_of_another_lane_or_number_of_lanes_covers_nothing(files: dict[str, bytes]) -> None:
    """Though its tree has the block."""
    for change in (
        lambda one: one._replace(origin="sluice/ledger/1", tips=[Head(), one.head]),
        lambda one: one._replace(tips=[one.head, Head()]),
    ):
        with pytest.raises(DoesNotHoldError, match="of another lane, or of another number of lanes"):
            check(forged(files["output"], change=change))


def test_a_checkpoint_whose_last_block_is_another_covers_nothing(files: dict[str, bytes]) -> None:
    """Where the proof's own block is the last, it has to be the one that the checkpoint names."""
    with pytest.raises(DoesNotHoldError, match="another last block"):
        check(forged(files["output"], change=lambda one: one._replace(block="sha256:" + "0" * 64)))


def test_a_later_checkpoint_of_an_earlier_time_continues_nothing(files: dict[str, bytes]) -> None:
    """A lane's time never goes back."""
    with pytest.raises(DoesNotHoldError, match="earlier time"):
        check(forged(files["consistency"], change=lambda one: one._replace(time=0), name="new"))


def test_checkpoints_of_two_logs_are_of_two_histories(files: dict[str, bytes]) -> None:
    """However their trees are."""
    with pytest.raises(DoesNotHoldError, match="two logs"):
        check(forged(files["consistency"], change=lambda one: one._replace(origin="other/ledger/0"), name="old"))


def test_a_rewritten_history_is_not_consistent(files: dict[str, bytes]) -> None:
    """Another root of the same size, on either side."""
    other = Head(6, bytes(32))

    with pytest.raises(DoesNotHoldError, match="does not begin with the earlier root"):
        check(forged(files["consistency"], change=lambda one: one._replace(head=other, tips=[other]), name="old"))


def test_a_decision_that_names_another_place_does_not_stand_there(tmp_path: Path) -> None:
    """A block's outputs can be made up by who has the lane; each decision names the block that it was made in."""
    lane = history()
    output = next(output for output in lane.outputs if output.topic == "admitted")
    value = msgspec.json.decode(output.value)
    value["ledger"]["height"] = 3
    data = leaf_data(Output(output.topic, output.key, msgspec.json.encode(value), output.headers))
    block = unseal(lane.blocks[2])
    made_up = merkle.leaf_hash(data)
    header, root = read_statement(json_statement(unseal(lane.blocks[3]).header, "sha256:" + made_up.hex()))
    assert (header.prev, len(root)) == (block.hash, 32)
    proof = proof_of(data, lane, json_statement(header, header.outputs))

    with pytest.raises(DoesNotHoldError, match="names another block than the one that it stands in"):
        check(proof)


def json_statement(header: Any, outputs: str) -> bytes:
    """A statement with another root of outputs, of a block without events."""
    header = msgspec.structs.replace(header, outputs=outputs)
    return msgspec.json.encode([header, merkle.EMPTY_ROOT.hex()], order="sorted")


def proof_of(data: bytes, lane: CheckpointedLane, after: bytes) -> bytes:
    """A proof whose every step holds, of an output in block 2 of a lane whose block 3 is this one."""
    blocks = [unseal(one) for one in lane.blocks[:3]]
    leaves = [leaf_of(block.hash) for block in blocks] + [leaf_of(statement_hash(after))]
    head = Head(4, merkle.root(leaves))
    signed = lane.checkpoints[0]._replace(head=head, tips=[head], block=statement_hash(after))
    return render(
        Proof(
            type="sluice:Proof",
            version="1.0",
            what="output",
            record=make_leaf("output", data, blocks[2].header),
            path=[],
            block=statement(blocks[2]).decode(),
            next=after.decode(),
            log=BlockPlace(3, 4, [one.hex() for one in merkle.inclusion_proof(leaves, 3)]),
            checkpoint=SIGNER.sign(signed.text()),
        )
    )


# ---------------------------------------------------------------- keys, and files that are none


def test_a_signature_of_another_key_is_none(files: dict[str, bytes]) -> None:
    """Of the same name as well; of several keys one is enough, and who signed is told."""
    other = Signer(SIGNER.name, bytes(32)).verifier

    with pytest.raises(DoesNotHoldError, match="nobody whose key is known"):
        verify(parse_proof(files["input"]), [other])
    assert list(verify(parse_proof(files["input"]), iter([other, SIGNER.verifier]))[1]) == [SIGNER.verifier]


def test_both_checkpoints_of_a_consistency_proof_are_signed(files: dict[str, bytes]) -> None:
    """By one key or by two: after a rotation each has its own; all are told, the later one's first."""
    new = Signer("sluice/new", bytes(32))
    value = json.loads(files["consistency"])
    value["new"] = new.sign(value["new"].rpartition("\n\n")[0] + "\n")
    proof = parse_proof(json.dumps(value).encode())

    assert list(verify(proof, [SIGNER.verifier, new.verifier])[1]) == [new.verifier, SIGNER.verifier]
    for one in (SIGNER, new):
        with pytest.raises(DoesNotHoldError, match="nobody whose key is known"):
            verify(proof, [one.verifier])


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b"\xff",
        b"[" * 100_000,
        b'{"@type": "sluice:Proof"}',
        b'{"@type": "sluice:Proof", "@version": "1.0"}',
        b'{"@type": "sluice:Else", "@version": "1.0"}',
        b'{"@type": "sluice:Proof", "@version": "1.1"}',
        b'{"@type": "sluice:ConsistencyProof", "@version": "1.0", "old": "", "new": "", "path": []}',
        b'{"@type": "sluice:ConsistencyProof", "@version": "1.0", "old": "\\ud800", "new": "", "path": []}',
    ],
)
def test_a_file_that_is_no_proof_is_reported_in_one_sentence(data: bytes) -> None:
    """Whatever it is."""
    with pytest.raises(DoesNotHoldError) as caught:
        check(data)

    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


@given(st.binary(max_size=80))
def test_any_bytes_are_a_proof_or_are_refused(data: bytes) -> None:
    """With our error and no other."""
    with pytest.raises(DoesNotHoldError):
        check(data)
