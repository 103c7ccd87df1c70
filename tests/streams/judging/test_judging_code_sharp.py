"""Checks by syntax on C#: what holds, and what stays undecided. Nothing is exactly false here.

Each row is a small program with a trap in it, as an emitter, an observer or a repository would set it.
"""

from __future__ import annotations

import pytest
from judged_programs import decided, held

CALLS = """
using System;
using static System.Math;
namespace Acme.Net {
    class Packet {}
    class C : Unknown {
        void G() {}
        static void S() {}
        delegate void D();
        void F() { this.G(); }
        void Bare() { G(); }
        void Arrow() => G();
        void Named() { C.S(); }
        void Other(C c) { c.G(); c?.G(); }
        void Maybe() { this?.G(); }
        void Made() { new Packet(1); Thing thing = new(2); Packet p = null; }
        void Base() { base.G(); Max(1, 2); }
        void Local() { void G() {} G(); }
        void Nested() { void H() { G(); } H(); }
        void Lambda() { Action a = () => G(); Action b = delegate { G(); }; }
        void Shadowed(Action G) { G(); }
        void Query() { var x = from y in z select G(); }
        int Loud { get { return Count(); } }
        int Count() { return 1; }
        C(int a) : base(a) { G(); }
        ~C() { Named(); }
        void Text() { /* G() */ var s = "G()"; var t = $"G() {S2}"; }
        void Reflected() { typeof(C).GetMethod("G").Invoke(this); }
    }
}
+ calls(C.F, C.G)
+ calls(Acme.Net.C.F, C.G)
- not calls(C.F, C.G)
+ calls(C.Bare, C.G)
+ calls(C.Bare, G)
+ calls(C.Arrow, C.G)
+ calls(C.Named, C.S)
? calls(C.Other, C.G)
+ calls(C.Maybe, C.G)
+ calls(C.Made, Packet)
? calls(C.Made, Thing)
? calls(C.Base, C.G)
? calls(C.Base, Max)
? calls(C.Local, C.G)
? calls(C.Nested, C.G)
+ calls(C.Nested, H)
? calls(C.Lambda, C.G)
? calls(C.Shadowed, C.G)
? calls(C.Query, C.G)
? calls(C.Loud, C.Count)
+ calls(C.C, C.G)
? calls(C.F, C.Named)
? calls(C.F, nowhere)
? not calls(C.F, nowhere)
? calls(C.Text, C.G)
? calls(C.Reflected, C.G)
+ reaches(C.F, C.G)

class D { void G() {} }
class C : D {
    void F() { base.G(); }
    void H() { G(); }
}
+ calls(C.F, D.G)
+ calls(C.H, D.G)

partial class C { void F() { G(); } void G() {} }
? calls(C.F, D.G)
+ calls(C.F, C.G)

partial class C { void F() { G(); } }
partial class C { void G() {} partial void Later(); }
+ defines(C.F, method)
+ defines(C.G, method)
? calls(C.F, C.G)
? defines(C.Later)

class C { static void G() {} }
class E { Other C; void F() { C.G(); } }
class H { void G() {} void F() { new G(); } }
class K { Task Task { get; } void F() { Task x = null; } void N() { Task.Run(); } void U() { this.Task.Wait(); } }
? calls(E.F, C.G)
? calls(H.F, H.G)
? uses(K.F, K.Task)
? uses(K.N, K.Task)
+ uses(K.U, K.Task)

static class C { public static void G(this int a) {} static void F() { 3.G(); } }
? calls(C.F, C.G)

class C {
    void G() {}
    void I.F() { G(); }
    void I.G() {}
    int this[int i] { get { G(); return 1; } }
    public static C operator +(C a, C b) { a.G(); return a; }
}
? calls(C.F, C.G)
? defines(C.F)

class C {
#if DEBUG
    void F() { G(); }
#else
    void F() { H(); }
#endif
    void G() {}
#if false
    void Never() {}
#endif
}
? calls(C.F, C.G)
? defines(C.Never)

namespace N.M;
class C { void F() { void Inner() {} Inner(); G(); return; } void G() {} }
+ calls(N.M.C.F, C.G)
+ defines(C.F.Inner, function)
+ calls(C.F, Inner)
"""

DEFINES = """
using System.Text;
using Alias = System.Collections.Generic.List<int>;
using Short = System.IO.Path;
namespace Acme.Net
{
    // const int Ghost = 1;
    public class Client<T> : Base, IOther<T>
    {
        public const int Max = 10_000;
        int size = 2;
        public int Port { get; set; } = 80;
        event Action Changed;
        public Client(int depth = 3) : base(depth) { }
        public async Task<int> Send(string message, int times = 5, params int[] rest) { int local = 1; return 2; }
        enum Color : byte { Red = 1, Green }
        interface IShape { double Area(); }
        struct Pair { public int A; }
        record Point(int X, int Y = 2) : Root(X);
        delegate void Handler(int x);
    }
}
+ defines(Client, type)
+ defines(Acme.Net.Client)
? defines(Client, function)
+ defines(Client.Send, method)
? defines(Client.Send, type)
+ defines(Client.Client, method)
+ defines(Client.Max, constant)
+ defines(Client.size, variable)
+ defines(Client.Port)
+ defines(Client.Changed)
+ defines(Color.Red, constant)
+ defines(IShape.Area, method)
+ defines(Pair.A)
+ defines(Point.X)
+ defines(Client.Handler, type)
? defines(Client.Area)
? defines(Ghost)
? defines(local)
? defines(nowhere)
? not defines(nowhere)
+ extends(Client, Base)
+ extends(Client, IOther)
+ extends(Point, Root)
? extends(Color, byte)
? not extends(Client, Other)
+ parameter(Client.Send, message, type=string)
+ parameter(Client.Send, times, default=5)
? parameter(Client.Send, times, default=6)
+ parameter(Client.Send, rest)
+ result(Client.Send, "Task<int>")
+ field(Client, size, type=int)
+ field(Client, Port, default=80)
+ field(Point, X, type=int)
+ equals(Send.times, 5)
+ imports(System.Text)
+ imports(System.IO.Path)
? imports(System)
? imports(System.Net)
? not imports(System.Net)
+ members(Color, ["Red", "Green"])
? members(Color, ["Red"])
? equals(Color.Red, 1)
"""

VALUES = r'''
class C {
    public const int Max = 10_000, Sum = 10 * 1024, Hex = 0xFF, Zero = 010;
    static readonly string Name = "a\tb", Joined = "a" + "b";
    const string Path = @"c:\dir""x", Raw = """raw""", Bytes = "a"u8;
    const decimal Rate = 1.5m;
    const double Narrow = 0.1f;
    const float Float = 0.1f;
    const byte Small = 200;
    const char Letter = 'a';
    const bool On = true;
    string mixed = $"a{Name}";
    object nil = null;
    int? maybe = 3;
    static readonly TimeSpan Wait = TimeSpan.FromSeconds(30);
    static readonly int[] List = { 1, 2 };
    static readonly string[] More = new[] { "a" };
    static readonly char[] Chars = { 65 };
    public int Port { get; set; } = 80;
    public int Fixed => 7;
    public int Loud { get { return 3; } }
    [ThreadStatic] static int Each = 1;
}
+ equals(C.Max, 10000)
? equals(C.Max, 9)
? not equals(C.Max, 9)
+ compare(Max, <=, 10000)
? compare(Max, <, 10000)
+ equals(Sum, 10240)
+ equals(Hex, 255)
+ equals(Zero, 10)
+ equals(Name, "a\tb")
+ equals(Joined, "ab")
+ equals(Path, "c:\\dir\"x")
+ equals(Raw, "raw")
? equals(Bytes, "a")
+ equals(Rate, 1.5)
? equals(Narrow, 0.1)
? equals(Float, 0.1)
+ equals(Small, 200)
? equals(Letter, "a")
+ equals(On, true)
? equals(mixed, "a")
+ equals(nil, null)
+ equals(maybe, 3)
? equals(Wait, 30)
+ equals(List, [1, 2])
+ members(List, [2, 1])
+ members(More, ["a"])
? members(Chars, [65])
+ equals(Port, 80)
+ equals(C.Fixed, 7)
? equals(Loud, 3)
? equals(Each, 1)

class A { int X = 1; void F() { X = 2; } }
? equals(X, 1)

class A { int X = 1; void F() { X++; } }
? equals(X, 1)

class A { int X = 1; void F() { this.X += 2; } }
? equals(X, 1)

class A { int X = 1; void F() { (X) = 2; } }
? equals(X, 1)

class A { int X = 1; void F() { (this.X) = 2; } }
? equals(X, 1)

class A { int X = 1; void F() { (X, y) = (2, 3); } }
? equals(X, 1)

class A { int X = 1; void F() { (y, (this.X, z)) = t; } }
? equals(X, 1)

class A { int X = 1; void F() { G(ref X); } }
? equals(X, 1)

class A { int X = 1; void F() { G(out this.X); } }
? equals(X, 1)

class A { int X = 1; void F() { ref int r = ref X; r = 2; } }
? equals(X, 1)

class A { int X = 1; unsafe void F() { fixed (int* p = &X) { *p = 2; } } }
? equals(X, 1)

class A { public int X = 1; } class B { A a = new A { X = 2 }; }
? equals(A.X, 1)

class A { int X = 1; void F() { foreach ((X, y) in z) { } } }
? equals(X, 1)

class A { int X = 1; void F() { \u0058 = 2; } }
? equals(A.X, 1)

class A { int X = 1; void F() { @X = 2; } }
? equals(A.X, 1)

class A { int X = 1; void F() { typeof(A).GetField(n).SetValue(this, 2); } }
? equals(A.X, 1)

class A { int[] X = { 1 }; void F() { X[0] = 2; } }
? equals(X, [1])

class A { int[] X = { 1 }; int[] F() { return X; } }
? equals(X, [1])

class A { int[] X = { 1 }; int F() { foreach (var i in X) { } return X.Length + X[0]; } }
+ equals(X, [1])

class A { int X = 1; void F(int X) { G(X); } int H() { return this.X + 1; } }
+ equals(A.X, 1)

class A { int X = 1; } class B { int X = 2; }
? equals(X, 1)
+ equals(A.X, 1)

class A { int X = 1 + ; }
? equals(X, 1)

#if DEBUG
class A { const int X = 1; }
#else
class A { const int X = 2; }
#endif
? equals(A.X, 1)

enum E { A,
#if DEBUG
B
#endif
}
? members(E, [A])
? members(E, [A, B])
'''

FLOW = """
class C {
    int One() { return x + 1; }
    int Arrow() => x + 1;
    void Nothing() => G();
    async Task Waits() => G();
    int Two(bool a) { if (a) return 1; return 2; }
    IEnumerable<int> Each() { yield return 1; }
    int Lambda() { Func<int> f = () => { return 3; }; return 4; }
    int Chosen() { return a switch { 1 => 2, _ => 3 }; }
+ returns(C.One, "x + 1")
+ returns(C.Arrow, "x + 1")
? returns(C.Nothing, "G()")
? returns(C.Waits, "G()")
+ returns(C.Two, 1)
? returns(C.Each, 1)
? returns(C.Lambda, 3)
+ returns(C.Lambda, 4)
? returns(C.Chosen, 2)
}

class C {
    void Thrown() { throw new InvalidOperationException("a"); }
    void Caught() { try { throw new E(); } catch { } }
    void Finally() { try { throw new E(); } finally { } }
    void Rethrown() { try { G(); } catch (IOException e) { throw new F(e); } }
    int Either(int? a) => a ?? throw new N();
    void Variable(Exception e) { throw e; }
    void Inner() { Action a = () => { throw new E(); }; void L() { throw new E(); } }
+ raises(C.Thrown, InvalidOperationException)
? raises(C.Thrown, ArgumentException)
? raises(C.Caught, E)
? raises(C.Finally, E)
+ raises(C.Rethrown, F)
+ raises(C.Either, N)
? raises(C.Variable, Exception)
? raises(C.Inner, E)
}

class C {
    void F(bool ready) {
        if (ready) { G(1); } else { H(2); }
        if (!ready) return;
        K(3);
    }
    void N() { if (ready && force) G(1); if (a || b) H(2); }
    int T() { return a > 0 ? G(1) : H(2); }
    void B() { A(); D(); }
    void L() { Action a = () => D(); A(); }
+ when(C.F, ready, "G(1)")
? unless(C.F, ready, "G(1)")
+ unless(C.F, ready, "H(2)")
+ when(C.F, ready, "K(3)")
+ when(C.N, ready, "G(1)")
? when(C.N, a, "H(2)")
+ when(C.T, "a > 0", "G(1)")
+ unless(C.T, "a > 0", "H(2)")
+ before(C.B, "A()", "D()")
? before(C.B, "D()", "A()")
? before(C.L, "D()", "A()")
}
"""


@pytest.mark.parametrize(
    ("program", "check", "expected"), decided(CALLS) + decided(DEFINES) + decided(VALUES) + decided(FLOW)
)
def test_sharp(program: str, check: str, expected: bool | None) -> None:
    """C#'s types, members, values, calls, imports and conditions."""
    assert held(check, program, "src/Net/Client.cs").holds is expected


def test_conditional_compilation_is_told() -> None:
    """What is compiled under a condition is narrowed by it."""
    result = held("defines(C)", "#if DEBUG\nclass C { }\n#endif\n", "C.cs")
    assert (result.holds, result.under, result.narrowed) == (True, ("DEBUG",), True)
