"""Makes the golden data: exports of ledgers, and what the commands say of them, kept byte for byte (data/README.md).

Run it only when behaviour is meant to change: `PYTHONPATH=tests/support .venv/bin/python tests/golden/make.py`. Its
inputs are fixed here, its times are fixed, so that it writes the same bytes again as long as blocks, the fold and the
outputs stay the same.
"""

from __future__ import annotations

import json
import re
import shutil
from hashlib import sha256
from pathlib import Path
from typing import Any

from audited_lanes import KEY as SIGNER_KEY
from audited_lanes import World
from builders import attestation_value as attestation
from builders import emission_value as emission
from builders import observation_value as observation
from builders import review_value as review
from builders import sighting_value as sighting
from click.testing import CliRunner
from exported import BASE, KEY, H, M, Record, S, emission_after, lane_after, observation_after, reviewed_claim

from sluice.streams.adjudication.snapshot import dump
from sluice.streams.policy.policy import DEFAULT_POLICY
from sluice.topology.cli import main
from sluice.topology.engine.folds import Adjudicate

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
DATA = HERE / "data"
VERSION = 5
"""Of the fold: later versions decide otherwise, and what this one decided stays."""
POLICY = DEFAULT_POLICY
_AT = re.compile(r'(?<="at":")[^"]*(?=","keys")|(?<=, at )\S+(?=\n)|(?<=seconds":)[0-9.]+')
"""When the audit was made, and how long it took."""
CHECKS = ['equals("MAX", 1000)', 'defines("limit", function)']
STATED = "`MAX` is 1000."
STATED_SPAN = {"chars": [0, len(STATED)]}


def seen(at: int, name: str, verdicts: list[tuple[str, bool | None]], emission_id: str) -> Record:
    """An observation that looked at checks: each with whether it held (None: it could not be looked at)."""
    verified = [place for place, (_, holds) in enumerate(verdicts) if holds]
    refuted = [place for place, (_, holds) in enumerate(verdicts) if holds is False]
    detail = {"checks": [{"path": "limits.py", "lines": [3, 3], "commit": "ab" * 20} for _ in verdicts]}
    fields: dict[str, Any] = {"verified": verified, "coverage": "whole"} if verified else {}
    if refuted:
        fields["refuted"] = refuted
    outcome = "corroborates" if verified else "contradicts"
    looked_at = {"root": "main", "path": "limits.py", "content": "sha256:" + "0" * 64}
    return observation_after(
        at, name, outcome, emission_id=emission_id, span=STATED_SPAN, detail=detail, looked_at=looked_at, **fields
    )


def checked(at: int, emission_id: str, **fields: Any) -> Record:
    """A statement with a check, of two classes."""
    notes = [
        {"substrate_class": name, "observation_id": f"sha256:{number:064x}", "ts": BASE + at, "checks": CHECKS[:1]}
        for number, name in enumerate(["substrate.code.read", "substrate.grep"])
    ]
    fields.setdefault("checks", CHECKS[:1])
    return emission_after(at, emission_id, text=STATED, provenance=notes, **fields)


STORY: list[tuple[int, list[Record]]] = [
    (0, [emission_after(), checked(0, "em-2"), checked(0, "em-3", effect="external", checks=CHECKS)]),
    (S, [observation_after(S, name, said) for name, said in (("code.read", "corroborates"), ("git.log", "absent"))]),
    (
        2 * S,
        [
            seen(2 * S, "code.read", [(CHECKS[0], True)], "em-2"),
            seen(2 * S, "grep", [(CHECKS[0], True)], "em-2"),
            seen(2 * S, "code.read", [(CHECKS[0], True), (CHECKS[1], False)], "em-3"),
            seen(2 * S, "grep", [(CHECKS[0], True), (CHECKS[1], None)], "em-3"),
        ],
    ),
    (3 * S, [emission_after(3 * S, attempt=1, effect="external"), ("emissions", (b"em-1", b"\x1b["))]),
    (
        4 * S,
        [observation_after(4 * S, "code.read", attempt=1), observation_after(4 * S, "grep", "contradicts", attempt=1)],
    ),
    (11 * M, [reviewed_claim("admit", attempt=1, reason="It is.")]),
    (2 * H, []),
]
PROGRESS = ("sluice: auditing", "sluice: reading lane", "sluice: vetting for")
EXPLAINED = ["em-1", "em-2", "em-3", f"em-1#{KEY}"]


def run(*arguments: str, given: str = "") -> str:
    """What a command prints, with its exit status in front; without the progress that a slow machine gets to see."""
    result = CliRunner().invoke(main, list(arguments), input=given)
    said = "".join(line for line in result.output.splitlines(keepends=True) if not line.startswith(PROGRESS))
    return f"exit {result.exit_code}\n{said}"


def without_now(text: str) -> str:
    """An explanation without what is by this machine's clock."""
    status, _, body = text.partition("\n")
    reported = json.loads(body)
    for one in reported["assertions"]:
        one.pop("now", None)
    return f"{status}\n{json.dumps(reported, indent=1, sort_keys=True, ensure_ascii=False)}\n"


def write_exports(folder: Path) -> None:
    """The two exports: three lanes with checkpoints, and one lane with every kind of story."""
    World(policy=POLICY, fold=Adjudicate(raised=VERSION)).save(folder / "three-lanes")
    lane_after(*STORY, policy=POLICY, raised=VERSION).export(folder / "stories")


def answers(folder: Path, scratch: Path) -> dict[str, str]:
    """What the commands say of the exports, by the name of the file that keeps it."""
    found: dict[str, str] = {}
    lanes, stories = str(folder / "three-lanes"), str(folder / "stories")
    audit = run("audit", "--offline", lanes, "--key", SIGNER_KEY, "--json")
    found["audit-three-lanes.json"] = _AT.sub("AT", audit.replace(lanes, "EXPORT"))
    found["audit-stories.txt"] = _AT.sub("AT", run("audit", "--offline", stories).replace(stories, "EXPORT"))
    for number, name in enumerate(EXPLAINED):
        reported = run("explain", name, "--offline", stories, "--json").replace(stories, "EXPORT")
        found[f"explain-{number}.json"] = without_now(reported)
    for number, name in enumerate(proved(folder)):
        out = scratch / f"proof-{number}.json"
        assert run("prove", name, "--offline", lanes, "--out", str(out)).startswith("exit 0")
        found[f"proof-{number}.json"] = out.read_text("utf-8")
    what_if = HERE / "k1.toml"
    reported = run("what-if", "--policy", str(what_if), "--offline", stories)
    found["what-if.txt"] = reported.replace(stories, "EXPORT").replace(str(what_if), "POLICY")
    return found


def commands() -> str:
    """SHA-256 of what each command prints for fixed inputs, a line for each."""
    inputs = {
        "parse": _lines(emission(), observation(), review(), sighting(), attestation(), {"emission_id": 1}, {}),
        "canonical-hash": _lines({"b": 1, "a": "e\u0301"}, {"a": 2**53}, {"a": 1, "canonicalisation_version": "0.2"}),
        "sanitise": "".join(_lines(attestation(rationale=text)) for text in _attacks()),
        "fold": _lines(*_history()),
    }
    inputs["render"] = run("parse", given=inputs["parse"]).partition("\n")[2]
    asked = {name: ([name], text) for name, text in inputs.items()}
    asked |= {f"prompt {what}": (["prompt", what], "") for what in ("answer", "proposer")}
    asked |= {"schema": (["schema"], ""), "schema strict": (["schema", "emission", "--strict"], "")}
    asked |= {"asyncapi": (["asyncapi", "--partitions", "4", "--replication", "1"], "")}
    asked |= {"policy check": (["policy", "check", str(ROOT / "examples" / "policy.toml")], "")}
    asked |= {"check": (["check", "--format", "json", str(ROOT / "examples" / "grounded")], "")}
    for path in sorted((ROOT / "tests/record/transcripts/data").iterdir()):
        if path.suffix == ".traj":
            continue  # has no times of its own
        asked[f"record {path.name}"] = (["record", str(path)], "")
    said = {name: run(*words, given=text).replace(str(ROOT), "ROOT") for name, (words, text) in asked.items()}
    return "".join(f"{name}: {sha256(text.encode()).hexdigest()}\n" for name, text in said.items())


def _lines(*records: Any) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def _attacks() -> list[str]:
    """The texts of the conformance corpus."""
    corpus = sorted((ROOT / "tests/conformance/corpus").glob("*.json"))
    read = [json.loads(path.read_text("utf-8")) for path in corpus if path.name != "deviations.json"]
    return [case["text"] for group in read for case in group["cases"] if "text" in case]


def _history() -> list[dict[str, Any]]:
    """The story as `sluice fold` reads it; what is no JSON stands there as a string."""
    return [
        {"at": BASE + at, "topic": topic, "value": value[1].decode("latin-1") if isinstance(value, tuple) else value}
        | ({"key": value[0].decode()} if isinstance(value, tuple) else {})
        for at, records in STORY
        for topic, value in records
    ]


def proved(folder: Path) -> list[str]:
    """Three emissions of the export with checkpoints."""
    world = World(policy=POLICY, fold=Adjudicate(raised=VERSION))
    ids = [record.key.decode() for record in world.topics["admitted", 0] if record.key]
    return [ids[0].split("#")[0], ids[0], ids[-1]]


def snapshots() -> str:
    """SHA-256 of each state's chunks after each of the story's blocks."""
    lines: list[str] = []
    for count in range(len(STORY) + 1):
        lane = lane_after(*STORY[:count], policy=POLICY, raised=VERSION)
        digest = sha256(b"".join(dump(lane.state))).hexdigest()  # type: ignore[arg-type]
        lines.append(f"{count} {digest}")
    return "\n".join(lines) + "\n"


def write(folder: Path) -> None:
    """All golden data."""
    for name in ("three-lanes", "stories"):
        shutil.rmtree(folder / name, ignore_errors=True)
    write_exports(folder)
    scratch = folder / "scratch"
    scratch.mkdir()
    for name, text in (answers(folder, scratch) | {"snapshots.txt": snapshots(), "commands.txt": commands()}).items():
        (folder / name).write_text(text, "utf-8")
    shutil.rmtree(scratch)


if __name__ == "__main__":
    write(DATA)
    print(f"{sum(1 for _ in DATA.rglob('*'))} files")
