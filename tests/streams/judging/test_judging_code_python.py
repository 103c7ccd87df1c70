"""Checks by syntax on Python: what holds, what is exactly false, and what stays undecided.

Each row is a small program with a trap in it, as an emitter, an observer or a repository would set it.
"""

from __future__ import annotations

import msgspec
import pytest
from judged_programs import decided, held

from sluice.streams.judging.checks import Source
from sluice.streams.judging.index import FileIndex
from sluice.streams.judging.verify import code_extents, parse_code, symbol_kinds

CALLS = '''
class C:
    def x(self): pass
    def m(self): self.x()
+ calls(C.m, C.x)
+ calls(m, C.x)
? calls(C.m, x)
- not calls(C.m, C.x)
- calls(C.m, C.y)

class B:
    def x(self): pass
class C(B):
    def m(self): self.x()
+ calls(C.m, B.x)
+ calls(C.m, C.x)

class B:
    def x(self): pass
class C(B):
    def x(self): pass
    def m(self): self.x()
    def n(self): super().x()
? calls(C.m, B.x)
+ calls(C.n, B.x)
? calls(C.n, C.x)

class C:
    def __init__(self, _name): self._name = _name
    def own(self): return self._name
    def shadowed(self, _name): return self._name
    def others(self, other): return other._name
def outside(_name): return {"_name": _name}
+ uses(C.own, _name)
? uses(C.shadowed, _name)
? uses(C.others, _name)

def f(a, b):
    """Uses 41 and the words of a document."""
    # 42, "a comment"
    if a == 36 or a[0] != '{' or a < -7 or b.x3 > 1.5:
        raise ValueError("invalid UUID format")
    return "no_key", f"age {a} > {b} seconds", "return a now please"
+ uses(f, 36)
+ uses(f, 1.5)
+ uses(f, "'{'")
+ uses(f, "invalid UUID format")
+ uses(f, "age {a} > {b} seconds")
+ uses(f, "\\"no_key\\"")
? uses(f, "'no_key'")
+ uses(f, "return a now")
? uses(f, 7)
? uses(f, 3)
? uses(f, 5)
? uses(f, 41)
? uses(f, 42)
? uses(f, "a comment")
? uses(f, "words of a document")
? uses(f, "UUID format")
? uses(f, no_key)
? uses(f, "return a")

class C:
    def x(self): pass
    def by(self): return self.x()
    def far(self): return self.by()
    def never(self): return 1
? calls(C.far, C.x)
+ reaches(C.far, C.x)
- calls(C.never, C.x)

def f(size=None, other=3):
    size = size or 15
+ parameter(f, size, default=None)
? parameter(f, size, default=15)
- parameter(f, other, default=15)

lock = make()
def f(a, b): lock.take(a, b, 3)
def g(lock): lock.take(1)
def h(other): other.lock.take(1)
+ calls(f, lock.take)
+ calls(f, lock.take, argument="a, b")
+ calls(f, lock.take, argument="a,b,3")
? calls(f, lock.take, argument="a, 3")
? calls(g, lock.take)
? calls(h, lock.take)

lock = make()
def swap(): global lock; lock = other()
def f(): lock.take()
? calls(f, lock.take)

class B:
    def x(self): pass
class C(Other, B):
    def m(self): self.x()
? calls(C.m, B.x)

class C:
    def x(self): pass
    def m(self, other):
        self = other
        self.x()
? calls(C.m, C.x)

class C:
    def x(self): pass
    def m(self, other): other.x()
    @staticmethod
    def s(self): self.x()
    @classmethod
    def k(cls): cls.x()
    def own(this): this.x()
    def named(self): C.x(self)
? calls(C.m, C.x)
? calls(C.s, C.x)
+ calls(C.k, C.x)
+ calls(C.own, C.x)
+ calls(C.named, C.x)

class C:
    def x(self): pass
    def m(self):
        def inner(self): self.x()
        f = lambda self: self.x()
        for self in range(3): self.x()
? calls(C.m, C.x)
? calls(C.m.inner, C.x)

class C:
    def x(self): pass
    def __init__(self, x): self.x = x
    def m(self): self.x()
? calls(C.m, C.x)

class C:
    def x(self): pass
    def m(self): self.x()
c = C()
c.x = print
? calls(C.m, C.x)

def g(): pass
def f(): g()
def h(s): s.g()
def n():
    def g(): pass
    g()
def p(g): g()
+ calls(f, g)
? calls(h, g)
? calls(p, g)
- calls(f, h)
- calls(f, nowhere)

from a import g, h as k
import os, numpy as np
def f():
    g()
    k()
    os.path.join("a")
    np.array(1)
    print()
+ calls(f, g)
+ calls(f, k)
? calls(f, h)
+ calls(f, os.path.join)
? calls(f, path.join)
+ calls(f, np.array)
? calls(f, numpy.array)
? calls(f, print)

import os
def f(os): os.getcwd()
? calls(f, os.getcwd)

def g(): pass
def f(new): new.g()
? calls(f, g)
? uses(f, g)

class A: pass
A = object
class B(A): pass
? extends(B, C)

def g(): pass
h = g
def f(): h()
? calls(f, g)

def g(): pass
def f(): run("g")
? calls(f, g)

def g(): pass
def f(): getattr(m, "g" )()
def e(): getattr(m, name)()
? calls(f, g)
? calls(e, g)

def g(): pass
table = {"a": g}
def f(): table["a"]()
? calls(f, g)

@register
def g(): pass
def f(): run()
? calls(f, g)

class K: pass
class C:
    def m(self): return type(self)()
? calls(C.m, K)

def g(): pass
def f():
    """Calls g."""
    # g()
? calls(f, g)

# g() is a good name
def g(): pass
def f(): h()
- calls(f, g)
+ not calls(f, g)

def g(): pass
def f(): ...
? calls(f, g)

def f():
    return 1
    g()
def g(): pass
? calls(f, g)

def f():
    if False: g()
def g(): pass
? calls(f, g)

def g(a, b): pass
def f(): g(1, key=("x",  2))
+ calls(f, g, argument="1")
+ calls(f, g, argument="key=(\\"x\\", 2)")
? calls(f, g, argument="2")

def f(): g()
def f(): h()
def g(): pass
? calls(f, g)

import a
kept = "x".encode()
named: bytes = b"x"
changed = 1
listed = []
if a: twice = 1
else: twice = 2
def f():
    global changed
    changed = 2
    local = 3
    listed.append(1)
+ defines(kept, constant)
+ defines(kept, variable)
+ defines(named, constant)
? defines(changed, constant)
? defines(listed, constant)
? defines(twice, constant)
? defines(local, constant)
? defines(f.local, constant)
? defines(kept, function)

def g(a): pass
def f(x): g(1); x.g(3)
+ calls(f, "g(1)")
+ uses(f, "g(1)")
? calls(f, "g(2)")
? uses(f, "g(2)")
? uses(f, "g(3)")
- uses(f, "h(1)")
- calls(f, "h(1)")
+ calls(f, "g()")

def f(): __init__
- calls(f, close)
? calls(f, __exit__)

def g(): pass
g = wrap(g)
def f(): g()
? calls(f, g)

def g(): pass
def f(): return [g() for g in x]
? calls(f, g)

def G(): pass
def f(): g()
? calls(f, G)

LIMIT = 1
def f(): return LIMIT
def w(): return "LIMIT"
def k(): return d(LIMIT=3)
def l(): LIMIT = 2
def o(a): return a.LIMIT
+ uses(f, LIMIT)
? uses(w, LIMIT)
? uses(k, LIMIT)
? uses(l, LIMIT)
? uses(o, LIMIT)
- uses(f, nothing)

def a(): b()
def b(): c()
def c(): d()
def d(): pass
+ reaches(a, d)
+ reaches(a, b)
? reaches(d, a)
? reaches(a, nowhere)

class A:
    def go(self): self.end()
    def end(self): pass
class B:
    def go(self): pass
    def run(self, a): a.go()
? reaches(B.run, A.end)
'''

VALUES = """
X = 1
+ equals(X, 1)
- equals(X, 2)
- equals(X, one)
+ compare(X, <, 2)
? equals(Y, 1)

X = 1
X = 2
? equals(X, 1)

X = 1
X += 1
? equals(X, 1)

X = 1
def f():
    global X
    X = 2
? equals(X, 1)

X = 1
def f():
    X = 2
    return X
+ equals(X, 1)
? equals(X, 2)

X = 1
for X in y: pass
? equals(X, 1)

X = 1
with a as X: pass
? equals(X, 1)

X = 1
match y:
    case X: pass
? equals(X, 1)

X = 1
from y import *
? equals(X, 1)

from y import *
X = 1
+ equals(X, 1)

X = 1
globals()["X"] = 2
? equals(X, 1)

X = 1
setattr(m, "X", 2)
? equals(X, 1)

X = 1
__all__ = ["X"]
? equals(X, 1)

X = 1
print(X := 2)
? equals(X, 1)

X = 1
m.X = 2
? equals(X, 1)

X = 1
del X
? equals(X, 1)

X = 1
(X, Y) = 2, 3
? equals(X, 1)

if debug:
    X = 1
else:
    X = 2
? equals(X, 1)

if debug:
    X = 1
+ equals(X, 1)
? equals(X, 2)

if 0:
    X = 1
? equals(X, 1)

X = [1]
def f(): return X
? equals(X, [1])

X = [1]
X.append(2)
? equals(X, [1])
? members(X, [1])

X = [1, 2]
def f(a): return a in X
+ equals(X, [1, 2])
- equals(X, [1])
+ members(X, [2, 1])
- members(X, [1])
- members(X, [1, 2, 3])

X = (1, 2)
def f(): return X
+ equals(X, [1, 2])

X = frozenset(("a", "b"))
+ members(X, [b, a])

X = {"a": 1, "b": 2}
def f(): return X["a"] + 1
+ equals(X.a, 1)
- equals(X.a, 2)
+ members(X, [a, b])

X = {"a": 1}
X["a"] = 2
? equals(X.a, 1)

X = {"a": 1, **y}
? equals(X.a, 1)
? members(X, [a])

X = {"a": 1, "a": 2}
? equals(X.a, 1)

X = 0.1234567890123456789
? equals(X, 0.1234567890123456789)

X: float = 1.5
+ equals(X, 1.5)

X = os.environ
Y = 10 * 1024
Z = "a" "b"
? equals(X, 1)
+ equals(Y, 10240)
+ equals(Z, ab)

class A:
    x = 1
    y: int = 2
    def f(self): return self.x
class B:
    x = 3
+ equals(A.x, 1)
? equals(x, 1)
+ equals(x, 1, in=A)
- equals(A.x, 3)

class A:
    x = 1
    def f(self): self.x = 2
? equals(A.x, 1)

class A:
    x = 1
A.x = 2
? equals(A.x, 1)

def f(a=3, *, b: str = "x"): a = 4
+ equals(f.a, 3)
- equals(f.a, 4)
+ equals(f.b, x)

class E(Enum):
    A = 1
    B = 2
    def f(self): pass
+ members(E, [A, B])
- members(E, [A])
- members(E, [A, B, C])

class E(Enum):
    A = 1
    if x:
        B = 2
? members(E, [A])
? members(E, [A, B])

def X(): pass
X = 1
? equals(X, 1)
"""

DECLARED = """
class A: pass
class B(A, m.N[int]): pass
class C(B): pass
class D(Far): pass
class E(A, metaclass=M): pass
+ extends(B, A)
+ extends(B, N)
+ extends(B, m.N)
? extends(C, A)
? extends(B, C)
? extends(D, A)
? extends(E, B)
? extends(A, object)
- extends(A, B)

@make
class A: pass
class B: pass
? extends(A, B)

class Error: pass
class A(m.Error): pass
def f(): raise m.Error
? extends(A, Error)
+ extends(A, m.Error)
? raises(f, Error)

def f(a, b=3, *, c: int = 4, d: str = LIMIT): pass
def v(*args, **kw): pass
@wrap
def w(a=1): pass
+ parameter(f, a)
+ parameter(f, b, default=3)
- parameter(f, b, default=4)
+ parameter(f, c, default=4, type=int)
- parameter(f, c, type=str)
? parameter(f, c, type=Number)
? parameter(f, b, type=int)
+ parameter(f, d, default=LIMIT)
? parameter(f, d, default=3)
- parameter(f, z)
+ parameter(v, args)
? parameter(v, z)
+ parameter(w, a, default=1)
? parameter(w, a, default=2)
? parameter(w, z)
? parameter(g, a)

class A:
    x: int = 3
    def __init__(self): self.y: str = "a"
class B(Far): pass
@dataclass
class D:
    x: int = 3
+ field(A, x)
+ field(A, x, default=3, type=int)
- field(A, x, default=4)
- field(A, x, type=str)
+ field(A, y)
+ field(A, y, default=a)
- field(A, nothing)
? field(B, x)
? field(B, nothing)
+ field(D, x, default=3)
? field(D, x, default=4)

class A:
    x = 3
class B(A): pass
? field(B, x)

def f() -> int: pass
def g() -> list[int]: pass
def h(): pass
@wrap
def w() -> int: pass
+ result(f, int)
- result(f, str)
? result(f, Number)
+ result(g, "list[ int ]")
? result(h, int)
? result(w, str)

import a.b
from c.d import e as f
from . import g
+ imports(a)
+ imports(a.b)
+ imports(c.d.e)
? imports(f)
+ imports(.g)
+ imports(src.net.g)
? imports(nothing)

import a
try:
    import fast
except ImportError:
    fast = None
+ imports(fast)
- imports(nothing)
- imports(b)

import importlib
importlib.import_module(name)
? imports(nothing)

def f(): pass
class T:
    def m(self): pass
X = 1
v = g()
+ defines(f)
+ defines(f, function)
- defines(f, type)
? defines(f, method)
+ defines(T, type)
- defines(T, function)
+ defines(T.m, method)
+ defines(m)
+ defines(X, constant)
? defines(v, function)
- defines(nothing)
? defines(g)
? defines(U.m)
? defines(f, section)
+ defines(m, in=T)
? defines(f, in=T)
? defines(f, in=Nowhere)
"""

FLOW = """
def f(a):
    return (a + 1)
+ returns(f, "a+1")
? returns(f, a)
- not returns(f, "a + 1")

def f(a):
    if a: return 1
    return 2
+ returns(f, 1)
+ returns(f, 2)

def f(a):
    for x in a:
        return 1
    return 2
+ returns(f, 1)
? returns(f, 2)

def f(a):
    yield 1
    return 2
? returns(f, 2)

def f():
    def g(): return 1
    return 2
? returns(f, 1)
+ returns(f, 2)

def f(a):
    if not a: raise ValueError("x")
    raise m.Error
def g():
    try: raise KeyError
    except E: pass
def h():
    try: pass
    except E: raise KeyError
def s():
    with suppress(KeyError): raise KeyError
def n():
    def k(): raise KeyError
def r(): return KeyError()
+ raises(f, ValueError)
+ raises(f, Error)
+ raises(f, m.Error)
? raises(g, KeyError)
+ raises(h, KeyError)
? raises(s, KeyError)
? raises(n, KeyError)
? raises(r, KeyError)
? raises(f, Nothing)

def f(ready, force):
    if ready: a()
    else: b()
    if not ready: c()
    if ready and force: d()
    if ready or force: e()
    if ready == 1: g()
+ when(f, ready, "a()")
? when(f, ready, "b()")
+ unless(f, ready, "b()")
+ when(f, "not ready", "b()")
? when(f, ready, "c()")
+ unless(f, ready, "c()")
+ when(f, ready, "d()")
? when(f, ready, "e()")
? when(f, ready, "g()")
+ when(f, "ready==1", "g()")
+ unless(f, "ready != 1", "g()")
? when(f, ready, "nothing()")

def f(x):
    if x is None:
        return 0
    go()
+ when(f, "x is not None", "go()")
+ unless(f, "x is None", "go()")
+ when(f, "x is None", "return 0")
? when(f, "x is None", "go()")

def f(x):
    if x:
        log()
    go()
? unless(f, x, "go()")

def f(y):
    for x in y:
        if x: return
        go()
? unless(f, x, "go()")

def f(x):
    try:
        if x: raise E
        go()
    except E: pass
? unless(f, x, "go()")

def f(x):
    if x:
        if y: return
        else: raise E
    go()
+ unless(f, x, "go()")

def f(x):
    if x:
        # go()
        log("go()")
        def g(): go()
? when(f, x, "go()")

def f(x):
    if x: a()
    elif y: b()
    else: c()
+ when(f, y, "b()")
+ unless(f, x, "b()")
+ unless(f, y, "c()")
+ unless(f, x, "c()")

def f(x, y):
    if not x and y: a()
    if not (x and y): b()
    else: c()
+ when(f, "not x", "a()")
? when(f, "not x", "b()")
+ unless(f, "x and y", "b()")
+ when(f, "x and y", "c()")

def f():
    a()
    b()
    b2()
    for x in y: c()
    if x: d()
    else: e()
    g = lambda: h()
    b2()
+ before(f, "a()", "b()")
- before(f, "b()", "a()")
? before(f, "a()", "b2()")
? before(f, "a()", "c()")
? before(f, "d()", "e()")
+ before(f, "a()", "d()")
? before(f, "a()", "h()")
? before(f, "a()", "nothing()")
"""


@pytest.mark.parametrize(
    ("program", "check", "expected"), [row for rows in (CALLS, VALUES, DECLARED, FLOW) for row in decided(rows)]
)
def test_python(program: str, check: str, expected: bool | None) -> None:
    """Each row comes to what it says, and its denial to the opposite."""
    assert held(check, program).holds is expected
    if not check.startswith("not "):
        assert held(f"not {check}", program).holds is (None if expected is None else not expected)


@pytest.mark.parametrize(
    ("program", "check", "under", "narrowed"),
    [
        ("def f(a):\n    if a > 1:\n        g()\ndef g(): pass\n", "calls(f, g)", ("a > 1",), False),
        ("def f(a):\n    if a: return 1\n    return 2\n", "returns(f, 1)", ("a",), True),
        ("def f(a):\n    if a: return 1\n    return 2\n", "returns(f, 2)", ("not (a)",), True),
        ("def f(a):\n    if a: raise E\n", "raises(f, E)", ("a",), True),
        ("def f(a):\n    raise E\n", "raises(f, E)", (), False),
        ("if a:\n    X = 1\n", "equals(X, 1)", ("a",), True),
        ("X = 1\n", "equals(X, 1)", (), False),
        ("if TYPE_CHECKING:\n    import a\n", "imports(a)", ("TYPE_CHECKING",), False),
        ("def f(a, b):\n    if a and b: g()\n", 'when(f, a, "g()")', ("a and b", "b"), False),
        ("def f(a):\n    if a: pass\n    elif b: g()\n", 'when(f, b, "g()")', ("not (a)",), False),
    ],
)
def test_conditions_are_told(program: str, check: str, under: tuple[str, ...], narrowed: bool) -> None:
    """What stands under a condition says so, and is narrowed where that makes it say less."""
    found = held(check, program)
    assert (found.holds, found.under, found.narrowed) == (True, under, narrowed)


def test_what_stands_there_instead_is_told() -> None:
    """A false check shows the line that excludes it; an ambiguous one names what it could mean; a chain its calls."""
    assert held("equals(X, 2)", "\nX = 1  # one\n").found == "X = 1  # one"
    assert held("equals(A.x, 2)", "class A:\n    x = 1\n").lines == (2, 2)
    two = held("calls(f, g)", "class A:\n    def f(self): pass\nclass B:\n    def f(self): pass\n")
    assert (two.reason, two.candidates) == ("ambiguous", ("A.f (line 2)", "B.f (line 4)"))
    chain = held("reaches(a, c)", "def a(): b()\ndef b(): c()\ndef c(): pass\n").chain
    assert chain == ("a calls b (line 1)", "b calls c (line 2)")


BROKEN = "X = 1\n\n\ndef good():\n    go()\n\n\ndef bad(:\n    pass\n\ndef go(): pass\n"


@pytest.mark.parametrize(
    ("check", "expected"),
    [
        ("calls(good, go)", True),
        ("calls(good, nothing)", None),
        ("imports(os)", None),
        ("equals(X, 1)", None),
        ("defines(good)", True),
        ("absent(nothing, in=good)", True),
        ("absent(nothing, in=bad)", None),
        ("contains(pass, in=bad)", None),
    ],
)
def test_an_error_in_the_scope_leaves_it_undecided(check: str, expected: bool | None) -> None:
    """Beside an error, what is there holds; what is not there, or stands in it, is undecided."""
    assert held(check, BROKEN).holds is expected


@pytest.mark.parametrize(
    "check", ["calls(f, nothing)", "defines(nothing)", "imports(nothing)", "equals(X, 2)", "members(E, [A])"]
)
def test_a_text_that_was_cut_refutes_nothing(check: str) -> None:
    """Where a file was not read whole, what is missing may stand in the rest."""
    assert held(check, "X = 1\ndef f():\n    g()\nclass E(Enum):\n    A = 1\n", whole=False).reason == "not-whole"


def test_lines_limit_what_is_looked_at() -> None:
    """A call outside of the lines is neither there nor missing."""
    text = "def f():\n    a()\n    b()\ndef a(): pass\n"
    assert held("calls(f, a, lines=2)", text).lines == (2, 2)
    assert held("calls(f, a, lines=3)", text).holds is None


def test_names_are_normalised_and_look_alikes_are_not() -> None:
    """Python takes NFKC forms of a name as one; a look-alike of another script is another name."""
    assert held("defines(file)", "\ufb01le = 1\n").holds is True
    assert held("defines(scope)", "def \u0455cope(): pass\n").holds is False
    assert held("equals(X, 1)", "\ufeffX = 1\r\n").holds is True


def test_kinds_and_extents_are_those_of_the_definitions() -> None:
    """What a noun may call a name, and the lines that `in` means."""
    index = parse_code(Source("a.py", "X = 1\nclass E(Enum):\n    A = 1\n    def f(self):\n        pass\n"))
    assert index is not None
    assert symbol_kinds(index, "X") == {"variable", "constant"}
    assert symbol_kinds(index, "E") == {"type", "enumeration"}
    assert "member" in symbol_kinds(index, "E.A")
    assert symbol_kinds(index, "f") == {"method"}
    assert symbol_kinds(index, "nothing") == frozenset()
    assert code_extents(index, "E.f") == [(4, 5)]


def test_an_index_is_data() -> None:
    """It is the same after it was sent, large numbers and fractions included."""
    index = parse_code(Source("a.py", "X = 123456789012345678901234567890\nY = [1.5, None, 'a']\ndef f(a=-1): g(a)\n"))
    assert index is not None
    sent = msgspec.msgpack.decode(msgspec.msgpack.encode(index), type=FileIndex)
    assert sent == index
    assert held("equals(X, 123456789012345678901234567890)", "X = 123456789012345678901234567890\n").holds is True
    assert held("equals(Y, [1.5, null, a])", "Y = [1.5, None, 'a']\n").holds is True


HOSTILE = {
    "brackets": "(" * 100_000,
    "lists": "x=" + "[" * 50_000 + "]" * 50_000,
    "long line": "x = " + "1+" * 300_000 + "1",
    "attributes": "a" + ".b()" * 50_000,
    "errors": "a b\n" * 20_000,
    "broken definitions": "def (:\n" * 20_000,
    "too many bytes": "#" * 1_300_000,
    "not": "x = " + "not " * 50_000 + "1",
}
LARGE = {
    "comments": "# x\n" * 400,
    "decorators": "@a\n" * 2_000 + "def f(): pass\n",
    "items": "f(" + "x," * 10_000 + ")",
    "keys": "D = {" + "'a': 1," * 5_000 + "}",
    "arms": "if a: pass\n" + "elif b: pass\n" * 3_000,
    "bases": "class A(" + "b," * 5_000 + "): pass\n",
    "names": "from a import " + "b," * 5_000 + "c",
    "returns": "def f():\n" + " return 1\n" * 5_000,
    "nothing": "",
    "zeros": "\x00" * 500,
    "half a character": "x = '\ud800'\n",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_too_large(name: str) -> None:
    """What no person writes is not read, and every check on it is undecided."""
    assert held("calls(f, g)", HOSTILE[name] + "\ndef f(): pass\n").reason == "too-large"


@pytest.mark.parametrize("name", LARGE)
def test_large_files_are_read(name: str) -> None:
    """Many things of one kind are read in the time that their number takes."""
    index = parse_code(Source("a.py", LARGE[name]))
    assert index is not None
    assert index.problem is None


def test_no_file_of_unknown_language_is_parsed() -> None:
    """A language without queries, or an ending of none, decides nothing by syntax; text checks go on."""
    assert held("calls(f, g)", "f() { g; }\n", "a.txt").reason == "unlisted-language"
    assert held("contains(g)", "f() { g; }\n", "a.txt").holds is True


@pytest.mark.parametrize(
    ("program", "check"),
    [
        ("SIZE = 16 * 1024\n", 'equals(SIZE, "16 * 1024")'),
        ("def f(x):\n    return x>>51\n", 'uses(f, ">> 51")'),
        ("def f(x):\n    return x>>51\n", 'uses(f, "x + 1")'),
        ("from enum import Enum\nclass E(Enum):\n    A = 1\n    B = 2\n", 'members(E, [A, "B { layout }"])'),
    ],
)
def test_an_expression_is_no_name_and_no_value(program: str, check: str) -> None:
    """What is written as an expression is neither found nor refuted."""
    assert held(check, program).holds is None
