"""The index of a file takes in the nodes that a query finds, and they are those of a walk over all nodes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sluice.streams.judging import code_building
from sluice.streams.judging.code import Code, parse_code
from sluice.streams.judging.languages import LANGUAGES
from sluice.streams.judging.results import Source
from tests.support.search import examples

PYTHON = """\
import os.path as path
from . import importlib
importlib.import_module("late")
if False:
    dead = {"a": 1}
elif 0:
    def gone(): alias = 1
else:
    alive = lambda: (walrus := 1)
@final
class Pool(Base):
    __slots__ = ("a", "b")
    size: Final = 1
    @overload
    @staticmethod
    def run(self, job=1, *, cap: int = 2): ...
    def run(self, job, *rest, **more):
        global outer
        outer, (first, *last) = job, rest
        self.cap = {"key": {"inner": [1]}, **more}
        for one in rest if (two := 1) else more:
            with one as three, two as four.five:
                del self.cap, outer
        match job:
            case six: return "a" if six else (lambda: six)
        while 0:
            never = 1
        x.y += 1
type Alias[T] = int
"""
GO = """\
package a
import ( "fmt"; f "os" )
const ( One = iota; Two )
type Pool struct { cap int; Run func(int) }
func (p *Pool) Stop(j Job, k ...int) int {
    if false { a := 1; _ = a }; for i := range k { p.cap = i; k[0]++ }; return 1
}
var table = map[string]int{"a": 1, "b": func() int { c := 1; return c }()}
"""
RUBY = """\
module A
  class B < C
    attr_reader :x
    LIMIT = { a: 1, "b" => { c: 2 } }
    def run(job, cap = 1, *rest, key: 2, &block)
      if false then gone = 1 elsif nil then other = 2 else @x ||= 3 end
      job.each { |one| two = one }
      begin; risky = 1; rescue Error => e; end while job
      for i in 1..2 do j += i end
      case job in { name: } then name end
    end
    def self.stop = lambda { |x| y = x }
    alias halt stop
  end
end
"""
RUST = """\
use std::{io, fmt as f};
#[cfg(test)] mod tests { pub fn inner() { let a = 1; } }
pub struct Pool<T> { cap: u8, inner: T }
enum Kind { One, Two(u8) = 2 }
impl<T> Runs for Pool<T> {
    const LIMIT: u8 = 1; fn stop(&mut self, a: u8) -> u8 { if false { let b = 1; } self.cap += a; |x| x; a }
}
macro_rules! twice { ($x:expr) => { let c = $x; } }
static S: &str = "a"; extern crate alloc;
fn run() { let v = vec![1]; while true { let d = &mut v; } match v { e => loop {} } }
"""
SHARP = """\
using System; using A = B.C;
namespace N { enum E { One = 1, Two }
  #if false
  class Gone { int x = 1; }
  #else
  [Old] public class Pool : Base { const int Limit = 1; public int Cap { get; set; } = 2;
    public int Stop(int a, string b = "c") {
      if (false) { var d = 1; } foreach (var e in b) { Cap += e; } Func<int> f = () => { int g = 1; return g; };
      return a; } }
  #endif
}
"""
FILES = {"a.py": PYTHON, "a.go": GO, "a.rb": RUBY, "a.rs": RUST, "a.cs": SHARP}
PIECES = (
    "if",
    "(",
    ")",
    "{",
    "}",
    ":",
    "\n    ",
    "=",
    "def ",
    "class ",
    "@x\n",
    "\\",
    '"',
    "'",
    "#",
    "end",
    "as",
    ",",
    "lambda",
    "é",
)


def _told(code: Code | None) -> list[Any]:
    assert code is not None
    found: list[Any] = [
        (one.path, one.role, one.kinds, one.maybe, one.lines, one.line, one.conditional, one.dead, one.fixed)
        + (one.receiver, *(None if node is None else node.byte_range for node in (one.node, one.body, one.value)))
        for one in code.definitions
    ]
    return [*found, code.imports, code.by_name, code.hidden, code.bodies, code.opaque_imports, code.problem]


def _told_by_a_walk(source: Source) -> list[Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(code_building, "_marked", lambda _, root, types: list(code_building._every(root, types, [])))
        return _told(parse_code(source))


def test_of_each_language_that_is_not_walked_there_is_a_file_here() -> None:
    """Rules of the others ask what stands around a node, which only a walk can tell."""
    unwalked = {ending for one in LANGUAGES if not one.grammar.asks_around for ending in one.endings}
    assert {ending for ending in unwalked if f"a{ending}" in FILES} == {".py", ".go", ".rb", ".rs", ".cs"}
    assert len({one.name for one in LANGUAGES if not one.grammar.asks_around}) == len(FILES)


@pytest.mark.parametrize("path", FILES)
def test_a_query_finds_what_a_walk_does(path: str) -> None:
    """Every definition, and in what it stands."""
    source = Source(path, FILES[path])
    told = _told(parse_code(source))
    assert told == _told_by_a_walk(source)
    assert len(told) > 20


@settings(max_examples=examples(400), deadline=None)
@given(
    st.sampled_from(sorted(FILES)),
    st.lists(st.tuples(st.integers(0, 1_200), st.integers(0, 12), st.sampled_from(PIECES)), min_size=1, max_size=4),
)
def test_a_query_finds_what_a_walk_does_in_what_does_not_parse(path: str, cuts: list[tuple[int, int, str]]) -> None:
    """Whatever is missing or stands where it should not."""
    text = FILES[path]
    for at, length, piece in cuts:
        at %= len(text) + 1
        text = text[:at] + piece + text[at + length :]
    source = Source(path, text)
    assert _told(parse_code(source)) == _told_by_a_walk(source)
