"""Files are parsed in a process with bounds, and what was parsed is kept on disk for the next command."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from sluice.streams.judging import index as judging_index
from sluice.streams.judging.checks import Source
from sluice.streams.judging.documents import parse_document
from sluice.streams.judging.index_building import build_index
from sluice.streams.judging.verify import parse_code
from sluice.topology.observers import parsing
from sluice.topology.observers.parsing import IndexCache, Limits, Parsed, ParsingProcess, parsing_process

SMALL = "def f():\n    return g(1)\n"
LONG = "def f():\n    return g(1, 'a')\n" * 4_000
"""Takes several times as long as `TIGHT` allows, and several times the memory of what is tried below."""
TIGHT = Limits(seconds=0.04, seconds_per_megabyte=0)
ROOM = Limits(seconds=30.0)
"""Of a process of its own, so that what ends it harms no other test."""


def source(text: str = SMALL, path: str = "a.py") -> Source:
    return Source(path, text, digest=f"sha256:{hash(text)}")


def pid_of(process: ParsingProcess) -> int:
    running = process._running
    assert running is not None
    return running[0].pid


@pytest.fixture
def process() -> Iterator[ParsingProcess]:
    made = ParsingProcess(ROOM)
    yield made
    made.close()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of indexes in a new cache folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "sluice" / "indexes"


@pytest.fixture
def parses(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that are given to the process."""
    done: list[str] = []
    ask = ParsingProcess.ask

    def counted(self: ParsingProcess, kind: str, name: str, text: bytes) -> bytes | None:
        done.append(name)
        return ask(self, kind, name, text)

    monkeypatch.setattr(ParsingProcess, "ask", counted)
    return done


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("src/a.py", SMALL),
        ("a.py", "x = '\udc80'\n"),
        ("a.py", ""),
        ("a.toml", "[x]\ny = [1, 2.5]\n"),
        ("a.yaml", "x: &a {y: yes}\nz: *a\n"),
        ("Makefile", "all: a\n\techo\n"),
        ("a.md", "# A\n\n## B\n"),
        ("a.conf", "not ( of { the family\n"),
        ("a.json", '{"x": "\udc80"}'),
        ("a.h", "int x;\n"),
        ("a.txt", "x"),
    ],
)
def test_what_a_process_parses_is_what_is_parsed_here(path: str, text: str):
    parsed, given = Parsed(1_000_000), source(text, path)
    assert parsed.code(given) == parse_code(given)
    assert parsed.document(given) == parse_document(given)


@pytest.mark.parametrize("limit", ["time", "memory"])
def test_what_is_beyond_a_limit_is_too_large_and_stays_so(limit: str, parses: list[str]):
    """It is known by its content under any path; the file after it is parsed."""
    limits = TIGHT if limit == "time" else ROOM._replace(memory=_address_space() + 8_000_000)
    parsed = Parsed(64_000_000, limits=limits)
    parses.clear()
    try:
        for path in ("a.py", "b/c.py", "a.py"):
            index = parsed.code(source(LONG, path))
            assert index is not None
            assert (index.problem, index.language) == ("too-large", "python")
        assert parses == ["a.py"]
        assert parsed.code(source()) == parse_code(source())
        if limit == "time":
            document = parsed.document(source("x: {a: [1, 2]}\n" * 4_000, "a.yaml"))
            assert document is not None
            assert (document.format, document.problem) == ("yaml", "too-large")
    finally:
        parsing_process(limits).close()


def _address_space() -> int:
    """Bytes of the address space of a process that has parsed a small file."""
    made = ParsingProcess(ROOM)
    assert made.ask("code", "a.py", SMALL.encode())
    pages = int(Path(f"/proc/{pid_of(made)}/statm").read_text("ascii").split()[0])
    made.close()
    return pages * resource.getpagesize()


@pytest.mark.skipif(build_index("java", b"class A {}").problem is not None, reason="no queries for Java")
def test_text_that_takes_long_in_error_recovery_ends():
    limits = Limits(seconds=0.5, seconds_per_megabyte=0)
    parsed = Parsed(1_000_000, limits=limits)
    index, after = parsed.code(source("a=>" * 3_000, "A.java")), parsed.code(source("class A {}", "A.java"))
    parsing_process(limits).close()
    assert index is not None
    assert index.problem == "too-large"
    assert after is not None
    assert after.problem is None


def test_a_process_that_is_ended_from_outside_is_replaced(process: ParsingProcess):
    """Between two files, and while it parses: the file is parsed again."""
    first = process.ask("code", "a.py", SMALL.encode())
    assert first is not None
    before = pid_of(process)
    os.kill(before, signal.SIGKILL)
    assert process.ask("code", "a.py", SMALL.encode()) == first
    assert pid_of(process) != before
    assert not Path(f"/proc/{before}").exists(), "it is left as a zombie"
    stopped = pid_of(process)
    os.kill(stopped, signal.SIGSTOP)  # so that it is parsing whenever the signal comes
    answers: list[bytes | None] = []
    thread = threading.Thread(target=lambda: answers.append(process.ask("code", "a.py", SMALL.encode())))
    thread.start()
    os.kill(stopped, signal.SIGKILL)
    thread.join()
    assert answers == [first]


def test_a_process_that_stands_still_is_given_up(process: ParsingProcess):
    assert process.ask("code", "a.py", SMALL.encode()) is not None
    stopped = pid_of(process)
    os.kill(stopped, signal.SIGSTOP)
    process._limits = ROOM._replace(wall=0.2)
    process.ask("code", "a.py", SMALL.encode())  # the process in its place may be as slow to start
    assert not Path(f"/proc/{stopped}").exists()
    process._limits = ROOM
    assert process.ask("code", "a.py", SMALL.encode()) is not None
    process.close()
    assert process.ask("code", "a.py", SMALL.encode()) is None  # it is over


def test_an_interrupted_request_leaves_no_answer_behind(process: ParsingProcess, monkeypatch: pytest.MonkeyPatch):
    expected = process.ask("code", "b.py", b"x = 1\n")
    with monkeypatch.context() as patched:
        patched.setattr("sluice.topology.observers.parsing._read", _interrupted)
        with pytest.raises(KeyboardInterrupt):
            process.ask("code", "a.py", SMALL.encode())
    assert process.ask("code", "b.py", b"x = 1\n") == expected


def _interrupted(*_: object) -> bytes:
    raise KeyboardInterrupt


def test_the_memory_of_the_process_that_asks_is_not_its_own(process: ParsingProcess):
    """A process that holds much would else replace it after every file."""
    ballast = b"x" * 450_000_000
    process.ask("code", "a.py", SMALL.encode())
    first = pid_of(process)
    process.ask("code", "b.py", SMALL.encode() + b"\n")
    assert pid_of(process) == first
    assert ballast


@pytest.mark.slow
def test_it_is_replaced_after_many_parses(process: ParsingProcess):
    """Here nothing grows with their number: 5,000 of them, of code and of documents, take less than 20 MB."""
    process.ask("code", "a.py", SMALL.encode())
    before, pids = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, {pid_of(process)}
    for number in range(2_500):
        assert process.ask("document", "a.env", b"A=%d\n" % number) is not None
        assert process.ask("code", "a.py", b"def f():\n    return %d\n" % number) is not None
        if process._running is not None:
            pids.add(pid_of(process))
    assert len(pids) >= 3
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000


def test_many_comment_lines_in_a_row_are_parsed():
    """A scanner of comments takes long for them; what counts is the time, not how often it looks."""
    text = "X = 1\n" + "# This line has about as many characters as one.\n" * 400 + SMALL
    index = Parsed(1_000_000).code(source(text))
    assert index is not None
    assert (index.problem, index) == (None, parse_code(source(text)))


def test_threads_share_one_process(parses: list[str]):
    """Each gets the answer to what it asked, and what two ask for is parsed once."""
    parsed = Parsed(1_000_000)
    texts = [f"def f{number}():\n    return {number}\n" for number in range(20)]
    wrong: list[str] = []

    def look() -> None:
        for text in texts:
            if parsed.code(source(text)) != parse_code(source(text)):
                wrong.append(text)

    threads = [threading.Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (wrong, len(parses)) == ([], len(texts))


def test_a_fork_has_a_process_of_its_own():
    parsed = Parsed(1_000_000)
    parsed.code(source())
    ours = pid_of(parsing_process(Limits()))
    child = subprocess.run(
        [sys.executable, "-c", _FORKING],
        check=True,
        capture_output=True,
        text=True,
        env=os.environ | {"PID": str(ours)},
    )
    assert child.stdout.split() == ["other", "same"]


_FORKING = """
import os
from sluice.topology.observers.parsing import LIMITS, parsing_process
process = parsing_process(LIMITS)
process.ask("code", "a.py", b"x = 1")
before = process._running[0].pid
if os.fork() == 0:
    process.ask("code", "a.py", b"x = 2")
    print("same" if process._running[0].pid == before else "other", flush=True)
    process.close()
    os._exit(0)
os.wait()
process.ask("code", "a.py", b"x = 3")
print("same" if process._running[0].pid == before else "other", flush=True)
"""


def test_it_ends_with_the_process_that_started_it():
    parent = subprocess.Popen([sys.executable, "-c", _WAITING], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    assert Path(f"/proc/{pid}").exists()
    parent.kill()
    parent.communicate()
    until = time.monotonic() + 30
    while _runs(pid):
        assert time.monotonic() < until, "it has outlived its parent"
        time.sleep(0.01)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


_WAITING = """
import time
from sluice.topology.observers.parsing import LIMITS, parsing_process
process = parsing_process(LIMITS)
process.ask("code", "a.py", b"x = 1")
print(process._running[0].pid, flush=True)
time.sleep(600)
"""


# ---------------------------------------------------------------- on disk


def looked(*sources: Source, size: int = 1_000_000) -> None:
    """Parses as a command that begins and ends."""
    parsed = Parsed(1_000_000, IndexCache(size))
    for one in sources or (source(),):
        assert parsed.code(one) == parse_code(one)
        assert parsed.document(one) == parse_document(one)
    parsed.close()
    parsed.close()


def test_what_was_parsed_is_there_for_the_next_command(cache: Path, parses: list[str]):
    for _ in range(2):
        looked(source(), source("x: 1\n", "a.yaml"), source("a (", "a.conf"))
    assert parses == ["a.py", "a.yaml", "a.conf"]
    assert (cache.stat().st_mode & 0o777, [one.stat().st_mode & 0o777 for one in cache.iterdir()]) == (
        0o700,
        [0o600] * 3,
    )
    looked(source("x: 1\n", "a.json"))  # another format
    assert len(parses) == 4
    child = subprocess.run([sys.executable, "-c", _NEXT], check=True, capture_output=True, text=True, env=os.environ)
    lines = child.stdout.splitlines()
    assert (lines[0], lines[-1]) == ("None", "too-large")


_NEXT = f"""
from sluice.streams.judging.checks import Source
from sluice.topology.observers.parsing import IndexCache
from sluice.topology.observers.parsing import Parsed
from sluice.topology.observers.parsing import LIMITS, parsing_process
parsing_process(LIMITS).close()  # so that nothing can be parsed
parsed = Parsed(1_000_000, IndexCache(1_000_000))
for text in ({SMALL!r}, "x = 1"):
    print(parsed.code(Source("a.py", text, digest=text)).problem)
"""


def _checked(key: str, data: bytes) -> bytes:
    return parsing._checksum(key, data) + data


def _linked(entry: Path) -> None:
    aside = entry.with_name("aside")
    entry.rename(aside)
    entry.symlink_to(aside)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "cut": lambda entry: entry.write_bytes(entry.read_bytes()[:-1]),
    "empty": lambda entry: entry.write_bytes(b""),
    "flipped": lambda entry: entry.write_bytes(entry.read_bytes()[:-1] + b"\xff"),
    "of another type": lambda entry: entry.write_bytes(_checked(entry.name, msgspec.msgpack.encode({"format": 7}))),
    "of another file": lambda entry: entry.write_bytes(_checked("x", msgspec.msgpack.encode(parse_code(source(""))))),
    "a link": _linked,
    "a pipe": lambda entry: (entry.unlink(), os.mkfifo(entry)),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_is_not_as_it_was_written_is_made_anew(damage: str, cache: Path, parses: list[str]):
    looked()
    (entry,) = cache.iterdir()
    DAMAGES[damage](entry)
    looked()
    looked()
    assert len(parses) == 2
    assert entry.is_file()
    assert not entry.is_symlink()


def _of_others(folder: Path) -> None:
    folder.mkdir(parents=True)
    folder.chmod(0o777)


def _elsewhere(folder: Path) -> None:
    folder.parent.mkdir(parents=True)
    (folder.parent / "other").mkdir(mode=0o700)
    folder.symlink_to(folder.parent / "other")


def _a_file(folder: Path) -> None:
    folder.parent.mkdir(parents=True)
    folder.write_text("x")


@pytest.mark.parametrize("make", [_of_others, _elsewhere, _a_file])
def test_a_folder_that_cannot_be_trusted_keeps_nothing(make: Callable[[Path], None], cache: Path, parses: list[str]):
    make(cache)
    looked()
    looked()
    assert len(parses) == 2
    assert not cache.is_dir() or not list(cache.iterdir())


def test_another_user_owns_nothing_here(cache: Path, parses: list[str], monkeypatch: pytest.MonkeyPatch):
    looked()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    looked()
    assert len(parses) == 2


@pytest.mark.parametrize("changed", ["version", "queries"])
def test_another_version_reads_nothing(changed: str, cache: Path, parses: list[str], monkeypatch: pytest.MonkeyPatch):
    looked()
    if changed == "version":
        monkeypatch.setattr(judging_index, "INDEX_VERSION", judging_index.INDEX_VERSION + 1)
    else:
        read = Path.read_bytes
        monkeypatch.setattr(Path, "read_bytes", lambda path: read(path) + b";" * (path.name == "python.scm"))
    looked()
    monkeypatch.undo()
    assert len(parses) == 2


def test_the_folder_is_bounded(cache: Path):
    """The oldest go first; 0 keeps nothing, and makes no folder."""
    looked(size=0)
    assert not cache.exists()
    looked(*(source(f"x = {number}\n") for number in range(40)), size=2_000)
    kept = sum(one.stat().st_size for one in cache.iterdir())
    assert 1_000 < kept <= 2_000
