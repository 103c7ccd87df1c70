"""Checks by syntax on Python: what holds, what is exactly false, and what stays undecided."""

from __future__ import annotations

import pytest

from sluice.streams.judging.checks import Check, parse_check
from sluice.streams.judging.code import code_extents, parse_code, verify_code
from sluice.streams.judging.results import Held, Source

CLIENT = '''\
"""A client. TIMEOUT = 99 stands here as text, and def ghost(): as well."""

from __future__ import annotations

import os
import os.path
import numpy as np
from collections.abc import Mapping, Sequence as Seq
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, overload

from . import wire
from .pool import Pool as ConnectionPool
from ..codecs import records

if TYPE_CHECKING:
    import heavy.thing

TIMEOUT = 30
RETRIES: Final = 1_000
RATE: float = 1.5e3
MASK = 0x3E8
MODE = 0o17
NAME = "sluice" " client"
ESCAPED = "a\\tb\\u00e9"
RAW = r"\\d+"
NEGATIVE = -5
SIZE = 10 * 1024
FLAG = (1 << 20)
PI = 3.14
ENABLED = True
NOTHING = None
HOSTS = ["a", "b"]
PAIR = (1, "two")
COMPUTED = os.environ.get("X")
FORMATTED = f"{NAME}!"
BYTES = b"x"
CHAINED = OTHER = 7
LEFT, RIGHT = 1, 2
ANNOTATED: int
LIMIT = 5
LIMIT += 1
TWICE = 1
TWICE = 1
if os.name == "nt":
    SEP = ";"
else:
    SEP = ":"
if DEBUG:
    ONLY = 1
if False:
    NEVER = 1
try:
    import fast
except ImportError:
    fast = None
SETTINGS = {"timeout": 30, "retry": {"limit": 3}, 5: "x"}
GROWS = [1]
GROWS.append(2)
GONE = 1
del GONE
LATE = 1
alias = len
square = lambda n: n * n
Vector = list[float]


@dataclass
class Config:
    """A config."""

    timeout: int = 30
    name: str = field(default="x")
    items: list[int] = field(default_factory=list)
    bare: int

    LEVEL = 2

    def __init__(self, size=5):
        self.size = size
        self.depth = 4
        self.mode = "r"

    def change(self):
        self.mode = "w"
        return self.depth

    @property
    def width(self) -> int:
        return self.depth * 2

    @staticmethod
    def make(*, key="k", other=None):
        other = other or []
        return Config(key)


@retry(times=3)
def connect(host, port=443, *args, timeout: float = 2.5, **kwargs):
    """Connects. calls(ghost)"""
    local = 12

    def inner(depth=1):
        hidden_call()
        return depth

    callback = lambda: lazy_call()
    for item in args:
        wire.send(item)
    if False:
        dead_call()
    self.pool.acquire(host)
    items = [make_item(x) for x in args]
    with open(host) as handle:
        handle.read()
    return inner(port)
    unreachable()


def set_late():
    global LATE
    LATE = 2


async def fetch(url):
    data = await get(url)
    if not data:
        return None
    return data


def nothing():
    return


def fixed():
    return (
        1 + 2
    )


class Client(Base):
    def run(self):
        self.connect()
        return super().run()

    class Inner:
        DEEP = 1

        def go(self):
            import json

            json.dumps({})


@overload
def load(x: int) -> int: ...
@overload
def load(x: str) -> str: ...
def load(x):
    return parse(x)


class Other:
    timeout = 10

    def run(self):
        pass
'''


def held(check: str, text: str = CLIENT, path: str = "src/net/client.py", lines: tuple[int, int] | None = None) -> Held:
    """What a check on a file comes to."""
    parsed = parse_check(check)
    assert isinstance(parsed, Check), parsed
    source = Source(path, text, lines=lines or parsed.lines)
    code = parse_code(source)
    assert code is not None
    return verify_code(parsed, code, source)


@pytest.mark.parametrize(
    ("check", "expected"),
    [
        ("defines(connect)", True),
        ("defines(connect, function)", True),
        ('defines("connect()", function)', True),
        ("defines(connect, method)", False),
        ("defines(connect, type)", False),
        ("defines(connect, target)", None),
        ("defines(Config, type)", True),
        ("defines(Config, function)", False),
        ("defines(Config.change, method)", True),
        ("defines(Config.change, function)", None),
        ("defines(change)", True),
        ("defines(Config::change)", True),
        ('defines("Config#change")', True),
        ("defines(client.Config.change)", True),
        ("defines(net.client.Config)", True),
        ("defines(connect.inner)", True),
        ("defines(Client.Inner.go)", True),
        ("defines(Client.Inner, type)", True),
        ("defines(TIMEOUT, constant)", True),
        ("defines(TIMEOUT, variable)", None),
        ("defines(TIMEOUT, function)", False),
        ("defines(RETRIES, constant)", True),
        ("defines(alias, variable)", True),
        ("defines(alias, constant)", None),
        ("defines(alias, function)", None),
        ("defines(square, function)", True),
        ("defines(Vector, type)", None),
        ("defines(Config.timeout)", True),
        ("defines(load)", True),
        ("defines(ghost)", False),
        ("defines(NEVER)", None),
        ("defines(local)", False),
        ("defines(connect.port)", False),
        ("defines(Mapping)", False),
        ("defines(Config.depth)", None),
        ("defines(SETTINGS.timeout)", None),
        ("defines(Config.missing)", False),
        ("defines(Config.connect)", False),
        ("defines(Unknown.connect)", None),
        ("defines(missing)", False),
        ("defines(time)", False),
        ("defines(change, in=Config)", True),
        ("defines(connect, in=Config)", False),
        ("defines(run, in=Client)", True),
        ("defines(run, in=Nowhere)", None),
        ("defines(TIMEOUT, lines=17-30)", True),
        ("defines(TIMEOUT, lines=1-5)", None),
    ],
)
def test_python_defines(check: str, expected: bool | None) -> None:
    """Definitions are functions, methods, types, constants and variables; text, locals and imports are none."""
    assert held(check).holds is expected


@pytest.mark.parametrize(
    ("check", "expected"),
    [
        ("equals(TIMEOUT, 30)", True),
        ("equals(TIMEOUT, 99)", False),
        ('equals(TIMEOUT, "30")', False),
        ("equals(client.TIMEOUT, 30)", True),
        ("equals(RETRIES, 1000)", True),
        ("equals(RATE, 1500)", True),
        ("equals(MASK, 1000)", True),
        ("equals(MODE, 15)", True),
        ('equals(NAME, "sluice client")', True),
        ('equals(NAME, "sluice")', False),
        ('equals(ESCAPED, "a\\tbé")', True),
        ('equals(RAW, "\\\\d+")', True),
        ("equals(NEGATIVE, -5)", True),
        ("equals(SIZE, 10240)", True),
        ("equals(SIZE, 1024)", False),
        ("equals(FLAG, 1048576)", True),
        ("equals(PI, 3.14)", True),
        ("equals(ENABLED, true)", True),
        ("equals(ENABLED, false)", False),
        ("equals(NOTHING, null)", True),
        ("equals(HOSTS, [a, b])", True),
        ("equals(HOSTS, [a])", False),
        ("equals(PAIR, [1, two])", True),
        ("equals(CHAINED, 7)", True),
        ("equals(OTHER, 8)", False),
        ("equals(LEFT, 1)", True),
        ("equals(RIGHT, 1)", False),
        ("equals(Config.timeout, 30)", True),
        ("equals(Config.name, x)", True),
        ("equals(Config.LEVEL, 2)", True),
        ("equals(Other.timeout, 10)", True),
        ("equals(timeout, 30, in=Config)", True),
        ("equals(timeout, 10, in=Config)", False),
        ("equals(connect.port, 443)", True),
        ("equals(connect.timeout, 2.5)", True),
        ("equals(connect.timeout, 3)", False),
        ("equals(Config.make.key, k)", True),
        ("equals(Config.__init__.size, 5)", True),
        ("equals(connect.local, 12)", True),
        ("equals(inner.depth, 1)", True),
        ("equals(Config.depth, 4)", True),
        ("equals(SETTINGS.timeout, 30)", True),
        ("equals(SETTINGS.retry.limit, 3)", True),
        ("equals(SETTINGS.retry.limit, 4)", False),
        ("equals(Inner.DEEP, 1)", True),
        ("compare(TIMEOUT, >=, 30)", True),
        ("compare(TIMEOUT, >, 30)", False),
        ("compare(TIMEOUT, !=, 30)", False),
        ("compare(connect.timeout, <, 3)", True),
    ],
)
def test_python_values(check: str, expected: bool) -> None:
    """A literal is its value, whatever form it is written in."""
    assert held(check).holds is expected


@pytest.mark.parametrize(
    ("check", "reason"),
    [
        ("equals(COMPUTED, x)", "computed"),
        ("equals(FORMATTED, x)", "computed"),
        ("equals(BYTES, x)", "computed"),
        ("equals(Config.items, [])", "computed"),
        ("equals(ANNOTATED, 1)", "computed"),
        ("equals(Config.size, 5)", "computed"),
        ("equals(connect, 1)", "computed"),
        ("equals(alias, len)", "computed"),
        ("equals(LIMIT, 5)", "ambiguous"),
        ("equals(TWICE, 1)", "ambiguous"),
        ('equals(SEP, ";")', "ambiguous"),
        ("equals(ONLY, 1)", "ambiguous"),
        ("equals(fast, null)", "ambiguous"),
        ("equals(GROWS, [1])", "ambiguous"),
        ("equals(GONE, 1)", "ambiguous"),
        ("equals(LATE, 1)", "ambiguous"),
        ("equals(timeout, 30)", "ambiguous"),
        ("equals(Config.mode, r)", "ambiguous"),
        ("equals(Config.make.other, null)", "ambiguous"),
        ("equals(NEVER, 1)", "not-found"),
        ("equals(MISSING, 1)", "not-found"),
        ("equals(TIMEOUT, 30, in=Config)", "not-found"),
        ("equals(TIMEOUT, 30, lines=1-3)", "not-found"),
        ("compare(NAME, <, 3)", "incomparable"),
    ],
)
def test_python_values_that_stay_undecided(check: str, reason: str) -> None:
    """What is computed, assigned twice, or under a condition is neither equal nor different."""
    assert held(check).holds is None
    assert held(check).reason == reason


@pytest.mark.parametrize(
    ("check", "expected"),
    [
        ("calls(connect, inner)", True),
        ("calls(connect, send)", True),
        ("calls(connect, wire.send)", True),
        ("calls(connect, self.pool.acquire)", True),
        ("calls(connect, pool.acquire)", True),
        ("calls(connect, other.acquire)", False),
        ("calls(connect, make_item)", True),
        ("calls(connect, hidden_call)", False),
        ("calls(connect, lazy_call)", None),
        ("calls(connect, dead_call)", None),
        ("calls(connect, unreachable)", None),
        ("calls(connect, retry)", None),
        ("calls(connect, ghost)", False),
        ("calls(connect, missing)", False),
        ("calls(connect.inner, hidden_call)", True),
        ("calls(fetch, get)", True),
        ("calls(Config.make, Config)", True),
        ("calls(load, parse)", True),
        ("calls(Client.run, connect)", True),
        ("calls(Client.run, super)", True),
        ("calls(Client.Inner.go, json.dumps)", True),
        ("calls(Client, connect)", None),
        ("calls(run, connect)", None),
        ("calls(run, connect, in=Client)", True),
        ("calls(run, connect, in=Other)", False),
        ("calls(nobody, connect)", None),
        ("calls(square, print)", False),
        ("calls(COMPUTED, os.environ.get)", True),
        ("uses(connect, port)", True),
        ("uses(connect, wire)", True),
        ("uses(connect, pool)", True),
        ("uses(connect, timeout)", None),
        ("uses(connect, hidden_call)", False),
        ("uses(connect, ghost)", False),
        ("uses(Config.width, self.depth)", True),
        ("uses(Config.width, size)", False),
        ("uses(square, n)", True),
    ],
)
def test_python_relations(check: str, expected: bool | None) -> None:
    """Calls and mentions count in the body itself; nested definitions and what is never run do not."""
    assert held(check).holds is expected


@pytest.mark.parametrize(
    ("check", "expected"),
    [
        ("imports(os)", True),
        ("imports(os.path)", True),
        ("imports(numpy)", True),
        ("imports(np)", None),
        ("imports(collections.abc)", True),
        ("imports(collections.abc.Mapping)", True),
        ("imports(collections)", True),
        ("imports(.pool)", True),
        ("imports(src.net.pool)", True),
        ("imports(pool)", None),
        ("imports(..codecs)", True),
        ("imports(src.codecs.records)", True),
        ("imports(heavy.thing)", True),
        ("imports(json)", True),
        ("imports(fast)", True),
        ("imports(re)", False),
        ("imports(numpy.linalg)", False),
        ("imports(json, in=Config)", None),
        ("imports(json, in=Client)", True),
    ],
)
def test_python_imports(check: str, expected: bool | None) -> None:
    """`import a.b` imports `a` too; what only resembles an import is not said to be missing."""
    assert held(check).holds is expected


@pytest.mark.parametrize(
    ("check", "expected", "reason"),
    [
        ('returns(fixed, "1 + 2")', True, None),
        ('returns(fixed, "( 1 + 2 )")', True, None),
        ('returns(fixed, "1 + 3")', None, "not-found"),
        ('returns(connect, "inner(port)")', True, None),
        ("returns(fetch, None)", None, "ambiguous"),
        ("returns(nothing, None)", None, "not-found"),
        ('returns(square, "n * n")', True, None),
        ('returns(Config.width, "self.depth * 2")', True, None),
        ('returns(Config.width, "self.depth")', None, "not-found"),
        ("returns(missing, 1)", None, "not-found"),
        ("returns(Config, 1)", None, "not-found"),
    ],
)
def test_python_returns(check: str, expected: bool | None, reason: str | None) -> None:
    """Every `return` must return the expression; nothing else is false."""
    assert (held(check).holds, held(check).reason) == (expected, reason)


def test_lines_tell_where_it_stands() -> None:
    """The lines are those of the definition, the call, the import, the value."""
    first = CLIENT.splitlines().index
    assert held("equals(TIMEOUT, 1)").lines == (first("TIMEOUT = 30") + 1,) * 2
    assert held("calls(connect, inner, in=connect)").holds is True
    assert held("calls(inner, hidden_call)").lines == (first("        hidden_call()") + 1,) * 2
    start, end = held("defines(connect)").lines or (0, 0)
    assert start == first("@retry(times=3)") + 1
    assert end == first("    unreachable()") + 1
    assert held("imports(numpy)").lines == (first("import numpy as np") + 1,) * 2


def test_extents_are_those_of_each_definition() -> None:
    """`in` asks for the lines of what a symbol means."""
    code = parse_code(Source("a.py", CLIENT))
    assert code is not None
    assert len(code_extents(code, "run")) == 2
    (one,) = code_extents(code, "Client.run")
    assert one[1] - one[0] == 2
    assert code_extents(code, "missing") == []


@pytest.mark.parametrize(
    "text",
    [
        """# X = 3\n"X = 2"\nX: "X = 5" = 1\n"''\nX = 4\n"''\n""".replace("\"''", '"""'),
        "X = 1\r\nY = 2\r\n",
        "\ufeffX = 1\n",
        "X\t=\t1\n",
        "\x0cX = 1\n",
        "X = (1)\n",
        "X = \\\n    1\n",
        "X = 1;\n",
        "def f(X): X = 3\nX = 1\n",
        "def f():\n    X = 3\nX = 1\n",
        "class A:\n    def f(self): self.X = 2\nX = 1\n",
    ],
)
def test_one_value_of_one_name_is_found(text: str) -> None:
    """Strings, comments, line ends, marks and other scopes change nothing about the value of a name."""
    assert held("equals(X, 1)", text, "a.py").holds is True


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("X = 1\nX = 2\n", "ambiguous"),
        ("X = 1\nfor X in range(3): pass\n", "ambiguous"),
        ("X = 1\nwith a as X: pass\n", "ambiguous"),
        ("X = 1\nfrom y import X\n", "ambiguous"),
        ("X = 1\ndef X(): pass\n", "ambiguous"),
        ("X = 1\nclass X: pass\n", "ambiguous"),
        ("X = 1\nprint(X := 2)\n", "ambiguous"),
        ("X = 1\ndef f():\n    global X\n    X += 1\n", "ambiguous"),
        ("X = 1\nfrom y import *\n", "ambiguous"),
        ("X = 1\nmatch a:\n    case X:\n        pass\n", "ambiguous"),
        ("X = 1\nexcept_ = 0\ntry: pass\nexcept E as X: pass\n", "ambiguous"),
        ("def f():\n    X = 1\n    def g():\n        nonlocal X\n        X = 2\n", "ambiguous"),
        ("X = [1]\ndel X[0]\n", "ambiguous"),
        ("X = 1\nX: int = 2\n", "ambiguous"),
        ("X = 1\n(X, Y) = 2, 3\n", "ambiguous"),
        ("try:\n    X = 1\nexcept E:\n    pass\n", "ambiguous"),
        ("while True:\n    X = 1\n", "ambiguous"),
        ("X = [1]\nX[0] = 2\n", "ambiguous"),
        ("X = [1]\nX += [2]\n", "ambiguous"),
        ("X = 1,\n", None),
        ("X = 1 if a else 2\n", "computed"),
        ("X = 1.5 + 1\n", "computed"),
        ("X = 10 ** 500\n", "computed"),
        ("X = 1 << 5000\n", "computed"),
        ("X = 5 / 2\n", "computed"),
        ("X = 3j\n", "computed"),
        ("X = ...\n", "computed"),
        ("X = {1}\n", "computed"),
        ("X = *a, 1\n", "computed"),
        ("X, Y = f()\n", "computed"),
        ("X, Y = 1, 2, 3\n", "computed"),
        ("X: int\n", "computed"),
        ('X = "\\N{DIGIT ONE}"\n', "computed"),
        ("if 0:\n    X = 1\n", "not-found"),
        ("# X = 1\n", "not-found"),
        ("'''\nX = 1\n'''\n", "not-found"),
        ("X = 1 +\n", None),
        ("X = (1\nY = 2\n", "syntax-error"),
    ],
)
def test_hostile_values_are_never_the_plain_one(text: str, reason: str | None) -> None:
    """No way to hide, repeat, compute or guard a value makes it hold, nor makes another one refuted."""
    found = held("equals(X, 1)", text, "a.py")
    assert found.holds is not True
    if reason is not None:
        assert found == found._replace(holds=None, reason=reason)


def test_a_shadowing_local_refutes_nobody() -> None:
    """A name that is also a local variable elsewhere holds for the module's, and refutes nothing."""
    text = "X = 1\ndef f():\n    X = 2\n"
    assert held("equals(X, 1)", text, "a.py").holds is True
    assert held("equals(X, 2)", text, "a.py").reason == "ambiguous"
    assert held("equals(f.X, 2)", text, "a.py").holds is True


def test_what_others_do_to_a_class_counts() -> None:
    """An attribute that is assigned through the class, or by its own methods, is not the one declared."""
    text = "class A:\n    x = 1\n    y = 2\n    z = 3\n\n    def f(self):\n        self.y = 4\n"
    text += "\n\nA.x = 5\nB.z = 6\nb.z = 7\n"
    assert held("equals(A.x, 1)", text, "a.py").reason == "ambiguous"
    assert held("equals(A.y, 2)", text, "a.py").reason == "ambiguous"
    assert held("equals(A.z, 3)", text, "a.py").holds is True


def test_members_of_what_is_computed_are_not_denied() -> None:
    """What a call makes, or slots name, may have any members; nothing is exactly false of them."""
    text = "P = namedtuple('P', 'x y')\n\n\nclass S:\n    __slots__ = ('a', 'b')\n\n\nclass T:\n    pass\n"
    assert held("defines(P.x)", text, "a.py").holds is None
    assert held("defines(S.a)", text, "a.py").holds is None
    assert held("defines(S.c)", text, "a.py").holds is False
    assert held("defines(T.x)", text, "a.py").holds is False
    assert held("defines(P, type)", text, "a.py").holds is None


def test_an_item_that_is_called_is_not_its_list() -> None:
    """`handlers[x]()` is neither a call of `handlers` nor exactly none."""
    text = "def f():\n    handlers[x]()\n    Box[int](1)\n    a = g\n    a()\n"
    assert held("calls(f, handlers)", text, "a.py").holds is None
    assert held("calls(f, Box)", text, "a.py").holds is None
    assert held("calls(f, g)", text, "a.py").holds is False


def test_a_star_before_a_name_changes_nothing() -> None:
    """What is imported first is what is overwritten."""
    assert held("equals(X, 1)", "from y import *\nX = 1\n", "a.py").holds is True
    assert held("defines(X)", "from y import *\n", "a.py").holds is False
    assert held("imports(y)", "from y import *\n", "a.py").holds is True


def test_a_region_limits_what_is_called() -> None:
    """A call counts in the lines that are looked at; one outside of them is neither there nor missing."""
    text = "def f():\n    a()\n    b()\n"
    assert held("calls(f, a, lines=2)", text, "a.py").holds is True
    assert held("calls(f, a, lines=3)", text, "a.py").holds is None
    assert held("calls(f, c, lines=3)", text, "a.py").holds is False
    assert held("calls(f, a, lines=9)", text, "a.py").holds is None


def test_lines_tell_which_of_several_is_meant() -> None:
    """A region with one of two assignments in it decides by that one."""
    text = "X = 1\nX = 2\nif a:\n    Y = 3\n"
    assert held("equals(X, 1, lines=1)", text, "a.py").holds is True
    assert held("equals(X, 1, lines=2)", text, "a.py").holds is False
    assert held("equals(X, 1, lines=1-2)", text, "a.py").reason == "ambiguous"
    assert held("equals(Y, 3, lines=3-4)", text, "a.py").holds is True
    assert held("equals(Y, 3)", text, "a.py").reason == "ambiguous"


def test_an_error_touches_only_what_it_stands_in() -> None:
    """Beside an error, what is there holds; what is not there, or stands in it, is undecided."""
    text = "X = 1\n\n\ndef good():\n    go()\n\n\ndef bad(:\n    pass\n"
    assert held("equals(X, 1)", text, "a.py").holds is True
    assert held("equals(X, 2)", text, "a.py").holds is False
    assert held("calls(good, go)", text, "a.py").holds is True
    assert held("calls(good, other)", text, "a.py").reason == "syntax-error"
    assert held("defines(good)", text, "a.py").holds is True
    assert held("defines(other)", text, "a.py").reason == "syntax-error"
    assert held("imports(os)", text, "a.py").reason == "syntax-error"


def test_what_the_grammar_takes_for_statements_is_not_denied() -> None:
    """`type(x).y = 1` parses as an alias, and defines and denies nothing; imports of the root name no module."""
    text = "from .typing import A\n\n\ndef f(x):\n    type(x).y = 1\n    g(x)\n\n\ntype B = int\n"
    assert held("calls(f, type)", text, "a.py").holds is None
    assert held("calls(f, other)", text, "a.py").holds is False
    assert held("defines(x)", text, "a.py").holds is False
    assert held("defines(B, type)", text, "a.py").holds is True
    assert held("imports(typing)", text, "a.py").holds is None
    assert held("imports(pkg.typing)", text, "pkg/a.py").holds is True


def test_stubs_have_no_bodies() -> None:
    """What only says `...` neither calls nor returns anything."""
    text = "def f(x: int = ...) -> int: ...\n\nclass P(Protocol):\n    def m(self) -> int:\n        ...\n"
    assert held("calls(f, g)", text, "a.pyi").reason == "not-found"
    assert held("calls(P.m, g)", text, "a.pyi").reason == "not-found"
    assert held("defines(P.m, method)", text, "a.pyi").holds is True


def test_unicode_names_are_normalised() -> None:
    """Python takes NFKC forms of a name as one name; look-alikes of another script are other names."""
    assert held("equals(file, 1)", "\ufb01le = 1\n", "a.py").holds is True
    assert held("defines(scope)", "def \u0455cope(): pass\n", "a.py").holds is False


def test_a_text_that_was_cut_decides_little() -> None:
    """Where a file was not read whole, only what is there holds."""
    parsed = [parse_check(one) for one in ("defines(f)", "defines(g)", "equals(X, 1)", "calls(f, g)", "imports(os)")]
    source = Source("a.py", "X = 1\ndef f():\n    g()\n", whole=False)
    code = parse_code(source)
    assert code is not None
    helds = [verify_code(one, code, source) for one in parsed if isinstance(one, Check)]
    assert [one.holds for one in helds] == [True, None, None, None, None]
    assert {one.reason for one in helds[1:]} == {"not-whole"}
