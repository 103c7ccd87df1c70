"""Parses source code by tree-sitter, with bounds on the work that a hostile text can cause (docs/checks.md).

Tree-sitter's error recovery is not linear: 20 kB of `a=>a=>…` took Java's grammar 60 s and 13 GB, in one step in which
nothing can be stopped. So a parse is watched from its beginning and given up long before: by the reads of the lexer, by
its steps, and by samples of its log, which tell how much of it is spent in recovery. All are counts; no clock is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tree_sitter import Language, LogType, Node, Parser, Point, Tree

MAX_BYTES: Final = 1_200_000
"""Larger files are not parsed."""

_CHUNK: Final = 1024
"""Bytes that the lexer is given at a time. Ordinary files are read 1.4 to 2.5 times over in all, the most 14 times."""
_READS: Final = 2_000
_READS_PER_CHUNK: Final = 24
_CALLS: Final = 2_000
_BYTES_PER_CALL: Final = 16
"""Tree-sitter calls back every 100 steps: in ordinary code every 40 to 200 bytes, but every 15 at the densest."""
_FIRST_SAMPLE: Final = 8
_SPARSE: Final = 32
_DENSE: Final = 4
_ORDINARY_BYTES: Final = 50
"""Bytes that a call has to come further, without an error so far, for the next sample to be left out: log lines are
half the cost of a parse that is sampled. This repository's own files and most others come further."""
_LEFT_OUT: Final = 3
"""Samples that are left out in a row, at the most: padding makes a text ordinary to look at."""
_MAX_AT_ONCE: Final = 80
"""Calls in a row through which several readings of the text went on side by side. In 2,700 files of eleven public
projects it is at most 33, and that only where a C file's macros do not parse."""
_SHARE: Final = 10
_MAX_MOSTLY: Final = 1_000
"""The same where, of so many steps, less than one had a single reading of the text; there at most 300."""
_MAX_ERRORS: Final = 1_000
"""Recoveries, by estimate. The most in those files is 278, but for C++ headers read as C."""


def parse_bytes(language: Language, data: bytes) -> Tree | None:
    """The syntax tree of a text.

    Args:
        language: its grammar.
        data: the text in UTF-8.

    Returns:
        None where the text is too large, or its parse took more than any ordinary text's does.
    """
    from tree_sitter import Parser

    if len(data) > MAX_BYTES:
        return None
    parser = Parser(language)
    watch = _Watch(parser, data)
    try:
        tree = parser.parse(watch.read, progress_callback=watch.progress)
    except ValueError:  # how the binding says that the callback gave up
        return None
    finally:
        _silence(parser)  # the parser holds the watch, which holds the parser: nothing would ever free them
    return None if watch.gave_up else tree


def _silence(parser: Parser) -> None:
    setattr(parser, "logger", None)  # noqa: B010 - its stub knows no way to take a logger away


class _Watch:
    """Counts what one parse does. Invariant: the parser logs only while `sampling`."""

    def __init__(self, parser: Parser, data: bytes) -> None:
        self.parser, self.data = parser, data
        self.gave_up = False
        self.reads = _READS + _READS_PER_CHUNK * (len(data) // _CHUNK)
        self.calls, self.max_calls = 0, _CALLS + len(data) // _BYTES_PER_CALL
        self.sampling, self.next_sample, self.stride, self.last_sample = False, _FIRST_SAMPLE, _SPARSE, 0
        self.left_out = 0
        self.due_call = self.due_offset = 0  # when a sample was last due, taken or not, and at which byte
        self.errors = self.steps = self.alone = self.recoveries = 0
        self.together_since: int | None = None  # the first call of the stretch in which several readings went on
        self.mostly_since: int | None = None

    def read(self, offset: int, _: Point) -> bytes:
        """The next bytes; none once the lexer has read the text too often (it does so for `\\` at each line's end)."""
        self.reads -= 1
        if self.reads < 0:
            self.gave_up = True
            return b""
        return self.data[offset : offset + _CHUNK]

    def progress(self, offset: int, has_error: bool) -> bool:
        """Whether to stop; called every 100 steps."""
        self.calls += 1
        if self.calls > self.max_calls:
            self.gave_up = True
        if self.sampling:
            self._take_sample()
        elif self.calls >= self.next_sample and not self._leave_out(offset, has_error):
            self.recoveries = self.steps = self.alone = 0
            self.parser.logger = self._log
            self.sampling = True
        return self.gave_up

    def _leave_out(self, offset: int, has_error: bool) -> bool:
        """Leaves out the sample that is due where the parse came as far as in ordinary code; says whether it did."""
        far = offset - self.due_offset >= _ORDINARY_BYTES * (self.calls - self.due_call)
        self.due_call, self.due_offset = self.calls, offset
        if has_error or not far or self.left_out == _LEFT_OUT:
            self.left_out = 0
            return False
        self.left_out += 1
        self.last_sample = self.calls  # there was no error up to here: what the next sample finds came behind it
        self.next_sample = self.calls + self.stride
        return True

    def _log(self, _: LogType, message: str) -> None:
        if message.startswith("process"):
            self.steps += 1
            self.alone += "version_count:1," in message
        elif message.startswith("resume"):
            self.recoveries += 1

    def _take_sample(self) -> None:
        _silence(self.parser)
        self.sampling = False
        together = self.steps > 0 and not self.alone
        mostly = self.steps > _SHARE * self.alone
        self.together_since = self._since(self.together_since, together, _MAX_AT_ONCE)
        self.mostly_since = self._since(self.mostly_since, mostly, _MAX_MOSTLY)
        self.errors += self.recoveries * (self.calls - self.last_sample)
        self.gave_up = self.gave_up or self.errors > _MAX_ERRORS
        self.last_sample = self.calls
        self.stride = _DENSE if mostly or self.recoveries else min(_SPARSE, self.stride * 2)
        self.next_sample = self.calls + self.stride - 1

    def _since(self, since: int | None, goes_on: bool, most: int) -> int | None:
        """When a stretch began that is still going on; gives up where that is too long ago."""
        if not goes_on:
            return None
        since = self.calls if since is None else since
        self.gave_up = self.gave_up or self.calls - since > most
        return since


def errors_of(root: Node) -> list[tuple[int, int]]:
    """The byte extents of what does not parse, in order: of text that no rule takes, and of tokens that are missing."""
    if not root.has_error:
        return []
    found: list[tuple[int, int]] = []
    cursor = root.walk()
    while True:
        node = cursor.node
        assert node is not None, "a cursor stands at a node"
        if node.is_error or node.is_missing:
            found.append((node.start_byte, node.end_byte))
        elif node.has_error and cursor.goto_first_child():
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return found
