"""substrate.unix.peercred against real sockets, with processes of this user and, run as root, of another."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from looking import parsed_emission, sole

from sluice.codecs.records import Annotation, Observation
from sluice.codecs.times import format_time
from sluice.streams.judging.check_texts import render
from sluice.streams.judging.checks import Check, parse_check
from sluice.streams.judging.facts import PeerFacts
from sluice.topology.observers.look import look
from sluice.topology.observers.observer_registry import ObserverRegistry
from sluice.topology.observers.unix_peercred import identifier
from sluice.topology.settings.settings import Settings

CLASS = "substrate.unix.peercred"
SECRET = "a secret of more than 16"
LISTEN = """
import os, socket, sys, time
path, uid, kind = sys.argv[1], int(sys.argv[2]), getattr(socket, sys.argv[3])
os.setgid(uid); os.setuid(uid)
one = socket.socket(socket.AF_UNIX, kind)
one.bind(path)
one.listen(int(sys.argv[4]))
time.sleep(600)
"""
OTHER = 12_345
"""A uid that nobody has: only root can become it, and then the peer is another user than the observer."""


class Peers:
    """Processes that listen."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.uid = OTHER if os.geteuid() == 0 else os.geteuid()
        self.running: list[subprocess.Popen[bytes]] = []

    def listen(self, name: str, kind: str = "SOCK_STREAM", backlog: int = 50) -> tuple[str, int]:
        """Starts a process that listens; its socket and its pid."""
        path = str(self.folder / name)
        arguments = [sys.executable, "-c", LISTEN, path, str(self.uid), kind, str(backlog)]
        process = subprocess.Popen(arguments)
        self.running.append(process)
        until = time.monotonic() + 60
        while not self._listens(path, getattr(socket, kind)):
            assert time.monotonic() < until
            time.sleep(0.02)
        return path, process.pid

    def _listens(self, path: str, kind: int) -> bool:
        with socket.socket(socket.AF_UNIX, kind) as probe:
            return probe.connect_ex(path) == 0


@pytest.fixture
def peers() -> Iterator[Peers]:
    """Processes that end with the test; their folder is short enough for a socket, and open to all."""
    folder = Path(tempfile.mkdtemp(prefix="sluice-"))
    folder.chmod(0o777)
    made = Peers(folder)
    yield made
    for process in made.running:
        process.kill()
        process.wait()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def asking(tmp_path: Path) -> Iterator[Callable[..., Callable[..., Observation]]]:
    """Opens instruments for some sockets."""
    opened: list[ObserverRegistry] = []

    def open_(*sockets: str, **bounds: Any) -> Callable[..., Observation]:
        (tmp_path / "list.toml").write_text(f"[peercred]\nsockets = {json.dumps(sockets)}\n")
        settings = Settings(**({"privacy_secret": SECRET} | bounds))
        mine = ObserverRegistry(settings, str(tmp_path / "list.toml"))
        opened.append(mine)

        def ask(
            check: str | None,
            path: str = sockets[0],
            kind: str = "assertion",
            declared: str | None = None,
            ts: Any = None,
        ) -> Observation:
            """One check, with the sentence that says it."""
            text = "The service there has the uid 998 now."
            if check is not None and isinstance(parsed := parse_check(check), Check):
                text = render(parsed, path=None, lines=None, commit=None)
            annotation = Annotation(CLASS, declared, ts, {"socket": path, "uid": 7})
            asked = parsed_emission(text, annotation, kind=kind, checks=[check] if check else None)
            return sole(look(asked, settings, tmp_path, instruments=mine))

        return ask

    yield open_
    for one in opened:
        one.close()


def test_the_peers_ids_decide_the_checks(peers: Peers, asking: Any):
    """Uid, gid and pid of the process that listens."""
    path, pid = peers.listen("app.sock")
    ask, uid = asking(path), peers.uid
    gid = OTHER if os.geteuid() == 0 else os.getegid()
    for right in (f"peer(uid={uid}, gid={gid}, pid={pid})", f"peer(uid={uid})", f"not peer(uid={uid + 1})"):
        assert ask(right).outcome == "corroborates", right
    for wrong in (f"peer(uid={uid + 1})", f"peer(gid={gid + 1})", f"peer(pid={pid + 1})", f"not peer(pid={pid})",
                  f"peer(uid={uid}, pid={pid + 1})"):  # fmt: skip
        assert ask(wrong).outcome == "contradicts", wrong
    assert ask(f"not peer(uid={uid + 1})", kind="denial").outcome == "corroborates"
    assert ask(f"peer(uid={uid})", kind="denial").outcome == "absent"
    assert ask("exists(app.sock)").outcome == "absent"


def test_without_a_check_nothing_is_said_of_a_peer(peers: Peers, asking: Any):
    """Words are not looked for in who is there."""
    path, _ = peers.listen("app.sock")
    for kind in ("assertion", "denial"):
        found = asking(path)(None, kind=kind)
        assert (found.outcome, (found.detail or {})["reason"]) == (
            "unavailable",
            "of a peer only checks are decided, and the assertion has none",
        )


def test_a_user_is_named_by_the_hosts_own_list(asking: Any, tmp_path_factory: pytest.TempPathFactory):
    """One that is not known here is nobody of whom anything could be said."""
    path = str(tmp_path_factory.mktemp("u") / "own.sock")
    name = pwd.getpwuid(os.geteuid()).pw_name
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        ask = asking(path)
        assert ask(f"peer(user={name})").verified == [0]
        assert ask("peer(user=no-such-user-here)").outcome == "absent"
        assert ask("not peer(user=no-such-user-here)").outcome == "absent"


def test_the_id_is_an_hmac_and_nothing_else_gets_out(peers: Peers, asking: Any):
    """Identity-bound; of a check its own words and whether it holds, not even why it does not."""
    path, pid = peers.listen("app.sock")
    gid = OTHER if os.geteuid() == 0 else os.getegid()
    for check, holds in (
        (f"peer(uid={peers.uid + 1})", False),
        ("peer(gid=4242424)", False),
        ("peer(user=nobody-x)", None),
    ):
        found = asking(path)(check, declared=f"peercred:{peers.uid}:{gid}:{pid}")
        assert found.observation_id == identifier(SECRET.encode(), PeerFacts(pid, peers.uid, gid))
        assert (found.tier, found.locator, found.looked_at) == ("identity-bound", {"socket": path}, None)
        assert found.detail is not None
        assert found.detail["checks"] == [{"check": check, "holds": holds}]
        assert set(found.detail) <= {"checks", "reason"}
        record = msgspec.json.encode([found.detail, found.locator, found.outcome]).decode()
        assert str(pid) not in record.replace(path, "")
    away = asking(path)("peer(uid=1)", path="/nowhere.sock", declared=f"peercred:{peers.uid}:{gid}:{pid}")
    assert away.observation_id == f"none:{CLASS}"


def test_an_id_without_the_secret_is_another_one_each_time(peers: Peers, asking: Any):
    """The key is made at the start; within one observer the id stays."""
    path, _ = peers.listen("app.sock")
    one, other = asking(path, privacy_secret=None), asking(path, privacy_secret=None)
    text = f"peer(uid={peers.uid})"
    assert one(text).observation_id == one(text).observation_id != other(text).observation_id


def test_an_id_that_no_connection_had_is_made_up(peers: Peers, asking: Any):
    """If it is dated since the observer's start; one that a connection had is judged by what stands there now."""
    path, _ = peers.listen("app.sock")
    ask, text = asking(path), f"peer(uid={peers.uid})"
    now = format_time(time.time_ns() // 1_000_000 + 10)
    found = ask(text, declared="peercred:" + "0" * 64, ts=now)
    assert (found.outcome, found.observation_id) == ("unknown-observation", "peercred:" + "0" * 64)
    assert ask(text, declared=ask(text).observation_id, ts=now).outcome == "corroborates"
    assert ask(text, declared="peercred:" + "0" * 64, ts="2026-01-01T00:00:00Z").outcome == "corroborates"


def test_packets_in_sequence_have_peers_too(peers: Peers, asking: Any):
    """SOCK_SEQPACKET is connected to as well."""
    path, pid = peers.listen("packets.sock", "SOCK_SEQPACKET")
    assert asking(path)(f"peer(pid={pid})").outcome == "corroborates"


def test_nobody_there_is_unavailable(peers: Peers, asking: Any, tmp_path: Path):
    """No socket, a plain file, a socket that nobody listens on any more, a backlog that is full: in time."""
    full, _ = peers.listen("full.sock", backlog=0)
    plain, gone = str(tmp_path / "plain"), str(peers.folder / "gone.sock")
    Path(plain).touch()
    with socket.socket(socket.AF_UNIX) as once:
        once.bind(gone)
    waiting = []
    for _ in range(3):
        one = socket.socket(socket.AF_UNIX)
        one.setblocking(False)
        one.connect_ex(full)
        waiting.append(one)
    ask = asking(full, plain, gone, "/nowhere.sock", look_timeout=0.5)
    for path in (full, plain, gone, "/nowhere.sock"):
        assert ask("peer(uid=0)", path=path).outcome == "unavailable"
    for one in waiting:
        one.close()


def test_what_is_not_listed_is_not_connected_to(peers: Peers, asking: Any):
    """To the letter, before any other test."""
    path, _ = peers.listen("app.sock")
    ask = asking("/other.sock")
    for wrong in (path, "/other.sock/", "/./other.sock"):
        found = ask("peer(uid=0)", path=wrong)
        assert (found.detail or {})["reason"] == "the socket is not on the operator's list"
        assert (found.outcome, found.locator) == ("unavailable", None)
