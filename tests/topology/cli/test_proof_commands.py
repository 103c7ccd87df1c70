"""`sluice prove`, `verify` and `key`: from an export to a sentence, with no broker and no configuration."""

from __future__ import annotations

import base64
import json
import stat
from pathlib import Path

import pytest
from builders import attestation_value
from checkpointed import SIGNER, CheckpointedLane, T, history
from click.testing import CliRunner, Result

from sluice.codecs.notes import Signer
from sluice.topology.cli import main
from sluice.topology.cli import proof_commands as commands
from sluice.topology.engine.folds import FrameAttestations

KEY = str(SIGNER.verifier)


def run(*args: str | Path, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(main, [str(one) for one in args], input=stdin)


def said(result: Result) -> str:
    """The one sentence of an error."""
    assert result.stderr.startswith("sluice: ")
    assert result.stderr.count("\n") == 1
    return result.stderr


def listing(path: Path, **times: str) -> Path:
    """A policy that lists the key, in its time."""
    key = base64.b64encode(SIGNER.verifier.public_key).decode()
    more = "".join(f', {name} = "{time}"' for name, time in times.items())
    path.write_text(f'[checkpoints.keys]\n"{SIGNER.name}" = [{{ public_key = "{key}"{more} }}]\n')
    return path


@pytest.fixture(scope="module")
def export(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return history().export(tmp_path_factory.mktemp("export"))


@pytest.fixture
def proof(export: Path, tmp_path: Path) -> Path:
    """The file of a proof of an output."""
    path = tmp_path / "proof.json"
    assert run("prove", "em-1#c:0-9", "--offline", export, "--out", path).exit_code == 0
    return path


# ---------------------------------------------------------------- prove and verify


def test_a_proof_is_made_and_holds(proof: Path) -> None:
    """One sentence: the record, its lane and height, when, and who signed."""
    result = run("verify", proof, "--key", KEY)

    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == (
        "holds: the verdict admitted, on the topic admitted, with the key em-1#c:0-9 stands in block 2 of lane 0, "
        f"closed at 2027-01-15T08:00:00.002Z, in the history of sluice/ledger/0, signed by {KEY}; "
        "this is as of block 2, and later verdicts may exist\n"
    )


def test_a_policy_names_who_is_believed_and_when(proof: Path, tmp_path: Path) -> None:
    """authority.md: validity and revocation stand in the policy. A key of the policy counts in its time only; one that
    is named by itself counts at any time."""
    policy = tmp_path / "policy.toml"
    assert run("verify", proof, "--policy", listing(policy)).stdout.startswith("holds: ")
    assert run("verify", proof, "--policy", listing(policy, revoked="2028-01-01T00:00:00Z")).exit_code == 0
    for times in ({"revoked": "2027-01-01T00:00:00Z"}, {"since": "2028-01-01T00:00:00Z"}):
        result = run("verify", proof, "--policy", listing(policy, **times))
        assert (result.exit_code, result.stdout) == (1, "")
        assert "whose time is over, or has not begun" in said(result)
        assert run("verify", proof, "--policy", policy, "--key", KEY).exit_code == 0
    nobody = run("verify", proof)
    assert nobody.exit_code == 2
    assert "nobody is named whose signature counts" in said(nobody)
    policy.write_text("")
    assert "the policy lists no key for checkpoints" in said(run("verify", proof, "--policy", policy))


def test_a_proof_goes_to_standard_output_and_comes_from_standard_input(export: Path) -> None:
    """Data on one, messages on the other."""
    made = run("prove", "em-2", "--offline", export)
    checked = run("verify", "-", "--key", KEY, stdin=made.stdout_bytes)

    assert (made.exit_code, made.stderr) == (0, "")
    assert json.loads(made.stdout)["@type"] == "sluice:Proof"
    assert (checked.exit_code, checked.stdout[:40]) == (0, "holds: the input emissions/0/1 with the ")


def test_where_a_proof_was_written_is_a_message(export: Path, tmp_path: Path) -> None:
    """With how to check it; nothing on standard output."""
    result = run("prove", "em-2", "--offline", export, "--out", tmp_path / "p.json")

    assert (result.exit_code, result.stdout) == (0, "")
    assert f"bytes in {tmp_path / 'p.json'}; `sluice verify" in said(result)


def test_what_was_shown_is_one_json_object(proof: Path) -> None:
    """With the record as it may be read, and the checkpoint."""
    found = json.loads(run("verify", proof, "--key", KEY, "--json").stdout)

    assert (found["holds"], found["what"], found["lane"], found["height"]) == (True, "output", 0, 2)
    assert json.loads(found["record"]["value"])["status"] == "admitted"
    assert (found["checkpoint"]["origin"], found["checkpoint"]["size"]) == ("sluice/ledger/0", 4)
    assert (found["time"], found["signed_by"]) == ("2027-01-15T08:00:00.002Z", [KEY])


def test_two_checkpoints_are_shown_to_be_of_one_history(export: Path, tmp_path: Path) -> None:
    """Sizes in the place of an ID; JSON as for a record."""
    made = run("prove", "--consistency", "4", "--offline", export, "--lane", "0")
    checked = run("verify", "-", "--key", KEY, stdin=made.stdout_bytes)
    found = json.loads(run("verify", "-", "--key", KEY, "--json", stdin=made.stdout_bytes).stdout)

    assert checked.stdout.startswith("holds: the first 4 of 8 blocks of sluice/ledger/0 are those of the earlier")
    assert (found["what"], found["old"]["size"], found["new"]["size"], found["lane"]) == ("consistency", 4, 8, 0)


def test_another_ledger_has_proofs_as_well(tmp_path: Path) -> None:
    """Of an attestation by its claim's hash, and of two checkpoints; each names the ledger, and is of no other one."""
    lane, claim = CheckpointedLane(fold=FrameAttestations(), start=T), "0x" + "ab" * 32
    attestation = attestation_value(claim_hash=claim)
    lane.block(T + 1000, [("attestations", (claim.encode(), json.dumps(attestation).encode()))])
    sizes = [lane.checkpoint().head.size]
    lane.block(T + 2000, ())
    lane.checkpoint()
    export = lane.export(tmp_path / "export")
    frame = ("--ledger", "frame-ledger", "--offline", export)

    made = run("prove", claim, *frame)
    shown = run("verify", "-", "--key", KEY, stdin=made.stdout_bytes)
    both = run("prove", "--consistency", str(sizes[0]), *frame)
    consistent = run("verify", "-", "--key", KEY, stdin=both.stdout_bytes)
    unknown = run("prove", "0xcd", *frame)
    elsewhere = run("prove", claim, "--ledger", "bind-ledger", "--offline", export)

    assert "the input attestations/0/0" in shown.stdout
    assert "in the history of sluice/frame-ledger/0" in shown.stdout
    assert "of sluice/frame-ledger/0 are those" in consistent.stdout
    assert (unknown.exit_code, elsewhere.exit_code) == (1, 1)
    assert "no input with the key '0xcd' stands in lane 0 of frame-ledger" in said(unknown)


def test_a_changed_proof_is_reported_with_the_step_that_does_not_hold(proof: Path) -> None:
    """Exit 1; as JSON as well."""
    proof.write_text(proof.read_text().replace('"admitted"', '"inadmitted"', 1))

    result = run("verify", proof, "--key", KEY)
    found = run("verify", proof, "--key", KEY, "--json")

    assert (result.exit_code, result.stdout) == (1, "")
    assert "not what its bytes say" in said(result)
    assert (found.exit_code, json.loads(found.stdout)["holds"]) == (1, False)
    assert json.loads(found.stdout)["why"] in said(found)


@pytest.mark.parametrize("text", ["", "{}", "not JSON", '{"@type": "sluice:Proof", "@version": "2.0"}'])
def test_a_file_that_is_no_proof_does_not_hold(tmp_path: Path, text: str) -> None:
    """One sentence, exit 1: which file, what is wrong, what to do."""
    (tmp_path / "file").write_text(text)

    result = run("verify", tmp_path / "file", "--key", KEY)
    from_pipe = run("verify", "-", "--key", KEY, stdin=text.encode())

    assert result.exit_code == from_pipe.exit_code == 1
    assert said(result).startswith(f"sluice: {tmp_path / 'file'}: ")
    assert "proof" in said(result)
    assert "ask for a new proof" in said(result)
    assert said(from_pipe).startswith("sluice: standard input: ")


def test_a_file_that_is_endless_is_not_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is bounded, whoever sent the file."""
    monkeypatch.setattr("sluice.topology.audit.proofs.MAX_FILE", 100)
    (tmp_path / "file").write_bytes(b" " * 101)

    result = run("verify", tmp_path / "file", "--key", KEY)

    assert (result.exit_code, "too long" in said(result)) == (1, True)


def test_a_file_that_is_not_there_is_wrong_usage(tmp_path: Path) -> None:
    """As are a folder to write to that is none, and an export that is none."""
    for args in (
        ("verify", tmp_path / "none", "--key", KEY),
        ("prove", "em-1", "--offline", tmp_path / "none"),
    ):
        result = run(*args)
        assert result.exit_code == 2
        said(result)


def test_a_proof_that_cannot_be_written_is_reported(export: Path, tmp_path: Path) -> None:
    """After it was made."""
    result = run("prove", "em-1", "--offline", export, "--out", tmp_path / "none" / "p.json")

    assert (result.exit_code, "cannot be written" in said(result)) == (2, True)


def test_a_proof_never_overwrites_a_file(proof: Path, tmp_path: Path) -> None:
    """Exit 2 before anything is read, and the file is as it was."""
    before = proof.read_bytes()

    result = run("prove", "em-2", "--offline", tmp_path / "none", "--out", proof)

    assert (result.exit_code, proof.read_bytes()) == (2, before)
    assert f"{proof}: there is a file already" in said(result)


@pytest.mark.parametrize(
    ("args", "status"),
    [
        (("em-4",), 1),
        (("em-3",), 1),  # no checkpoint covers it yet
        (("em-1", "em-2"), 2),
        (("em-1", "--lane", "9"), 2),
        (("--consistency", "4", "6", "8"), 2),
        (("--consistency", "four"), 2),
        (("--consistency", "5"), 1),
        (("--consistency", "8", "4"), 2),
    ],
)
def test_what_cannot_be_proved_is_reported_in_one_sentence(export: Path, args: tuple[str, ...], status: int) -> None:
    """1: it does not hold; 2: wrong usage."""
    result = run("prove", *args, "--offline", export)

    assert (result.exit_code, result.stdout) == (status, "")
    said(result)


def test_long_readings_are_reported_in_a_pipe(export: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plain lines on standard error; the proof itself stays clean."""
    monkeypatch.setattr(commands, "PROGRESS_SECONDS", 0.0)

    result = run("prove", "em-1", "--offline", export)

    assert result.stderr.splitlines()[-1] == "sluice: reading lane 0, block 3"
    assert json.loads(result.stdout)["what"] == "input"


# ---------------------------------------------------------------- keys


def test_a_new_key_is_its_owner_s_alone(tmp_path: Path) -> None:
    """The verifier is printed, and again whenever it is asked for; the private key never."""
    path = tmp_path / "keys" / "signing.key"

    made = run("key", "new", "sluice/prod", "--out", path)
    shown = run("key", "show", path)

    assert made.exit_code == shown.exit_code == 0
    assert made.stdout == shown.stdout
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert str(Signer.parse(path.read_text()).verifier) == made.stdout.strip()
    secret = path.read_text().strip().split("+", 4)[4]  # base64, which may have a plus of its own
    assert len(secret) > 40
    assert secret not in made.stdout + made.stderr + shown.stdout


def test_a_new_key_inside_a_git_checkout_is_warned_of(tmp_path: Path) -> None:
    """In one sentence on standard error; the `.gitignore` is beside the key. Outside, nothing is said."""
    (tmp_path / "in" / ".git").mkdir(parents=True)

    inside = run("key", "new", "sluice/prod", "--out", tmp_path / "in" / "a.key")
    outside = run("key", "new", "sluice/prod", "--out", tmp_path / "a.key")

    (warning,) = (line for line in inside.stderr.splitlines() if "warning" in line)
    assert f"lies inside the git checkout {tmp_path / 'in'}; a .gitignore beside it names it now" in warning
    assert (tmp_path / "in" / ".gitignore").read_text().startswith("/a.key\n")
    assert "warning" not in outside.stderr


def test_a_key_is_never_overwritten(tmp_path: Path) -> None:
    """Exit 2, and the file is as it was."""
    path = tmp_path / "signing.key"
    assert run("key", "new", "sluice/prod", "--out", path).exit_code == 0
    before = path.read_text()

    again = run("key", "new", "sluice/prod", "--out", path)

    assert (again.exit_code, path.read_text()) == (2, before)
    assert "never overwritten" in said(again)


def test_a_verifier_may_stand_in_a_file(proof: Path, tmp_path: Path) -> None:
    """As `key show` writes it."""
    (tmp_path / "prod.pub").write_text(f"{KEY}\n")

    assert run("verify", proof, "--key", tmp_path / "prod.pub").exit_code == 0


def test_one_of_several_keys_is_enough(proof: Path) -> None:
    """Others' signatures may be missing; with no right key it does not hold."""
    other = str(Signer("sluice/test", bytes(32)).verifier)

    assert run("verify", proof, "--key", other, "--key", KEY).exit_code == 0
    result = run("verify", proof, "--key", other)
    assert (result.exit_code, "nobody whose key is known" in said(result)) == (1, True)


@pytest.mark.parametrize("key", ["", "x", KEY[:-4], KEY.replace("+", "-"), "/no/such/file", "n" * 10_000, "\0", "."])
def test_a_bad_key_is_wrong_usage(proof: Path, key: str) -> None:
    """Exit 2, before the proof is looked at."""
    result = run("verify", proof, "--key", key)

    assert result.exit_code == 2
    assert len(said(result)) < 400


def test_a_private_key_in_the_place_of_a_verifier_is_not_repeated(proof: Path, tmp_path: Path) -> None:
    """Neither as text nor from its file; `key show` is what helps."""
    (tmp_path / "signing.key").write_text(SIGNER.encoded())

    for key in (SIGNER.encoded(), tmp_path / "signing.key"):
        result = run("verify", proof, "--key", key)
        assert result.exit_code == 2
        assert "sluice key show" in said(result)
        assert SIGNER.encoded().rpartition("+")[2] not in result.stderr


def test_binary_files_are_no_keys(proof: Path, tmp_path: Path) -> None:
    """For both commands that read one."""
    (tmp_path / "file").write_bytes(b"\xff\xfe")

    for args in (("verify", proof, "--key", tmp_path / "file"), ("key", "show", tmp_path / "file")):
        result = run(*args)
        assert (result.exit_code, "not UTF-8" in said(result)) == (2, True)


@pytest.mark.parametrize("command", [("prove",), ("verify",), ("key", "new"), ("key", "show")])
def test_every_command_has_an_example(command: tuple[str, ...]) -> None:
    """In its help."""
    result = run(*command, "--help")

    assert (result.exit_code, "  Example:\n    sluice " in result.stdout) == (0, True)
