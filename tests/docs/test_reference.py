"""The reference is made from the code, and is what the code says now."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import make_reference
import make_reference_policy
import make_reference_records
import pytest

from sluice.topology.settings.settings import Settings


def test_the_reference_is_what_the_code_says_now():
    """`make reference` would change nothing."""
    tool = make_reference.FOLDER.parents[1] / "tools" / "make_reference.py"
    done = subprocess.run([sys.executable, tool, "--check"], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def test_what_is_out_of_date_is_named(tmp_path: Path):
    """A page that says something else, one that is not there, and one that nothing makes."""
    for name, text in make_reference.pages().items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    assert make_reference.stale(tmp_path) == []
    (tmp_path / "topics.md").write_text("# Topics", "utf-8")
    (tmp_path / "settings.md").unlink()
    (tmp_path / "schemas" / "thought.json").write_text("{}", "utf-8")
    assert make_reference.stale(tmp_path) == ["schemas/thought.json", "settings.md", "topics.md"]


def test_pages_are_the_same_each_time():
    """Whatever the hash seed: nothing depends on the order of a set."""
    code = "import make_reference, hashlib; print(hashlib.sha256(repr(make_reference.pages()).encode()).hexdigest())"
    made = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(make_reference.FOLDER.parents[1] / "tools")},
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(made) == 1


def test_a_key_of_the_policy_without_a_word_on_it_is_an_error(monkeypatch: pytest.MonkeyPatch):
    """Whoever adds one says what it is for."""
    less = {key: text for key, text in make_reference_policy.KEYS.items() if key != "admissibility.horizon"}
    monkeypatch.setattr(make_reference_policy, "KEYS", less)
    with pytest.raises(SystemExit, match=r"admissibility\.horizon"):
        make_reference_policy.policy()


def test_every_setting_has_its_meaning():
    """None stands there without a word on what it is for."""
    rows = [line for line in make_reference_records.settings().splitlines() if line.startswith("| `")]
    assert [row.split("`")[1] for row in rows] == list(Settings.__struct_fields__)
    assert all(row.rsplit("|", 2)[1].strip() for row in rows)


def test_a_published_schema_is_the_commands_own():
    """Of `sluice schema`: what validates here validates there."""
    from click.testing import CliRunner

    from sluice.topology.cli import main

    pages = make_reference.pages()
    for name in make_reference_records.record_types():
        printed = CliRunner().invoke(main, ["schema", name]).stdout
        assert json.loads(pages[f"schemas/{name}.json"]) == json.loads(printed)
    strict = CliRunner().invoke(main, ["schema", "emission", "--strict"]).stdout
    assert json.loads(pages["schemas/emission-strict.json"]) == json.loads(strict)
