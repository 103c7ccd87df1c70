"""Checks by syntax on JavaScript and TypeScript: what holds, what is exactly false, and what stays undecided."""

from __future__ import annotations

import pytest
from judged_programs import assert_each, held

from sluice.streams.judging.checks import Source
from sluice.streams.judging.verify import parse_code

STORE = """\
// const ghost = 1; function phantom() {}
import React, { useState as state, effect } from "react";
import * as path from 'node:path';
import "./side-effect.js";
export { x as y } from '../other';
const fs = require("fs");
const { join, sep: bar } = require('path/posix');

export const TIMEOUT = 30;
const BIG = 1_000n, HEX = 0x3e8, FLOAT = .5, EXP = 1e3, WIDE = 9007199254740993;
const NAME = 'it\\'s', TEMPLATE = `plain`, INTERPOLATED = `a${NAME}`;
const LIST = [1, "two", null], HOLES = [1, , 2];
const FROZEN = Object.freeze(["a"]);
const NEG = -5, TRUE = true, NIL = null, UNDEF = undefined;
const SIZE = 10 * 1024;
let counter = 0;
counter++;
var legacy = 1;
const ports = { http: 80, "https": 443, save() { return write(); }, load: async () => { await read(); } };
const options = { timeout: 30, retry: { limit: 3 } };
options.retry.limit = 4;
const { a: renamed, b = 2 } = options;

export function connect(host, port = 443, { timeout = 5 } = {}) {
  const local = 12;
  function inner() { hidden(); }
  const arrow = () => { join(local); };
  host?.open(port);
  new Client(host);
  items.forEach((x) => each(x));
  if (false) { add(1); }
  tag`x${local}`;
  effect(port, LIST.includes(1));
  path.resolve(fs);
  if (host) throw new RangeError("x");
  return inner();
  state();
  function tag() {}
}

class Client extends Base {
  static LIMIT = 7;
  #secret = 1;
  size = 2;
  constructor(depth = 3) {
    super();
    this.depth = 4;
    this.mode = "r";
  }
  send(message) {
    this.mode = "w";
    this.#seal();
    super.send(message);
    return ports.http === 80 ? TIMEOUT : bar(message);
  }
  #seal() { return Client.create(); }
  static create() { return new Client(); }
  handler = () => { this.send(); };
  get width() { return this.depth; }
}
class Small extends Client { send() { return super.send(); } }

const Panel = () => <div onClick={() => add()}><Small/>{effect()}</div>;
const add = (a, b) => a + b;
Client.prototype.extra = function (ready, force) {
  if (ready && force) { add(1, 2); } else if (!force) add(3);
  force || effect();
};
exports.helper = function (...rest) { return 1; };
async function lazyLoad() { const m = await import("./lazy"); return m; }
"""

TYPES = """\
import type { A } from "./types";
import fs = require("fs");

export enum Color { Red = 1, Green, Blue = "b" }
export interface Shape { readonly name: string; area(): number }
export type ID = string;
export type Box = { left: number; right?: string };
namespace Deep.Er { export const X = 1; }
abstract class Base { abstract run(): void; protected static readonly MAX: number = 10; }
export class Impl extends Base implements Shape {
  constructor(private size: number = 2, plain?: number) { super(); }
  run(): void { this.go<string>(); (this as any).other!(); }
  private go<T>(): T { return over<T>() as T; }
  area(kind: string, times = 3): number { return 1; }
  bound(this: Color): void { this.go(); }
}
function over(a: string): void;
function over(a: number): void;
function over(a: any) { use(a); }
declare const ambient: number;
declare function external(): void;
const settings = { port: 80, nested: { deep: "x" } } as const;
const checked = { level: 1 } satisfies Options;
export const run = async <T,>(x: T): Promise<T> => { await over(x); return x; };
export function isA(x: unknown): x is A { return true; }
let typed: number = 5;
@Sealed() export class Marked { @Input() port: number = 1; level: number = 2; @Get() load() {} }
"""


@pytest.mark.parametrize(("text", "path"), [(STORE, "a.jsx"), (STORE, "a.mjs"), (TYPES, "a.ts"), (TYPES, "a.tsx")])
def test_the_samples_have_no_errors(text: str, path: str) -> None:
    """What is false below is false in files that parse."""
    code = parse_code(Source(path, text))
    assert code is not None
    assert code.errors == ()


@pytest.mark.parametrize(
    ("expected", "checks"),
    [
        (
            True,
            """
            defines(connect, function)           defines(store.connect)              defines(Client, type)
            defines(Client.send, method)         defines("Client#send")              defines(Client.LIMIT)
            defines("Client.#secret")            defines(Client.handler, method)     defines(Client.extra, method)
            defines(Client.create)               defines(TIMEOUT, constant)          defines(legacy, variable)
            defines(add, function)               defines(Panel, function)            defines(helper)
            defines(connect.inner)               defines(connect.tag, function)      defines(ports.save)
            defines(ports.load, function)        defines(renamed)                    defines(connect.arrow, function)
            equals(TIMEOUT, 30)                  equals(BIG, 1000)                   equals(HEX, 1000)
            equals(FLOAT, 0.5)                   equals(EXP, 1000)                   equals(NAME, "it's")
            equals(TEMPLATE, plain)              equals(LIST, [1, two, null])        equals(FROZEN, [a])
            equals(NEG, -5)                      equals(TRUE, true)                  equals(NIL, null)
            equals(SIZE, 10240)                  equals(ports.http, 80)              equals(ports.https, 443)
            equals(connect.port, 443)            equals(Client.LIMIT, 7)             equals(Client.size, 2)
            equals(Client.depth, 4)              equals(Client.constructor.depth, 3)  compare(TIMEOUT, <=, 30)
            members(ports, [http, https, save, load])                                members(LIST, [1, two, null])
            calls(connect, Client)               calls(connect, effect)              calls(connect.arrow, join)
            calls(connect, path.resolve)         calls(connect, inner)               calls(connect, tag)
            calls(Client.send, Client.seal)      calls(Client.seal, Client.create)   calls(Client.create, Client)
            calls(Client.handler, Client.send)   calls(Small.send, Client.send)      calls(Client.extra, add)
            calls(Client.send, bar)
            calls(Panel, effect)
            reaches(Client.handler, Client.create)
            calls(connect, effect, argument=port)                                    uses(Client.send, message)
            uses(Client.send, ports)            uses(Client.send, TIMEOUT)
            imports(react)                       imports(node:path)                  imports(path)
            imports(./side-effect.js)            imports(../other)                   imports(fs)
            imports(path/posix)                  imports(./lazy)                     returns(add, "a + b")
            returns(helper, "1")                 returns(connect, "inner()")         returns(ports.save, "write()")
            returns(Client.width, "this.depth")  raises(connect, RangeError)         extends(Client, Base)
            parameter(connect, port, default=443)                                    parameter(add, a)
            field(Client, size, default=2)
            field(Client, depth)
            before(connect, "effect(port", "return inner()")
            when(Client.extra, ready, "add(1, 2)")
            when(Client.extra, force, "add(1, 2)")
            unless(Client.extra, force, "add(3)")
            when(connect, host, "throw new RangeError")
            unless(connect, host, "return inner()")
            """,
        ),
        (
            False,
            """
            defines(connect, type)               defines(Client.missing)             defines(Small, function)
            equals(TIMEOUT, 31)                  equals(ports.http, 81)              equals(Client.LIMIT, 8)
            compare(TIMEOUT, <, 30)              members(ports, [http])              calls(connect, missing)
            calls(Client.width, lazyLoad)        imports(lodash)                     parameter(add, c)
            parameter(connect, port, default=80)  before(connect, "return inner()", "effect(port")
            """,
        ),
        (
            None,
            """
            defines(connect, method)             defines(Client.connect)             defines(TIMEOUT, variable)
            defines(ghost)                       defines(phantom)                    defines(local)
            defines(state)                       defines(Client.send, function)      equals(INTERPOLATED, a)
            equals(HOLES, [1, 2])                equals(UNDEF, null)                 equals(WIDE, 9007199254740993)
            equals(renamed, 1)                   equals(b, 2)                        equals(counter, 0)
            equals(options.timeout, 30)          equals(options.retry.limit, 3)      equals(Client.mode, r)
            equals(add, 1)                       calls(connect, open)                calls(connect, host.open)
            calls(connect, hidden)               calls(connect, join)                calls(connect, each)
            calls(connect, add)                  calls(connect, state)               calls(Client, create)
            calls(Client.send, send)             calls(Panel, Small)                 calls(Panel, add)
            calls(Small.send, Small.send)        uses(Client.width, mode)            imports(side-effect)
            returns(Client.send, "1")            extends(Small, Other)               parameter(helper, other)
            parameter(connect, timeout)          field(Client, other)                raises(lazyLoad, RangeError)
            when(Client.extra, ready, "add(3)")  unless(Client.extra, ready, "add(3)")
            """,
        ),
    ],
)
def test_javascript(expected: bool | None, checks: str) -> None:
    """What a file defines, calls, imports, returns and raises, and what its names are worth."""
    assert_each(expected, checks, STORE, "web/store.js")


@pytest.mark.parametrize(
    ("expected", "checks"),
    [
        (
            True,
            """
            defines(Color, type)                 defines(Shape, type)                defines(Shape.area, method)
            defines(Shape.name)                  defines(ID, type)                   defines(Deep.Er.X, constant)
            defines(Base.run, method)            defines(Impl.go, method)            defines(over, function)
            defines(run, function)               equals(Color.Red, 1)                equals(Color.Blue, b)
            equals(Base.MAX, 10)                 equals(Impl.constructor.size, 2)    equals(settings.port, 80)
            equals(checked.level, 1)             equals(typed, 5)                    equals(X, 1)
            members(Color, [Red, Green, Blue])   members(settings, [port, nested])   calls(Impl.run, Impl.go)
            calls(Impl.go, over)                 calls(shape.run, over)
            imports(./types)                     imports(fs)                         returns(shape.run, x)
            extends(Impl, Base)                  extends(Impl, Shape)                field(Impl, size, type=number)
            field(Shape, name, type=string)      field(Box, left, type=number)       field(Marked, level, type=number)
            parameter(Impl.area, kind, type=string)
            parameter(Impl.area, times, default=3)
            result(Impl.area, number)            result(isA, "x is A")               result(shape.run, "Promise<T>")
            """,
        ),
        (
            False,
            """
            defines(Nothing)                     equals(Color.Red, 2)                members(Color, [Red])
            calls(Impl.area, over)               imports(react)                      result(Impl.area, string)
            parameter(Impl.area, kind, type=number)                                  field(Shape, name, type=number)
            extends(Base, Missing)               field(Shape, size_of)
            """,
        ),
        (
            None,
            """
            defines(ambient)                     defines(external)                   equals(Color.Green, 2)
            equals(settings.nested.deep, x)      calls(Impl.run, other)              calls(run, over)
            calls(Impl.bound, Impl.go)           result(over, void)                  parameter(over, a, type=string)
            field(Impl, plain)                   field(Box, other)                   field(Marked, other)
            equals(Marked.port, 1)               parameter(Marked.load, other)       result(isA, boolean)
            """,
        ),
    ],
)
def test_typescript(expected: bool | None, checks: str) -> None:
    """TypeScript's types, enumerations, overloads and defaults; what is only declared is not defined."""
    assert_each(expected, checks, TYPES, "web/shape.ts")


METHODS = "class D { g() {} } class C extends D { g() {} f() { %s } }"


@pytest.mark.parametrize(
    ("check", "text", "expected"),
    [
        *(
            ("equals(X, 1)", text, None)
            for text in (
                "let X = 1; X = 2;",
                "let X = 1; function f() { X = 2 }",
                "let X = 1; [X] = [2];",
                "let X = 1; function f() { [[X]] = [[2]] }",
                "let X = 1; ({ a: X } = b);",
                "let X = 1; for (X of y) {}",
                "let X = 1; (X) = 2;",
                "let X = 1; X ||= 2;",
                "let X = 1; X--;",
                "let X = 1; eval(y);",
                "var X = 1; var X = 2;",
                "const X = a ? 1 : 2;",
                "const X = 1 << 31;",
                "const X = 0.1 + 0.9;",
                "const X = !0;",
                "const X = '1';",
                "const X = 1 +;",
                "let X;",
                "const X = y;",
                "export default [{ X: 1 }]",
                "foo({ X: 1 });",
                "(function () { const X = 1; })();",
                "const o = { X: 1, ...other };",
                "const o = { X: 1, [k]: 2 };",
                "const o = { X: 1, X: 2 };",
                "const o = { X: 1 }; o.X = 2;",
                "const o = { X: 1 }; Object.assign(o, p);",
                "class C { constructor() { [].map(function () { this.X = 1; }); } }",
                "class C { X = 1; f() { this.X = 2; } }",
            )
        ),
        ("equals(X, 1)", "/* const X = 1 */ `\nconst X = 1;\n`", None),
        ("equals(X, 1)", "let X = 1; function f() { let X = 2; X = 3 }", None),
        ("equals(X, 1)", "let X = 1; function f(X) { return X }", True),
        ("equals(X, 1)", "const X = 1; switch (y) { case X: f(a, { X }, -X, X - 6, [X], `${X}`); }", True),
        ("equals($x, 1)", "const $x = 1;", True),
        ("defines(x)", "const $x = 1;", None),
        ("members(X, [a])", "const X = { a: 1 }; X.b = 2;", None),
        ("members(X, [a])", "const X = new Set(['a']); X.add('b');", None),
        ("members(X, [a])", "const X = new Set(['a']); X.has(y);", True),
        ("members(X, [a])", "const X = ['a']; X[1] = 'b';", None),
        ("members(X, [a])", "const X = { a: 1 }; f(X);", None),
        # calls
        ("calls(C.f, C.g)", METHODS % "this.g();", True),
        ("calls(C.f, C.g)", METHODS % "super.g();", None),
        ("calls(C.f, D.g)", METHODS % "super.g();", True),
        ("calls(C.f, C.g)", METHODS % "all.map(() => this.g());", None),
        ("calls(C.f, C.g)", METHODS % "function h() { this.g(); }", None),
        ("calls(C.f, C.g)", METHODS % "other.g();", None),
        ("calls(C.f, C.g)", METHODS % "this.g = x; this.g();", None),
        ("calls(C.f, C.g)", METHODS % "return class { f() { this.g(); } };", None),
        ("calls(C.f, C.g)", METHODS % "return { f() { this.g(); } };", None),
        ("calls(C.f, C.g)", METHODS % "this[name]();", None),
        ("calls(C.f, C.g)", METHODS % "this.h();", False),
        ("calls(C.f, C.g)", "class C { g() {} static f() { this.g(); } }", None),
        ("calls(C.f, C.g)", "class C { #g() {} g() {} f() { this.#g(); } }", None),
        ("calls(C.f, C.g)", "class C { static g() {} static f() { this.g(); } }", True),
        (
            "calls(C.f, D.g)",
            "import D from 'd'; class X { D = class D { g() {} }; } class C extends D { f() { super.g() } }",
            None,
        ),
        ("calls(C.f, D.g)", "let D = class { g() {} }; D = E; class C extends D { f() { super.g() } }", None),
        ("calls(f, g)", "(() => { function g() {} })(); function f() { g(); }", None),
        ("calls(f, g)", "export default class { g() {} } function f() { g(); }", None),
        ("calls(f, g)", "const o = { g() {} }; function f() { g(); }", None),
        ("calls(f, g)", "function g() {} function f() { g(); var g = 1; }", None),
        ("calls(f, g)", "function g() {} function f({ g }) { g(); }", None),
        ("calls(f, g)", "function g() {} function f() { const g = require('g'); g(); }", None),
        ("calls(f, g)", "function g() {} function f() { try {} catch (g) { g(); } }", None),
        ("calls(f, g)", "function g() {} function f() { with (o) { g(); } }", None),
        ("calls(f, g)", "function g() {} function f() { g.call(this); }", None),
        ("calls(f, g)", "const { g: h } = require('x'); function f() { h(); }", None),
        ("calls(f, g)", "import { g as h } from 'x'; function f() { h(); }", None),
        ("calls(f, g)", "function g() {} const h = g; function f() { h(); }", None),
        ("calls(f, g)", "function f() { return; function g() {} g(); }", None),
        ("calls(f, g)", "function g() {} function f() { return g`a`; }", True),
        ("calls(f, g)", "function g() {} function f() { h(); }", False),
        # flow
        ('returns(f, "1")', "function f() { try { return 1; } finally { return 2; } }", None),
        ('returns(f, "1")', "function* f() { yield 2; return 1; }", None),
        ('returns(f, "1")', "const f = () => (1);", True),
        ('returns(f, "1")', "const f = () => () => 1;", None),
        ("raises(f, E)", "function f() { try { throw new E(); } catch {} }", None),
        ("raises(f, E)", "function f() { try { throw new E(); } finally { g(); } }", None),
        ("raises(f, E)", "function f(E) { throw new E(); }", None),
        ('when(f, "a", "g()")', "function f() { if (/* b */ a) g(); }", True),
        ('when(f, "a", "g()")', "function f() { if (!a) g(); }", None),
        ('when(f, "a", "g()")', "function f() { if (a || b) g(); }", None),
        ('unless(f, "a", "g()")', "function f() { for (;;) { if (a) break; g(); } }", None),
        ('before(f, "g()", "h()")', "function f() { switch (a) { case 1: g(); case 2: h(); } }", None),
        ('before(f, "g()", "h()")', "function f() { a && g(); h(); }", None),
        # types
        ("extends(C, D)", "class C extends mixin(D) {}", None),
        ("extends(C, E)", "class D {} class C extends D {}", False),
        ("extends(C, E)", "let D = class {}; D = Object; class C extends D {}", None),
        ("parameter(f, z)", "function f(...x) {}", None),
        ("parameter(f, z)", "function f({ x }) {}", None),
        ("parameter(f, y)", "function f(x) { g((y) => y); }", False),
        # imports
        ("imports(late)", "import(`la${te}`);", None),
        ("imports(util)", "import x from '..';", None),
        ("imports(util)", "import x from './other';", False),
        ("imports(zlib)", "const x = /import 'zlib'/;", None),
    ],
)
def test_hostile_scripts(check: str, text: str, expected: bool | None) -> None:
    """Shadows, aliases, writes, other instances and other paths, in both languages."""
    assert [held(check, text, path).holds for path in ("a.js", "a.ts")] == [expected, expected]


@pytest.mark.parametrize(
    ("check", "text", "expected"),
    [
        ("field(A, size)", "class A { constructor(private size: number, plain: number) {} }", True),
        ("field(A, plain)", "class A { constructor(private size: number, plain: number) {} }", None),
        ("field(A, x)", "class A { a: { x: number } }", None),
        ("field(S, x)", "interface S { [key: string]: number }", None),
        ("field(S, x)", "interface S { y: number }", False),
        ("field(S, x)", "interface S { y: number } interface S { z: number }", None),
        ("members(E, [A])", "enum E { A = 1 } enum E { B = 2 }", None),
        ("equals(X, 1)", "namespace A { export const X = 1; } namespace B { export const X = 2; }", None),
        ("equals(X, 1)", "let X = 1; (X as any) = 2;", None),
        ("equals(X, 1)", "declare const X: 1;", None),
        ("calls(C.f, C.g)", "abstract class C { abstract g(): void; f() { this.g?.(); } }", True),
        ("calls(C.f, C.g)", "class C { g() {} f() { this!.g(); } }", None),
        ("calls(D.f, D.g)", "class D { g() {} f(this: C) { this.g(); } }", None),
        ("parameter(f, x, type=string)", "function f(x: any) {}", None),
    ],
)
def test_hostile_types(check: str, text: str, expected: bool | None) -> None:
    """What only TypeScript has."""
    assert [held(check, text, path).holds for path in ("a.ts", "a.tsx")] == [expected, expected]


def test_an_error_in_one_script_function_leaves_the_others() -> None:
    """Only what the error stands in is undecided, and what is not there."""
    text = "const X = 1;\nfunction g() {}\nfunction good() { g(); }\nfunction bad() { if ( }\n"
    assert held("calls(good, g)", text, "a.js").holds is True
    assert held("calls(bad, g)", text, "a.js").holds is None
    assert held("defines(other)", text, "a.js").reason == "syntax-error"
