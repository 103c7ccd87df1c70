"""Checks by syntax on Go: what holds, what is exactly false, and what stays undecided."""

from __future__ import annotations

import pytest
from judged_programs import assert_each, held

from sluice.streams.judging.checks import Held, Source
from sluice.streams.judging.verify import parse_code

SERVER = """\
// Package server serves. const Ghost = 1
package server

import (
	"context"
	"fmt"

	yaml "gopkg.in/yaml.v3"
	_ "github.com/lib/pq"
)

const MaxConns = 100
const (
	Name, Region = "api", `eu\\west`
	KB           = 1 << 10
	Octal        = 0755
	Hex          = 0xFF
	Big          = 1_000_000
	Timeout      = 30 * time.Second
	Debug        = false
)

const (
	Red = iota
	Green
)

var Level = 3
var Hosts = []string{"a", "b"}
var fixed = [3]int{1, 2}
var Nothing error = nil
var zero int
var defaults = Config{Timeout: 5, Retry: Retry{Limit: 2}, Name: "x"}
var limits = map[string]int{"small": 1}
var handler = func(w int) int { return serve(w) }
var changed = 1

// Config is read.
type Config struct {
	Timeout int `json:"timeout"`
	Name, Kind string
	Retry
}

type Runner interface {
	Run(ctx context.Context) error
}

type ID = string

func New(size int) *Server {
	s := &Server{size: size}
	depth := 4
	s.init()
	go func() { background() }()
	defer cleanup()
	if false {
		dead()
	}
	for i := range s.items {
		fmt.Println(i)
	}
	helper := func() { inHelper() }
	helper()
	return s
	unreachable()
}

func (s *Server) Start(ctx context.Context) (int, error) {
	if err := s.listen(ctx, Level); err != nil {
		return 0, err
	}
	defaults.Timeout = 6
	changed++
	return 1, nil
}

func (s Server) Stop() error {
	return s.conn.Close()
}

func (r *Pool[T]) Start() {}

func both() (int, error) {
	return 1, nil
}
"""


def test_the_sample_has_no_errors() -> None:
    """What is false below is false in a file that parses."""
    code = parse_code(Source("a.go", SERVER))
    assert code is not None
    assert code.errors == ()


@pytest.mark.parametrize(
    ("expected", "checks"),
    [
        (
            True,
            r"""
            defines(New, function)                defines(Server.Start, method)
            defines("(*Server).Start", method)    defines("*Server.Start")              defines("(*Server).Start()")
            defines(server.New)                   defines(server.Server.Stop)           defines(Pool.Start)
            defines(Config, type)                 defines(Runner.Run, method)           defines(Config.Timeout)
            defines(Config.Retry)                 defines(ID, type)                     defines(MaxConns, constant)
            defines(Region, constant)             defines(Level, variable)              defines(Green, constant)
            defines(handler, function)            equals(MaxConns, 100)                 equals(server.MaxConns, 100)
            equals(server.Name, api)              equals(Region, "eu\\west")            equals(KB, 1024)
            equals(Octal, 493)                    equals(Hex, 255)                      equals(Big, 1000000)
            equals(Debug, false)                  equals(Level, 3)                      equals(Hosts, [a, b])
            members(Hosts, [b, a])                equals(Nothing, null)                 equals(limits.small, 1)
            members(limits, [small])              compare(MaxConns, <, 101)             calls(New, fmt.Println)
            uses(Server.Start, Level)             imports(fmt)                          imports(gopkg.in/yaml.v3)
            imports(github.com/lib/pq)            returns(both, "1, nil")               returns(New, s)
            returns(Server.Stop, "s.conn.Close()")
            when(Server.Start, "err != nil", "return 0, err")
            unless(Server.Start, "err != nil", "return 1, nil")
            unless(Server.Start, "err == nil", "return 0, err")
            before(Server.Start, "defaults.Timeout = 6", "changed++")                   parameter(New, size, type=int)
            result(Server.Stop, error)            result(Server.Start, "(int, error)")
            field(Config, Kind, type=string)      extends(Config, Retry)
            """,
        ),
        (
            False,
            r"""
            defines(New, type)                    defines(Config, function)             defines(Phantom)
            defines(Config.Missing)               equals(MaxConns, 101)                 equals(Octal, 755)
            members(Hosts, [a])                   equals(limits.small, 2)               compare(MaxConns, >=, 101)
            calls(New, listen)                    calls(New, phantom)                   uses(Server.Stop, Phantom)
            imports(encoding/xml)                 before(Server.Start, "changed++", "defaults.Timeout = 6")
            parameter(New, size, type=string)     parameter(New, other)                 result(Server.Stop, bool)
            """,
        ),
        (
            None,
            r"""
            defines(New, method)                  defines(Server.Start, function)
            defines(Config.Timeout, variable)     defines(MaxConns, variable)           defines(Ghost)
            defines(depth)                        defines(yaml)                         defines(Config.Stop)
            defines(Start, in=Pool)               equals(Name, api)
            calls(Server.Start, Server.listen)    calls(New, inHelper)                  calls(New, background)
            uses(Server.Stop, Level)              uses(Server.Stop, MaxConns)           imports(yaml)
            imports(os)                           imports(encoding/json)                parameter(Server.Start, s)
            field(Config, Other)                  extends(Config, Phantom)
            """,
        ),
    ],
)
def test_go(expected: bool | None, checks: str) -> None:
    """What is written is true, what is excluded is false, and the rest is undecided."""
    assert_each(expected, checks, SERVER, "internal/server/server.go")


@pytest.mark.parametrize(
    ("check", "reason"),
    [
        ("equals(Timeout, 30)", "ambiguous"),  # the constant, and the field of Config
        ("equals(server.Timeout, 30)", "computed"),
        ("equals(Red, 0)", "computed"),
        ("equals(Green, 1)", "computed"),
        ("equals(fixed, [1, 2])", "computed"),
        ("equals(zero, 0)", "computed"),
        ("equals(defaults.Timeout, 5)", "not-found"),
        ("equals(changed, 1)", "assigned-elsewhere"),
        ("equals(Ghost, 1)", "not-found"),
        ("equals(New.depth, 4)", "not-found"),
    ],
)
def test_go_values_that_stay_undecided(check: str, reason: str) -> None:
    """Durations, iota, zero values and what is assigned later are not literals of that name."""
    answer = held(check, SERVER, "internal/server/server.go")
    assert (answer.holds, answer.reason) == (None, reason)


@pytest.mark.parametrize(
    "text",
    [
        "func f() {\n\tX := 1\n\t_ = X\n}",
        "// const X = 1",
        "var s = `\nconst X = 1\n`",
        "const X = 2",
        "var X = 1\nfunc f() { X = 2 }",
        "var X = 1\nfunc f() { (X) = 2 }",
        "var X = 1\nfunc f() { X, y = 2, 3 }",
        "var X = 1\nfunc f() { X++ }",
        "var X = 1\nfunc init() { flag.IntVar(&X, 5) }",
        "var X = 1\nfunc f() { for X = range y {} }",
        "var X = 1\nfunc f() { select { case X = <-c: } }",
        "var X = 1\nfunc f() { go func() { X = 2 }() }",
        "var X Level = 1\nfunc f() { X.Set(2) }",
        "const X = 1 * y",
        "const X = 'a'",
        "const X = 1i",
        "const X float32 = 1",
        "var X, Y = f()",
        "var Y, X = 1, 2",
        "const X = -",
        "func X() {}",
        "func f() { const X = 1 }",
        "var f = func() { const X = 1 }",
    ],
)
def test_hostile_go_values(text: str) -> None:
    """Nothing of this makes the package's X equal 1."""
    assert held("equals(X, 1)", f"package a\n{text}\n", "a/b.go").holds is not True
    assert held("equals(a.q.X, 1)", f"package a\n{text}\n", "a/b.go").holds is None


TYPES = "type C struct{ d int }\ntype D struct{}\n"


@pytest.mark.parametrize(
    ("text", "check", "expected"),
    [
        ("var X = 1\nfunc f() { X := 2; X = 3; _ = X }", "equals(X, 1)", None),  # the second one may be of the package
        ("func g() {}\nfunc f() { g() }", "calls(f, g)", True),
        ("func g() {}\nfunc f() { defer g() }", "calls(f, g)", True),
        ("func g() {}\nfunc f(g func()) { g() }", "calls(f, g)", None),
        ("func g() {}\nfunc f() (g func()) { g(); return }", "calls(f, g)", None),
        ("func g() {}\nfunc f() { g := h; g() }", "calls(f, g)", None),
        ("func g() {}\nfunc f() { var g = h; g() }", "calls(f, g)", None),
        ("func g() {}\nfunc f() { for _, g := range h { g() } }", "calls(f, g)", None),
        ("func g() {}\nfunc f() { switch g := h.(type) { case F: g() } }", "calls(f, g)", None),
        ("func g() {}\nfunc f() { select { case g := <-h: g() } }", "calls(f, g)", None),
        ("func g() {}\nfunc f() { h := func(g func()) { g() }; h(nil); g() }", "calls(f, g)", None),
        ("func g() {}\nfunc f() { func() { g() }() }", "calls(f, g)", None),
        ("func g() {}\nfunc f() { if false { g() } }", "calls(f, g)", None),
        ("func g() {}\nfunc f() { return; g() }", "calls(f, g)", None),
        ("func g() {}\nfunc f() { goto L; L: g() }", "calls(f, g)", True),
        ("func g() {}\nfunc f(y Y) { y.g() }", "calls(f, g)", None),
        ("func g() {}\nfunc f() { h() }\nfunc h() {}", "calls(f, g)", False),
        ("func g() {}\nvar h = g\nfunc f() { h() }", "calls(f, g)", None),
        ("func g() {}\nfunc h() { g() }\nfunc f() { h() }", "reaches(f, g)", True),
        (TYPES + "func (c *C) g() {}\nfunc (c *C) f() { c.g() }", "calls(C.f, C.g)", True),
        ("func (c *C) g() {}\nfunc (c *C) f() { c.g() }", "calls(C.f, C.g)", True),
        (TYPES + "func (c *C) g() {}\nfunc (c *C) f() { c = h; c.g() }", "calls(C.f, C.g)", None),
        (TYPES + "func (c *C) g() {}\nfunc (c *C) f() { c := h; c.g() }", "calls(C.f, C.g)", None),
        (TYPES + "func (c *C) g() {}\nfunc (c *C) f() { for c := range h { c.g() } }", "calls(C.f, C.g)", None),
        (TYPES + "func (c *C) g() {}\nfunc (c *C) f(d *D) { d.g() }", "calls(C.f, C.g)", None),
        (TYPES + "func (c *C) g() {}\nfunc (c *C) f() { g() }", "calls(C.f, C.g)", None),
        (TYPES + "func (c *C) g() {}\nfunc (c *C) f() { c.d.g() }", "calls(C.f, C.g)", None),
        (TYPES + "func (d *D) g() {}\nfunc (c *C) f() { c.g() }", "calls(C.f, D.g)", None),
        ("type C struct{ g func() }\nfunc (c *C) f() { c.g() }", "calls(C.f, C.g)", None),
        (
            "type C struct{ A; B }\ntype A struct{ D }\ntype B struct{}\ntype D struct{}\nfunc (D) g() {}\n"
            "func (B) g() {}\nfunc (c C) f() { c.g() }",
            "calls(C.f, D.g)",
            None,
        ),
        ('import "fmt"\nfunc f() { fmt.Println(1, x) }', "calls(f, fmt.Println, argument=x)", True),
        ('import "fmt"\nfunc f() { fmt.Println(1, x) }', "calls(f, fmt.Println, argument=y)", None),
        ('import "fmt"\nfunc f(fmt F) { fmt.Println(1) }', "calls(f, fmt.Println)", None),
        ('import y "x/fmt"\nfunc f() { y.Println(1) }', "calls(f, fmt.Println)", None),
        ("func f() {\nX:\n\tfor { continue X }\n}\nvar X = 1", "uses(f, X)", None),
        ("var X = 1\nfunc f() { _ = T{X: 2} }", "uses(f, X)", None),
        ("var X = 1\nfunc f() { _ = X }", "uses(f, X)", True),
        ("var ErrX = e()\nfunc f() error { return ErrX }", "raises(f, ErrX)", True),
        ("var ErrX = e()\nfunc f() (int, error) { return 0, ErrX }", "raises(f, ErrX)", True),
        ("func f() (int, error) { return 0, &XError{1} }", "raises(f, XError)", True),
        ("var ErrX = 1\nfunc f() int { return ErrX }", "raises(f, ErrX)", None),
        ("var ErrX = e()\nfunc f(ErrX error) error { return ErrX }", "raises(f, ErrX)", None),
        ("var ErrX = e()\nfunc f() error { g := func() error { return ErrX }; return g() }", "raises(f, ErrX)", None),
        ("func f(r bool) { if r { return }; g(1) }", 'unless(f, r, "g(1)")', True),
        ("func f(r bool) { if r { { return } }; g(1) }", 'unless(f, r, "g(1)")', True),
        ("func f(r bool) { for { if r { return }; g(1) } }", 'unless(f, r, "g(1)")', None),
        ("func f(r bool) { if r { h() }; g(1) }", 'unless(f, r, "g(1)")', None),
        ("func f(r, s bool) { if s { h() } else if r { g(1) } }", 'when(f, r, "g(1)")', True),
        ("func f(r, s bool) { if r || s { g(1) } }", 'when(f, r, "g(1)")', None),
        ("func f() { defer g(1); h(2) }", 'before(f, "g(1)", "h(2)")', None),
        ("func f() { go g(1); h(2) }", 'before(f, "g(1)", "h(2)")', None),
        ("func f(a, b int, c ...string) {}", "parameter(f, b, type=int)", True),
        ("func f(a, b int, c ...string) {}", "parameter(f, x)", None),
        ("func f(g func(x int)) (y int) { h := func(z int) {}; return 1 }", "parameter(f, x)", None),
        ("func f(g func(x int)) (y int) { h := func(z int) {}; return 1 }", "parameter(f, y)", None),
        ("func f[T any](x T) {}", "parameter(f, T)", None),
        ("func f() uint8 { return 1 }", "result(f, byte)", None),
        ("type C struct { in struct { x int } }", "field(C, x)", None),
        ("type C struct { a int }", "field(C, zz)", False),
        ("type C = struct { a int }", "field(C, zz)", None),
        ("type C D", "field(C, zz)", None),
        ('var M = map[string]int{"a": 1, b: 2}', "members(M, [a])", None),
        ('var M = map[string]int{"a": 1}\nfunc f() { M["b"] = 2 }', "members(M, [a])", None),
        ('var L = []string{"a"}\nfunc f() { L = append(L, "b") }', "members(L, [a])", None),
        ('var L = []string{"a"}\nfunc f() { g(L) }', "members(L, [a])", None),
        ('var L = []string{"a"}\nfunc f() { for range L {}; _ = L[0] + L[len(L)-1] }', "members(L, [a])", True),
        ('var L = []string{2: "a"}', "members(L, [a])", None),
        ("var T = C{a: 1}", "members(T, [a])", None),
        ("func f() { defines() }\n// func g() {}", "defines(g, function)", None),
        ("const X uint8 = 7", "equals(X, 263)", False),
        ("const X = 0.1234567890123456789", "equals(X, 0.1234567890123456789)", None),
        ("const X = 1\n\nfunc good() { g() }\nfunc g() {}\n\nfunc bad() { if }", "calls(good, g)", True),
        ("const X = 1\n\nfunc good() { g() }\nfunc g() {}\n\nfunc bad() { if }", "calls(bad, g)", None),
        ("func bad() { if }", "defines(other)", None),
    ],
)
def test_hostile_go(text: str, check: str, expected: bool | None) -> None:
    """Shadowing, other receivers, closures and what is embedded decide nothing."""
    assert held(check, f"package a\n{text}\n", "a.go").holds is expected


def test_a_build_constraint_is_told() -> None:
    """It holds for all of the file, behind a licence too; a comment further down is none."""
    text = "// Licence\n\n//go:build linux\n\npackage a\n\nfunc f() {}\n"
    assert held("defines(f)", text, "a.go")._replace(lines=None) == Held(
        True, under=("//go:build linux",), narrowed=True
    )
    assert not held("defines(f)", "// go:build linux\n" + text[22:].replace("//go", "// go"), "a.go").narrowed
