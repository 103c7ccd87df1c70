"""Runs git: single commands, and processes that stay open and give objects by name."""

from __future__ import annotations

import hashlib
import os
import re
import select
import selectors
import signal
import subprocess
import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from .ask import Budget, ObservationUnavailable

_NOWHERE = "/nonexistent"
_ENVIRONMENT = {
    "PATH": os.environ.get("PATH", os.defpath),
    "LC_ALL": "C",
    "HOME": _NOWHERE,
    "XDG_CONFIG_HOME": _NOWHERE,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_GRAFT_FILE": os.devnull,
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "false",
    "GIT_PAGER": "cat",
}
_ARGUMENTS = (
    "git",
    "--no-pager",
    *("-c", "safe.directory=*"),  # the operator named this repository; whose it is does not matter for reading
    *("-c", "core.fsmonitor=false"),
    *("-c", "core.hooksPath=" + os.devnull),
    *("-c", "core.attributesFile=" + os.devnull),
    *("-c", "core.excludesFile=" + os.devnull),
    *("-c", "core.commitGraph=false"),  # a file beside the objects that can say otherwise than they
    *("-c", "core.quotePath=true"),
    *("-c", "protocol.allow=never"),
)
_CHUNK = 1 << 16
_IGNORES = "check-ignore"
_COMPARES = "diff-tree"
_REF = re.compile(r"(?!-)(?!.*(?:\.\.|//|@\{|\.lock(?:/|$)))[^\x00-\x20\x7f~^:?*\[\\]{1,256}")


class GitFailed(ObservationUnavailable):
    """Git ended with a status that is not 0."""

    def __init__(self, command: str, status: int) -> None:
        super().__init__(f"git {command} failed with status {status}")
        self.status = status


class Git:
    """One repository: a work tree with its `.git`, or a bare one.

    Where `.git` leads is read once, when this is made; git is told so, and does not read it again.

    Attributes:
        root: its top folder.
        directory: its `.git`; of a bare one the top folder.
        own: the folder with this work tree's HEAD and index.
        common: the folder with what all work trees share: objects, branches, where a shallow history ends.
    """

    def __init__(self, root: str, directory: str, bare: bool) -> None:
        self.root, self.directory, self.bare = root, directory, bare
        folders = self.folders()
        self.own, self.common = folders[1 if os.path.isfile(directory) and len(folders) > 1 else 0], folders[-1]

    @classmethod
    def at(cls, root: str) -> Git | None:
        """The repository whose top folder `root` is; None where it is none. Folders above are never looked at.

        Whatever is called `.git` makes it one, a link that leads nowhere too: else what it tracks would not matter.
        """
        inner = os.path.join(root, ".git")
        if os.path.lexists(inner):
            return cls(root, inner, bare=False)
        parts = ("HEAD", "objects", "refs")
        if all(os.path.exists(os.path.join(root, part)) for part in parts):
            return cls(root, root, bare=True)
        return None

    def folders(self) -> list[str]:
        """Where git keeps what is its own: `.git`, and the folders that it leads to from a linked work tree."""
        found = [self.directory]
        for name, mark in ((self.directory, "gitdir: "), ("commondir", "")):
            try:
                with open(os.path.join(found[-1], name), encoding="utf-8", errors="surrogateescape") as file:
                    line = file.readline(4096).rstrip("\n")
            except OSError:
                continue
            if line.startswith(mark):
                found.append(os.path.join(self.root if mark else found[-1], line.removeprefix(mark)))
        return found

    def start(self, command: str, *arguments: str, config: Iterable[str] = ()) -> subprocess.Popen[bytes]:
        """Starts one plumbing command; who starts it ends it (`end_process`).

        Args:
            command: a subcommand of git.
            arguments: as git gets them; what strangers wrote never stands where an option could.
            config: `name=value` for this process alone.

        Raises:
            ObservationUnavailable: git cannot be run.
        """
        tree = self.root
        special = {} if self.common == self.own else {"GIT_COMMON_DIR": self.common}
        if command == _COMPARES:  # no work tree and no index, so no `.gitattributes`: what is text, the content says
            tree, special["GIT_INDEX_FILE"] = _NOWHERE, os.path.join(_NOWHERE, "index")
        place = [f"--git-dir={self.own}", *([] if self.bare else [f"--work-tree={tree}"])]
        if command == _IGNORES:
            special["GIT_LITERAL_PATHSPECS"] = "0"  # it knows no patterns, and refuses to be told to know none
        given = [word for one in config for word in ("-c", one)]
        try:
            return subprocess.Popen(
                [*_ARGUMENTS, *given, *place, command, *arguments],
                cwd=self.root if tree != _NOWHERE else "/",
                env={**_ENVIRONMENT, **special},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                start_new_session=True,
            )
        except OSError as error:
            raise ObservationUnavailable(f"git cannot be run: {error.strerror}") from None

    def stream(self, budget: Budget, command: str, *arguments: str, feed: Iterable[bytes] = ()) -> Iterator[bytes]:
        """Runs one plumbing command and yields its output in chunks.

        Args:
            budget: bounds the time and the bytes that are read.
            command: a subcommand of git.
            arguments: as git gets them; what strangers wrote never stands where an option could.
            feed: what the command reads.
        """
        process = self.start(command, *arguments)
        try:
            yield from _exchange(process, budget, iter(feed))
            status = process.wait(budget.patience)
        except subprocess.TimeoutExpired:
            budget.remaining()
            raise ObservationUnavailable("git does not end") from None
        finally:
            end_process(process)
        if status:
            raise GitFailed(command, status)

    def run(self, budget: Budget, command: str, *arguments: str, feed: Iterable[bytes] = ()) -> bytes:
        """As `stream`, the whole output at once."""
        return b"".join(self.stream(budget, command, *arguments, feed=feed))

    def ask(self, budget: Budget, command: str, *arguments: str) -> str | None:
        """The output's first line of a question that git may answer with no (status 1); None then."""
        try:
            return self.run(budget, command, *arguments).decode("utf-8", "replace").partition("\n")[0]
        except GitFailed as failure:
            if failure.status == 1:
                return None
            raise

    def named(self, ref: str, budget: Budget) -> str:
        """The whole hash of what a branch, a remote branch or a tag names.

        Only such names: a hash, a revision expression or another namespace (`refs/pull/…`) would let an annotation
        bring in commits that the operator never took in [S §4: a named reference].

        Raises:
            ObservationUnavailable: it is no such name.
        """
        if not _REF.fullmatch(ref):
            raise ObservationUnavailable("the ref is no name that a ref can have")
        spellings = (ref,) if ref.startswith("refs/") else ()
        names = [*spellings, f"refs/tags/{ref}", f"refs/heads/{ref}", f"refs/remotes/{ref}"]
        names = [name for name in names if name.startswith(("refs/tags/", "refs/heads/", "refs/remotes/"))]
        # Git is not asked to resolve the name: of one that is not there it takes `…-gabcdef` for a hash.
        listed = self.run(budget, "for-each-ref", "--format=%(objectname) %(refname)", "--", *names)
        there: dict[str, str] = {}
        for line in listed.decode("utf-8", "surrogateescape").split("\n")[:-1]:
            found, _, name = line.partition(" ")
            there[name] = found
        for name in names:
            if name in there:
                return there[name]
        raise ObservationUnavailable("there is no branch and no tag of that name")

    def ignores(self, path: str, budget: Budget) -> bool:
        """Whether the repository's own rules say that git is not to take a path in, or what would lie below it."""
        plain = b"./" + os.fsencode(path)  # so that no first character means anything
        try:
            feed = [plain + b"\0" + plain + b"/x\0"]
            return bool(self.run(budget, _IGNORES, "--no-index", "--stdin", "-z", feed=feed))
        except GitFailed as failure:
            return failure.status != 1  # what git refuses to tell, such as what lies beyond a link, is as if ignored

    def files_with(self, word: str, budget: Budget) -> list[str]:
        """The tracked files of the work tree in which a word stands, for itself; a file in UTF-16 is not found.

        Args:
            word: without a line break and a NUL.
            budget: bounds the time and the length of the list.
        """
        wanted = ("--files-with-matches", "--null", "--word-regexp", "--fixed-strings", "--no-textconv")
        return self._texts(budget, "grep", *wanted, "--no-recurse-submodules", "-e", word, "--")

    def _texts(self, budget: Budget, command: str, *arguments: str) -> list[str]:
        """The texts that a command prints, a NUL behind each; none where git answers with no (status 1)."""
        try:
            return [os.fsdecode(text) for text in self.run(budget, command, *arguments).split(b"\0")[:-1]]
        except GitFailed as failure:
            if failure.status == 1:
                return []
            raise

    @staticmethod
    def includes(config: str, budget: Budget) -> list[str]:
        """The paths that a file of configuration includes, as they are written there."""
        alone = Git("/", _NOWHERE, bare=True)
        wanted = (f"--file={config}", "--no-includes", "--null", "--get-regexp", r"^include(if\..+)?\.path$")
        return [text.partition("\n")[2] for text in alone._texts(budget, "config", *wanted)]

    @staticmethod
    def work_tree_of(config: str, budget: Budget) -> str | None:
        """The work tree that a file of configuration names, as it is written there; None where it names none."""
        alone = Git("/", _NOWHERE, bare=True)
        return alone.ask(budget, "config", f"--file={config}", "--no-includes", "--get", "core.worktree")

    def is_mirror(self, budget: Budget) -> bool:
        """Whether this is a bare repository with a remote: one that others push to has none."""
        wanted = ("--local", "--get-regexp", r"^remote\..*\.url$")
        return self.bare and bool(self.ask(budget, "config", *wanted))

    def refreshed(self) -> int:
        """When a mirror was last brought up to date, in Unix milliseconds: git touches FETCH_HEAD at each fetch, HEAD
        when it clones."""
        for name in ("FETCH_HEAD", "HEAD"):
            try:
                return os.stat(os.path.join(self.directory, name)).st_mtime_ns // 1_000_000
            except OSError:
                continue
        return 0


def _exchange(process: subprocess.Popen[bytes], budget: Budget, feed: Iterator[bytes]) -> Iterator[bytes]:
    """Feeds and reads at once: either side alone could wait for the other for ever."""
    assert process.stdin is not None
    assert process.stdout is not None
    os.set_blocking(process.stdin.fileno(), False)
    waiting = memoryview(b"")
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        selector.register(process.stdin, selectors.EVENT_WRITE)
        while True:
            for key, _ in selector.select(budget.patience):
                if key.fileobj is process.stdout:
                    chunk = os.read(key.fd, _CHUNK)
                    if not chunk:
                        return
                    budget.spend(len(chunk))
                    yield chunk
                    continue
                if not waiting:
                    waiting = memoryview(next(feed, b""))
                if waiting:
                    try:
                        waiting = waiting[os.write(key.fd, waiting) :]
                        continue
                    except BlockingIOError:
                        continue
                    except BrokenPipeError:
                        pass  # git has ended: its status tells
                selector.unregister(process.stdin)
                process.stdin.close()


def end_process(process: subprocess.Popen[bytes]) -> None:
    """Kills a process with all that it started, unless it has been waited for, and waits for it."""
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            try:
                pipe.close()
            except BrokenPipeError:
                pass
    if process.returncode is None:  # not waited for yet: the group's number is still its own, children included
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    process.wait()


_IDLE: Final = 4
"""Processes that are kept while nobody asks; more looks at once start more, which end with them."""
OBJECT_NAME: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_REVISION: Final = re.compile(r"(?:HEAD|[0-9a-f]{7,64})(?:\^\{(?:commit|tree)\})?")


class Object(NamedTuple):
    """One object of git: its whole hash, `commit`, `tree`, `blob` or `tag`, and its bytes."""

    name: str
    kind: str
    data: bytes


class Objects:
    """Reads objects; safe in several threads."""

    def __init__(self, git: Git) -> None:
        self._git = git
        self._idle: list[_Batch] = []
        self._lock = threading.Lock()
        self._closed = False

    def read(self, revision: str, budget: Budget) -> Object | None:
        """An object; None where there is none of that name.

        Args:
            revision: a hash of 7 digits or more, or `HEAD`; `^{commit}` and `^{tree}` behind it lead on to that.
            budget: of the look: the bytes count.

        Raises:
            ObservationUnavailable: a bound is reached, git fails, or the object is not what its name says.
        """
        assert _REVISION.fullmatch(revision), "what a stranger wrote is not asked of git"
        batch, kept = self._take()
        try:
            try:
                found = batch.ask(revision, budget)
            except _Ended:
                if not kept:
                    raise
                batch.close()  # it ended while nobody asked
                batch = _Batch(self._git)
                found = batch.ask(revision, budget)
        except BaseException:
            batch.close()
            raise
        self._give_back(batch)
        if found is not None:
            demand_true(found.name, found.kind, found.data)
        return found

    def many(self, names: Sequence[str], budget: Budget) -> Iterator[Object]:
        """These objects in their order, from a process of their own: more at once than one answer after the other.

        Args:
            names: whole hashes.
            budget: of the look: the bytes count.

        Raises:
            ObservationUnavailable: as for `read`; or one of them is not there.
        """
        assert all(map(OBJECT_NAME.fullmatch, names)), "what a stranger wrote is not asked of git"
        buffer, wanted = bytearray(), 0
        feed = (f"{name}\n".encode() for name in names)
        left = iter(names)
        for chunk in self._git.stream(budget, "cat-file", "--batch", feed=feed):
            buffer += chunk
            while len(buffer) >= wanted:
                end = buffer.find(b"\n")
                if end < 0:
                    break
                fields = bytes(buffer[:end]).split(b" ")
                if len(fields) != 3 or not fields[2].isdigit():
                    raise ObservationUnavailable("an object of this history is not in the repository")
                size = int(fields[2])
                if size > budget.bytes:
                    budget.spend(size)
                wanted = end + size + 2
                if len(buffer) < wanted:
                    break
                found = Object(next(left), fields[1].decode("ascii"), bytes(buffer[end + 1 : wanted - 1]))
                del buffer[:wanted]
                wanted = 0
                demand_true(*found)
                yield found

    def close(self) -> None:
        """Ends all processes. Calling it again does nothing."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for batch in idle:
            batch.close()

    def _take(self) -> tuple[_Batch, bool]:
        """A process, and whether it was kept from an earlier look."""
        with self._lock:
            if self._idle:
                return self._idle.pop(), True
        return _Batch(self._git), False

    def _give_back(self, batch: _Batch) -> None:
        with self._lock:
            if not self._closed and len(self._idle) < _IDLE:
                self._idle.append(batch)
                return
        batch.close()


def demand_true(name: str, kind: str, data: bytes) -> None:
    """Raises:
    ObservationUnavailable: the bytes of an object are not those that its name is the hash of.
    """
    make = hashlib.sha256 if len(name) == 64 else hashlib.sha1
    if make(b"%s %d\0" % (kind.encode(), len(data)) + data).hexdigest() != name:
        raise ObservationUnavailable(f"the object {name} is not what its name says")


class _Ended(ObservationUnavailable):
    """The process is gone."""


class _Batch:
    """One process. Who has it has it alone."""

    def __init__(self, git: Git) -> None:
        self._process = git.start("cat-file", "--batch", config=("core.deltaBaseCacheLimit=16m",))
        assert self._process.stdout is not None
        self._out = self._process.stdout.fileno()
        self._poll = select.poll()
        self._poll.register(self._out, select.POLLIN | select.POLLHUP)
        self._buffer = bytearray()

    def ask(self, revision: str, budget: Budget) -> Object | None:
        assert self._process.stdin is not None
        try:
            os.write(self._process.stdin.fileno(), f"{revision}\n".encode())  # shorter than any pipe's room
        except BrokenPipeError:
            raise _Ended("git has ended") from None
        while (end := self._buffer.find(b"\n")) < 0:
            self._more(budget)
        fields = bytes(self._buffer[:end]).split(b" ")
        del self._buffer[: end + 1]
        if len(fields) != 3 or not fields[2].isdigit():
            return None  # `… missing`, `… ambiguous`
        size = int(fields[2])
        budget.spend(size)
        while len(self._buffer) <= size:  # a line feed stands behind the object
            self._more(budget)
        data = bytes(self._buffer[:size])
        del self._buffer[: size + 1]
        return Object(fields[0].decode("ascii"), fields[1].decode("ascii"), data)

    def _more(self, budget: Budget) -> None:
        patience = budget.patience
        if not self._poll.poll(None if patience is None else patience * 1000):
            budget.remaining()
            raise ObservationUnavailable("git does not answer")
        chunk = os.read(self._out, _CHUNK)
        if not chunk:
            raise _Ended("git has ended")
        self._buffer += chunk

    def close(self) -> None:
        end_process(self._process)
