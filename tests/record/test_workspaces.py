"""Sessions that were recorded elsewhere: where their checkout lay there, and when nobody may guess."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from sluice.record import MemorySink, Recorder
from sluice.record.transcripts import open_transcript

DATA = Path(__file__).parent / "transcripts" / "data"
SAMPLES = ("claude-code.jsonl", "codex.jsonl", "openhands.json", "openhands-sdk", "swe-agent.traj")
CART = "# cart\n\nMAX_ITEMS = 40\n"
STATEMENT = "`MAX_ITEMS` is 40."


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """The checkout that the samples are about, in a folder of its own."""
    root = tmp_path / "here"
    for name in ("cart.py", "src/cart.py"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(CART)
    for command in (["init", "-q"], ["add", "."]):
        subprocess.run(["git", "-C", str(root), *command], check=True)
    return root


def recorded(sink: MemorySink) -> list[dict[str, Any]]:
    return [one for record in sink.records for one in json.loads(record.value)["assertions"]]


def of_calls(root: Path | None, *calls: tuple[str | None, str, str], statement: str = STATEMENT) -> dict[str, Any]:
    """The one assertion of a turn with these calls of Bash: folder, command, result."""
    sink = MemorySink()
    with Recorder("agent", sink, root=root).turn("c-1") as turn:
        for cwd, command, result in calls:
            turn.tool(name="Bash", arguments={"command": command}, result=result, cwd=cwd)
        turn.text(statement)
    (assertion,) = recorded(sink)
    return assertion


def paths(assertion: dict[str, Any]) -> list[str]:
    return [one["locator"].get("path", "") for one in assertion.get("provenance", [])]


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("at_hand", [True, False])
def test_every_sample_gives_annotations_and_no_check(name: str, at_hand: bool, shop: Path):
    """With the checkout at hand, which lies in another folder than the agent's did, and without it."""
    sink = MemorySink()
    recorder = Recorder("agent", sink, root=shop if at_hand else None)
    assert recorder.record("c-1", open_transcript(DATA / name)) == []
    (assertion,) = [one for one in recorded(sink) if one.get("provenance")]
    (annotation,) = assertion["provenance"]
    assert annotation["substrate_class"] == "substrate.grep"
    path = annotation["locator"]["path"]
    assert path.endswith("cart.py")
    assert "checks" not in assertion
    assert ("quote" in annotation["locator"]) is at_hand


@pytest.mark.parametrize(
    ("cwd", "command", "result", "path"),
    [
        ("/workspace/shop", "cat cart.py", CART, "cart.py"),
        ("/workspace/shop", "cat /workspace/shop/src/cart.py", CART, "src/cart.py"),
        ("/workspace/shop/src", "cat cart.py", CART, "src/cart.py"),  # not the file of that name at the top
        ("/workspace/shop", "cat other.py", CART, ""),
        ("/workspace/shop", "cat cart.py", CART.replace("# cart", "# the cart"), "cart.py"),  # it has changed since
        ("/workspace/store", "cat cart.py", "\n# store\n\nMAX_ITEMS = 7\n", ""),  # another repository's
        ("/workspace/store", "cat cart.py", "\n\n", ""),
        ("/workspace/store", "rg -l MAX_ITEMS", "cart.py\n", ""),  # a name alone says too little
    ],
)
def test_the_folder_is_found_by_a_tracked_file(cwd: str, command: str, result: str, path: str, shop: Path):
    """The longest path that is tracked here decides; without one nothing is taken."""
    assert paths(of_calls(shop, (cwd, command, result))) == ([path] if path else [])


def test_once_found_the_folder_holds_for_the_session(shop: Path):
    """Also for calls that look at no file which is here."""
    statement = "`src/cart.py` was changed by Ada A."
    log = "commit " + "a" * 40 + "\nAuthor: Ada A <a@b.c>\nDate:   Mon May 25 23:30:00 2026 -0200\n"
    calls = ("/w/shop/src", "cat cart.py", CART), ("/w/shop", "git log -- src/cart.py", log)
    found = of_calls(shop, *calls, statement=statement)["provenance"]
    assert {"substrate_class": "substrate.git.log", "path": "src/cart.py"} in [
        {"substrate_class": one["substrate_class"], "path": one["locator"]["path"]} for one in found
    ]


def test_another_checkout_of_this_machine_is_not_taken_for_this_one(shop: Path, tmp_path: Path):
    """What the agent read there says nothing of the files here, whatever their names."""
    other = tmp_path / "other"
    other.mkdir()
    assert paths(of_calls(shop, (str(other), "cat cart.py", CART))) == []


def test_a_session_that_began_here_looks_nowhere_else(shop: Path, tmp_path: Path):
    """A look outside stays one, though a file of that name is here."""
    calls = (str(shop), "ls", "cart.py"), ("/workspace/shop", "cat cart.py", CART)
    assert paths(of_calls(shop, *calls)) == []
    calls = (str(tmp_path), "ls", "here"), ("/workspace/shop", "cat cart.py", CART)
    assert paths(of_calls(shop, *calls)) == []


@pytest.mark.parametrize("cwd", ["/workspace/../etc", "/", "//", "relative/shop", "~/shop"])
def test_a_strange_folder_leads_nowhere(cwd: str, shop: Path):
    """It is text that somebody wrote."""
    assert paths(of_calls(shop, (cwd, "cat ../../cart.py", CART))) == []


def test_a_trajectory_that_opens_a_file_is_annotated_by_its_window(shop: Path, tmp_path: Path):
    """SWE-agent's programs stand in its command lines; the window says which file it shows."""
    window = "[File: /testbed/src/cart.py (3 lines total)]\n1:# cart\n2:\n3:MAX_ITEMS = 40\n"
    steps = [
        {"thought": "I look.", "action": "cd /testbed\n", "observation": "", "state": {"working_dir": "/testbed"}},
        {"thought": "", "action": "open src/cart.py", "observation": window, "state": {"working_dir": "/testbed"}},
        {"thought": STATEMENT, "action": "", "observation": "", "response": STATEMENT},
    ]
    trajectory = tmp_path / "one.traj"
    trajectory.write_text(json.dumps({"trajectory": steps}))
    sink = MemorySink()
    assert Recorder("agent", sink, root=shop).record("c-1", open_transcript(trajectory)) == []
    (assertion,) = recorded(sink)
    (annotation,) = assertion["provenance"]
    assert annotation["substrate_class"] == "substrate.code.read"
    assert annotation["locator"] == {"path": "src/cart.py", "lines": [1, 3], "quote": "MAX_ITEMS = 40"}
    assert annotation["observation_id"].startswith("sha256:")
    assert "checks" not in assertion
