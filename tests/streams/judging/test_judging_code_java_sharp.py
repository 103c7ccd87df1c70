"""Checks by syntax on Java and C#: what holds, what is exactly false, and what stays undecided."""

from __future__ import annotations

import pytest

from sluice.streams.judging.checks import Check, parse_check
from sluice.streams.judging.code import parse_code, verify_code
from sluice.streams.judging.results import Held, Source

JAVA = """\
package com.acme.net;

import java.util.List;
import java.io.*;
import static com.acme.Util.join;

/** static final int GHOST = 1; */
@Deprecated(since = "1")
public class Client<T> extends Base {
    public static final int MAX = 10_000;
    static final long BIG = 0xFFL;
    static final String NAME = "a\\tb\\u00e9";
    private static final double RATE = 1.5f;
    static final int[] LIST = {1, 2};
    static final int SUM = 10 * 1024, OCTAL = 017, NEG = -5;
    static final boolean ON = true;
    static final Object NIL = null;
    static final Duration WAIT = Duration.ofSeconds(30);
    static final int WRAPS = 1 << 31;
    static final String TEXT = \"\"\"
        block
        \"\"\";
    int size = 2;
    int changed = 3;
    final int late;

    Client(int depth) {
        this.late = 4;
        super.init();
    }

    @Override
    public int send(String message, int... more) {
        int local = 12;
        this.changed = 5;
        socket.write(message);
        new Packet<>(1).flush();
        Runnable r = () -> lazily();
        items.forEach(this::each);
        Object o = new Thing() { void inner() { hidden(); } };
        class Local { void m() { nested(); } }
        if (false) { dead(); }
        return compute(local);
    }

    int compute(int x) { return x + 1; }

    static <K> K make() { return null; }

    enum Color { RED(1), GREEN; int code = 7; }

    interface Shape { int SIDES = 4; double area(); default int n() { return 1; } }

    record Point(int x, int y) { }

    @interface Limit { int value() default 3; }
}

class Other { int size = 9; void send() { other(); } }
"""

SHARP = """\
using System.Text;
using static System.Math;
using Alias = System.Collections.Generic.List<int>;

namespace Acme.Net
{
    // const int Ghost = 1;
    [Serializable]
    public class Client<T> : Base
    {
        public const int Max = 10_000;
        static readonly string Name = "a\\tb";
        private const long Big = 0xFFL;
        const double Rate = 1.5m;
        const string Path = @"c:\\dir""x";
        const string Raw = \"\"\"raw\"\"\";
        static readonly int[] List = { 1, 2 };
        static readonly string[] More = new[] { "a" };
        static readonly int[] Newest = [3];
        const int Sum = 10 * 1024;
        const bool On = true;
        object nil = null;
        string mixed = $"a{Name}";
        static readonly TimeSpan Wait = TimeSpan.FromSeconds(30);
        int size = 2, changed = 3;
        public int Port { get; set; } = 80;
        public int Fixed => 7;
        public int Loud { get { return Count(); } }

        public Client(int depth = 3) : base(depth) { this.changed = 4; }

        public async Task<int> Send(string message, int times = 5, string tag = null)
        {
            int local = 12;
            socket?.Write(message);
            a?.B.Flush();
            new Packet<int>(1);
            Thing thing = new(2);
            void Inner() { Hidden(); }
            Func<int> f = () => Lazily();
            Generic<int>(1);
            if (false) { Dead(); }
            await Task.Delay(1);
            return Compute(local);
        }

        int Compute(int x) => x + 1;
        partial void Later();
        enum Color { Red = 1, Green }
        interface IShape { double Area(); }
        struct Pair { public int A; }
        record Point(int X, int Y = 2);
        delegate void Handler(int x);
    }

#if DEBUG
    class OnlyDebug { const int Level = 1; }
#endif
#if false
    class Never { }
#endif
}
"""


def java(check: str, text: str = JAVA, path: str = "src/com/acme/net/Client.java") -> Held:
    """What a check on a file comes to."""
    parsed = parse_check(check)
    assert isinstance(parsed, Check), parsed
    source = Source(path, text, lines=parsed.lines)
    code = parse_code(source)
    assert code is not None
    assert not code.problem
    return verify_code(parsed, code, source)


def sharp(check: str, text: str = SHARP) -> Held:
    """What a check on the C# sample comes to."""
    return java(check, text, "src/Net/Client.cs")


@pytest.mark.parametrize(("text", "path"), [(JAVA, "a.java"), (SHARP, "a.cs")])
def test_the_samples_have_no_errors(text: str, path: str) -> None:
    """What is false below is false in files that parse."""
    code = parse_code(Source(path, text))
    assert code is not None
    assert code.errors == []


@pytest.mark.parametrize(
    ("check", "expected"),
    [
        ("defines(Client, type)", True),
        ("defines(com.acme.net.Client)", True),
        ("defines(Client, function)", None),
        ("defines(Other, function)", False),
        ("defines(Client.send, method)", True),
        ("defines(Client.send, function)", None),
        ('defines("Client#compute", method)', True),
        ("defines(Client.Client, method)", True),
        ("defines(Client.MAX, constant)", True),
        ("defines(Client.size, variable)", True),
        ("defines(Client.size, constant)", False),
        ("defines(Client.Color, type)", True),
        ("defines(Client.Color.RED, constant)", True),
        ("defines(Client.Shape.area, method)", True),
        ("defines(Client.Point, type)", True),
        ("defines(Client.Point.x)", True),
        ("defines(Client.missing)", False),
        ("defines(Client.other)", False),
        ("defines(GHOST)", False),
        ("defines(local)", False),
        ("defines(List)", False),
        ("equals(Client.MAX, 10000)", True),
        ("equals(MAX, 10001)", False),
        ("equals(BIG, 255)", True),
        ('equals(NAME, "a\\tbé")', True),
        ("equals(RATE, 1.5)", True),
        ("equals(LIST, [1, 2])", True),
        ("equals(SUM, 10240)", True),
        ("equals(OCTAL, 15)", True),
        ("equals(NEG, -5)", True),
        ("equals(ON, true)", True),
        ("equals(NIL, null)", True),
        ("equals(Shape.SIDES, 4)", True),
        ("equals(Limit.value, 3)", True),
        ("equals(Client.size, 2)", True),
        ("equals(Other.size, 2)", False),
        ("equals(Client.send.local, 12)", True),
        ("equals(Color.code, 7)", True),
        ("compare(MAX, >, 9999)", True),
        ("compare(MAX, <, 10000)", False),
        ("calls(Client.send, write)", True),
        ("calls(Client.send, socket.write)", True),
        ("calls(Client.send, Packet)", True),
        ("calls(Client.send, flush)", True),
        ("calls(Client.send, forEach)", True),
        ("calls(Client.send, lazily)", None),
        ("calls(Client.send, each)", None),
        ("calls(Client.send, hidden)", None),
        ("calls(Client.send, nested)", False),
        ("calls(Client.send, dead)", None),
        ("calls(Client.send, missing)", False),
        ("calls(Client.compute, write)", False),
        ("calls(Client, write)", None),
        ("calls(send, write)", None),
        ("calls(send, other, in=Other)", True),
        ("calls(Client.Client, super.init)", True),
        ("uses(Client.send, message)", True),
        ("uses(Client.compute, x)", True),
        ("uses(Client.compute, message)", False),
        ("imports(java.util.List)", True),
        ("imports(java.util)", True),
        ("imports(java.io)", True),
        ("imports(com.acme.Util.join)", True),
        ("imports(java.net)", False),
        ("imports(java.util.Map)", False),
        ('returns(Client.compute, "x + 1")', True),
        ("returns(Client.make, null)", True),
        ('returns(Client.send, "compute(local)")', True),
        ('returns(Client.compute, "x")', None),
    ],
)
def test_java(check: str, expected: bool | None) -> None:
    """Java's types, members, constants, calls and imports."""
    assert java(check).holds is expected


@pytest.mark.parametrize(
    ("check", "reason"),
    [
        ("equals(WAIT, 30)", "computed"),
        ("equals(WRAPS, 2147483648)", "computed"),
        ("equals(TEXT, block)", "computed"),
        ("equals(Client.changed, 3)", "ambiguous"),
        ("equals(size, 2)", "ambiguous"),
        ("equals(Color.RED, 1)", "computed"),
        ("equals(GHOST, 1)", "not-found"),
    ],
)
def test_java_values_that_stay_undecided(check: str, reason: str) -> None:
    """What is computed, wraps around, or is assigned elsewhere is neither equal nor different."""
    assert java(check) == java(check)._replace(holds=None, reason=reason)


@pytest.mark.parametrize(
    ("check", "expected"),
    [
        ("defines(Client, type)", True),
        ("defines(Acme.Net.Client)", True),
        ("defines(Net, function)", False),
        ("defines(Client.Send, method)", True),
        ("defines(Client.Send, type)", False),
        ("defines(Client.Max, constant)", True),
        ("defines(Client.Max, variable)", False),
        ("defines(Client.Name, constant)", True),
        ("defines(Client.Port)", True),
        ("defines(Client.Send.Inner, function)", True),
        ("defines(Client.Later)", None),
        ("defines(Color.Red, constant)", True),
        ("defines(IShape.Area, method)", True),
        ("defines(Pair.A)", True),
        ("defines(Point.X)", True),
        ("defines(Handler, type)", True),
        ("defines(OnlyDebug, type)", True),
        ("defines(Never)", None),
        ("defines(Ghost)", False),
        ("defines(local)", False),
        ("defines(Client.Missing)", False),
        ("equals(Max, 10000)", True),
        ("equals(Max, 9)", False),
        ('equals(Name, "a\\tb")', True),
        ("equals(Big, 255)", True),
        ("equals(Rate, 1.5)", True),
        ('equals(Path, "c:\\\\dir\\"x")', True),
        ("equals(Raw, raw)", True),
        ("equals(List, [1, 2])", True),
        ("equals(More, [a])", True),
        ("equals(Newest, [3])", True),
        ("equals(Sum, 10240)", True),
        ("equals(On, true)", True),
        ("equals(nil, null)", True),
        ("equals(Port, 80)", True),
        ("equals(Fixed, 7)", True),
        ("equals(Color.Red, 1)", True),
        ("equals(Color.Green, 2)", None),
        ("equals(Send.times, 5)", True),
        ("equals(Send.tag, null)", True),
        ("equals(Client.Client.depth, 3)", True),
        ("equals(Point.Y, 2)", True),
        ("equals(size, 2)", True),
        ("equals(mixed, a)", None),
        ("equals(Wait, 30)", None),
        ("equals(changed, 3)", None),
        ("equals(Level, 1)", None),
        ("compare(Port, <=, 80)", True),
        ("calls(Client.Send, Write)", True),
        ("calls(Client.Send, socket.Write)", True),
        ("calls(Client.Send, Flush)", True),
        ("calls(Client.Send, B.Flush)", True),
        ("calls(Client.Send, Packet)", True),
        ("calls(Client.Send, Thing)", None),
        ("calls(Client.Send, Generic)", True),
        ("calls(Client.Send, Hidden)", False),
        ("calls(Client.Send, Lazily)", None),
        ("calls(Client.Send, Dead)", None),
        ("calls(Client.Send, Task.Delay)", True),
        ("calls(Client.Send, Missing)", False),
        ("calls(Client.Loud, Count)", True),
        ("calls(Client.Compute, Count)", False),
        ("uses(Client.Compute, x)", True),
        ("uses(Client.Send, socket)", True),
        ("imports(System.Text)", True),
        ("imports(System.Math)", True),
        ("imports(System)", None),
        ("imports(System.Net)", False),
        ('returns(Client.Compute, "x + 1")', True),
        ('returns(Client.Send, "Compute(local)")', True),
        ("returns(Client.Fixed, 7)", True),
    ],
)
def test_sharp(check: str, expected: bool | None) -> None:
    """C#'s types, members, constants, properties, calls and imports."""
    assert sharp(check).holds is expected


@pytest.mark.parametrize(
    "text",
    [
        "class A { int X = 1; void f() { X = 2; } }",
        "class A { int X = 1; void f() { X++; } }",
        "class A { int X = 1; void f() { this.X = 2; } }",
        "class A { static int X = 1; } class B { void f() { A.X = 2; } }",
        "class A { /* int X = 1; */ }",
        'class A { String s = "int X = 1;"; }',
        "class A { int X = y ? 1 : 2; }",
        "class A { int X = 1 + ; }",
        "class A { int X; }",
        "class A { int X = 1; } class B { int X = 2; }",
        "class A { int X = 0.5 + 0.5; }",
        "class A { long X = 2147483647 - 2147483646 + 0 * 4294967296; }",
    ],
)
def test_hostile_fields(text: str) -> None:
    """Nothing of this makes X equal 1, in neither language."""
    assert java("equals(X, 1)", text, "A.java").holds is not True
    assert java("equals(X, 1)", text, "A.cs").holds is not True


def test_a_shadowing_local_is_no_write_of_the_field() -> None:
    """A method's own variable of that name is another one."""
    text = "class A { int X = 1; void f(int X) { X = 2; } void g() { int X = 3; X = 4; } }"
    assert java("equals(A.X, 1)", text, "A.java").holds is True
    assert java("equals(A.X, 1)", text, "A.cs").holds is True
    assert java("equals(A.X, 2)", text, "A.java").holds is False
