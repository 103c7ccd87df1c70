"""Checks by syntax on Java: what holds, what is exactly false, and what stays undecided.

Each row is a small program with a trap in it, as an emitter, an observer or a repository would set it.
"""

from __future__ import annotations

import pytest
from judged_programs import decided, held

CALLS = """
import static com.acme.Util.join;
import java.util.List;
class C extends Unknown {
    void g() {}
    static void still() {}
    void f() { this.g(); }
    void bare() { g(); }
    void named() { C.still(); }
    void other(C c) { c.g(); c.still(); }
    void imported() { join(1); List.of(2); new Thing(); new List(); }
    void inherited() { inner(); super.g(); }
+ calls(C.f, C.g)
+ calls(f, C.g)
- not calls(C.f, C.g)
+ calls(C.bare, C.g)
+ calls(C.bare, g)
+ calls(C.named, C.still)
? calls(C.other, C.g)
? calls(C.other, g)
? calls(C.other, C.still)
+ calls(C.imported, join)
+ calls(C.imported, List.of)
+ calls(C.imported, List)
? calls(C.imported, Thing)
? calls(C.inherited, C.g)
? calls(C.inherited, C.inner)
- calls(C.f, C.still)
- calls(C.f, nowhere)
+ not calls(C.f, nowhere)
? calls(C.f, C)
? calls(C.f, Object)
? calls(C.f, hashCode)
}

class D { void g() {} }
class C extends D {
    void g() {}
    void f() { super.g(); }
    void h() { g(); }
}
class E extends D { void f() { g(); } void o() { E.super.g(); D.super.g(); } }
+ calls(C.f, D.g)
? calls(C.f, C.g)
+ calls(C.h, C.g)
? calls(C.h, D.g)
+ calls(E.f, D.g)
+ calls(E.f, E.g)
? calls(E.o, D.g)
? calls(E.o, E.g)

class C {
    void g() {}
    Runnable anonymous() { return new Runnable() { public void run() { g(); } }; }
    Runnable hides() { return new Runnable() { void g() {} public void run() { g(); this.g(); } }; }
    Runnable lambda() { return () -> g(); }
    Runnable reference() { return this::g; }
    void local() { class L { void g() {} void m() { g(); } } }
    void given() { new Thread(g()) { void x() {} }; }
    class Inner { void g() {} void f() { g(); } void h() { C.this.g(); } }
    class Deep { void f() { g(); } }
}
? calls(C.anonymous, C.g)
? calls(C.hides, C.g)
? calls(run, C.g)
? calls(C.lambda, C.g)
? calls(C.reference, C.g)
+ uses(C.reference, C.g)
? calls(C.local, C.g)
+ calls(C.given, C.g)
? calls(Inner.f, C.g)
+ calls(Inner.f, Inner.g)
? calls(Inner.h, C.g)
? calls(Inner.h, Inner.g)
? calls(Deep.f, C.g)
? calls(Deep.f, Deep.g)
? calls(L.m, C.g)

class C {
    void f() { g(); }
    void f(int a) {}
    void g() {}
}
? calls(C.f, C.g)

class C { static void g() {} }
class D { Other C; void f() { C.g(); } void h(Other C) { C.g(); } }
class E { void f() { C.g(); } }
? calls(D.f, C.g)
? calls(D.h, C.g)
? calls(E.f, C.g)

class g {}
class C {
    void g() {}
    void f() { new g(); }
}
? calls(C.f, C.g)

class C {
    void f() {
        if (a) { g(); }
        if (false) { h(); }
        for (int i = 0; i < 3; i++) k(i, "x");
    }
    void g() {} void h() {} void k(int i, String s) {} void n() { /* g() */ String s = "g()"; }
    void m() { "".getClass().getMethod("g").invoke(this); }
}
+ calls(C.f, C.g)
? calls(C.f, C.h)
+ calls(C.f, C.k, argument="i")
+ calls(C.f, C.k, argument="\\"x\\"")
? calls(C.f, C.k, argument="0")
? calls(C.n, C.g)
? calls(C.m, C.g)
? calls(C.m, C.h)
+ reaches(C.f, C.g)
? reaches(C.n, C.g)

class C {
    void a() { b(); }
    void b() { this.c(); }
    void c() {}
    void d(C x) { x.c(); }
}
+ reaches(C.a, C.c)
? reaches(C.d, C.c)

interface I { void a(); default void b() { a(); } static void c() {} }
enum E implements I { X { public void a() { b(); } }; public void a() { b(); } }
+ calls(I.b, I.a)
+ calls(E.a, I.b)
? calls(X.a, I.b)
"""

USES = """
class C {
    int size = 2;
    static final int MAX = 3;
    int f() { return size + this.size; }
    int g(int size) { return size; }
    int h() { return C.MAX; }
    int k() { return size(); }
    int m(C other) { return other.size; }
    List<Thing> n() { return null; }
+ uses(C.f, C.size)
+ uses(C.f, size)
+ uses(C.g, size)
? uses(C.g, C.size)
+ uses(C.h, C.MAX)
? uses(C.k, C.size)
? uses(C.m, C.size)
- uses(C.h, nowhere)
+ not uses(C.f, nowhere)
? uses(C.n, C.MAX)
}
"""

DEFINES = """
package com.acme.net;
public class Client<T> {
    Client(int depth) {}
    public static final int MAX = 1;
    int size = 2;
    void send() { int local = 1; class Local { void m() {} } Object o = new Object() { void inner() {} }; }
    enum Color { RED(1), GREEN { void h() {} }; int code = 7; }
    interface Shape { int SIDES = 4; double area(); }
    record Point(int x, int y) {}
    @interface Limit { int value() default 3; }
}
class Other { void other() {} }
+ defines(Client)
+ defines(Client, type)
+ defines(com.acme.net.Client)
+ defines(com.acme.net.Client.send, method)
? defines(com.acme.net.send)
? defines(Client, function)
- defines(Other, function)
+ defines(Client.Client, method)
+ defines("Client#send", method)
? defines(Client.send, function)
- defines(Client.send, type)
+ defines(Client.MAX, constant)
+ defines(Client.size, variable)
? defines(Client.size, constant)
+ defines(Client.Color, type)
+ defines(Client.Color.RED, constant)
+ defines(Client.Shape.area, method)
+ defines(Client.Shape.SIDES, constant)
+ defines(Client.Point.x)
? defines(Client.Point.x, method)
+ defines(Client.Limit.value, method)
? defines(Client.other)
? defines(Client.area)
? defines(Client.code)
? defines(local)
? defines(Client.send.local)
+ defines(Client.send.Local.m, method)
- defines(missing)
- defines(Client.missing)
+ not defines(Client.missing)
? defines(Client.toString)
? defines(Color.values)

@Data class C { int x; }
class D { @Getter int y; }
@FunctionalInterface interface E { void f(); }
? defines(C.getX)
? defines(D.getY)
? defines(getX)

@Deprecated class C { @Override void f() {} }
- defines(C.getX)
- defines(getX)
- defines(C.g)
"""

VALUES = r'''
class C {
    static final int MAX = 10_000, OCTAL = 010, NEG = -5, SUM = 10 * 1024;
    static final long BIG = 0xFFL, HUGE = 0xFFFFFFFFL;
    static final int HEX = 0xFFFFFFFF, WRAPS = 1 << 31, UNEVEN = 5 / 2;
    static final String NAME = "a\tb\u00e9", JOINED = "a" + "b", OTHER = "a" + 1;
    static final double RATE = 1.5, NARROW = 0.1f, EXACT = 1.5f, LONG = 0.12345678901234567;
    static final float FLOAT = 0.1f;
    static final int[] LIST = {1, 2};
    static final char[] CHARS = {65};
    static final char LETTER = 65, QUOTED = 'a';
    static final byte CAST = (byte) 300;
    static final boolean ON = true;
    static final Object NIL = null;
    static final Duration WAIT = Duration.ofSeconds(30);
    static final String TEXT = """
        a
        """;
    @Value("2") int injected = 1;
    @Deprecated int plain = 1;
    int dimensions[] = {1};
}
+ equals(C.MAX, 10000)
- equals(C.MAX, 10001)
+ equals(MAX, 10000)
+ compare(C.MAX, >, 9999)
- compare(C.MAX, <, 10000)
+ equals(OCTAL, 8)
- equals(OCTAL, 10)
+ equals(NEG, -5)
+ equals(SUM, 10240)
+ equals(BIG, 255)
+ equals(HUGE, 4294967295)
? equals(HEX, 4294967295)
? equals(HEX, -1)
? equals(WRAPS, 2147483648)
? equals(UNEVEN, 2.5)
? equals(UNEVEN, 2)
+ equals(NAME, "a\tbé")
+ equals(JOINED, "ab")
? equals(OTHER, "a1")
+ equals(RATE, 1.5)
? equals(NARROW, 0.1)
+ equals(EXACT, 1.5)
? equals(LONG, 0.12345678901234567)
? equals(FLOAT, 0.1)
+ equals(LIST, [1, 2])
+ members(LIST, [2, 1])
- members(LIST, [1])
? equals(CHARS, [65])
? members(CHARS, [65])
? equals(LETTER, 65)
? equals(QUOTED, "a")
? equals(CAST, 300)
+ equals(ON, true)
+ equals(NIL, null)
? equals(WAIT, 30)
? equals(TEXT, "a\n")
? equals(C.injected, 1)
+ equals(C.plain, 1)
? equals(C.dimensions, [1])

enum Color { RED(1), GREEN { void h() {} }; static final int K = 3; int code = 7; }
enum Plain { A, B }
@Gen enum Made { A }
+ members(Color, ["RED", "GREEN"])
- members(Color, ["RED"])
- members(Color, ["RED", "GREEN", "K"])
? equals(Color.RED, 1)
+ equals(Color.K, 3)
+ equals(Color.code, 7)
+ members(Plain, [A, B])
+ members(Made, [A])
? members(Made, [A, B])

class C {
    static final List<String> NAMES = List.of("a", "b");
    static final Set<Integer> SET = Set.of(1);
    static final String[] MADE = new String[] {"a"};
    static final List<String> MORE = List.of(OTHER);
    static final List<String> GROWN = new ArrayList<>(List.of("a"));
    int f() { return MADE.length; }
    void g() { h(MADE); }
}
+ members(NAMES, ["a", "b"])
+ members(SET, [1])
? members(MADE, ["a"])
? members(MORE, ["a"])
? members(GROWN, ["a"])

class A { int X = 1; void f() { X = 2; } }
? equals(X, 1)

class A { int X = 1; void f() { X++; (X)--; } }
? equals(X, 1)

class A { int X = 1; void f() { this.X += 2; } }
? equals(X, 1)

class A { static int X = 1; } class B { void f() { A.X = 2; } }
? equals(A.X, 1)

class A { static int X = 1; static { X = 2; } }
? equals(A.X, 1)

class A { int[] X = {1}; void f() { X[0] = 2; } }
? equals(A.X, [1])

class A { int[] X = {1}; int[] f() { return X; } }
? equals(A.X, [1])

class A { int[] X = {1}; int f() { for (int i : X) {} return X.length + X[0]; } }
+ equals(A.X, [1])

class A { int X = 1; } class B { int X = 2; }
? equals(X, 1)
+ equals(A.X, 1)
- equals(B.X, 1)

class A { int X = 1; void f() { int X = 3; g(X); } int h() { return X + 1; } void X() {} }
? equals(A.X, 1)

class A { int X = 1; void f() { int X = 3; g(X); } int h() { return this.X + 1; } }
+ equals(A.X, 1)
- equals(A.X, 2)

class A { static int X = 1; void f() { A.class.getDeclaredField("Y").set(null, 2); } }
? equals(A.X, 1)

class A { /* int X = 1; */ String s = "int X = 1;"; }
? equals(X, 1)

class A { int X = 1; // \u000a static { X = 2; }
}
? equals(A.X, 1)

class A { int X = 1; String s = "\u0022; { X = 2; } //"; }
? equals(A.X, 1)

class A { int X = 1; String s = "\u0001\u00e9"; }
+ equals(A.X, 1)

class A { int X = 1; void f() { \u0058 = 2; } }
? equals(A.X, 1)

class A { int X = 1 + ; }
? equals(X, 1)

@interface L { int value() default 3; String[] names() default {"a"}; }
interface S { int SIDES = 4; }
+ equals(L.value, 3)
+ equals(S.SIDES, 4)
'''

DECLARED = """
class C extends D implements I<String>, J.K {
    int f(final String x, int... y) { return 0; }
    List<String> g(String a[], @A long b) throws E { return null; }
    int h()[] { return null; }
    @Magic int k(int a) { return 0; }
    @Override void m(int a) {}
    private final Map<String, Integer> field = null;
    int wide[];
}
interface I<T> extends M, N<String> {}
enum E implements I {}
class G extends Outer<String>.Inner {}
class H { static final int DEFAULT = 3; }
class P extends H {}
+ extends(C, D)
+ extends(C, I)
+ extends(C, J.K)
+ extends(C, K)
? extends(C, H)
+ extends(I, M)
+ extends(I, N)
+ extends(E, I)
? extends(E, Enum)
? extends(G, Outer)
+ extends(G, Inner)
+ extends(P, H)
- extends(P, C)
- extends(H, P)
? extends(H, Object)
+ parameter(C.f, x, type=String)
- parameter(C.f, x, type=int)
? parameter(C.f, x, type=Object2)
+ parameter(C.f, y)
? parameter(C.f, z)
? parameter(C.f, y, type=int)
? parameter(C.g, a, type=String)
+ parameter(C.g, b, type=long)
- parameter(C.g, c)
+ result(C.f, int)
- result(C.f, String)
+ result(C.g, "List<String>")
? result(C.h, int)
? parameter(C.k, b)
? result(C.k, long)
- parameter(C.m, b)
- result(C.m, int)
+ field(C, field, type="Map<String, Integer>")
+ field(H, DEFAULT, default=3)
- field(H, DEFAULT, default=4)
- field(H, DEFAULT, type=long)
? field(C, wide, type=int)
? field(C, missing)
- field(H, missing)

record Point(int x, String... ys) { Point { if (x < 0) throw new E(); } }
+ field(Point, x, type=int)
? field(Point, ys)
? parameter(Point.Point, x)
+ raises(Point.Point, E)

@lombok.Data class C { int x; }
class D extends C {}
? field(C, y)
? field(D, y)
"""

IMPORTS = """
import java.util.Map;
import java.util.Map.Entry;
import static com.acme.Util.join;
class C {}
+ imports(java.util.Map)
+ imports(java.util)
? imports(Map)
+ imports(java.util.Map.Entry)
+ imports(com.acme.Util.join)
- imports(java.util.HashMap)
+ not imports(java.util.HashMap)
? imports(java.lang.String)
? imports(java.lang)

import java.util.*;
import static com.acme.Util.*;
+ imports(java.util)
+ imports(com.acme.Util)
? imports(java.util.Map)
? imports(java)
"""

FLOW = """
class C {
    int one() { return x + 1; }
    int two(boolean a) { if (a) return 1; return 2; }
    int tried() { try { return 1; } finally { return 1 + g(); } }
    int hidden() { Supplier<Integer> s = () -> { return 3; }; return 4; }
    int chosen() { return switch (a) { case 1 -> 2; default -> 3; }; }
+ returns(C.one, "x + 1")
? returns(C.one, x)
+ returns(C.two, 1)
+ returns(C.two, 2)
? returns(C.tried, 1)
? returns(C.hidden, 3)
+ returns(C.hidden, 4)
? returns(C.chosen, 2)
}

class C {
    void thrown() { throw new IllegalStateException("a"); }
    void caught() { try { throw new E(); } catch (RuntimeException e) { } }
    void swallowed() { try { throw new E(); } finally { return; } }
    void rethrown() { try { g(); } catch (E e) { throw new F(e); } }
    void declared() throws E { }
    void variable(E e) { throw e; }
    void scoped() { throw new a.b.E(); }
    void inner() { new Thread() { public void run() { throw new E(); } }; Runnable r = () -> { throw new E(); }; }
+ raises(C.thrown, IllegalStateException)
? raises(C.thrown, ArithmeticException)
? raises(C.caught, E)
? raises(C.swallowed, E)
+ raises(C.rethrown, F)
? raises(C.declared, E)
? raises(C.variable, E)
+ raises(C.scoped, E)
+ raises(C.scoped, a.b.E)
? raises(C.inner, E)
}

class C {
    void f(boolean ready) {
        if (ready) { g(1); } else { h(2); }
        if (!ready) return;
        k(3);
    }
    void n() { if (ready && force) g(1); if (a || b) h(2); while (c) { if (d) { continue; } k(3); } }
    int t() { return a > 0 ? g(1) : h(2); }
    void e() { if (a) g(1); else if (b) h(2); else k(3); }
    void s() { String x = "if (ready) g(1)"; if (other) { /* g(1) */ } }
+ when(C.f, ready, "g(1)")
? unless(C.f, ready, "g(1)")
+ unless(C.f, ready, "h(2)")
? when(C.f, ready, "h(2)")
+ when(C.f, "!ready", "h(2)")
+ when(C.f, ready, "k(3)")
+ when(C.n, ready, "g(1)")
? when(C.n, a, "h(2)")
? unless(C.n, d, "k(3)")
+ when(C.t, "a > 0", "g(1)")
+ unless(C.t, "a > 0", "h(2)")
+ when(C.t, "a <= 0", "h(2)")
+ when(C.e, b, "h(2)")
? when(C.e, a, "h(2)")
+ unless(C.e, a, "k(3)")
? when(C.s, ready, "g(1)")
}

class C {
    void f() { a(); b(); }
    void g() { if (x) { a(); } else { b(); } }
    void h() { for (;;) { b(); } a(); }
    void k() { Runnable r = () -> b(); a(); }
    void m() { try { a(); } catch (E e) { b(); } }
+ before(C.f, "a()", "b()")
- before(C.f, "b()", "a()")
? before(C.g, "a()", "b()")
? before(C.h, "b()", "a()")
? before(C.k, "b()", "a()")
? before(C.m, "a()", "b()")
? before(C.f, "a()", "c()")
}
"""


@pytest.mark.parametrize(
    ("program", "check", "expected"),
    decided(CALLS)
    + decided(USES)
    + decided(DEFINES)
    + decided(VALUES)
    + decided(DECLARED)
    + decided(IMPORTS)
    + decided(FLOW),
)
def test_java(program: str, check: str, expected: bool | None) -> None:
    """Java's types, members, values, calls, imports and conditions."""
    assert held(check, program, "src/com/acme/net/Client.java").holds is expected


@pytest.mark.parametrize(
    ("check", "under"),
    [
        ("calls(C.f, C.g)", ("a",)),
        ("calls(C.f, C.h)", ("loop",)),
        ("returns(C.f, 1)", ("not (a)", "b")),
        ("calls(C.f, C.k)", ("case 1",)),
    ],
)
def test_conditions_are_told(check: str, under: tuple[str, ...]) -> None:
    """A condition of a call or return is told beside it."""
    text = """
class C {
    int f() {
        if (a) { g(); }
        for (;;) { h(); break; }
        switch (n) { case 1: k(); }
        if (a) { return 3; }
        if (b) { return 1; }
        return 2;
    }
    void g() {} void h() {} void k() {}
}
"""
    result = held(check, text, "C.java")
    assert (result.holds, result.under) == (True, under)
