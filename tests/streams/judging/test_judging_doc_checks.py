"""Checks on documents of every format, as tables: a text, and what each check on it comes to.

`3` or `3-5`: it holds, on these lines. `no 3`: it is false by line 3. `no`: it is false, since the name occurs nowhere.
Anything else is the reason for which it stays undecided.
"""

from __future__ import annotations

import json
import tomllib
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from sluice.streams.judging.checks import TABLE, Check, Held, Source, parse_check
from sluice.streams.judging.document_lines import Document
from sluice.streams.judging.documents import document_extents, parse_document, verify_document, verify_json_value
from sluice.streams.judging.index import value_of

JSON = """\
{
  "name": "tool",
  "version": "1.2.3",
  "limits": {"timeout": 30, "ratio": 0.50, "names": ["a", "b"], "matrix": [[1, 2], [3]]},
  "server": {"host": "localhost", "on": true, "tags": [{"id": 7}, {"id": 8}]},
  "client": {"host": "remote", "retries": null},
  "editor.size": 4,
  "paths": {"/users": {"get": 1}},
  "dependencies": {"lodash.merge": "^4.6"},
  "twice": 1,
  "twice": 2,
  "again": {"one": 1},
  "again": {"two": 2},
  "a.b": 3,
  "a": {"b": 4},
  "x/y": {"m~n": 5},
  "port": "${PORT}",
  "list": [1, {"a": 1}],
  "$schema": "s", "big": 9007199254740993, "long": 0.12345678901234567890, "huge": 1e401,
  "rank": 1, "in": {"rank": 2},
  "half": "\\ud83d", "uni\\u0063ode": "\\u00e9", "deep": {
    "version": 9
  }
}
"""

TOML = '''\
title = "x" # [fake]
[tool.a]
x = 1
"q.r" = 2
y.z = [1, 2, 3]
date = 1979-05-27T07:32:00Z
text = """
[fake]
k = 1
"""
literal = \'\'\'
[[pkg]]
name = "c"\'\'\'

[[pkg]]
name = "a"
deps = [
  { name = "d", v = "1" }, # ] }
  "]",
]
[[pkg]]
name = "b"
[[pkg.sub]]
deep = true

# about the table below
[tool.a.sub]
big = 1_000
inf = inf
"a\\u0062" = 5
\'lit.x\' = 6
hex = 0xff
'''

YAML = """\
base: &base
  port: 80
  debug: yes
  word: "yes"
  mode: 017
  clock: 1:30
  day: 2026-05-25
  host: a
prod:
  <<: *base
  debug: no
  copy: *base
text: |
  hello
  world

# a comment
folded: >-
  one
  two
on:
  push: {branches: [main, "dev"]}
items:
  - id: 1
    name: x
  - id: 2
    name: "{{ name }}"
? [a, b]
: value
!!str 12: number
tagged: !Secret hidden
version: 3.10
empty:
! bare: ! 5
octal: 0o17
"""

INI = """\
; a comment
top = 1
[Main]
Timeout = 30
comment = 30 ; seconds
list =
    a
    # not an item
    b
quoted = "x"
url: http://a?b=c
[tool:pytest]  ; why
addopts = -q
empty =
flag
path = %(shared)s/x
[Late]
late = 2
twice = 1
TWICE = 2
thrice = 1
thrice = 1
[a.b]
key with space = v
first = 1
  second = 2
"""

ENV = """\
# ports
PORT=8080
export NAME="a b"
SINGLE='plain # y'
REF=$PORT/x
ESC="a\\n"
LONG="one
two"
TAIL=5 # five
HASH=a#b
EMPTY=
TWICE=1
TWICE=1
FROM_OUTSIDE
"""

PROPERTIES = "! comment\nserver.port = 8080\n".replace("! ", "# ") + "name:value\nwin = C:\\\\x\nlong = a,\\\n   b\n"

MAKE = """\
# a comment
CC := gcc
SOURCES = a.c \\
  b.c
JOBS=4
override private OPT ::= -O2
TWICE = 1
TWICE = 2
ADDED = a
ADDED += b
MAYBE ?= 1
DATE != date
REF = $(CC) -c
else = word
ifdef DEBUG
LEVEL = 3
debug:
	gdb
else ifeq ($(CC),x=y)
ONE = 1
else
LEVEL = 1
endif
define BODY
INNER = 5
inner: x
define DEEP
endef
endef
.PHONY: all clean
all: CFLAGS = -g
all lint&: build | order ; echo a: b

	FAKE = 1
	fake: x
# a comment
	more
double:: a
double:: b
lib(member.o): x
C\\:x: y
EMPTY =
URL = http://x/y:z
SHELL_OUT = $(shell ls '$$(x)' (y)) # c
all:
"""

MARKDOWN = """\
---
title: Front
---
# My *Project* `foo()`

<!--
# Hidden
-->
```
# Fenced
```
> # Quoted

- # Item

Two
lines
======

[link]: /url
## [1.2.3] - 2026-05-25
### Added
## v2.0.1 (2025-01-01)
### Added
## 3. Set up [here](http://x)
## 🚀 Features
## Closed {#closed} ##
## Deprecated: old\\_name
#No heading
###### Small
<h1>Other</h1>
"""

TABLES: dict[tuple[str, str], dict[str, str]] = {
    ("x.json", JSON): {
        "equals(name, tool)": "2",
        "equals(version, 1.2.3)": "3",  # from the top, before the same key elsewhere
        "equals(rank, 1)": "20",
        "equals(rank, 2)": "ambiguous",  # true of another key
        "equals(rank, 3)": "no 20",
        "equals(version, 9)": "incomparable",
        "equals(limits.timeout, 30)": "4",
        "equals(timeout, 30)": "4",
        "equals(timeout, 31)": "no 4",
        'equals(timeout, "forty")': "no 4",
        "compare(timeout, >=, 30)": "4",
        "compare(timeout, >, 30)": "no 4",
        "equals(ratio, 0.5)": "4",
        "equals(names, [a, b])": "4",
        "equals(names, [a])": "no 4",
        "equals(limits.names.1, b)": "4",
        'equals("limits.names[0]", a)': "4",
        'equals("matrix[0][1]", 2)': "4",
        "equals(matrix, [[1, 2], [3]])": "4",
        'equals("tags[0].id", 7)': "5",
        "equals(/server/tags/0/id, 7)": "5",
        "equals(/tags/0/id, 7)": "not-found",  # a pointer begins at the top
        "equals(server.on, true)": "5",
        "equals(server.on, false)": "no 5",
        "equals(retries, null)": "6",
        "equals(retries, 0)": "no 6",
        "equals(editor.size, 4)": "7",
        "equals(paths./users.get, 1)": "8",
        'equals(dependencies.lodash.merge, "^4.6")': "9",
        "equals(/a.b, 3)": "14",
        "equals(/a/b, 4)": "15",
        "equals(a.b, 3)": "ambiguous",  # a key with a dot, and a path
        'equals("/x~1y/m~0n", 5)': "16",
        'equals(port, "${PORT}")': "17",
        'compare(port, !=, "${PORT}")': "no 17",
        "equals(port, 80)": "computed",
        "equals($schema, s)": "19",
        "equals($.limits.timeout, 30)": "4",
        "equals(big, 9007199254740993)": "ambiguous",  # to JavaScript it is another number
        "equals(big, 9007199254740991)": "no 19",
        "equals(long, 0.1234567890123456789)": "incomparable",
        "equals(long, 0.5)": "no 19",
        "equals(huge, 1)": "incomparable",
        "equals(half, x)": "computed",
        'equals(unicode, "\\u00e9")': "21",
        "equals(host, remote, in=client)": "6",
        "equals(port, 80, in=client)": "not-found",
        "equals(host, localhost)": "ambiguous",
        "equals(twice, 1)": "ambiguous",
        "equals(twice, 3)": "ambiguous",
        "equals(again.one, 1)": "ambiguous",  # most readers see the second mapping only
        "equals(limits, 1)": "incomparable",
        "equals(list, [1, 2])": "incomparable",
        "compare(name, <, 3)": "incomparable",
        "equals(nowhere, 1)": "not-found",
        "equals(tags.id, 7)": "not-found",
        "equals(host, localhost, in=nowhere)": "not-found",
        "equals(host, localhost, in=twice)": "ambiguous",
        "defines(host)": "5",
        "defines(limits, section)": "4",
        "defines(deep, section)": "21-23",
        "defines(nowhere)": "no",
        "defines(server.nowhere)": "no",
        "defines(server.port)": "not-found",  # the word is in the file
        "defines(Name)": "not-found",
        "defines(name, section)": "not-found",
        "defines(name, function)": "unlisted-language",
        "calls(a, b)": "unlisted-language",
    },
    ("pyproject.toml", TOML): {
        "equals(title, x)": "1",
        "equals(tool.a.x, 1)": "3",
        "equals(tool.a.q.r, 2)": "4",
        "equals(tool.a.y.z, [1, 2, 3])": "5",
        "equals(y.z.1, 2)": "5",
        "equals(date, 1979-05-27)": "6",
        "equals(date, 1979-05-28)": "no 6",
        "equals(pkg.0.name, a)": "16",
        'equals("pkg[1].name", b)': "22",
        "equals(name, c)": "ambiguous",
        'equals(/pkg/0/deps/0/v, "1")': "18",
        "equals(/pkg/0/deps/0/v, 1.0)": "incomparable",
        'equals(/pkg/0/deps/1, "]")': "19",
        "equals(pkg.1.sub.0.deep, true)": "24",
        "equals(tool.a.sub.big, 1000)": "28",
        "equals(big, 1001)": "no 28",
        "equals(inf, inf)": "29",
        "equals(inf, 5)": "incomparable",
        "equals(ab, 5)": "30",
        "equals(tool.a.sub.lit.x, 6)": "31",
        "equals(hex, 255)": "32",
        "equals(x, 1, in=tool.a)": "3",
        "equals(title, x, in=tool.a)": "not-found",
        "defines(tool.a, section)": "2-13",
        'defines("[tool.a]", section)': "2-13",
        "defines(pkg, section)": "15-22",
        "defines(fake)": "not-found",
        "defines(nowhere)": "no",
    },
    ("a/b.yml", YAML): {
        "equals(base.port, 80)": "2",
        "equals(base.port, 81)": "no 2",
        "compare(base.port, <, 80)": "no 2",
        "equals(base.debug, yes)": "3",  # as it is written, in either version
        "equals(base.debug, true)": "ambiguous",
        "equals(base.debug, 5)": "no 3",
        "equals(base.word, yes)": "4",
        "equals(base.mode, 017)": "5",
        "equals(base.mode, 17)": "ambiguous",
        "equals(base.mode, 15)": "ambiguous",
        "equals(base.mode, 16)": "ambiguous",
        "equals(base.debug, off)": "no 3",
        "equals(base.clock, 1:30)": "6",
        "equals(base.clock, 90)": "ambiguous",
        "equals(octal, 15)": "ambiguous",
        "equals(day, 2026-05-25)": "7",
        "equals(base.day, 2026-05)": "7",
        "compare(base.day, <, 2026-06-01)": "7",
        "equals(prod.debug, no)": "11",
        "equals(prod.copy.port, 80)": "not-found",  # what stands in an alias has the names of its target
        "equals(prod.copy, 80)": "computed",
        "defines(prod.copy)": "12",
        "equals(prod.port, 80)": "not-found",  # merged
        "equals(prod.port, 81)": "not-found",
        "defines(prod.port)": "not-found",
        'equals(text, "hello\\nworld")': "13-15",
        'equals(folded, "one two")': "18-20",
        "equals(on.push.branches, [main, dev])": "22",
        "equals(branches.1, dev)": "22",
        "equals(items.0.id, 1)": "24",
        "equals(/items/1/id, 2)": "26",
        'equals(items.1.name, "{{ name }}")': "27",
        "equals(items.1.name, x)": "computed",
        'equals("12", number)': "30",
        "equals(version, 3.1)": "32",
        "equals(empty, null)": "33",
        "equals(tagged, hidden)": "computed",
        "equals(base, 1)": "incomparable",
        "defines(tagged)": "31",
        "defines(items, section)": "23-27",
        "defines(on, section)": "21-22",
        "defines(nowhere)": "no",
        "members(branches, [dev, main])": "22",
        "members(branches, [main])": "no 22",
        "members(prod, [debug, copy])": "computed",
    },
    ("setup.cfg", INI): {
        "equals(top, 1)": "2",
        'equals(top, "1")': "2",  # values are texts, or numbers
        "equals(Main.Timeout, 30)": "4",
        "equals(main.timeout, 30)": "4",
        "equals(timeout, 31)": "no 4",
        "compare(timeout, >, 29)": "4",
        "equals(comment, 30)": "ambiguous",
        'equals(comment, "30 ; seconds")': "ambiguous",
        "equals(comment, 31)": "no 5",
        'equals(list, "a\\nb")': "6-9",
        "members(list, [b, a])": "6-9",
        "members(list, [a, c])": "no 6",
        "equals(quoted, x)": "incomparable",
        'equals(url, "http://a?b=c")': "11",
        "equals(tool:pytest.addopts, -q)": "13",
        'equals(empty, "")': "14",
        "equals(flag, true)": "incomparable",
        "equals(path, 5/x)": "computed",
        "equals(late, 2, in=Late)": "18",
        "equals(twice, 1)": "19",
        "equals(TWICE, 2)": "20",
        "equals(Twice, 1)": "ambiguous",
        "equals(thrice, 1)": "ambiguous",
        'equals("a.b.key with space", v)': "24",
        "equals(first, 1)": "ambiguous",  # to some readers a key follows
        "equals(first, 3)": "no 25",
        "equals(second, 2)": "not-found",
        "defines(second)": "not-found",
        "defines(tool:pytest, section)": "12-16",
        "defines(nowhere)": "no",
        "defines(top, variable)": "2",
        "members(tool:pytest, [addopts, empty, flag, path])": "12-16",
    },
    (".env.example", ENV): {
        "equals(PORT, 8080)": "2",
        "equals(PORT, 80)": "no 2",
        'equals(NAME, "a b")': "3",
        'equals(SINGLE, "plain # y")': "4",
        "equals(REF, 8080/x)": "computed",
        "equals(REF, $PORT/x)": "5",
        "equals(ESC, a)": "computed",
        'equals(LONG, "one\\ntwo")': "7-8",
        "equals(TAIL, 5)": "9",
        'equals(HASH, "a#b")': "10",
        'equals(EMPTY, "")': "11",
        "equals(TWICE, 1)": "ambiguous",
        "equals(FROM_OUTSIDE, 1)": "computed",
        "defines(FROM_OUTSIDE)": "14",
        "defines(PORT, variable)": "2",
        "defines(port)": "not-found",
        "defines(PORT, constant)": "unlisted-language",
    },
    ("application.properties", PROPERTIES): {
        "equals(server.port, 8080)": "2",
        "equals(port, 8080)": "not-found",  # a key with dots is one key
        "equals(name, value)": "3",
        "equals(win, x)": "computed",
        "equals(long, a)": "computed",
        "defines(abc)": "computed",  # in escapes it may be there
    },
    ("Makefile", MAKE): {
        "equals(CC, gcc)": "2",
        'equals("$(CC)", gcc)': "2",
        'equals("${CC}", gcc)': "2",
        "equals(CC, clang)": "no 2",
        'equals(SOURCES, "a.c b.c")': "3-4",
        "members(SOURCES, [b.c, a.c])": "3-4",
        "members(SOURCES, [b.c])": "no 3",
        "compare(JOBS, <, 5)": "5",
        "compare(JOBS, !=, 4)": "no 5",
        "equals(OPT, -O2)": "6",
        "equals(TWICE, 2)": "assigned-elsewhere",
        "equals(ADDED, a)": "assigned-elsewhere",
        "equals(MAYBE, 1)": "assigned-elsewhere",  # the environment may set it
        "equals(MAYBE, 2)": "assigned-elsewhere",
        "equals(DATE, today)": "computed",
        'equals(REF, "$(CC) -c")': "13",
        'equals(REF, "gcc -c")': "computed",
        "equals(else, word)": "14",
        "equals(LEVEL, 1)": "assigned-elsewhere",
        "equals(ONE, 1)": "20",
        "equals(ONE, 2)": "ambiguous",
        "equals(CFLAGS, -g)": "assigned-elsewhere",  # for one target
        "defines(CFLAGS, variable)": "31",
        "equals(CC, gcc, in=all)": "not-found",
        "equals(CC, gcc, in=nowhere)": "not-found",
        "equals(FAKE, 1)": "not-found",
        "equals(INNER, 5)": "not-found",
        "equals(all, 1)": "not-found",
        'equals(EMPTY, "")': "42",
        'equals(URL, "http://x/y:z")': "43",
        "equals(SHELL_OUT, x)": "computed",
        "defines(all, target)": "32-37",
        "defines(lint)": "32-37",
        "defines(debug)": "17-18",
        "defines(double, target)": "38",
        'defines("lib(member.o)")': "40",
        "defines(C:x)": "41",
        "defines(BODY, variable)": "24-29",
        "defines(TWICE)": "7",
        "defines(fake)": "not-found",
        "defines(clean, target)": "not-found",  # phony, and nowhere a target
        "defines(all, variable)": "not-found",
        "defines(nowhere)": "no",
        "defines(all, section)": "unlisted-language",
    },
    ("docs/README.md", MARKDOWN): {
        'defines("My Project foo()")': "4",
        'defines("# My Project `foo()`", section)': "4",
        'defines("Two lines")': "16",
        "defines(1.2.3)": "21",
        "defines(v1.2.3)": "21",
        "defines(2026-05-25)": "21",
        'defines("[1.2.3] - 2026-05-25")': "21",
        "defines(Added, section)": "22",
        "defines(2.0.1)": "23",
        "defines(2025-01-01)": "23",
        "defines(Added, in=2.0.1)": "24",
        'defines("Set up here")': "25",
        'defines("3. Set up here")': "25",
        "defines(Features)": "26",
        "defines(Closed)": "27",
        "defines(Deprecated)": "28",
        "defines(old_name)": "28",
        "defines(Small)": "30",
        "defines(Small, in=Features)": "not-found",
        "defines(Hidden)": "not-found",
        "defines(Fenced)": "not-found",
        "defines(Quoted)": "not-found",
        "defines(Item)": "not-found",
        "defines(title)": "not-found",
        "defines(Front)": "not-found",
        'defines("No heading")': "not-found",
        "defines(features)": "not-found",
        "defines(two-lines)": "not-found",
        "defines(Other)": "not-found",
        'defines("---")': "not-found",
        "defines(Usage, section)": "no",
        "defines(1.2.4)": "no",
        "defines(x, in=Added)": "ambiguous",
        "defines(x, in=Nowhere)": "not-found",
        "defines(Added, function)": "unlisted-language",
        "equals(Added, 1)": "unlisted-language",
        "members(Added, [1])": "unlisted-language",
    },
}


def check_of(text: str) -> Check:
    """The check of a text."""
    parsed = parse_check(text)
    assert isinstance(parsed, Check), parsed
    return parsed


def verify(check: str, text: str, path: str, lines: tuple[int, int] | None = None, whole: bool = True) -> Held:
    """What a check comes to in a document that was encoded and decoded."""
    source = Source(path, text, lines, whole)
    document = parse_document(source)
    assert document is not None
    document = msgspec.msgpack.decode(msgspec.msgpack.encode(document), type=Document)
    return verify_document(check_of(check), document, source)


def told(held: Held) -> str:
    """A result as the tables write it."""
    if held.holds is None:
        assert held.lines is None
        return str(held.reason)
    first, last = held.lines or (0, 0)
    if held.holds:
        assert held.reason is None
        return f"{first}" if first == last else f"{first}-{last}"
    assert held.reason == "differs"
    return f"no {first}" if first else "no"


@pytest.mark.parametrize(
    ("path", "text", "check", "expected"),
    [
        (path, text, check, expected)
        for (path, text), rows in TABLES.items()
        for check, expected in rows.items()
        if check.partition("(")[0] in TABLE
    ],
)
def test_each_check_comes_to_what_the_table_says(path: str, text: str, check: str, expected: str):
    """True by a line, false by another literal or by absence from the text, else undecided."""
    assert told(verify(check, text, path)) == expected


SMALL: list[tuple[str, str, str, str]] = [
    # YAML: several documents, repeated and merged keys, aliases
    ("x.yml", "kind: A\nname: x\n---\nkind: B\n", "equals(kind, A)", "ambiguous"),
    ("x.yml", "kind: A\nname: x\n---\nkind: B\n", "equals(name, x)", "2"),
    ("x.yml", "a: 1\nb: 2\na: 1\n", "equals(a, 1)", "ambiguous"),
    ("x.yml", "1: x\n'1': y\n", 'equals("1", x)', "ambiguous"),
    ("x.yml", "a: &n 1\nb: *n\nc: &n 2\nd: *n\n", "equals(d, 2)", "4"),
    ("x.yml", "a: &n 1\n---\ne: *n\n", "equals(a, 1)", "syntax-error"),
    ("x.yml", "a: &a {x: *a, v: 1}\n", "equals(a.x.x.v, 1)", "not-found"),
    ("x.yml", "a: &a {x: *a, v: 1}\n", "equals(v, 1)", "1"),
    ("x.yml", "c: &n {b: 1}\np: {c: *n}\nz: {c: {b: 5}}\n", "equals(c.b, 1)", "1"),
    ("x.yml", "c: &n {b: 1}\np: {q: {d: *n}}\nz: {q: {d: {b: 5}}}\n", "equals(d.b, 5)", "ambiguous"),
    ("x.yml", '\ufeffa: 1\r\nb: "x\u2028y\x85z"\r\nc: 2', "equals(c, 2)", "3"),
    ("x.yml", "a: !!python/object/apply:os.system ['x']\n", "equals(a, [x])", "1"),
    # one error anywhere leaves all undecided
    *(
        ("x.yml", text, "defines(zzz)", "syntax-error")
        for text in ("a: b: c", "a: [", "\tb: 1", "a: *nowhere", "'", "%YAML 3", "- 1\nb: 2", "a: \x07", "@a: 1")
    ),
    *(
        ("x.json", text, "defines(zzz)", "syntax-error")
        for text in ("", "{", "[1,]", '{"a":1,}', "{'a':1}", "01", "NaN", "// c\n1", '"a\nb"', "1 1", '{"a":1]', '"\t"')
    ),
    *(
        ("x.toml", text, "defines(zzz)", "syntax-error")
        for text in ("a = ", "a = 1\na = 2", "[a]\n[a]", "[[a]", 'a = "', "= 1", "a.b = 1\na = 2", "a = 1\rb = 2\n")
    ),
    *(
        ("x.ini", text, "defines(zzz)", "syntax-error")
        for text in ("[a", "[]", "[a] b", "= 1", "two words", "lonely", "<html>", "a = 1\rb = 2")
    ),
    *((".env", text, "defines(A)", "syntax-error") for text in ("A='x", "1A B=2", "=1", "echo hi", "A=1\n}")),
    ("x.md", "# A\r# B\r", "defines(B)", "syntax-error"),
    ("x.toml", "a = 1\r\nb = 2\r\n", "equals(b, 2)", "2"),
    ("x.md", "# A\r\n# B\r\n", "defines(B)", "2"),
    # INI: letter case, defaults, sections that are not the same
    ("x.ini", "[Main]\na = 1\n[main]\na = 2\n", "equals(main.a, 2)", "4"),
    ("x.ini", "[Main]\na = 1\n[main]\na = 2\n", "equals(MAIN.a, 1)", "ambiguous"),
    ("x.ini", "[Main]\na = 1\n[b]\n[Main]\nc = 2\n", "equals(Main.c, 2)", "ambiguous"),
    ("x.ini", "[DEFAULT]\nshared = 5\n[Main]\nb = 1\n", "equals(Main.shared, 5)", "not-found"),
    ("x.ini", "[DEFAULT]\nshared = 5\n[Main]\nb = 1\n", "members(Main, [b])", "computed"),
    ("x.ini", "[a] ; x]\nb = 1\n", "equals(b, 1)", "ambiguous"),  # configparser has another section
    (".editorconfig", "root = true\n[*.{py,md}]\n  indent = 4\n", 'equals(indent, 4, in="*.{py,md}")', "3"),
    (".gitmodules", '[submodule "x"]\n\tpath = x\n\turl = u\n', "equals(url, u)", "3"),
    ("x.conf", "[a]\nk = 1\n", "equals(a.k, 1)", "2"),
    # names
    (
        "x.json",
        '{"server": {"port": 1}, "backup": {"server": {"timeout": 30}}}',
        "equals(server.timeout, 30)",
        "ambiguous",
    ),
    (
        "x.json",
        '{"server": {"port": 1}, "backup": {"server": {"timeout": 30}}}',
        "equals(backup.server.timeout, 30)",
        "1",
    ),
    ("x.json", '[{"name": "x"}, {"name": "y"}]', "equals(0.name, x)", "1"),
    ("x.json", '[{"name": "x"}, {"name": "y"}]', "equals(name, x)", "ambiguous"),
    ("x.json", '{"cafe\u0301": 1}', 'equals("caf\\u00e9", 1)', "1"),
    ("x.json", '{"cafe\u0301": 1, "caf\u00e9": 2}', 'equals("caf\\u00e9", 1)', "ambiguous"),
    ("x.json", '{"\\u0061bc": 1}', "defines(abc)", "1"),
    ("x.json", '{"x\\u0061bc": 1}', "defines(abc)", "not-found"),  # a part of a key, written in escapes
    ("x.json", '{"l": [1, 2, 2], "m": {"a": 1, "b": 2}}', "members(l, [2, 1])", "incomparable"),
    ("x.json", '{"l": [1, 2, 2], "m": {"a": 1, "b": 2}}', "members(l, [2, 1, 2])", "1"),
    ("x.json", '{"l": [1, 2, 2], "m": {"a": 1, "b": 2}}', "members(l, [3, 1])", "no 1"),
    ("x.json", '{"l": [1, 2, 2], "m": {"a": 1, "b": 2}}', "members(m, [b, a])", "1"),
    ("x.json", '{"l": [1, 2, 2], "m": {"a": 1, "b": 2}}', "members(m, [a])", "no 1"),
    ("x.json", '{"l": [1, {"a": 1}]}', "members(l, [1])", "incomparable"),
    ("x.json", '{"l": []}', "members(l, [])", "1"),
    # Makefiles: whatever may set a variable from elsewhere
    *(
        ("Makefile", f"A = 1\n{text}", "equals(A, 1)", "assigned-elsewhere")
        for text in (
            *("include x.mk\n", "-include x.mk\n", "undefine A\n", "all:\n\t$(eval A := 3)\n", "$(eval $(X))\n"),
            *("$(X) = 2\n", "A += 2\n", "A ?= 2\n", "all: A = 2\n", "%: A = 2\n", "garbage\n", "define X\nA = 2\n"),
            *(
                "ifdef A\n",
                "endif\n",
                "A := 2\n",
                "override A = 2\n",
                ".if X\nB = 2\n.endif\n",
                '!IF "$(X)" == "x:y"\n!ENDIF\n',
                "ifdef X\nA = 2\nendif\n",
            ),
        )
    ),
    *(
        ("Makefile", text, "defines(name.x, target)", "computed")
        for text in (
            "$(BIN): main.c\n",
            "*.o: x\n",
            "$(foreach x,a,$(x))\n",
            ".DEFAULT:\n\techo\n",
            ".c.x:\n\tcc\n",
            "%:\n",
        )
    ),
    ("Makefile", "$(info hello)\na: $(B) ; $(C)\n\t$(D)\nX = $(E): f\n", "defines(name, target)", "no"),
    ("Makefile", "\tA = 1\n", "equals(A, 1)", "1"),
    ("Makefile", "all:\nB = 1\n\tA = 1\n", "equals(A, 1)", "3"),
    ("Makefile", ".RECIPEPREFIX = >\nall:\n>A = 1\n\tB = 2\n", "equals(A, 1)", "computed"),
    ("Makefile", "# note \\\nA = 1\nB = 2 # A = \\\n3\n", "equals(A, 1)", "not-found"),
    ("Makefile", "# note \\\nA = 1\nB = 2 # A = \\\n3\n", "equals(B, 2)", "3-4"),
    ("Makefile", "foo: x\n\tcmd\nfoo = 1\n", "defines(foo, target)", "1-2"),
    ("Makefile", "foo: x\n\tcmd\nfoo = 1\n", "equals(foo, 1)", "3"),
    # Markdown
    ("x.md", "# Ins\u200btall\n", "defines(Install)", "not-found"),
    ("x.md", "---\nnot a mapping\n---\n", 'defines("not a mapping")', "2"),
    ("x.md", "+++\na = 1\n# c\n+++\n# H\n", "defines(c)", "not-found"),
]


@pytest.mark.parametrize(
    ("path", "text", "check", "expected"), [row for row in SMALL if row[2].partition("(")[0] in TABLE]
)
def test_small_documents(path: str, text: str, check: str, expected: str):
    """Errors, keys that stand at several places, and lines that only look like something."""
    assert told(verify(check, text, path)) == expected


def test_a_condition_is_told_and_narrows():
    """Also of a target; a line that stands there instead is told, and so are the entries that a name may mean."""
    held = verify("equals(ONE, 1)", MAKE, "Makefile")
    assert (held.under, held.narrowed) == (("ifdef DEBUG … else ifeq ($(CC),x=y)",), True)
    assert verify("defines(debug)", MAKE, "Makefile").under == ("ifdef DEBUG",)
    assert verify("equals(CC, clang)", MAKE, "Makefile").found == "CC := gcc"
    assert verify("equals(TWICE, 1)", MAKE, "Makefile").candidates == ("TWICE (line 7)", "TWICE (line 8)")
    assert verify("equals(host, x)", JSON, "x.json").candidates == ("server.host (line 5)", "client.host (line 6)")
    assert verify("equals(a, 2)", '{"a":\n "' + "b" * 500 + '"}', "x.json").found == '{"a":'


def test_lines_say_which_of_several_keys_is_meant():
    """Only keys that begin in the region count."""
    assert told(verify("equals(host, remote)", JSON, "x.json", (6, 8))) == "6"
    assert told(verify("equals(host, remote)", JSON, "x.json", (1, 5))) == "no 5"
    assert told(verify("equals(host, remote)", JSON, "x.json", (1, 8))) == "ambiguous"
    assert told(verify("equals(name, tool)", JSON, "x.json", (3, 4))) == "not-found"
    assert told(verify("equals(TWICE, 1)", MAKE, "Makefile", (1, 7))) == "7"
    assert told(verify("defines(Added)", MARKDOWN, "x.md", (23, 24))) == "24"
    assert told(verify("defines(Added, in=1.2.3)", MARKDOWN, "x.md", (20, 23))) == "22"


def test_text_that_goes_on_only_shows_what_is_defined():
    """Behind a cut there may be another value, or the rest of this one."""
    for check, expected in {"equals(a, 1)": "not-whole", "defines(c)": "not-whole", "defines(b)": "not-whole"}.items():
        assert told(verify(check, "a: 1\nb: 30", "x.yaml", whole=False)) == expected
    assert told(verify("defines(a)", "a: 1\nb: 30", "x.yaml", whole=False)) == "1"


@pytest.mark.parametrize(
    ("path", "text", "name", "expected"),
    [
        ("x.json", '{\n  "a": {\n    "b": [\n      1\n    ]\n  },\n  "c": {"b": 1}\n}\n', "a", [(2, 6)]),
        ("x.json", '{\n  "a": {\n    "b": [\n      1\n    ]\n  },\n  "c": {"b": 1}\n}\n', "b", [(3, 5), (7, 7)]),
        ("x.json", '{"a": 1}', "nowhere", []),
        ("x.json", "{", "a", []),
        ("x.toml", "[a]\nx = 1\n\n# next\n[a.b]\ny = 2\n\n[c]\nz = 1\n# d\n[a.d]\nw = 1\n", "a", [(1, 6), (11, 12)]),
        ("x.toml", "[a]\nx = 1\n\n# next\n[a.b]\ny = 2\n\n[c]\nz = 1\n# d\n[a.d]\nw = 1\n", "c", [(8, 9)]),
        ("x.toml", "[t]\na.b = [\n  1,\n]\na.c.d = { e.f = [\n] }\ng = 1\n", "t.a", [(2, 6)]),
        ("x.yaml", "a:\n  b: |\n    x\n\n\n# about c\nc: [1,\n  2]\nd: 'x\n\n  y'\n", "a", [(1, 3)]),
        ("x.yaml", "a:\n  b: |\n    x\n\n\n# about c\nc: [1,\n  2]\nd: 'x\n\n  y'\n", "c", [(7, 8)]),
        ("x.ini", INI, "tool:pytest", [(12, 16)]),
        ("x.ini", INI, "Main", [(3, 11)]),
        ("x.ini", "[a]\nk = 1\n[b]\n[a]\nl = 2\n", "a", [(1, 2), (4, 5)]),
        ("rules.mk", MAKE, "all", [(32, 37), (45, 45)]),
        ("rules.mk", MAKE, "double", [(38, 38), (39, 39)]),
        ("rules.mk", MAKE, "SOURCES", [(3, 4)]),
        ("x.md", "# A\n\n## B\nx\n### C\ny\n## D\n# B\nz\n", "B", [(3, 6), (8, 9)]),
        ("x.md", "# 1.0 - notes\n# 1.0\nx\n", "1.0", [(2, 3)]),
    ],
)
def test_extents_are_the_lines_of_a_name_and_all_below_it(path: str, text: str, name: str, expected: list[Any]):
    """Without the comments and blank lines before the next one; each of several has its own."""
    document = parse_document(Source(path, text))
    assert document is not None
    assert document_extents(document, name) == expected


@pytest.mark.parametrize("text", ["server {\n  listen 80;\n}\n", "port 6379\n", "# comment\n", "key: value\n", ""])
def test_a_conf_file_is_a_document_only_where_it_looks_like_one(text: str):
    """The ending says nothing: most are of other formats."""
    assert parse_document(Source("x.conf", text)) is None


# ---------------------------------------------------------------- values without a text

VALUE: dict[str, Any] = {"a": {"b": 1}, "f": 0.25, "l": [1, {"x": "y"}], "n": None, "t": True, "template": "${PORT}"}


@pytest.mark.parametrize(
    ("check", "value", "expected"),
    [
        ("equals(/a/b, 1)", VALUE, "0"),
        ("equals(a.b, 2)", VALUE, "no"),
        ("equals(f, 0.25)", VALUE, "0"),
        ("equals(l.1.x, y)", VALUE, "0"),
        ("equals(n, null)", VALUE, "0"),
        ("equals(t, true)", VALUE, "0"),
        ("equals(template, 80)", VALUE, "no"),
        ("equals(missing, 1)", VALUE, "not-found"),
        ("defines(missing)", VALUE, "no"),
        ("defines(a)", VALUE, "0"),
        ("equals(b, 1, in=a)", VALUE, "0"),
        ("equals(b, 1, lines=1-2)", VALUE, "not-found"),
        ("imports(a)", VALUE, "unlisted-language"),
        ("equals(a, 1)", {"a": float("nan")}, "syntax-error"),
        ("equals(a, 1)", {"a": object()}, "incomparable"),
        ("equals(a, 1)", {"a": list(range(1_000_000))}, "too-large"),
        ("equals(a, 1)", {"a": 10**500}, "incomparable"),
    ],
)
def test_a_decoded_value_is_judged_as_a_document(check: str, value: Any, expected: str):
    """It has no lines, its texts are what they are, and it is whole."""
    held = verify_json_value(check_of(check), value)
    assert (told(held), held.found) == (expected, None)


# ---------------------------------------------------------------- laws

scalars = st.none() | st.booleans() | st.integers(-(10**14), 10**14) | st.text(st.characters(codec="ascii"), max_size=6)
keys = st.text(st.characters(codec="ascii"), max_size=4)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3), max_leaves=12
)


def rebuilt(document: Document, row: int = 0) -> Any:
    """The value that the entries of a document make; a doubtful one as it is written."""
    entry = document.entries[row]
    children = document.index.children.get(row, [])
    if entry.kind == "mapping":
        return {document.entries[child].key: rebuilt(document, child) for child in children}
    if entry.kind == "list":
        return [rebuilt(document, child) for child in children]
    return value_of(entry.readings[0]) if entry.readings else entry.written


@given(values, st.sampled_from([None, 0, 2]))
def test_every_json_value_is_read_as_it_was_written(value: Any, indent: int | None):
    """Whatever the white space; each entry stands on lines that are there."""
    text = json.dumps(value, indent=indent)
    document = parse_document(Source("x.json", text))
    assert document is not None
    assert rebuilt(document) == value
    assert all(1 <= entry.first <= entry.last <= text.count("\n") + 1 for entry in document.entries)


@given(values, st.booleans())
def test_what_the_library_writes_as_yaml_is_read_as_it_was(value: Any, flow: bool):
    """But for a text that a block ends with more than one line end."""
    document = parse_document(Source("x.yaml", yaml.safe_dump(value, default_flow_style=flow, default_style=None)))
    assert document is not None
    if document.problem is None and not any(entry.doubt for entry in document.entries):
        assert rebuilt(document) == value


part = st.sampled_from(["a", "b-c", '"d e"', '"f.g"', "'h'", "1", '"\\""'])
key = st.lists(part, min_size=1, max_size=3).map(".".join)
literal = st.sampled_from(
    [
        *("1", "'''\n[x]\n'''", '"""\na = 1\\"""" ""\n"""', "[1, # c\n 2]", "{ p = 1, q.r = [{ s = 2 }] }"),
        *("2020-01-01 10:00:00", "-inf", "1_0.5e1"),
    ]
)
line = st.one_of(
    st.builds("{} = {}".format, key, literal),
    st.builds("[{}]".format, key),
    st.builds("[[{}]]".format, key),
    st.just("# [c]\n"),
)


@given(st.lists(line, max_size=8).map("\n".join))
def test_what_the_library_takes_as_toml_is_read_with_lines(text: str):
    """Every key stands on the line that its entry says."""
    document = parse_document(Source("x.toml", text))
    assert document is not None
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        assert document.problem == "syntax-error"
        return
    if document.problem == "ambiguous":  # the header of a table stands below one of a table in it
        return
    assert document.problem is None
    lines = text.split("\n")
    for entry in document.entries:
        assert 1 <= entry.first <= entry.last <= len(lines)
        assert isinstance(entry.key, int) or entry.key.replace('"', '\\"') in lines[entry.first - 1]
