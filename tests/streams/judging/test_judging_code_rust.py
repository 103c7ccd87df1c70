"""Checks by syntax on Rust: what holds, what is exactly false, and what stays undecided."""

from __future__ import annotations

import pytest

from sluice.streams.judging.checks import Check, parse_check
from sluice.streams.judging.code import parse_code, verify_code
from sluice.streams.judging.results import Held, Source

WORKER = """\
//! const GHOST: u32 = 1;
use std::collections::{HashMap, BTreeMap as Tree};
use crate::wire::*;
use super::pool::Pool;
extern crate serde;
pub mod codec;

pub const MAX: u32 = 1_000u32;
const HEX: u64 = 0x3e8;
const NAME: &str = "a\\tb";
const RAW: &str = r#"a"b"#;
const LIST: &[i32] = &[1, 2];
const TUPLE: (i32, bool) = (1, true);
const NEG: f64 = -1.5e3;
const SIZE: usize = 10 * 1024;
const BYTES: &[u8] = b"x";
const WAIT: Duration = Duration::from_secs(30);
static GREETING: &str = "hi";
static mut COUNTER: u32 = 0;
#[cfg(windows)]
const SEP: char = 'a';
#[cfg(feature = "x")]
const LEVEL: u8 = 1;
type Id = u64;

#[derive(Debug)]
pub struct Worker<T> { pub size: usize, inner: T }
pub enum State { Idle = 1, Busy(u32), Done { at: u64 } }
pub trait Run { const LIMIT: u32 = 5; fn run(&self) -> u32; fn twice(&self) -> u32 { self.run() } }

impl<T> Worker<T> {
    pub const DEPTH: usize = 4;
    pub fn new(inner: T) -> Self {
        let local = 12;
        let closure = |x| lazily(x);
        println!("{} {local}", format_it(local));
        assert_eq!(check(1), 2);
        custom!(maybe(1));
        if false { dead(); }
        inner.open::<u8>().close()?;
        codec::encode::<u8>(1);
        Pool::<T>::create();
        Self { size: 1, inner }
    }

    fn get(&self) -> usize {
        fn nested() { hidden(); }
        return self.size;
    }

    async fn step(&mut self) -> u32 { self.size += 1; self.wait().await }
}

impl<T> Run for Worker<T> {
    fn run(&self) -> u32 { match self.size { 0 => 1, _ => return 2, } }
}

macro_rules! shout { ($x:expr) => { whisper($x) }; }
lazy_static! { static ref TABLE: u32 = 5; }

#[cfg(test)]
mod tests {
    use super::*;
    const ONLY: u32 = 1;
    #[test]
    fn works() { assert!(helper()); }
}
"""


def held(check: str, text: str = WORKER, path: str = "src/worker.rs") -> Held:
    """What a check on a file comes to."""
    parsed = parse_check(check)
    assert isinstance(parsed, Check), parsed
    source = Source(path, text, lines=parsed.lines)
    code = parse_code(source)
    assert code is not None
    assert not code.problem
    return verify_code(parsed, code, source)


def test_the_sample_has_no_errors() -> None:
    """What is false below is false in a file that parses."""
    code = parse_code(Source("a.rs", WORKER))
    assert code is not None
    assert code.errors == []


@pytest.mark.parametrize(
    ("check", "expected"),
    [
        ("defines(Worker, type)", True),
        ("defines(Worker, function)", False),
        ("defines(Worker::new, method)", True),
        ("defines(Worker.new, function)", True),
        ("defines(Worker.get, method)", True),
        ("defines(Worker.get, function)", None),
        ("defines(Worker.run, method)", True),
        ("defines(worker::Worker)", True),
        ("defines(crate::worker::Worker)", True),
        ("defines(Run.run, method)", True),
        ("defines(State.Busy)", True),
        ("defines(State, type)", True),
        ("defines(Worker.size)", True),
        ("defines(Id, type)", True),
        ("defines(MAX, constant)", True),
        ("defines(MAX, variable)", False),
        ("defines(COUNTER, variable)", True),
        ("defines(tests.works, function)", True),
        ("defines(shout)", True),
        ("defines(codec)", True),
        ("defines(TABLE)", None),
        ("defines(GHOST)", False),
        ("defines(local)", False),
        ("defines(HashMap)", False),
        ("defines(Worker.missing)", False),
        ("defines(State.get)", False),
        ("defines(Stranger.get)", None),
    ],
)
def test_rust_defines(check: str, expected: bool | None) -> None:
    """Items stand in their modules, associated ones in the type of the impl."""
    assert held(check).holds is expected


@pytest.mark.parametrize(
    ("check", "expected"),
    [
        ("equals(MAX, 1000)", True),
        ("equals(MAX, 1001)", False),
        ("equals(worker::MAX, 1000)", True),
        ("equals(HEX, 1000)", True),
        ('equals(NAME, "a\\tb")', True),
        ('equals(RAW, "a\\"b")', True),
        ("equals(LIST, [1, 2])", True),
        ("equals(TUPLE, [1, true])", True),
        ("equals(NEG, -1500)", True),
        ("equals(SIZE, 10240)", True),
        ("equals(GREETING, hi)", True),
        ("equals(Worker::DEPTH, 4)", True),
        ("equals(Run::LIMIT, 5)", True),
        ("equals(State::Idle, 1)", True),
        ("equals(Worker.new.local, 12)", True),
        ("compare(MAX, >, 999)", True),
        ("compare(MAX, >, 1000)", False),
    ],
)
def test_rust_values(check: str, expected: bool) -> None:
    """Constants, statics and numbered variants are worth what is written."""
    assert held(check).holds is expected


@pytest.mark.parametrize(
    ("check", "reason"),
    [
        ("equals(BYTES, x)", "computed"),
        ("equals(WAIT, 30)", "computed"),
        ("equals(State.Busy, 2)", "computed"),
        ("equals(SEP, a)", "ambiguous"),
        ("equals(LEVEL, 1)", "ambiguous"),
        ("equals(ONLY, 1)", "ambiguous"),
        ("equals(TABLE, 5)", "not-found"),
        ("equals(GHOST, 1)", "not-found"),
    ],
)
def test_rust_values_that_stay_undecided(check: str, reason: str) -> None:
    """Bytes, durations, items under `cfg` and what macros make are not literals of that name."""
    assert held(check) == held(check)._replace(holds=None, reason=reason)


@pytest.mark.parametrize(
    ("check", "expected"),
    [
        ("calls(Worker::new, println)", True),
        ("calls(Worker::new, format_it)", True),
        ("calls(Worker::new, check)", True),
        ("calls(Worker::new, maybe)", None),
        ("calls(Worker::new, lazily)", None),
        ("calls(Worker::new, dead)", None),
        ("calls(Worker::new, open)", True),
        ("calls(Worker::new, inner.open)", True),
        ("calls(Worker::new, close)", True),
        ("calls(Worker::new, codec::encode)", True),
        ("calls(Worker::new, Pool::create)", True),
        ("calls(Worker::new, missing)", False),
        ("calls(Worker::get, hidden)", False),
        ("calls(Worker::step, wait)", True),
        ("calls(Run::twice, self.run)", True),
        ("calls(Run::run, anything)", None),
        ("calls(tests::works, helper)", True),
        ("uses(Worker::get, size)", True),
        ("uses(Worker::get, inner)", False),
        ("uses(Worker::new, Pool)", True),
        ("imports(std::collections)", True),
        ("imports(std)", True),
        ("imports(std::collections::HashMap)", True),
        ("imports(std::collections::BTreeMap)", True),
        ("imports(crate::wire)", True),
        ("imports(serde)", True),
        ("imports(codec)", None),
        ("imports(std::io)", False),
        ("imports(tokio)", False),
        ("returns(Worker::get, self.size)", True),
        ('returns(Worker::step, "self.wait()")', None),
        ('returns(Worker::step, "self.wait().await")', True),
        ('returns(Worker::new, "Self { size: 1, inner }")', True),
        ('returns(Worker.run, "2")', None),
    ],
)
def test_rust_relations(check: str, expected: bool | None) -> None:
    """What a body calls, uses, imports and returns; the last expression returns too."""
    assert held(check).holds is expected


@pytest.mark.parametrize(
    "text",
    [
        "const X: u32 = 2;",
        "// const X: u32 = 1;",
        'const S: &str = "const X: u32 = 1;";',
        'const S: &str = r##"\nconst X: u32 = 1;\n"##;',
        "static mut X: u32 = 1; fn f() { unsafe { X = 2; } }",
        "static mut X: u32 = 1; fn f() { unsafe { X += 2; } }",
        "#[cfg(a)] const X: u32 = 1;",
        "fn f() { let mut X = 1; g(&mut X); }",
        "fn f() { let X = 1; let X = 2; }",
        "#[cfg(a)]\n/// doc\nconst X: u32 = 1;",
        "mod a { pub const X: u32 = 1; } mod b { pub const X: u32 = 2; }",
        "const X: u32 = 1 as u32 + Y;",
        "const X: u32 = !0;",
        "m! { const X: u32 = 1; }",
        "const X: u32 = ;",
        "fn f() { if a { let X = 1; } }",
    ],
)
def test_hostile_rust_values(text: str) -> None:
    """Nothing of this makes X equal 1."""
    assert held("equals(X, 1)", text, "a.rs").holds is not True
