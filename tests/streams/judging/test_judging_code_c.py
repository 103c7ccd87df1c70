"""Checks by syntax on C and C++: what holds, what is exactly false, and what stays undecided.

Each row is a small program with a trap in it. Most traps are macros: what one may change is decided by nothing.
"""

from __future__ import annotations

import pytest
from judged_programs import decided, held

from sluice.streams.judging.checks import Source
from sluice.streams.judging.verify import is_broken, parse_code, symbol_kinds

# ---------------------------------------------------------------- C

VALUES = r"""
#define K 5 // five
#define MASK 0xFFu /* bits */
#define SUM ( \
  10 * 1024)
#define NEG (-5)
#define NAME "pool" "s\x21"
#define OCTAL 010
#define OPEN 1 + 1
#define HALF (1) + 1
#define PAIR 1, 2
#define ALIAS K
#define EMPTY
#define TWICE 1
#define TWICE 2
#define GONE 1
#undef  GONE
#define MARK 5; int y = 3
+ equals(K, 5)
- equals(K, 6)
+ compare(K, <=, 5)
+ equals(MASK, 255)
+ equals(SUM, 10240)
+ equals(NEG, -5)
+ equals(NAME, "pools!")
+ equals(OCTAL, 8)
- equals(OCTAL, 10)
? equals(OPEN, 2)
? equals(HALF, 1)
? equals(PAIR, 1)
? equals(ALIAS, 5)
? equals(EMPTY, 1)
? equals(TWICE, 1)
? equals(GONE, 1)
? equals(MARK, 5)
+ defines(K, constant)
+ defines(EMPTY)
? defines(EMPTY, constant)
? defines(K, function)

#define K 5
#pragma push_macro("K")
? equals(K, 5)

static const int LIMIT = 10UL;
const long OCTAL = 0755;
static const char *label = "pool";
static const char text[] = "ab", cut[2] = "ab";
static char buffer[] = "ab";
static const int list[] = {1, 2, 3}, sparse[] = {[1] = 2};
int longer[8] = {1, 2};
int unset, braced = {5}, character = 'a';
double rate = 1.5e3;
static const unsigned char wide = 300, narrow = 30;
static const unsigned negative = -1;
static const float fraction = 0.123456789, half = 0.5f;
static const u8 other = 5;
static const int cut_off = 1.5;
static const bool flag = 2, truth = true;
enum color { RED = 1, GREEN };
+ equals(LIMIT, 10)
+ equals(OCTAL, 493)
- equals(OCTAL, 755)
+ equals(label, pool)
+ equals(text, ab)
? equals(cut, ab)
? equals(buffer, ab)
+ equals(list, [1, 2, 3])
- equals(list, [1, 2])
? equals(sparse, [2])
? equals(longer, [1, 2])
? equals(unset, 0)
? equals(braced, 5)
? equals(character, 97)
+ equals(rate, 1500)
? equals(wide, 300)
+ equals(narrow, 30)
? equals(negative, -1)
? equals(fraction, 0.123456789)
+ equals(half, 0.5)
? equals(other, 5)
? equals(cut_off, 1.5)
? equals(flag, 2)
+ equals(truth, true)
+ equals(RED, 1)
- equals(color.RED, 2)
? equals(GREEN, 2)
+ members(color, [RED, GREEN])
- members(color, [RED])
+ members(list, [1, 2, 3])

static int a = 1, b = 1, c = 1, d = 1, e = 1, f = 1, g[] = {1}, h[] = {1};
void m(void) {
    if (a == 2 || g[0] == 1) n(a + 1);
    b = 2;
    swap(c);
    int *p = &d;
    e++;
    SET(f);
    h[0] = 2;
}
+ equals(a, 1)
? equals(b, 1)
? equals(c, 1)
? equals(d, 1)
? equals(e, 1)
? equals(f, 1)
+ equals(g, [1])
? equals(h, [1])

static int K = 3;
void f(void) { int K = 1; use(K + 1); }
void g(void) { static int L = 4; int M = 4; }
+ equals(K, 3)
? equals(K, 1)
+ equals(g.L, 4)
? equals(g.M, 4)

char *s = "#define X 1";
// \
#define X 1
? equals(X, 1)
? defines(X)

#define LIST A, B
enum E { LIST };
? members(E, [LIST])

struct s { int a;
#define FLAG 1
};
static volatile int port = 5;
? field(s, FLAG)
+ equals(FLAG, 1)
? equals(port, 5)

enum e { A,
#define B 2
C };
? members(e, [A, C])
? members(e, [A, B, C])

enum E {
    A,
#ifdef X
    B,
#endif
    C
};
? members(E, [A, B, C])
? members(E, [A, C])

#define K 1
#include "late.h"
static const int L = 1;
int M = 1;
#include "later.h"
+ equals(K, 1)
+ equals(L, 1)
? equals(M, 1)
"""

CALLS = r"""
void h(void);
static void g(void) {}
void f(void) { g(); n->g2(); (*m)(1); h(); printf("x"); }
+ calls(f, g)
+ calls(f, h)
? calls(f, printf)
? calls(f, m)
? calls(f, n.g2)
- calls(f, missing)
+ uses(f, g)

static void g(void) {}
void a(void) { void (*g)(void) = x; g(); }
void b(void (*g)(void)) { g(); }
void c(void) { for (fn g = x;;) g(); }
void d(void) { return; g(); }
void e(void) { goto out; g(); out: ; }
void i(void) { if (0) g(); while (0) g(); }
void j(void) { sizeof(g()); _Generic(1, int: g()); }
void k(void) { assert(g()); LOG(g()); }
void l(void) { out: g(); }
? calls(a, g)
? calls(b, g)
? calls(c, g)
? calls(d, g)
? calls(e, g)
? calls(i, g)
? calls(j, g)
? calls(k, g)
+ calls(l, g)

static void g(void) {}
static void g_end(void) {}
#define K g()
#define PASTE(a) a##_end()
void f(void) { K; }
void h(void) { PASTE(g); }
void i(void) { OTHER(x); }
void j(void) { x(); }
? calls(f, g)
? calls(h, g_end)
? calls(i, missing)
- calls(j, missing)
? calls(j, g)

static void g(void) {}
#define g() ((void)0)
void f(void) { g(); }
? calls(f, g)
? defines(g, function)
? calls(f, missing)

static void g(void) {}
static void h(void) {}
void f(void) {
#if 0
    g();
#elif 1
#else
    h();
#endif
}
? calls(f, g)
+ calls(f, h)

static void g(void) {}
void f(void) {
#if 1
    ;
#else
    g();
#endif
}
? calls(f, g)

#define LIMIT 3
static int counter, other;
void f(void) { int local = 1; use(counter + LIMIT, local); }
void g(void) { use(other); }
+ uses(f, counter)
+ uses(f, LIMIT)
+ uses(f, local)
- uses(f, missing)

void f(void) {
#include "body.inc"
}
void g(void) { h(); }
void k(void) { typedef int g; g(x); }
? calls(f, missing)
? calls(f, h)
- calls(g, missing)
? calls(k, g)

void a(void) { b(); }
void b(void) { c(); }
void c(void) {}
+ reaches(a, c)
? reaches(c, a)
"""

DECLARED = r"""
/* #define GHOST 1 */
struct node { struct node *next; int depth, list[3]; union { int u; }; struct { int q; } in; void (*run)(int a); };
typedef struct { int timeout; char *name; } config_t;
typedef struct tag { int t; } tag;
typedef int (*callback)(int);
struct forward;
extern int elsewhere;
int declared(int a);
static int *acquire(struct node *n, int size, char c, int v[3], void (*cb)(int inner)) { int local = 1; return 0; }
int (*getter(void))(int) { return one; }
static int counter = 0;
unsigned long wide(void) { return 1; }
+ defines(node, type)
+ defines(node.depth)
+ defines(config_t.timeout)
+ defines(tag, type)
+ defines(callback, type)
+ defines(acquire, function)
- defines(acquire, type)
? defines(acquire, method)
+ defines(getter, function)
+ defines(counter, variable)
? defines(counter, function)
? defines(forward)
? defines(elsewhere)
? defines(declared)
? defines(GHOST)
? defines(local)
- defines(missing)
- defines(node.missing)
+ field(node, next, type="struct node *")
+ field(node, depth, type=int)
- field(node, depth, type=char)
? field(node, list, type=int)
+ field(node, u)
? field(node, q)
? field(node, a)
+ field(node, run)
- field(node, missing)
+ field(config_t, name, type="char *")
? field(callback, missing)
+ parameter(acquire, n)
+ parameter(acquire, size, type=int)
- parameter(acquire, size, type=char)
? parameter(acquire, v, type=int)
+ parameter(acquire, cb)
? parameter(acquire, inner)
- parameter(acquire, missing)
+ parameter(declared, a, type=int)
? parameter(declared, missing)
+ result(acquire, "int *")
? result(acquire, int)
? result(wide, long)

int f(int b);
int f(int a) { return 1; }
int old(x) int x; { return x; }
int more(int a, ...) { return 1; }
int made(ARGS) { return 1; }
+ parameter(f, a)
- parameter(f, missing)
? parameter(old, missing)
? parameter(more, missing)
? parameter(made, missing)
+ result(f, int)
- result(f, char)

struct a { int x; struct t; };
struct b { int x; enum { INNER } k; };
? field(a, missing)
? field(b, INNER)
- field(b, missing)

DEFINE_LIST(waiting);
int x;
? defines(waiting)
? defines(list_of_waiting)

#define int long
struct s { int a; };
? field(s, a, type=int)
? defines(missing)

EXPORT int f(int x) { return 1; }
int g(int x) { return 1; }
? defines(missing)
? parameter(f, y)
+ parameter(g, x)

#include <stdio.h>
#include "net/wire.h"
/* #include <math.h> */
+ imports(stdio.h)
+ imports("<stdio.h>")
+ imports(net/wire.h)
? imports(wire.h)
? imports(math.h)
- imports(stdlib.h)

#include CONFIG
? imports(stdlib.h)
"""

FLOW = r"""
int a(int r) { return (2); }
int b(int r) { TRY(r); return 2; }
#define bail return 1
int c(int r) { if (r) bail; return 2; }
int d(int r) { if (r) return 2; return -EINVAL; }
int e(int r) { return EIO; }
+ returns(a, "2")
? returns(a, "3")
? returns(b, "2")
? returns(c, "2")
+ returns(d, "2")
+ raises(d, EINVAL)
+ raises(e, EIO)
? raises(d, EIO)

void a(int ready, int force) {
    if (ready) g(1); else g(4);
    if (!ready) g(2);
    if (ready && force) { g(3); }
}
void b(int ready) { if (ready) return; g(1); }
void c(int ready) { if (ready) goto out; g(1); out: g(2); }
void d(int ready) { goto in; if (ready) return; in: g(1); }
void e(int ready) { goto in; if (ready) return; { in: g(1); } }
void f(int ready) { if (ready) BAIL(x); g(1); }
void h(int ready) { while (x) { if (ready) return; g(1); } }
void i(int ready) { switch (x) { if (ready) return; case 2: g(1); } }
+ when(a, "ready", "g(1)")
? unless(a, "ready", "g(1)")
+ unless(a, "ready", "g(4)")
+ unless(a, "ready", "g(2)")
? when(a, "ready", "g(2)")
+ when(a, "ready", "g(3)")
+ unless(b, "ready", "g(1)")
? unless(c, "ready", "g(2)")
? unless(d, "ready", "g(1)")
? unless(e, "ready", "g(1)")
? unless(f, "ready", "g(1)")
? unless(h, "ready", "g(1)")
? unless(i, "ready", "g(1)")

#define if(x) if (!(x))
void f(int r) { if (r) g(); }
? when(f, "r", "g()")

void f(void) { a(); b(); if (x) c(); else d(); }
+ before(f, "a()", "b()")
- before(f, "b()", "a()")
? before(f, "c()", "d()")
"""

# ---------------------------------------------------------------- C++

PLUS_CALLS = r"""
class C { void g() {} void f() { g(); } void h() { this->g(); } void i() { o.g(); o->g(); } };
+ calls(C.f, C.g)
+ calls(C.f, g)
+ calls(C.h, C.g)
? calls(C.i, C.g)
- calls(C.f, missing)

class C { void g(); void f(); };
void C::g() {}
void C::f() { g(); }
+ calls(C.f, C.g)

class C {
  void g() {}
  void a(F g) { g(); }
  void b() { F g(1); g(); }
  void c() { F g{1}; g(); }
  void d() { auto [g, h] = p; g(); }
  void e() { for (auto g : p) g(); }
  void f() { if (auto g = p) g(); }
  void h() { try {} catch (E &g) { g(); } }
  template <class G> void i(G &&g) { g(); }
  void j() { using a::g; g(); }
  void k() { auto r = [this] { g(); }; }
  void l() { struct L { void r() { g(); } }; }
  void m() { decltype(g()) x; noexcept(g()); }
};
? calls(C.a, C.g)
? calls(C.b, C.g)
? calls(C.c, C.g)
? calls(C.d, C.g)
? calls(C.e, C.g)
? calls(C.f, C.g)
? calls(C.h, C.g)
? calls(C.i, C.g)
? calls(C.j, C.g)
? calls(C.k, C.g)
? calls(C.l, C.g)
? calls(C.m, C.g)

void g() {}
class C { void f() { g(); } };
class D { void g() {} void f() { g(); } };
class E : public X { void f() { g(); } };
void F::f() { g(); }
+ calls(C.f, g)
? calls(D.f, g)
? calls(E.f, g)
? calls(F.f, g)

class D { public: void g() {} };
class C : public D { void f() { g(); } void h() { D::g(); } };
class E : public D { void g() {} void f() { D::g(); } };
+ calls(C.f, D.g)
+ calls(C.h, D.g)
+ calls(E.f, D.g)
? calls(E.f, E.g)

namespace a { void g() {} void f() { g(); } namespace b { void g() {} void h() { g(); } } }
namespace { void k() {} }
void e() { a::g(); k(); }
+ calls(a::f, a::g)
+ calls(e, a::g)
+ calls(e, k)
? calls(h, a::g)

class C {
  C() {} ~C() {} int *begin(); bool operator==(const C &) const { return true; }
  friend void k() {} void f() { k(); }
};
void f(C &all) { C c; for (int x : all) {} }
? calls(f, C.C)
? calls(f, C)
? calls(f, "C::~C")
? calls(f, C.begin)
? calls(f, "C::operator==")
? calls(C.f, C.k)
? defines(C.k, method)

class C { int size; static int count; void f() { use(size + 1); } };
+ uses(C.f, size)
"""

PLUS_DECLARED = r"""
namespace acme::net {
template <typename T> class Queue : public Base<T>, private ns::Other {
 public:
  static constexpr int kMax = 7;
  int size = 2, depth = 3;
  explicit Queue(int start) : size(start) {}
  ~Queue();
  void push(T item, int times = 5);
  virtual void run() = 0;
  bool empty() const { return size == 0; }
  operator bool() const { int x = 5; return x; }
  enum class State { Idle = 1, Busy };
};
template <typename T> void Queue<T>::push(T item, int times) {}
using Id = unsigned long;
constexpr int BIG = 1'000'000;
const char *raw = R"x(a"b\n)x";
int Queue<int>::kOther = 9;
auto free(int x = 4, unsigned char y = 300) -> int { return x; }
}
+ defines(Queue, type)
+ defines(acme::net::Queue, type)
+ defines("Queue<T>::push")
+ defines(Queue::empty, method)
? defines(Queue::run)
+ defines(Queue::State, type)
+ defines(Id, type)
+ defines(net)
+ defines(free, function)
? defines(Queue::free)
+ equals(Queue::kMax, 7)
- equals(kMax, 8)
+ equals(BIG, 1000000)
+ equals(raw, "a\"b\\n")
+ equals(Queue::kOther, 9)
+ equals(State::Idle, 1)
+ members(State, [Idle, Busy])
? field(Queue, size, default=2)
+ field(Queue, depth, default=3)
? field(Queue, depth, default=2)
? field(Queue, x)
+ extends(Queue, Base)
+ extends(Queue, ns::Other)
? extends(Queue, Third)
+ parameter(free, x, default=4)
? parameter(free, y, default=300)
? parameter(Queue::push, times, default=1)
? result(free, void)

class D {};
class C : public D { int a; };
class E : public X {};
+ extends(C, D)
- extends(D, C)
- extends(C, E)
? extends(E, D)
- field(C, missing)
? field(E, missing)

class D {};
#define D F
class C : public D {};
? extends(C, D)

struct A { A(int); ~A(); int a; };
struct B { int a; using X::x; };
struct C { int a; DECLARE(x); };
- field(A, missing)
? field(B, missing)
? field(C, missing)

template <class T> struct C { int x; };
template <> struct C<int> { char y; };
? field(C, y)

int f(int x = 5);
int f(int x) { return x; }
void g(int x) {}
void g(double y) {}
template <class... A> void h(A... a) {}
? parameter(f, x, default=1)
? parameter(g, x)
? parameter(h, missing)

enum class C { Z = 1 };
enum class D { Z = 2 };
namespace a { const int K = 1; }
namespace b { const int K = 2; }
? equals(Z, 1)
+ equals(C.Z, 1)
? equals(K, 1)
+ equals(a::K, 1)
- equals(a::K, 2)

constexpr int a = 5;
const int b = 5;
int c = 5, d = 5, e = 5, g = 5, i = 5, j = 5;
const std::string k = "x";
const char *l = u8"a";
int &f() { return c; }
void h() { x(a, &a); const_cast<int &>(b) = 3; std::cin >> d; auto m = [&e] {}; (x ? g : y) = 3; auto &&n = i; x(j); }
? equals(a, 5)
? equals(c, 5)
? equals(d, 5)
? equals(e, 5)
? equals(g, 5)
? equals(i, 5)
? equals(j, 5)
? equals(k, x)
? equals(l, a)

constexpr int a = 5;
void h() { x(a, &a); }
+ equals(a, 5)
- equals(a, 6)

TEST(Suite, Name) { int x = 5; g(); }
void g() {}
? defines(Suite_Name_Test)
? defines(TEST)
? equals(x, 5)
+ defines(g, function)

class API Foo { int x = 5; void f() { g(); } };
? equals(x, 5)
? defines(Foo)
? defines(missing)

const char *k = R"(
void f() {}
)";
? defines(f)
"""

PLUS_FLOW = r"""
void a() { throw E(); }
void b() { try { throw E(); } catch (...) {} }
void c() try { throw E(); } catch (...) {}
void d() { E e; throw e; }
void e() { auto l = [] { throw E(); }; }
void f() { throw ns::Error{1}; }
+ raises(a, E)
? raises(b, E)
? raises(c, E)
? raises(d, E)
? raises(e, E)
+ raises(f, Error)

void a(int *r) { if (int *p = r) { g(1); } }
void b(bool r) { if constexpr (!r) { g(1); } else { g(2); } }
int c() { co_return 3; }
int d() { return 3; }
? when(a, "r", "g(1)")
+ unless(b, "r", "g(1)")
+ when(b, "r", "g(2)")
? returns(c, "3")
+ returns(d, "3")
"""


@pytest.mark.parametrize(
    ("path", "program", "check", "expected"),
    [
        (path, *row)
        for path, tables in (
            ("src/a.c", (VALUES, CALLS, DECLARED, FLOW)),
            ("src/a.cpp", (PLUS_CALLS, PLUS_DECLARED, PLUS_FLOW)),
        )
        for table in tables
        for row in decided(table)
    ],
)
def test_c(path: str, program: str, check: str, expected: bool | None) -> None:
    """Each row comes to what it says, and its denial to the opposite."""
    assert held(check, program, path).holds is expected
    assert held(f"not {check}", program, path).holds is (None if expected is None else not expected)


GUARD = "#ifndef A_H\n#define A_H\n{}\n#endif\n"


@pytest.mark.parametrize(
    ("program", "check", "under", "narrowed"),
    [
        ("#ifdef A\n#define K 1\n#endif\n", "equals(K, 1)", ("#ifdef A",), True),
        ("#if A > 1\n#else\nint f(void) {}\n#endif\n", "defines(f)", ("#if A > 1", "#else"), True),
        ("void g(void);\nvoid f(int a) {\n  if (a) g();\n}\n", "calls(f, g)", ("a",), False),
        ("int f(int a) {\n  switch (a) { case 1: return 2; }\n}\n", 'returns(f, "2")', ("case 1",), True),
        ("int f(int a) {\n  if (a) return 1;\n  return 2;\n}\n", 'returns(f, "2")', ("not (a)",), True),
        ("#ifndef K\n#define K 1\n#endif\n", "equals(K, 1)", ("#ifndef K",), True),
        (GUARD.format("#define K 1"), "equals(K, 1)", (), False),
        (f"// a\n{GUARD}".format("#define K 1"), "equals(K, 1)", (), False),
        (GUARD.format("#define K 1").replace("ine A", "ine B"), "equals(K, 1)", ("#ifndef A_H",), True),
        (f"#include <a.h>\n{GUARD}".format("#define K 1"), "equals(K, 1)", ("#ifndef A_H",), True),
    ],
)
def test_conditions_of_the_compiler_are_told(program: str, check: str, under: tuple[str, ...], narrowed: bool) -> None:
    """What the preprocessor may leave out is narrowed; the guard of a header is no condition."""
    found = held(check, program, "src/a.c")
    assert (found.holds, found.under, found.narrowed) == (True, under, narrowed)


LINKAGE = '#ifdef __cplusplus\nextern "C" {\n#endif\n#define K 1\n#ifdef __cplusplus\n}\n#endif\n'


@pytest.mark.parametrize(
    ("path", "program", "check", "expected"),
    [
        ("a.h", LINKAGE, "equals(K, 1)", True),
        ("a.h", LINKAGE, "defines(missing)", False),
        ("a.h", "class A { void f(); };\n", "defines(A, type)", True),
        ("a.h", "struct a { int class; };\n", "field(a, class)", True),
        ("a.cpp", "class API Foo { int x; };\n", "absent(gone, in=Foo)", None),
        ("a.cpp", "class API Foo : public B {\n  int x;\n};\n", "absent(gone, in=Foo)", None),
        ("a.cpp", "class API Foo : public B {\n  int x;\n};\n", "count(int, =, 1, in=Foo)", None),
        ("a.cpp", "TEST(A, B) { return 1; }\n", "absent(gone, in=TEST)", None),
        ("a.c", "EXPORT int f(void) { return 1; }\n", "absent(gone, in=f)", None),
        ("a.c", "int f(void) { return 1; }\n", "absent(gone, in=f)", True),
        ("a.c", "#define int long\nint f(void) { return 1; }\n", "absent(gone, in=f)", None),
    ],
)
def test_what_does_not_parse_decides_nothing(path: str, program: str, check: str, expected: bool | None) -> None:
    """Nothing is told of a scope that a macro hides; `extern "C"` of a header hides nothing."""
    assert held(check, program, path).holds is expected


def test_kinds_are_those_of_the_definitions() -> None:
    """A macro is one, whatever it stands for; what a macro rewrites is broken."""
    index = parse_code(Source("a.c", "#define S(x) x\n#define K 1\nstruct k { int a; };\n"))
    assert index is not None
    assert symbol_kinds(index, "S") == {"macro"}
    assert symbol_kinds(index, "K") == {"macro", "constant"}
    assert symbol_kinds(index, "k") == {"type"}
    index = parse_code(Source("a.c", "#define g h\nvoid g(void) {}\n"))
    assert index is not None
    assert is_broken(index, "g")
