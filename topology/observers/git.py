"""Asking git, and nothing but what is asked: fixed arguments, no shell, no configuration of users or of the system.

Plumbing commands only. Hooks, pagers, filters, external diffs, text conversion, file system monitors, replacement
objects, grafts, lazy fetching and every network protocol are off, whatever the repository's own configuration says. A
process is bounded in bytes, and in time where its look is. Its whole group is killed when the look ends, or with what
keeps it open.
"""

from __future__ import annotations

import os
import re
import selectors
import signal
import subprocess
from collections.abc import Iterable, Iterator

from .ask import Budget, CannotLook

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


class GitFailed(CannotLook):
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
            CannotLook: git cannot be run.
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
            raise CannotLook(f"git cannot be run: {error.strerror}") from None

    def stream(self, budget: Budget, command: str, *arguments: str, feed: Iterable[bytes] = ()) -> Iterator[bytes]:
        """Runs one plumbing command and yields its output in chunks.

        Args:
            budget: bounds the time and the bytes that are read.
            command: a subcommand of git.
            arguments: as git gets them; what strangers wrote never stands where an option could.
            feed: what the command reads.

        Raises:
            CannotLook: a bound is reached, or git fails.
        """
        process = self.start(command, *arguments)
        try:
            yield from _exchange(process, budget, iter(feed))
            status = process.wait(budget.patience)
        except subprocess.TimeoutExpired:
            budget.remaining()
            raise CannotLook("git does not end") from None
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
            CannotLook: it is no such name.
        """
        if not _REF.fullmatch(ref):
            raise CannotLook("the ref is no name that a ref can have")
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
        raise CannotLook("there is no branch and no tag of that name")

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

        Raises:
            CannotLook: a bound is reached, or git fails.
        """
        wanted = ("--files-with-matches", "--null", "--word-regexp", "--fixed-strings", "--no-textconv")
        try:
            listed = self.run(budget, "grep", *wanted, "--no-recurse-submodules", "-e", word, "--")
        except GitFailed as failure:
            if failure.status == 1:
                return []
            raise
        return [os.fsdecode(path) for path in listed.split(b"\0")[:-1]]

    @staticmethod
    def includes(config: str, budget: Budget) -> list[str]:
        """The paths that a file of configuration includes, as they are written there.

        Raises:
            CannotLook: it is no such file, or a bound is reached.
        """
        alone = Git("/", _NOWHERE, bare=True)
        wanted = (f"--file={config}", "--no-includes", "--null", "--get-regexp", r"^include(if\..+)?\.path$")
        try:
            found = alone.run(budget, "config", *wanted).split(b"\0")
        except GitFailed as failure:
            if failure.status == 1:
                return []
            raise
        return [os.fsdecode(one.partition(b"\n")[2]) for one in found if one]

    @staticmethod
    def work_tree_of(config: str, budget: Budget) -> str | None:
        """The work tree that a file of configuration names, as it is written there; None where it names none.

        Raises:
            CannotLook: it is no such file, or a bound is reached.
        """
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
