"""Checks by syntax on Go: what holds, what is exactly false, and what stays undecided."""

from __future__ import annotations

import pytest

from sluice.streams.judging.checks import Check, parse_check
from sluice.streams.judging.code import parse_code, verify_code
from sluice.streams.judging.results import Held, Source

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


def held(check: str, text: str = SERVER, path: str = "internal/server/server.go") -> Held:
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
    code = parse_code(Source("a.go", SERVER))
    assert code is not None
    assert code.errors == []


@pytest.mark.parametrize(
    ("check", "expected"),
    [
        ("defines(New, function)", True),
        ("defines(New, method)", False),
        ("defines(Server.Start, method)", True),
        ('defines("(*Server).Start", method)', True),
        ('defines("*Server.Start")', True),
        ('defines("(*Server).Start()")', True),
        ("defines(server.New)", True),
        ("defines(server.Server.Stop)", True),
        ("defines(Pool.Start)", True),
        ("defines(Server.Start, function)", None),
        ("defines(Config, type)", True),
        ("defines(Config, function)", False),
        ("defines(Runner.Run, method)", True),
        ("defines(Config.Timeout)", True),
        ("defines(Config.Retry)", True),
        ("defines(ID, type)", True),
        ("defines(MaxConns, constant)", True),
        ("defines(MaxConns, variable)", False),
        ("defines(Level, variable)", True),
        ("defines(Level, constant)", False),
        ("defines(Green, constant)", True),
        ("defines(handler, function)", True),
        ("defines(Ghost)", False),
        ("defines(depth)", False),
        ("defines(yaml)", False),
        ("defines(Config.Missing)", False),
        ("defines(Config.Stop)", False),
        ("defines(Elsewhere.Stop)", None),
        ("defines(Start, in=Pool)", None),
    ],
)
def test_go_defines(check: str, expected: bool | None) -> None:
    """Methods stand in the type of their receiver, wherever they are written."""
    assert held(check).holds is expected


@pytest.mark.parametrize(
    ("check", "expected"),
    [
        ("equals(MaxConns, 100)", True),
        ("equals(server.MaxConns, 100)", True),
        ("equals(MaxConns, 101)", False),
        ("equals(Name, api)", True),
        ('equals(Region, "eu\\\\west")', True),
        ("equals(KB, 1024)", True),
        ("equals(Octal, 493)", True),
        ("equals(Octal, 755)", False),
        ("equals(Hex, 255)", True),
        ("equals(Big, 1000000)", True),
        ("equals(Debug, false)", True),
        ("equals(Level, 3)", True),
        ("equals(Hosts, [a, b])", True),
        ("equals(Nothing, null)", True),
        ("equals(defaults.Name, x)", True),
        ("equals(defaults.Retry.Limit, 2)", True),
        ("equals(defaults.Retry.Limit, 3)", False),
        ("equals(limits.small, 1)", True),
        ("equals(New.depth, 4)", True),
        ("compare(MaxConns, <, 101)", True),
        ("compare(MaxConns, >=, 101)", False),
    ],
)
def test_go_values(check: str, expected: bool) -> None:
    """Constants, variables and the keys of composite literals are worth what is written."""
    assert held(check).holds is expected


@pytest.mark.parametrize(
    ("check", "reason"),
    [
        ("equals(Timeout, 30)", "computed"),
        ("equals(Red, 0)", "computed"),
        ("equals(Green, 1)", "computed"),
        ("equals(fixed, [1, 2])", "computed"),
        ("equals(zero, 0)", "computed"),
        ("equals(defaults.Timeout, 5)", "ambiguous"),
        ("equals(changed, 1)", "ambiguous"),
        ("equals(Ghost, 1)", "not-found"),
    ],
)
def test_go_values_that_stay_undecided(check: str, reason: str) -> None:
    """Durations, iota, zero values and what is assigned later are not literals of that name."""
    assert held(check) == held(check)._replace(holds=None, reason=reason)


@pytest.mark.parametrize(
    ("check", "expected"),
    [
        ("calls(New, init)", True),
        ("calls(New, s.init)", True),
        ("calls(New, fmt.Println)", True),
        ("calls(New, cleanup)", True),
        ("calls(New, helper)", True),
        ("calls(New, inHelper)", False),
        ("calls(New, background)", None),
        ("calls(New, dead)", None),
        ("calls(New, unreachable)", None),
        ("calls(New, listen)", False),
        ("calls(Server.Start, listen)", True),
        ("calls(Server.Start, s.listen)", True),
        ("calls(Server.Start, t.listen)", False),
        ("calls(Start, listen)", None),
        ("calls(Server.Stop, conn.Close)", True),
        ("calls(handler, serve)", True),
        ("uses(Server.Start, Level)", True),
        ("uses(Server.Start, nil)", True),
        ("uses(Server.Stop, Level)", False),
        ("uses(Server.Start, context)", None),
        ("uses(Server.Stop, s.conn)", True),
        ("imports(fmt)", True),
        ("imports(gopkg.in/yaml.v3)", True),
        ("imports(github.com/lib/pq)", True),
        ("imports(yaml)", None),
        ("imports(os)", False),
        ("imports(encoding/json)", False),
        ('returns(both, "1, nil")', True),
        ("returns(New, s)", True),
        ('returns(Server.Stop, "s.conn.Close()")', True),
        ('returns(Server.Start, "1, nil")', None),
    ],
)
def test_go_relations(check: str, expected: bool | None) -> None:
    """What a body calls, uses, imports and returns, function literals left out."""
    assert held(check).holds is expected


@pytest.mark.parametrize(
    "text",
    [
        "package a\nfunc f() {\n\tX := 1\n\t_ = X\n}\n",
        "package a\n// const X = 1\n",
        "package a\nvar s = `\nconst X = 1\n`\n",
        "package a\nconst X = 2\n",
        "package a\nvar X = 1\nfunc f() { X = 2 }\n",
        "package a\nvar X = 1\nfunc f() { X, y = 2, 3 }\n",
        "package a\nvar X = 1\nfunc init() { flag.IntVar(&X, 5) }\n",
        "package a\nvar X = 1\nfunc f() { for X = range y {} }\n",
        "package a\nconst X = 1 * y\n",
        "package a\nconst X = 'a'\n",
        "package a\nconst X = 1i\n",
        "package a\nvar X, Y = f()\n",
        "package a\nconst X = -\n",
        "package a\nfunc X() {}\n",
    ],
)
def test_hostile_go_values(text: str) -> None:
    """Nothing of this makes the package's X equal 1."""
    if "func f() {\n\tX := 1" not in text:
        assert held("equals(X, 1)", text, "a/b.go").holds is not True
    assert held("equals(a.q.X, 1)", text, "a/b.go").holds is None


def test_a_local_in_go_is_no_write_of_the_package() -> None:
    """`X := 2` in a function leaves the variable of the package alone; `X = 2` in a closure does not."""
    assert held("equals(X, 1)", "package a\nvar X = 1\nfunc f() { X := 2; X = 3; _ = X }\n", "a.go").holds is True
    text = "package a\nvar X = 1\nfunc f() { go func() { X = 2 }() }\n"
    assert held("equals(X, 1)", text, "a.go").reason == "ambiguous"


def test_an_error_in_one_go_function_leaves_the_others() -> None:
    """Only what the error stands in is undecided, and what is not there."""
    text = "package a\n\nconst X = 1\n\nfunc good() { g() }\n\nfunc bad() { if }\n"
    assert held("equals(X, 2)", text, "a.go").holds is False
    assert held("calls(good, g)", text, "a.go").holds is True
    assert held("calls(bad, g)", text, "a.go").reason == "syntax-error"
    assert held("defines(other)", text, "a.go").reason == "syntax-error"
