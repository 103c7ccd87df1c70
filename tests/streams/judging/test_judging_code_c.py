"""Checks by syntax on C and C++: what holds, what is exactly false, and what stays undecided."""

from __future__ import annotations

import pytest

from sluice.streams.judging.checks import Check, parse_check
from sluice.streams.judging.code import parse_code, verify_code
from sluice.streams.judging.results import Held, Source

POOL = """\
/* #define GHOST 1 */
#include <stdio.h>
#include "net/wire.h"

#define MAX_CONNS 100
#define MASK 0xFFu /* bits */
#define SUM (10 * 1024)
#define OPEN 1 + 1
#define NEG (-5)
#define NAME "pool" "s\\x21"
#define EMPTY
#define SQUARE(x) ((x) * (x))
#define ALIAS MAX_CONNS
#define GONE 1
#undef GONE
#ifdef BIG
#define SIZE 10
#else
#define SIZE 5
#endif
#ifdef ONLY
#define MAYBE 1
#endif
#if 0
#define NEVER 1
static int dead_function(void) { return 1; }
#endif

static const int LIMIT = 10UL;
const long OCTAL = 0755;
static const char *label = "pool";
int list[] = {1, 2, 3};
int longer[8] = {1, 2};
int counter = 0;
int unset;
double rate = 1.5e3f;
extern int elsewhere;
int declared(int a);
struct forward;
DEFINE_LIST(waiting);

typedef struct { int timeout; char *name; } config_t;
struct node { struct node *next; int depth; };
enum color { RED = 1, GREEN };
typedef int (*callback)(int);
config_t defaults = { .timeout = 30, .name = "x" };

static int *acquire(struct node *n, int size)
{
	int local = 12;
	counter += 1;
	n->lock(size);
	open_it(wrap(size));
	(*handler)(1);
	if (0) { dead_call(); }
#if 0
	skipped_call();
#endif
	return n->next
		+ 1;
	unreachable();
again:
	reached();
}

int one(void) { return 1; }
int (*getter(void))(int) { return one; }
"""

QUEUE = """\
#pragma once
#include <vector>
#include "pool.h"

namespace acme::net {

template <typename T>
class Queue : public Base {
public:
    static constexpr int kMax = 7;
    int size = 2, depth{3};
    explicit Queue(int start) : size(start) { init(); }
    ~Queue();
    void push(T item, int times = 5);
    bool empty() const { return size == 0; }
    bool operator==(const Queue &other) const { return same(other); }
    virtual void run() = 0;
    enum class State { Idle = 1, Busy };
};

template <typename T>
void Queue<T>::push(T item, int times) {
    auto lambda = [&](int x) { lazily(x); };
    this->store(std::move(item));
    helper::wrap<int>(1);
    Guard guard(lock_);
    auto thing = new Thing(1);
    obj.get<int>(2);
    struct Local { void m() { nested(); } };
}

using Id = unsigned long;
constexpr int BIG = 1'000'000;
const char *raw = R"(a"b)";
int braces{5};
auto free_function(int x = 4) -> int { return x; }
int Queue<int>::kOther = 9;

}  // namespace acme::net
"""


def held(check: str, text: str = POOL, path: str = "src/net/pool.c") -> Held:
    """What a check on a file comes to."""
    parsed = parse_check(check)
    assert isinstance(parsed, Check), parsed
    source = Source(path, text, lines=parsed.lines)
    code = parse_code(source)
    assert code is not None
    assert not code.problem
    return verify_code(parsed, code, source)


def plus(check: str, text: str = QUEUE) -> Held:
    """What a check on the C++ sample comes to."""
    return held(check, text, "src/net/queue.hpp")


@pytest.mark.parametrize(("text", "path"), [(POOL, "a.c"), (QUEUE, "a.cpp"), (QUEUE, "a.h"), (POOL, "a.h")])
def test_the_samples_have_no_errors(text: str, path: str) -> None:
    """What is false below is false in files that parse; a header may be in either language."""
    code = parse_code(Source(path, text))
    assert code is not None
    assert code.errors == []


@pytest.mark.parametrize(
    ("check", "expected"),
    [
        ("defines(acquire, function)", True),
        ("defines(acquire, method)", False),
        ("defines(acquire, type)", False),
        ("defines(getter, function)", True),
        ("defines(node, type)", True),
        ("defines(node.depth)", True),
        ("defines(config_t, type)", True),
        ("defines(config_t.timeout)", True),
        ("defines(color, type)", True),
        ("defines(color.RED, constant)", True),
        ("defines(GREEN, constant)", True),
        ("defines(callback, type)", True),
        ("defines(MAX_CONNS, constant)", True),
        ("defines(MAX_CONNS, function)", False),
        ("defines(SQUARE)", True),
        ("defines(EMPTY)", True),
        ("defines(LIMIT, constant)", True),
        ("defines(counter, variable)", True),
        ("defines(counter, constant)", False),
        ("defines(unset)", True),
        ("defines(SIZE)", True),
        ("defines(declared)", None),
        ("defines(elsewhere)", None),
        ("defines(waiting)", None),
        ("defines(NEVER)", None),
        ("defines(dead_function)", None),
        ("defines(GHOST)", False),
        ("defines(local)", False),
        ("defines(missing)", False),
        ("defines(node.missing)", False),
        ("equals(MAX_CONNS, 100)", True),
        ("equals(MAX_CONNS, 101)", False),
        ("equals(MASK, 255)", True),
        ("equals(SUM, 10240)", True),
        ("equals(NEG, -5)", True),
        ('equals(NAME, "pools!")', True),
        ("equals(LIMIT, 10)", True),
        ("equals(OCTAL, 493)", True),
        ("equals(OCTAL, 755)", False),
        ("equals(label, pool)", True),
        ("equals(list, [1, 2, 3])", True),
        ("equals(rate, 1500)", True),
        ("equals(defaults.timeout, 30)", True),
        ("equals(defaults.name, y)", False),
        ("equals(color.RED, 1)", True),
        ("equals(acquire.local, 12)", True),
        ("compare(MAX_CONNS, <=, 100)", True),
        ("calls(acquire, lock)", True),
        ("calls(acquire, n.lock)", True),
        ("calls(acquire, open_it)", True),
        ("calls(acquire, wrap)", True),
        ("calls(acquire, handler)", True),
        ("calls(acquire, dead_call)", None),
        ("calls(acquire, skipped_call)", None),
        ("calls(acquire, unreachable)", None),
        ("calls(acquire, reached)", True),
        ("calls(acquire, missing)", False),
        ("uses(acquire, counter)", True),
        ("uses(acquire, n.next)", True),
        ("uses(one, counter)", False),
        ("imports(stdio.h)", True),
        ('imports("<stdio.h>")', True),
        ("imports(net/wire.h)", True),
        ("imports(wire.h)", None),
        ("imports(stdlib.h)", False),
        ("returns(one, 1)", True),
        ('returns(acquire, "n->next + 1")', True),
        ("returns(one, 2)", None),
    ],
)
def test_c(check: str, expected: bool | None) -> None:
    """C's functions, types, macros, constants, calls and includes."""
    assert held(check).holds is expected


@pytest.mark.parametrize(
    ("check", "reason"),
    [
        ("equals(OPEN, 2)", "computed"),
        ("equals(ALIAS, 100)", "computed"),
        ("equals(EMPTY, 1)", "computed"),
        ("equals(GREEN, 2)", "computed"),
        ("equals(longer, [1, 2])", "computed"),
        ("equals(unset, 0)", "computed"),
        ("equals(SIZE, 10)", "ambiguous"),
        ("equals(MAYBE, 1)", "ambiguous"),
        ("equals(GONE, 1)", "ambiguous"),
        ("equals(counter, 0)", "ambiguous"),
        ("equals(NEVER, 1)", "not-found"),
        ("equals(GHOST, 1)", "not-found"),
    ],
)
def test_c_values_that_stay_undecided(check: str, reason: str) -> None:
    """Macros without brackets, under conditions, taken back, and what is counted on, are no value of that name."""
    assert held(check) == held(check)._replace(holds=None, reason=reason)


@pytest.mark.parametrize(
    ("check", "expected"),
    [
        ("defines(Queue, type)", True),
        ("defines(acme::net::Queue, type)", True),
        ("defines(Queue::push)", True),
        ('defines("Queue<T>::push")', True),
        ("defines(Queue::empty, method)", True),
        ("defines(Queue::run)", None),
        ("defines(Queue::kMax, constant)", True),
        ("defines(Queue::State, type)", True),
        ("defines(Id, type)", True),
        ("defines(net)", True),
        ("defines(free_function, function)", True),
        ('defines("Queue::operator==")', True),
        ("defines(Queue::missing)", False),
        ("defines(Queue::free_function)", False),
        ("equals(Queue::kMax, 7)", True),
        ("equals(kMax, 8)", False),
        ("equals(Queue::size, 2)", True),
        ("equals(Queue::depth, 3)", None),
        ("equals(Queue::push.times, 5)", True),
        ("equals(free_function.x, 4)", True),
        ("equals(BIG, 1000000)", True),
        ('equals(raw, "a\\"b")', True),
        ("equals(braces, 5)", None),
        ("equals(State::Idle, 1)", True),
        ("equals(Queue::kOther, 9)", True),
        ("calls(Queue::push, store)", True),
        ("calls(Queue::push, this.store)", True),
        ("calls(Queue::push, std::move)", True),
        ("calls(Queue::push, helper::wrap)", True),
        ("calls(Queue::push, Thing)", True),
        ("calls(Queue::push, get)", True),
        ("calls(Queue::push, Guard)", None),
        ("calls(Queue::push, lazily)", None),
        ("calls(Queue::push, nested)", False),
        ("calls(Queue::push, missing)", False),
        ("calls(Queue::empty, store)", False),
        ("uses(Queue::empty, size)", True),
        ("uses(Queue::empty, depth)", False),
        ("imports(vector)", True),
        ("imports(pool.h)", True),
        ("imports(map)", False),
        ('returns(Queue::empty, "size == 0")', True),
        ("returns(free_function, x)", True),
    ],
)
def test_cpp(check: str, expected: bool | None) -> None:
    """C++'s classes, templates, members written outside of them, defaults and calls."""
    assert plus(check).holds is expected


def test_the_guard_of_a_header_is_no_condition() -> None:
    """What stands in `#ifndef A_H` and `#define A_H` is there; any other condition makes it uncertain."""
    text = "#ifndef A_H\n#define A_H\n#define X 1\nint f(void) { return g(); }\n#endif\n"
    assert held("equals(X, 1)", text, "a.h").holds is True
    assert held("equals(X, 1)", text.replace("define A_H", "define B_H"), "a.h").reason == "ambiguous"
    assert held("calls(f, g)", text, "a.h").holds is True


@pytest.mark.parametrize(
    "text",
    [
        "#define X 2",
        "#define X 1; int y = 2",
        "#define X 1 ? 1 : 2",
        "#define X 1, 2",
        "#define X (1",
        "#define X y",
        "#if A\n#define X 1\n#endif",
        "#define X 1\n#undef X\n#define X 2",
        'char *s = "#define X 1";',
        "// \\\n#define X 1",
        "int X = 1; void f(void) { X = 2; }",
        "int X = 1; void f(void) { X++; }",
        "int X = 1; void f(void) { scanf(format, &X); }",
        "int f(void) { if (a) { int X = 1; } }",
        "int X[] = {1};",
        "int X(1);",
        "unsigned X = 1u - 2u + 2u;",
        "int X = 'a';",
    ],
)
def test_hostile_c_values(text: str) -> None:
    """Nothing of this makes X equal 1."""
    assert held("equals(X, 1)", text, "a.c").holds is not True
    assert held("equals(X, 1)", text, "a.cc").holds is not True


def test_what_a_macro_is_given_may_be_called() -> None:
    """`RUN(f)` is neither a call of `f` nor exactly none; `run(f)` is none."""
    text = "void g(void) { RUN(f); run(h); }"
    assert held("calls(g, f)", text, "a.c").holds is None
    assert held("calls(g, h)", text, "a.c").holds is False


def test_a_lambda_of_a_file_is_a_function() -> None:
    """What a variable of the file holds as a lambda may be called a function."""
    text = "auto square = [](int x) { return times(x, x); };\n"
    assert held("defines(square, function)", text, "a.cc").holds is None
    assert held("defines(square, variable)", text, "a.cc").holds is True
    assert held("calls(square, times)", text, "a.cc").holds is True


def test_what_is_only_announced_is_not_denied() -> None:
    """`struct a;` tells that there is one somewhere."""
    assert held("defines(a)", "struct a;\n", "a.c").holds is None
    assert held("defines(b)", "struct a;\n", "a.c").holds is False


def test_macros_of_several_lines_are_one_value() -> None:
    """A backslash at the end of a line continues it; a comment behind a macro is none of it."""
    assert held("equals(X, 6)", "#define X ( \\\n 1 + \\\n 5 ) // six\n", "a.c").holds is True
