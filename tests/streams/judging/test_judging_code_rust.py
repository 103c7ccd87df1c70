"""Checks by syntax on Rust: what holds, what is exactly false, and what stays undecided."""

from __future__ import annotations

import pytest
from judged_programs import assert_each, held

from sluice.streams.judging.checks import Source
from sluice.streams.judging.verify import parse_code

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


def test_the_sample_has_no_errors() -> None:
    """What is false below is false in a file that parses."""
    code = parse_code(Source("a.rs", WORKER))
    assert code is not None
    assert code.errors == ()


@pytest.mark.parametrize(
    ("expected", "checks"),
    [
        (
            True,
            r"""
            defines(Worker, type)                 defines(Worker::new, method)          defines(Worker.new, function)
            defines(Worker.get, method)           defines(Worker.run, method)           defines(worker::Worker)
            defines(crate::worker::Worker)        defines(Run.run, method)              defines(State.Busy)
            defines(State, type)                  defines(Worker.size)                  defines(Id, type)
            defines(MAX, constant)                defines(COUNTER, variable)            defines(tests.works, function)
            defines(shout)                        defines(codec)                        equals(MAX, 1000)
            equals(worker::MAX, 1000)             equals(HEX, 1000)                     equals(NAME, "a\tb")
            equals(RAW, "a\"b")                   equals(LIST, [1, 2])                  members(LIST, [2, 1])
            equals(TUPLE, [1, true])              equals(NEG, -1500)                    equals(SIZE, 10240)
            equals(GREETING, hi)                  equals(Worker::DEPTH, 4)              equals(Run::LIMIT, 5)
            compare(MAX, >, 999)                  members(State, [Idle, Busy, Done])
            calls(Worker::new, Pool::create)      calls(Run::twice, Run::run)           uses(Worker::new, Pool)
            imports(std::collections)             imports(std)
            imports(std::collections::HashMap)    imports(std::collections::BTreeMap)   imports(crate::wire)
            imports(serde)                        returns(Worker::get, self.size)
            returns(Worker::step, "self.wait().await")
            parameter(Worker::new, inner, type=T)                                       parameter(Worker::get, self)
            result(Worker::get, usize)            field(Worker, size, type=usize)
            """,
        ),
        (
            False,
            r"""
            defines(Worker, function)             defines(Phantom)                      defines(Worker.missing)
            equals(MAX, 1001)                     members(LIST, [2])                    compare(MAX, >, 1000)
            members(State, [Idle, Busy])          calls(Worker::new, missing)           calls(Worker::get, phantom)
            uses(Worker::get, Phantom)            imports(tokio)                        parameter(Worker::get, depth)
            result(Worker::get, bool)             field(Worker, size, type=u8)
            """,
        ),
        (
            None,
            r"""
            defines(Worker.get, function)         defines(MAX, variable)                defines(COUNTER, constant)
            defines(shout, function)              defines(TABLE)                        defines(GHOST)
            defines(local)                        defines(HashMap)                      defines(State.get)
            calls(Worker::new, maybe)             calls(Worker::new, lazily)            calls(Worker::new, dead)
            calls(Worker::get, hidden)            calls(Run::run, phantom)              imports(codec)
            imports(std::io)                      returns(Worker::step, "self.wait()")
            returns(Worker::new, "Self { size: 1, inner }")                             extends(Worker, Run)
            extends(Worker, Debug)                extends(Worker, Phantom)              field(State, at)
            """,
        ),
    ],
)
def test_rust(expected: bool | None, checks: str) -> None:
    """What is written is true, what is excluded is false, and the rest is undecided."""
    assert_each(expected, checks, WORKER, "src/worker.rs")


@pytest.mark.parametrize(
    ("check", "reason"),
    [
        ("equals(BYTES, x)", "computed"),
        ("equals(WAIT, 30)", "computed"),
        ("equals(State.Busy, 2)", "computed"),
        ("equals(State.Idle, 1)", "computed"),
        ("equals(COUNTER, 0)", "computed"),
        ("equals(SEP, b)", "ambiguous"),
        ("equals(LEVEL, 2)", "ambiguous"),
        ("equals(ONLY, 2)", "ambiguous"),
        ("equals(TABLE, 5)", "not-found"),
        ("equals(GHOST, 1)", "not-found"),
        ("equals(Worker.new.local, 12)", "not-found"),
    ],
)
def test_rust_values_that_stay_undecided(check: str, reason: str) -> None:
    """Bytes, durations, items under `cfg` and what macros make are not literals of that name."""
    answer = held(check, WORKER, "src/worker.rs")
    assert (answer.holds, answer.reason) == (None, reason)


@pytest.mark.parametrize(
    ("check", "under"),
    [
        ("equals(SEP, a)", "#[cfg(windows)]"),
        ("defines(LEVEL)", '#[cfg(feature = "x")]'),
        ("equals(ONLY, 1)", "#[cfg(test)]"),
    ],
)
def test_conditions_of_the_compiler_are_told(check: str, under: str) -> None:
    """What stands under `cfg` narrows, and says so."""
    answer = held(check, WORKER, "src/worker.rs")
    assert (answer.holds, answer.under, answer.narrowed) == (True, (under,), True)


@pytest.mark.parametrize(
    "text",
    [
        "const X: u32 = 2;",
        "// const X: u32 = 1;",
        'const S: &str = "const X: u32 = 1;";',
        'const S: &str = r##"\nconst X: u32 = 1;\n"##;',
        "static mut X: u32 = 1; fn f() { unsafe { X = 2; } }",
        "static mut X: u32 = 1; fn f() { unsafe { X += 2; } }",
        "static mut X: u32 = 1; fn f() { m!(X = 2) }",
        "fn f() { let mut X = 1; g(&mut X); }",
        "fn f() { let X = 1; let X = 2; }",
        "fn f() { const X: u32 = 1; }",
        "mod a { pub const X: u32 = 1; } mod b { pub const X: u32 = 2; }",
        "const X: u32 = 1 as u32 + Y;",
        "const X: u32 = !0;",
        "const X: [u32; 2] = [1; 2];",
        "const X: Id = 1000 - 999;",
        "static X: AtomicU32 = AtomicU32::new(1);",
        "m! { const X: u32 = 1; }",
        "const X: u32 = ;",
        "fn f() { if a { let X = 1; } }",
        "enum E { X = 1 }",
        'extern "C" { static X: u32; }',
    ],
)
def test_hostile_rust_values(text: str) -> None:
    """Nothing of this makes X equal 1."""
    assert held("equals(X, 1)", text, "a.rs").holds is not True


C = "struct C; impl C { fn g(&self) {} "


@pytest.mark.parametrize(
    ("text", "check", "expected"),
    [
        ("#[cfg(a)]\n/// doc\nconst X: u32 = 1;", "equals(X, 2)", None),
        ("const X: u8 = 1;\nfn f() { m!(X); let X = 2; }", "equals(X, 1)", True),
        ("const X: [u32; 3] = [0; 3];", "members(X, [0, 3])", None),
        ("const X: f32 = 0.1;", "equals(X, 0.1)", None),
        ("const X: u8 = 300;", "equals(X, 300)", None),
        ("fn g() {} fn f() { g() }", "calls(f, g)", True),
        ("fn g() {} fn f() { g::<u8>(1); }", "calls(f, g)", True),
        ("fn g() {} fn f(g: fn()) { g() }", "calls(f, g)", None),
        ("fn g() {} fn f() { let g = h; g() }", "calls(f, g)", None),
        ("fn g() {} fn f() { let (a, mut g) = h; g() }", "calls(f, g)", None),
        ("fn g() {} fn f() { if let Some(g) = h { g() } }", "calls(f, g)", None),
        ("fn g() {} fn f() { let Some(g) = h else { return }; g() }", "calls(f, g)", None),
        ("fn g() {} fn f() { let P { g } = h; g() }", "calls(f, g)", None),
        ("fn g() {} fn f() { let P { x: g, .. } = h; g() }", "calls(f, g)", None),
        ("fn g() {} fn f() { let [g, ..] = h; g() }", "calls(f, g)", None),
        ("fn g() {} fn f() { let &g = h; g() }", "calls(f, g)", None),
        ("fn g() {} fn f() { for g in h { g() } }", "calls(f, g)", None),
        ("fn g() {} fn f() { match h { g => g() } }", "calls(f, g)", None),
        ("fn g() {} fn f() { match h { g @ 1..=2 => g() } }", "calls(f, g)", None),
        ("fn g() {} fn f() { match h { ref g | A(g) => g() } }", "calls(f, g)", None),
        ("fn g() {} fn f() { h(|g| g()) }", "calls(f, g)", None),
        ("fn g() {} fn f() { h(|| g()) }", "calls(f, g)", None),
        ("fn g() {} fn f() { async { g() }; }", "calls(f, g)", None),
        ("fn g() {} fn f() { define!(g); g() }", "calls(f, g)", None),
        ("fn g() {} define!(g); fn f() { g() }", "calls(f, g)", None),
        ("fn g() {} macro_rules! m { () => { g() } } fn f() { m!() }", "calls(f, g)", None),
        ("fn g() {} fn f() { fn g() {} h() }", "calls(f, g)", None),
        ("fn g() {} fn h() { assert!(g()) } fn f() { g() }", "calls(f, g)", True),
        ("fn g() {} fn f() { 'g: loop { break 'g; } }", "uses(f, g)", None),
        ("fn g() {} fn f() { h() } fn h() {}", "calls(f, g)", False),
        ("fn g() {} fn h() { g() } fn f() { h() }", "reaches(f, g)", True),
        ("fn g() {} fn f() { return; g() }", "calls(f, g)", None),
        ("mod m { pub fn g() {} } fn f() { g() }", "calls(f, g)", None),
        (C + "fn f(&self) { self.g() } }", "calls(C.f, C.g)", True),
        (C + "fn f(&self) { Self::g(self) } }", "calls(C.f, C.g)", True),
        (C + "fn f() { C::g(&C) } }", "calls(C.f, C.g)", True),
        (C + "} fn f(c: &C) { C::g(c) }", "calls(f, C.g)", True),
        (C + "fn f(&self) { self::g() } } fn g() {}", "calls(C.f, C.g)", None),
        (C + "fn f(&self) { self::g() } } fn g() {}", "uses(C.f, C.g)", None),
        (C + "fn f(&self, d: &C) { d.g() } }", "calls(C.f, C.g)", None),
        (C + "fn f(&self) { g() } }", "calls(C.f, C.g)", None),
        (C + "fn f(&self) { (self.g)() } }", "calls(C.f, C.g)", None),
        (C + "fn f(&self) { fn h(&self) { self.g() } } }", "calls(C.f, C.g)", None),
        (C + "} impl a::C { fn f(&self) { self.g() } }", "calls(C.f, C.g)", None),
        (C + "} impl T for &C { fn f(&self) { self.g() } }", "calls(C.f, C.g)", None),
        (C + "} impl<C> T for C { fn f(&self) { self.g() } }", "calls(C.f, C.g)", None),
        (C + "} mod m { impl C { fn f(&self) { self.g() } } }", "calls(C.f, C.g)", None),
        (C + "} mod m { fn f() { C::g(&C) } struct C; }", "calls(f, C.g)", None),
        ("impl C { fn g(&self) {} fn f(&self) { self.g() } }", "calls(C.f, C.g)", True),
        ("struct C { g: u8 } impl C { fn g(&self) {} fn f(&self) { self.g() } }", "calls(C.f, C.g)", True),
        ("struct C { g: fn() } impl C { fn f(&self) { self.g() } }", "calls(C.f, C.g)", None),
        ("use a::{b, c::{d as e, self}, F::*}; fn f() { e(); c::h(); }", "imports(a::c::d)", True),
        ("use a::{b, c::{d as e, self}, F::*}; fn f() { e(); c::h(); }", "calls(f, c.h)", True),
        ("use a::{b, c::{d as e, self}, F::*}; fn f() { e(); c::h(); }", "calls(f, e)", True),
        ("use a::{b, c::{d as e, self}, F::*}; fn f() { e(); c::h(); }", "calls(f, d)", None),
        ("use a::{b, c::{d as e, self}, F::*}; fn f() { e(); c::h(); }", "imports(a::F)", True),
        ("fn f() -> u8 { if a { return 1; } 2 }", "returns(f, 1)", True),
        ("fn f() -> R { g()?; 2 }", 'returns(f, "2")', None),
        ("fn f() -> R { bail!(1); 2 }", 'returns(f, "2")', None),
        ("fn f() -> u8 { let g = || { return 3 }; 2 }", 'returns(f, "3")', None),
        ("fn f() -> u8 { let g = || { return 3 }; 2 }", 'returns(f, "2")', True),
        ("fn f() -> Result<u8, E> { Err(E::A) }", "raises(f, A)", True),
        ("fn f() -> Result<u8, E> { if x { return Err(E::A(1)); } Ok(1) }", "raises(f, E.A)", True),
        ("fn f() -> Result<u8, E> { let x = Err(E::A); Ok(1) }", "raises(f, A)", None),
        ("fn f() -> Result<u8, E> { let g = || { return Err(A) }; Ok(1) }", "raises(f, A)", None),
        ("fn f() -> u8 { Err(E::A) }", "raises(f, A)", None),
        ("fn f(r: bool) { if r { return; } g(1) }", 'unless(f, r, "g(1)")', True),
        ("fn f(r: bool) { loop { if r { return; } g(1) } }", 'unless(f, r, "g(1)")', None),
        ("fn f(r: bool) { if r { break; } g(1) }", 'unless(f, r, "g(1)")', None),
        ("fn f(r: bool) { if s { } else if r { g(1) } }", 'when(f, r, "g(1)")', True),
        ("fn f(r: bool) { if !r { g(1) } }", 'when(f, r, "g(1)")', None),
        ("fn f(x: X) { let Some(y) = x else { g(1); return }; }", 'when(f, x, "g(1)")', None),
        ("fn f() { h(|| g(1)); k(2); }", 'before(f, "g(1)", "k(2)")', None),
        ("fn f() { g(1); k(2); }", 'before(f, "g(1)", "k(2)")', True),
        ("fn f((a, b): (u8, u8)) {}", "parameter(f, a)", None),
        ("fn f<T>(x: T) {}", "parameter(f, T)", None),
        ("fn f(g: fn(x: u8)) { let h = |y: u8| y; }", "parameter(f, y)", False),
        ("fn f(g: fn(x: u8)) {}", "parameter(f, x)", None),
        ("#[wrap] fn f(x: u8) {}", "parameter(f, y)", None),
        ("#[inline]\n// why\nfn f(x: u8) {}", "parameter(f, y)", False),
        ("#[derive(A)] struct C { x: u8 }", "field(C, zz)", False),
        ("#[wrap] struct C { x: u8 }", "field(C, zz)", None),
        ("#[derive(A)] enum E { A, B }", "members(E, [A])", False),
        ("#[wrap] enum E { A, B }", "members(E, [A])", None),
        ("enum E { A, #[cfg(a)] B }", "members(E, [A, B])", None),
        ("struct C; impl R for C {}", "extends(C, R)", True),
        ("struct C; impl !R for C {}", "extends(C, R)", None),
        ("trait T: A + B {}", "extends(T, B)", True),
        ('extern "C" { fn g(); }', "defines(g)", None),
        ('fn f(a: u8) { assert!(a < 3, "m"); }', "calls(f, assert!)", True),
        ('fn f(a: u8) { assert!(a < 3, "m"); }', 'calls(f, assert!, argument="a < 3")', True),
        ('fn f(a: u8) { assert!(a < 3, "m"); }', 'calls(f, "assert!(a < 3)")', None),
        ('fn f(a: u8) { assert!(a < 3, "m"); }', 'calls(f, assert!, argument="a < 2")', None),
        ('fn f(a: u8) { assert!(a < 3, "m"); }', "calls(f, panic!)", None),
        ('fn f(a: u8) { assert!(a < 3, "m"); }', "not calls(f, panic!)", None),
        ('fn f(a: u8) { assert!(a < 3, "m"); }', 'calls(f, "gone(1)")', False),
        ('fn f(a: u8) { debug_assert!(a < 3); "assert!(a)" }', "calls(f, assert!)", None),
        ("fn f(a: u8) { let h = || assert!(a); }", "calls(f, assert!)", None),
        ("/* /* fn f() {} */ fn g() {} */", "defines(g)", None),
        ("fn good() { g() } fn g() {} fn bad() { if }", "calls(good, g)", True),
        ("fn bad() { if }", "defines(other)", None),
    ],
)
def test_hostile_rust(text: str, check: str, expected: bool | None) -> None:
    """Shadowing, other receivers, closures and macros decide nothing."""
    assert held(check, text, "a.rs").holds is expected


@pytest.mark.parametrize(
    "text",
    [
        "fn f() { #[cfg(a)] g(); } fn g() {}",
        "fn f() { #[cfg(a)] { g(); } } fn g() {}",
        "fn f() { match x { #[cfg(a)] 1 => g(), _ => h() } } fn g() {}",
        "fn f() { C { #[cfg(a)] x: g() } } fn g() {}",
        "#![cfg(a)]\nfn f() { g() } fn g() {}",
        "#[cfg_attr(b, cfg(a))] fn f() { g() } fn g() {}",
        "#[tokio::test] fn f() { g() } fn g() {}",
    ],
)
def test_a_call_under_an_attribute_is_narrowed(text: str) -> None:
    """Wherever the attribute stands."""
    answer = held("calls(f, g)", text, "a.rs")
    assert (answer.holds, answer.narrowed) == (True, True)
