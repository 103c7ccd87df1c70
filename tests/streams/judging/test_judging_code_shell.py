"""Checks by syntax on shell scripts: what holds, and what stays undecided. Nothing is ever refuted.

Each row is a small program with a trap in it, as an emitter, an observer or a repository would set it.
"""

from __future__ import annotations

import pytest
from judged_programs import decided, held

from sluice.streams.judging.checks import Source
from sluice.streams.judging.verify import parse_code

PROGRAMS = r"""
g() { :; }
f() {
  g 1 "a b"
  docker run image
  echo g2
  cat file | grep -v x
  r="$(h)"
  xargs kill_all
  inner() { nested; }
}
function k { f; }
+ calls(f, g)
+ calls(f, g, argument="1")
+ calls(f, docker)
? calls(f, g2)
? calls(f, kill_all)
+ calls(f, grep)
+ calls(f, h)
? calls(f, nested)
? calls(f, missing)
+ calls(k, f)
+ reaches(k, g)
+ defines(f, function)
? defines(f, method)
? defines(nothing)

TIMEOUT=30
NAME="pool"
SINGLE='a $b'
readonly MAX=100
declare -r LEVEL=2
declare -i N=1+1
export REGION=eu
HOSTS=(a b)
PORT="${PORT:-8080}"
MIXED="a$NAME"
OUTPUT=$(date)
COUNT=1
COUNT+=1
if [ -n "$DEBUG" ]; then
  VERBOSE=1
fi
[ -z "$MODE" ] && MODE=fast
f() { echo "$TIMEOUT" ${#NAME}; }
+ equals(TIMEOUT, 30)
+ equals(TIMEOUT, "30")
? equals(TIMEOUT, 31)
? not equals(TIMEOUT, 31)
+ equals(NAME, pool)
+ equals(SINGLE, "a $b")
+ equals(MAX, 100)
+ equals(LEVEL, 2)
? equals(N, "1+1")
+ equals(REGION, eu)
+ equals(HOSTS, [a, b])
+ members(HOSTS, [a, b])
? members(HOSTS, [a])
? equals(PORT, 8080)
? equals(MIXED, apool)
? equals(OUTPUT, date)
? equals(COUNT, 1)
+ equals(VERBOSE, 1)
+ equals(MODE, fast)
+ compare(TIMEOUT, <, 31)
? compare(TIMEOUT, >, 31)
+ uses(f, TIMEOUT)
+ defines(MAX, constant)

cat <<EOF
X=1
f() { :; }
EOF
? equals(X, 1)
? defines(f)

X=010
? equals(X, 8)

f() {
  local depth=4
  echo $depth
  return 3
}
g() {
  if [ -n "$a" ]; then
    return 1
  fi
  go
  return 2
}
+ uses(f, depth)
+ returns(f, 3)
? returns(f, 4)
+ returns(g, 1)
+ returns(g, 2)
+ unless(g, "[ -n \"$a\" ]", "go")
? when(g, "[ -n \"$a\" ]", "go")

f() {
  if a; then
    b
    c
  elif d; then
    e
  else
    h
    i
  fi
  j && k
  l || m
  ! n && o
  if p; q; then r; fi
}
+ when(f, a, b)
+ when(f, a, c)
? when(f, a, e)
+ when(f, d, e)
+ unless(f, a, e)
+ unless(f, d, i)
? when(f, a, i)
+ when(f, j, k)
+ unless(f, l, m)
+ unless(f, n, o)
? when(f, p, r)
+ when(f, q, r)

f() {
  a
  b
  for x in y; do c; done
  trap d EXIT
}
+ before(f, a, b)
? before(f, b, a)
? before(f, b, c)

source ./lib/common.sh
. lib/other.sh
+ imports(./lib/common.sh)
+ imports(lib/other.sh)
? imports(common.sh)
? imports(missing.sh)

alias g=h
g() { :; }
f() { g; }
? calls(f, g)

g() { :; }
f() { unset -f g; g; }
? calls(f, g)

g() { :; }
f() { (g); }
+ calls(f, g)

g() { :; }
f() { g; }
f() { :; }
? calls(f, g)

f() {
  exit 0
  g
}
? calls(f, g)

f() { false && g; }
? calls(f, g)
"""

TRAPS = r"""
g() { :; }
f() {
  cat <<EOF
g
EOF
  echo "g" 'g'
  # g
  x=g
  g=1
  $x
  "g" 1
}
? calls(f, g)

g() { :; }
f() { echo `g`; }
h() { x=$(g 1) || return 1; }
i() { g | sort; }
j() { ! g; }
k() { if g; then :; fi; }
l() { while g; do :; done; }
m() { g & }
n() { { g; } 2>/dev/null; }
o() { case "$(g)" in a) ;; esac; }
p() { local x; x="$(g)"; }
q() { A=1 g; }
r() { time g; }
s() { sudo g; }
t() { command g; }
u() { function g { :; }; g; }
+ calls(f, g)
+ calls(h, g)
+ calls(i, g)
+ calls(j, g)
+ calls(k, g)
+ calls(l, g)
+ calls(m, g)
+ calls(n, g)
+ calls(o, g)
+ calls(p, g)
+ calls(q, g)
? calls(s, g)
? calls(t, g)

if [ "$1" = a ]; then
  f() { g; }
else
  f() { h; }
fi
? calls(f, g)

if [ "$1" = a ]; then
  f() { g; }
fi
+ calls(f, g)
+ defines(f)

X=1 Y=2
echo $X
? equals(X, 2)

X=~/a
Y=a{b,c}
Z=*.txt
W=a\ b
V=$'a\n'
U=
? equals(X, "~/a")
? equals(Y, "a{b,c}")
? equals(Z, "*.txt")
? equals(W, "a b")
? equals(V, "a\n")

X="a\$b"
Y="a\nb"
+ equals(X, "a$b")
+ equals(Y, "a\\nb")

A=(a "b c" $d)
B=(a "b c")
declare -A C=([k]=v)
D=(a *)
? members(A, [a, "b c"])
+ members(B, [a, "b c"])
? members(C, [k])
? members(D, [a, "*"])

B=(a b)
f() { B+=(c); }
? members(B, [a, b])

B=(a b)
B[2]=c
? members(B, [a, b])

f() {
  [ -f x ] || return 1
  go
  cd a && rm b
  test -n "$y" || { log; exit 1; }
  end
}
+ unless(f, "[ -f x ]", "return 1")
+ when(f, "[ -f x ]", "go")
+ when(f, "cd a", "rm b")
? unless(f, "[ -f x ]", "go")

f() {
  if [ -f x ]; then
    # go
    echo "go"
  fi
}
? when(f, "[ -f x ]", "go")

f() {
  (exit 1)
  if a; then (return 1); fi
  go
}
? unless(f, a, "go")

f() {
  for x in y; do
    if a; then return 1; fi
    go
  done
}
? unless(f, a, "go")

f() {
  if a; then b && return 1; fi
  go
}
? unless(f, a, "go")

f() {
  if a; then { return 1; }; fi
  go
}
? when(f, a, "go")

f() {
  if a; then
    cat <<EOF
go
EOF
  fi
}
? when(f, a, "go")

f() { a || { b; return 1; }; go; }
+ when(f, a, "go")
+ unless(f, a, "b")
"""

NOT_ONE = [
    "X=1\nf() { local X=2; g; }",
    "f() { local X=1; }",
    "f() { X=1; }",
    "X=1\nread X",
    "X=1\nprintf -v X 2",
    'X=1\nprintf -v "$name" 2',
    "X=1\nfor X in 2; do :; done",
    "X=1 g",
    "X=1\n((X++))",
    "X=1\nunset X",
    "X=1; X=2",
    "X=1\nf() { X=2; }",
    "X=1\nsource other.sh",
    'X=1\neval "$code"',
    'X=1\n: "${X:=2}"',
    "(X=1)",
    "echo a | X=1",
    "Y=$(X=1)",
    "# X=1",
    "X=1\nX[1]=2",
    "X=1\nexport X=2",
    "X=1\nlet X=2",
    "X=1\nset_it X 2",
    'X=1\ndeclare "$n=2"',
    "X=1\nwhile read -r X; do :; done",
    "X=1\nlocal -n ref=X",
]


@pytest.mark.parametrize(("program", "check", "expected"), [*decided(PROGRAMS), *decided(TRAPS)])
def test_shell(program: str, check: str, expected: bool | None) -> None:
    """Each row comes to what it says, and its denial to the opposite."""
    assert held(check, program, "bin/start.sh").holds is expected
    if not check.startswith("not "):
        assert held(f"not {check}", program, ".bashrc").holds is (None if expected is None else not expected)


@pytest.mark.parametrize("program", NOT_ONE)
def test_what_may_be_another_value_is_undecided(program: str) -> None:
    """Nothing of this makes X equal 1."""
    assert held("equals(X, 1)", program + "\n", "a.sh").holds is None


@pytest.mark.parametrize(
    ("program", "check", "under", "narrowed"),
    [
        ("f() { if a; then b; fi; }\n", "calls(f, b)", ("a",), False),
        ("f() { if a; then b; else c; fi; }\n", "calls(f, c)", ("not (a)",), False),
        ("f() { a && b; }\n", "calls(f, b)", ("a",), False),
        ("f() { a || b; }\n", "calls(f, b)", ("not (a)",), False),
        ("f() { for x in y; do b; done; }\n", "calls(f, b)", ("x",), False),
        ("f() { case $x in a) b ;; esac; }\n", "calls(f, b)", ("a",), False),
        ("if a; then X=1; fi\n", "equals(X, 1)", ("a",), True),
        ("[ -z $X ] && X=1\n", "equals(X, 1)", ("[ -z $X ]",), True),
        ("f() { if a; then return 1; fi; return 2; }\n", "returns(f, 2)", ("not (a)",), True),
    ],
)
def test_conditions_are_told(program: str, check: str, under: tuple[str, ...], narrowed: bool) -> None:
    """What stands under a condition says so, and is narrowed where that makes it say less."""
    found = held(check, program, "a.sh")
    assert (found.holds, found.under, found.narrowed) == (True, under, narrowed)


@pytest.mark.parametrize(
    "text", ["X=1\n" * 3_000, "f " + "a " * 5_000 + "\n", "if a; then\n" + "b\n" * 3_000 + "fi\n", "a | " * 300 + "b\n"]
)
def test_large_files_are_read(text: str) -> None:
    """Many things of one kind are read in the time that their number takes."""
    index = parse_code(Source("a.sh", text))
    assert index is not None
    assert index.problem is None
