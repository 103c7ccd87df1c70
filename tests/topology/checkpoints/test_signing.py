"""A key's file is made once, whole, for its owner only, and nobody's key is ever written over."""

from __future__ import annotations

import stat
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from sluice.codecs.errors import UsageError
from sluice.topology.engine import signing
from sluice.topology.engine.signing import load_or_make_signer, load_signer, new_signer, save_signer


def test_a_key_is_made_on_first_use_and_read_again(tmp_path: Path) -> None:
    """Folders are made as needed; the name is only given to a new key."""
    path = tmp_path / "var" / "keys" / "signing.key"

    made = load_or_make_signer(path, "sluice/one")
    again = load_or_make_signer(path, "sluice/two")

    assert made.name == again.name == "sluice/one"
    assert made.encoded() == again.encoded() == load_signer(path).encoded()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [one.name for one in path.parent.iterdir()] == ["signing.key"]


def test_all_who_start_at_once_end_with_one_key(tmp_path: Path) -> None:
    """Whoever comes second takes the first one's, and never reads half of it."""
    path, start = tmp_path / "signing.key", Barrier(8)

    def begin(number: int) -> str:
        start.wait()
        return load_or_make_signer(path, f"sluice/{number}").encoded()

    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(begin, range(8)))

    assert found == {load_signer(path).encoded()}
    assert list(tmp_path.iterdir()) == [path]


def test_who_is_slower_by_a_hair_takes_the_key_that_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the look and the writing, another process may have made one."""
    path, other = tmp_path / "signing.key", new_signer("sluice/other")

    def slow(name: str) -> signing.Signer:
        save_signer(other, path)
        return new_signer(name)

    monkeypatch.setattr(signing, "new_signer", slow)

    assert load_or_make_signer(path, "sluice/own").encoded() == other.encoded()


def test_a_key_is_never_written_over(tmp_path: Path) -> None:
    """Nor is anything else that stands there."""
    path = tmp_path / "signing.key"
    path.write_text("something else")

    with pytest.raises(UsageError, match="never overwritten"):
        save_signer(new_signer("sluice"), path)
    with pytest.raises(UsageError, match="not a private key"):
        load_or_make_signer(path, "sluice")

    assert path.read_text() == "something else"
    assert list(tmp_path.iterdir()) == [path]


def test_two_new_keys_differ() -> None:
    """Each has a seed of its own."""
    assert new_signer("sluice").encoded() != new_signer("sluice").encoded()


def test_a_file_that_holds_no_key_is_reported_without_what_it_holds(tmp_path: Path) -> None:
    """The sentence names the file; a damaged key is still a secret."""
    path, key = tmp_path / "signing.key", new_signer("sluice").encoded()
    path.write_text(key[:-4])

    with pytest.raises(UsageError) as caught:
        load_signer(path)

    assert str(path) in str(caught.value)
    assert key[-12:-4] not in str(caught.value)


@pytest.mark.parametrize("raw", [b"", b"\xff\xfe", b"x" * 10_000])
def test_other_files_are_no_keys(tmp_path: Path, raw: bytes) -> None:
    """Empty, binary or long: one sentence, wrong usage."""
    path = tmp_path / "signing.key"
    path.write_bytes(raw)

    with pytest.raises(UsageError) as caught:
        load_signer(path)

    assert len(str(caught.value)) < 300


def test_a_file_or_folder_that_is_not_to_be_used_is_reported(tmp_path: Path) -> None:
    """Reading what is not there, and writing below what is no folder."""
    (tmp_path / "file").write_text("")

    with pytest.raises(UsageError, match="No such file"):
        load_signer(tmp_path / "none.key")
    with pytest.raises(UsageError, match="cannot be written"):
        save_signer(new_signer("sluice"), tmp_path / "file" / "signing.key")
    with pytest.raises(UsageError, match="cannot be written"):
        load_or_make_signer(tmp_path / "file" / "signing.key", "sluice")


def test_a_name_that_no_key_can_have_makes_no_file(tmp_path: Path) -> None:
    """It is refused before anything is written."""
    with pytest.raises(UsageError, match="not a key's name"):
        load_or_make_signer(tmp_path / "signing.key", "a name")

    assert list(tmp_path.iterdir()) == []


# ---------------------------------------------------------------- inside a git checkout


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A git repository with a folder in it."""
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    (tmp_path / "below").mkdir()
    return tmp_path


def listed(checkout: Path) -> list[str]:
    """What git would take in with `git add --all`."""
    command = ["git", "-C", checkout, "ls-files", "--others", "--exclude-standard"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


@pytest.mark.parametrize("name", ["signing.key", "my key [1]*.key ", "#key", "!key", "back\\slash", "schlüssel"])
def test_inside_a_checkout_git_does_not_see_the_key(checkout: Path, name: str) -> None:
    """Whatever it is called; its checkout is told."""
    path = checkout / "below" / name

    assert save_signer(new_signer("sluice/one"), path) == checkout
    assert path.exists()
    assert listed(checkout) == ["below/.gitignore"]


def test_what_stands_in_the_gitignore_stays_and_nothing_is_said_twice(checkout: Path) -> None:
    """Also where its last line has no end."""
    ignoring = checkout / ".gitignore"
    ignoring.write_text("*.log\r\nbuild/")

    save_signer(new_signer("sluice/one"), checkout / "a.key")
    (checkout / "a.key").unlink()
    save_signer(new_signer("sluice/two"), checkout / "a.key")

    assert ignoring.read_bytes() == b"*.log\r\nbuild/\n/a.key\n/.a.key.*\n"


def test_a_key_that_a_worker_makes_is_hidden_from_git_as_well(checkout: Path) -> None:
    """On first use, below the folder of its state."""
    load_or_make_signer(checkout / "var" / "keys" / "signing.key", "sluice/one")

    assert listed(checkout) == ["var/keys/.gitignore"]


def test_a_linked_work_tree_is_a_checkout(tmp_path: Path) -> None:
    """Its `.git` is a file."""
    (tmp_path / ".git").write_text("gitdir: /elsewhere\n")

    assert save_signer(new_signer("sluice/one"), tmp_path / "a.key") == tmp_path
    assert (tmp_path / ".gitignore").read_text() == "/a.key\n/.a.key.*\n"


@pytest.mark.parametrize("kind", ["folder", "link"])
def test_where_the_gitignore_cannot_be_written_there_is_no_key(checkout: Path, kind: str) -> None:
    """A key that git would take in is worse than none."""
    if kind == "folder":
        (checkout / ".gitignore").mkdir()
    else:
        (checkout / ".gitignore").symlink_to(checkout / "elsewhere")

    with pytest.raises(UsageError, match="the private key cannot be written"):
        save_signer(new_signer("sluice/one"), checkout / "a.key")

    assert not (checkout / "a.key").exists()
    assert not (checkout / "elsewhere").exists()


def test_a_name_with_a_line_end_is_refused_inside_a_checkout(checkout: Path) -> None:
    """No line could name it."""
    with pytest.raises(UsageError, match="line end"):
        save_signer(new_signer("sluice/one"), checkout / "a\nb.key")

    assert listed(checkout) == []


def test_outside_a_checkout_nothing_is_written_beside_the_key(tmp_path: Path) -> None:
    """And nothing is told."""
    assert save_signer(new_signer("sluice/one"), tmp_path / "a.key") is None
    assert [one.name for one in tmp_path.iterdir()] == ["a.key"]
