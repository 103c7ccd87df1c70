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
from click.testing import CliRunner
from exported import BASE, KEY, H, M, Record, S, emission_after, lane_after, observation_after, reviewed_claim

from sluice.streams.adjudication.snapshot import dump
from sluice.streams.policy.policy import DEFAULT_POLICY
from sluice.topology.cli import main
from sluice.topology.ledger.folds import Adjudicate

HERE = Path(__file__).parent
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


def run(*arguments: str) -> str:
    """What a command prints, with its exit status in front; without the progress that a slow machine gets to see."""
    result = CliRunner().invoke(main, list(arguments))
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
    for name, text in (answers(folder, scratch) | {"snapshots.txt": snapshots()}).items():
        (folder / name).write_text(text, "utf-8")
    shutil.rmtree(scratch)


if __name__ == "__main__":
    write(DATA)
    print(f"{sum(1 for _ in DATA.rglob('*'))} files")
