"""Whatever a stranger writes into checks and locators: an answer by the rules, and nothing of what is closed."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from looking import Repository, ask, parsed_emission
from search import examples

from sluice.codecs.decode import decode_observation
from sluice.codecs.errors import Fault
from sluice.codecs.records import Annotation, Observation
from sluice.topology.observers.look import look
from sluice.topology.observers.observer_registry import ObserverRegistry
from sluice.topology.settings.settings import Settings

SECRET = "hunter2-hunter2"
PATHS = (
    "a.ini", "src/times.py", "src", "README.md", "image.png", "latin.txt", "nowhere.py", ".env", "id_rsa", ".git/HEAD",
    "../outside", "/etc/passwd", "link", "loose.txt", "*.py", "src/[a-z]*", "", ".", "//", "a.ini/x", "sub/.git/x",
    "a\u202eb", "\u212b.txt", "x" * 300, "CON", "a b", "--output=x", "HEAD:a.ini", ":(top)a.ini", "src/../a.ini",
)  # fmt: skip
WORDS = ("limit", "40", "x.limit", "parse_time", "MAX_RETRIES", SECRET, "é", "\u200b", "a" * 64, "/x/limit", "..", "$")
CHECKS = (
    'contains("{0}")', 'contains("{0}", path="{1}")', 'absent("{0}")', 'absent("{0}", path="{1}")', 'exists("{1}")',
    'missing("{1}")', 'defines("{0}")', 'not defines("{0}", path="{1}")', 'equals("{0}", 40)', 'not equals("{0}", 41)',
    'compare("{0}", <, 41, path="{1}")', 'calls("{0}", "{0}")', 'not uses("{0}", "{0}")', 'imports("{0}")',
    'returns("{0}", "None")', 'count("{0}", =, 1)', 'not count("{0}", >, 2, path="{1}")', 'line("{1}", 1, "{0}")',
    'order("{0}", "limit")', 'commit("{2}")', 'not commit("{2}", date=2020)', 'changed("{1}", "{2}")',
    'not introduced("{0}", "{2}")', 'removed("{0}", "{2}", path="{1}")', 'last_changed("{1}", <, 2027)',
    'modified("{1}", <, 2027)', "peer(uid=0)", "count(subscribers, =, 1)", 'contains("{0}", lines=1-999999999)',
    'absent("{0}", in="{0}")', "nonsense", 'contains("', "", "not missing(x)",
)  # fmt: skip
REVISIONS = ("HEAD", "main", "{head}", "{head7}", "0badcafe", "refs/heads/main", "HEAD~1", "-p", "v1-0-g{head7}", "")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A repository with something of everything, and its HEAD."""
    path = tmp_path_factory.mktemp("hostile") / "root"
    path.mkdir()
    made = Repository(path)
    made.git("init", "--quiet", "--initial-branch", "main")
    made.write("a.ini", "[x]\nlimit = 40\n")
    made.write("src/times.py", "MAX_RETRIES = 5\n\ndef parse_time(value):\n    return None\n")
    made.write("README.md", "# limit\n\nThe limit is 40.\n")
    made.write("image.png", b"\x89PNG\0limit")
    made.write("latin.txt", "é limit".encode("latin-1"))
    made.write(b"caf\xe9.txt", "limit\n")
    made.write(".env", f"{SECRET}\n")
    made.write("id_rsa", f"{SECRET}\n")
    (path / "link").symlink_to("/etc/passwd")
    made.commit("Begin")
    made.write("loose.txt", f"{SECRET}\n")
    (path.parent / "outside").write_text(SECRET)
    return path, made.git("rev-parse", "HEAD")


@pytest.fixture(scope="module")
def instruments() -> Iterator[ObserverRegistry]:
    """Kept over all examples: what was read before must change nothing."""
    with closing(ObserverRegistry(Settings(look_timeout=30))) as made:
        yield made


def of_rules(found: Observation, kind: str) -> None:
    """What holds of every observation of ours."""
    written = msgspec.json.encode(found)
    assert not isinstance(decode_observation(written), Fault)
    verified, refuted = set(found.verified or ()), set(found.refuted or ())
    assert not verified & refuted
    match found.outcome:
        case "corroborates":
            assert verified
            assert not refuted
            assert found.coverage != "none"
        case "contradicts":
            assert refuted
        case "unavailable" | "unknown-observation":
            assert found.verified is None
        case "terms-present":
            assert not verified
        case _:
            assert (found.detail or {}).get("reason")
    if kind == "denial" and found.outcome == "corroborates":
        shown = [one["check"] for one in (found.detail or {})["checks"]]
        assert all(shown[one].startswith(("not ", "absent(", "missing(")) for one in verified)
    assert found.looked_at is None or found.looked_at.root == "default"


locators = st.fixed_dictionaries(
    {},
    optional={
        "path": st.sampled_from(PATHS),
        "ref": st.sampled_from(REVISIONS),
        "commit": st.sampled_from(REVISIONS),
        "lines": st.sampled_from(([1, 2], "3-9", [0], 5, "x")),
        "pattern": st.sampled_from(WORDS),
        "regex": st.booleans(),
        "repo": st.sampled_from(("default", "other", "")),
    },
)


@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    st.lists(
        st.tuples(st.sampled_from(CHECKS), st.sampled_from(WORDS), st.sampled_from(PATHS), st.sampled_from(REVISIONS)),
        max_size=5,
    ),
    locators,
    st.sampled_from(("code.read", "grep", "git.log", "fs.mtime")),
    st.sampled_from(("assertion", "denial", "refusal")),
    st.sampled_from((None, "sha256:0badcafe12", "0badcafe", "mtime:2020-01-01T00:00:00Z", "{head}")),
)
def test_there_is_an_answer_by_the_rules_whatever_is_asked(
    place: tuple[Path, str],
    instruments: ObserverRegistry,
    asked: list[tuple[str, str, str, str]],
    locator: dict[str, Any],
    name: str,
    kind: str,
    declared: str | None,
):
    """No exception, no verdict that the rules do not give, nothing of a file that is closed, no path of this host."""
    path, head = place

    def filled(text: str) -> str:
        return text.replace("{head7}", head[:7]).replace("{head}", head)

    checks = [check.format(word, file, filled(revision)) for check, word, file, revision in asked]
    where = {key: filled(value) if isinstance(value, str) else value for key, value in locator.items()}
    annotation = Annotation(f"substrate.{name}", filled(declared) if declared else None, "2999-01-01T00:00:00Z", where)
    text = "The `limit` is 40 in there, they say."
    (found,) = look(
        parsed_emission(text, annotation, kind=kind, checks=checks or None),
        Settings(look_timeout=30),
        path,
        instruments=instruments,
    )
    of_rules(found, kind)
    for number in found.verified or ():
        entry = (found.detail or {})["checks"][number]
        assert SECRET not in entry["check"] or entry["check"].startswith(("not ", "absent(")), entry
        assert entry.get("path") not in (".env", "id_rsa", "loose.txt")
    assert str(path.parent) not in msgspec.json.encode(found.looked_at).decode()


def test_looks_at_one_state_agree_cold_and_warm(place: tuple[Path, str], instruments: ObserverRegistry):
    """With what was kept over all the others, and with nothing kept."""
    path, head = place
    for check in CHECKS:
        for name in ("code.read", "grep", "git.log", "fs.mtime"):
            filled = check.format("limit", "a.ini", head)
            warm = ask(path, name, filled, checks=[filled], path="a.ini", instruments=instruments)
            cold = ask(path, name, filled, checks=[filled], path="a.ini")
            assert (warm.outcome, warm.detail, warm.observation_id) == (cold.outcome, cold.detail, cold.observation_id)


def test_nothing_was_started_or_written(place: tuple[Path, str]):
    """The work tree is as it was committed."""
    path, _ = place
    status = subprocess.run(["git", "status", "--porcelain"], cwd=path, capture_output=True, text=True, check=True)
    assert status.stdout.split() == ["??", "loose.txt"]
