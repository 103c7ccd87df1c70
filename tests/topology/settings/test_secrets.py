"""Whoever folds a ledger again that hashes identifiers needs its secret [S §12], and shows what the lane did."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result
from exported import KEY, ExportedLane, M, S, emission_after, explanation_of, lane_after, observation_after

from sluice.codecs.blocks import unseal
from sluice.codecs.errors import UsageError
from sluice.streams.policy.policy import Admissibility, LeastObservers, Policy, PrivacyRules
from sluice.streams.policy.privacy import Secret, Secrets
from sluice.topology.cli import main
from sluice.topology.engine.folds import Adjudicate
from sluice.topology.engine.replay import Restored, beginning, fold_next
from sluice.topology.settings.settings import Settings, secrets_of

SECRET, LATER = "correct horse battery staple", "another secret of some length"
HASHED = Policy(privacy=PrivacyRules(observation_ids="hashed", chain_sources="hashed"))
OMITTED = Policy(privacy=PrivacyRules(observation_ids="omitted"))
NOTE = {
    "substrate_class": "substrate.code.read",
    "observation_id": "path:/home/alice",
    "locator": {"path": "/home/alice"},
}
PEER = {
    "substrate_class": "substrate.unix.peercred",
    "observation_id": "peercred:1000",
    "locator": {"socket": "/run/a", "uid": "1000"},
}
SEEN = {"locator": {"path": "/home/alice"}, "detail": {"found": ["it"], "missing": [], "at": "/home/alice"}}


def histories() -> list[tuple[int, list]]:
    """One assertion with evidence of three classes, one of them about a peer."""
    records = [
        emission_after(provenance=[NOTE, PEER], chain=[{"step": "retrieval", "source": "/home/alice", "metadata": {}}]),
        observation_after(S, "code.read", observation_id="path:/home/alice", **SEEN),
        observation_after(S, "git.log", observation_id="path:/home/alice", **SEEN),
        observation_after(
            S,
            "unix.peercred",
            observation_id="peercred:1000",
            tier="identity-bound",
            locator={"uid": "1000"},
            detail={"found": ["uid"], "missing": [], "uid": 1000},
        ),
    ]
    return [(S, records), (11 * M, [])]


@pytest.fixture
def on_export(tmp_path: Path) -> Callable[..., Result]:
    """`on_export(command, …, secret=…, former=…)`: a command on the export of a ledger that was hashed with SECRET."""
    secrets = Secrets(Secret(SECRET))
    folder = lane_after(*histories(), policy=HASHED, secrets=secrets).export(tmp_path / "export")

    def run(*arguments: str, secret: str = "", former: str = "") -> Result:
        environment = {"SLUICE_PRIVACY_SECRET": secret, "SLUICE_FORMER_PRIVACY_SECRETS": former}
        return CliRunner().invoke(main, [*arguments, "--offline", str(folder)], env=environment)

    return run


COMMANDS = [("audit", "--processes", "1"), ("explain", "em-1"), ("prove", f"em-1#{KEY}")]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
@pytest.mark.parametrize("secret", ["", LATER], ids=["none", "another"])
def test_another_secret_is_reported_in_one_sentence(on_export, command: tuple[str, ...], secret: str):
    """It is wrong usage, not a divergence; which key is wanted is said, and no secret."""
    result = on_export(*command, secret=secret)

    explanation = result.stderr.strip().splitlines()[-1]
    assert result.exit_code == 2
    assert "another privacy_secret" in explanation
    assert Secret(SECRET).id in explanation
    assert SECRET not in result.output + result.stderr
    assert LATER not in result.output + result.stderr


@pytest.mark.parametrize(("secret", "former"), [(SECRET, ""), (LATER, SECRET), (LATER, f"x\n{SECRET}\n")])
def test_a_ledger_is_audited_with_its_own_secret(on_export, secret: str, former: str):
    """The present one, or one from before."""
    result = on_export("audit", "--json", "--processes", "1", secret=secret, former=former)

    report = json.loads(result.stdout)
    assert (result.exit_code, report["divergences"]) == (0, [])


def test_what_if_takes_the_secret_as_well(on_export, tmp_path: Path):
    """And tells what would have been decided otherwise."""
    file = tmp_path / "new.toml"
    file.write_text("[admissibility]\nk = { internal = 4, external = 4 }\n")

    assert on_export("what-if", "--policy", str(file), secret=LATER).exit_code == 2
    assert json.loads(on_export("what-if", "--policy", str(file), "--json", secret=SECRET).stdout)["changed"] == 1


def test_explain_shows_hashed_ids_and_no_place(on_export):
    """As the outputs have them; where an id is not in clear, no locator gives it away."""
    explanation = on_export("explain", "em-1", "--json", secret=SECRET).stdout
    shown = {one["observation"]["observation_id"] for one in json.loads(explanation)["inputs"][1:]}

    assert shown == {Secret(SECRET).hashed("path:/home/alice"), Secret(SECRET).hashed("peercred:1000")}
    assert "alice" not in explanation
    assert "1000" not in explanation


@pytest.mark.parametrize("policy", [Policy(), OMITTED], ids=["clear", "omitted"])
async def test_no_credential_is_reported(tmp_path: Path, policy: Policy):
    """Under no policy: neither of what was seen nor of what was declared; which fields were compared is."""
    explanation = await explanation_of(lane_after(*histories(), policy=policy), tmp_path)

    shown = msgspec.json.encode(explanation).decode()
    assert "1000" not in shown
    assert ("alice" in shown) == (policy is not OMITTED)
    assert explanation.inputs[3].observation.detail == {"found": ["uid"], "missing": []}


async def test_too_few_observers_are_reported(tmp_path: Path):
    """Of how many: two classes seen by one observer are below the floor of two [S §11.3]."""
    policy = Policy(
        admissibility=Admissibility(min_observers=LeastObservers(internal=2, external=2)),
        disposition=Policy().disposition,
    )
    explanation = await explanation_of(lane_after(*histories(), policy=policy), tmp_path)

    (assertion,) = explanation.assertions
    verdict = assertion.verdicts[-1]
    assert (verdict.status, verdict.missing_floor, verdict.missing_observers) == ("below-floor", 0, 1)
    assert assertion.min_observers == 2


def test_former_secrets_stand_one_a_line():
    """A secret may hold spaces."""
    secrets = secrets_of(Settings(privacy_secret=LATER, former_privacy_secrets=f"{SECRET}\n\n"))

    assert secrets.current is not None
    assert secrets.current.id == Secret(LATER).id
    assert secrets.named(f"1 privacy={Secret(SECRET).id}", HASHED.privacy) is not None


def taken_over(lane: ExportedLane, fold: Adjudicate) -> Restored:
    """What another worker with this fold makes of a lane's ledger."""
    at = beginning(fold, lane.lane, lane.lanes)
    for offset, data in enumerate(lane.blocks):
        at = fold_next(at, offset, unseal(data), fold, lane.lane, lane.lanes).restored
    return at


@pytest.mark.parametrize("secrets", [Secrets(), Secrets(Secret(LATER))], ids=["none", "another"])
def test_a_lane_is_not_taken_over_without_its_secret(secrets: Secrets):
    """A worker that lacks it would go on leaving out, or hashing otherwise, what the others hash: it says so."""
    lane = lane_after(*histories(), policy=HASHED, secrets=Secrets(Secret(SECRET)))

    with pytest.raises(UsageError, match="another privacy_secret"):
        taken_over(lane, Adjudicate("murmur2", secrets))


def test_a_lane_goes_on_with_a_new_secret_where_it_knows_the_old_one():
    """Its state does not depend on either, and the next block names the new key."""
    lane = lane_after(*histories(), policy=HASHED, secrets=Secrets(Secret(SECRET)))
    fold = Adjudicate("murmur2", Secrets(Secret(LATER), [Secret(SECRET)]))
    state = taken_over(lane, fold).state

    assert fold.named(state).endswith(f" privacy={Secret(LATER).id}")
    assert b"".join(fold.dump(state)) == b"".join(lane.fold.dump(lane.state))
