"""Checks by syntax on JavaScript and TypeScript: what holds, what is exactly false, and what stays undecided."""

from __future__ import annotations

import pytest

from sluice.streams.judging.checks import Check, parse_check
from sluice.streams.judging.code import parse_code, verify_code
from sluice.streams.judging.results import Held, Source

STORE = """\
// const ghost = 1; function phantom() {}
import React, { useState as state } from "react";
import * as path from 'node:path';
import "./side-effect.js";
export { x as y } from '../other';
const fs = require("fs");
const { join } = require('path/posix');

export const TIMEOUT = 30;
const BIG = 1_000n, HEX = 0x3e8, FLOAT = .5, EXP = 1e3;
const NAME = 'it\\'s', TEMPLATE = `plain`, INTERPOLATED = `a${NAME}`;
const LIST = [1, "two", null], HOLES = [1, , 2];
const FROZEN = Object.freeze(["a"]);
const NEG = -5, TRUE = true, NIL = null, UNDEF = undefined;
const SIZE = 10 * 1024;
let counter = 0;
counter++;
var legacy = 1;
const options = {
  timeout: 30,
  retry: { limit: 3, 'max-delay': 5 },
  [dynamic]: 1,
  save() { return write(); },
  load: async () => { await read(); },
};
options.retry.limit = 4;
const { a: renamed, b = 2 } = options;

export function connect(host, port = 443, { timeout = 5, tls: { ca = "none" } } = {}) {
  const local = 12;
  function inner() { hidden(); }
  const arrow = () => { lazy(); };
  host?.open(port);
  new Socket(host);
  items.forEach((x) => each(x));
  (0, indirect)();
  if (false) { dead(); }
  tag`x${local}`;
  return inner();
  unreachable();
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
    return this.socket.write(message);
  }
  static create() { return new Client(); }
  handler = () => { notify(); };
  get width() { return this.depth; }
}

const Panel = () => <div onClick={() => go()}><Button/>{render()}</div>;
const add = (a, b) => a + b;
Client.prototype.extra = function () { more(); };
exports.helper = function () { return 1; };
module.exports = { connect, version: 2 };
async function lazyLoad() { const m = await import("./lazy"); return m; }
"""

TYPES = """\
import type { A } from "./types";
import fs = require("fs");

export enum Color { Red = 1, Green, Blue = "b" }
export interface Shape { readonly name: string; area(): number }
export type ID = string;
namespace Deep.Er { export const X = 1; }
abstract class Base { abstract run(): void; protected static readonly MAX: number = 10; }
export class Impl extends Base implements Shape {
  constructor(private size: number = 2) { super(); }
  run(): void { this.go<string>(); (this as any).other!(); }
  private go<T>(): T { return load<T>() as T; }
  area(): number { return 1; }
}
function over(a: string): void;
function over(a: number): void;
function over(a: any) { use(a); }
declare const ambient: number;
declare function external(): void;
const settings = { port: 80, nested: { deep: "x" } } as const;
const checked = { level: 1 } satisfies Options;
export const run = async <T,>(x: T, times = 3): Promise<T> => { await step(x); return x; };
let typed: number = 5;
"""


def held(check: str, text: str = STORE, path: str = "web/store.js") -> Held:
    """What a check on a file comes to."""
    parsed = parse_check(check)
    assert isinstance(parsed, Check), parsed
    source = Source(path, text, lines=parsed.lines)
    code = parse_code(source)
    assert code is not None
    assert not code.problem
    return verify_code(parsed, code, source)


def typed(check: str) -> Held:
    """What a check on the TypeScript sample comes to."""
    return held(check, TYPES, "web/shape.ts")


@pytest.mark.parametrize(("text", "path"), [(STORE, "a.jsx"), (STORE, "a.mjs"), (TYPES, "a.ts"), (TYPES, "a.tsx")])
def test_the_samples_have_no_errors(text: str, path: str) -> None:
    """What is false below is false in files that parse."""
    code = parse_code(Source(path, text))
    assert code is not None
    assert code.errors == []


@pytest.mark.parametrize(
    ("check", "expected"),
    [
        ("defines(connect, function)", True),
        ("defines(connect, type)", False),
        ("defines(connect, method)", False),
        ("defines(store.connect)", True),
        ("defines(Client, type)", True),
        ("defines(Client.send, method)", True),
        ("defines(Client.send, function)", None),
        ('defines("Client#send")', True),
        ("defines(Client.LIMIT)", True),
        ('defines("Client.#secret")', True),
        ("defines(Client.handler, method)", True),
        ("defines(Client.extra)", True),
        ("defines(Client.create)", True),
        ("defines(Client.missing)", False),
        ("defines(Client.connect)", False),
        ("defines(TIMEOUT, constant)", True),
        ("defines(TIMEOUT, variable)", None),
        ("defines(TIMEOUT, function)", False),
        ("defines(legacy, variable)", True),
        ("defines(legacy, constant)", False),
        ("defines(add, function)", True),
        ("defines(Panel, function)", True),
        ("defines(helper)", True),
        ("defines(connect.inner)", True),
        ("defines(options.save)", True),
        ("defines(options.load)", True),
        ("defines(options.timeout)", None),
        ("defines(renamed)", True),
        ("defines(ghost)", False),
        ("defines(phantom)", False),
        ("defines(local)", False),
        ("defines(state)", False),
        ("defines(Client.depth)", None),
    ],
)
def test_script_defines(check: str, expected: bool | None) -> None:
    """A function has the name that it is declared with, or assigned to."""
    assert held(check).holds is expected


@pytest.mark.parametrize(
    ("check", "expected"),
    [
        ("equals(TIMEOUT, 30)", True),
        ("equals(TIMEOUT, 31)", False),
        ("equals(BIG, 1000)", True),
        ("equals(HEX, 1000)", True),
        ("equals(FLOAT, 0.5)", True),
        ("equals(EXP, 1000)", True),
        ('equals(NAME, "it\'s")', True),
        ("equals(TEMPLATE, plain)", True),
        ("equals(LIST, [1, two, null])", True),
        ("equals(FROZEN, [a])", True),
        ("equals(NEG, -5)", True),
        ("equals(TRUE, true)", True),
        ("equals(NIL, null)", True),
        ("equals(SIZE, 10240)", True),
        ("equals(options.timeout, 30)", True),
        ("equals(options.timeout, 31)", False),
        ('equals("options.retry.max-delay", 5)', True),
        ("equals(connect.port, 443)", True),
        ("equals(connect.timeout, 5)", True),
        ("equals(connect.ca, none)", True),
        ("equals(connect.local, 12)", True),
        ("equals(Client.LIMIT, 7)", True),
        ("equals(Client.size, 2)", True),
        ("equals(Client.depth, 4)", True),
        ("equals(Client.constructor.depth, 3)", True),
        ("compare(TIMEOUT, <=, 30)", True),
        ("compare(TIMEOUT, <, 30)", False),
    ],
)
def test_script_values(check: str, expected: bool) -> None:
    """Constants, keys of objects, defaults and fields are worth what is written."""
    assert held(check).holds is expected


@pytest.mark.parametrize(
    ("check", "reason"),
    [
        ("equals(INTERPOLATED, a)", "computed"),
        ("equals(HOLES, [1, 2])", "computed"),
        ("equals(UNDEF, null)", "computed"),
        ("equals(renamed, 1)", "computed"),
        ("equals(b, 2)", "ambiguous"),
        ("equals(counter, 0)", "ambiguous"),
        ("equals(options.retry.limit, 3)", "ambiguous"),
        ("equals(Client.mode, r)", "ambiguous"),
        ("equals(add, 1)", "computed"),
        ("equals(ghost, 1)", "not-found"),
    ],
)
def test_script_values_that_stay_undecided(check: str, reason: str) -> None:
    """What is computed, destructured, counted or assigned again is neither equal nor different."""
    assert held(check) == held(check)._replace(holds=None, reason=reason)


@pytest.mark.parametrize(
    ("check", "expected"),
    [
        ("calls(connect, open)", True),
        ("calls(connect, host.open)", True),
        ("calls(connect, Socket)", True),
        ("calls(connect, indirect)", True),
        ("calls(connect, forEach)", True),
        ("calls(connect, tag)", True),
        ("calls(connect, hidden)", False),
        ("calls(connect, lazy)", False),
        ("calls(connect, each)", None),
        ("calls(connect, dead)", None),
        ("calls(connect, unreachable)", None),
        ("calls(connect, missing)", False),
        ("calls(connect.arrow, lazy)", True),
        ("calls(Client.send, this.socket.write)", True),
        ("calls(Client.send, socket.write)", True),
        ("calls(Client.create, Client)", True),
        ("calls(Client.handler, notify)", True),
        ("calls(Client.extra, more)", True),
        ("calls(options.save, write)", True),
        ("calls(options.load, read)", True),
        ("calls(Panel, render)", True),
        ("calls(Panel, Button)", None),
        ("calls(Panel, go)", None),
        ("calls(Client, write)", None),
        ("uses(Client.send, message)", True),
        ("uses(Client.width, depth)", True),
        ("uses(Client.width, mode)", False),
        ("uses(Panel, Button)", True),
        ("imports(react)", True),
        ("imports(node:path)", True),
        ("imports(path)", True),
        ("imports(./side-effect.js)", True),
        ("imports(side-effect)", None),
        ("imports(../other)", True),
        ("imports(fs)", True),
        ("imports(path/posix)", True),
        ("imports(./lazy)", True),
        ("imports(lodash)", False),
        ('returns(add, "a + b")', True),
        ('returns(helper, "1")', True),
        ('returns(connect, "inner()")', True),
        ('returns(options.save, "write()")', True),
        ('returns(Client.width, "this.depth")', True),
        ('returns(Client.send, "1")', None),
    ],
)
def test_script_relations(check: str, expected: bool | None) -> None:
    """What a body calls, uses, imports and returns, functions inside left out."""
    assert held(check).holds is expected


@pytest.mark.parametrize(
    ("check", "expected"),
    [
        ("defines(Color, type)", True),
        ("defines(Shape, type)", True),
        ("defines(Shape.area, method)", True),
        ("defines(Shape.name)", True),
        ("defines(ID, type)", True),
        ("defines(Deep.Er.X, constant)", True),
        ("defines(Base.run, method)", True),
        ("defines(Impl.go, method)", True),
        ("defines(over, function)", True),
        ("defines(run, function)", True),
        ("defines(ambient)", None),
        ("defines(external)", None),
        ("defines(Nothing)", False),
        ("equals(Color.Red, 1)", True),
        ("equals(Color.Red, 2)", False),
        ("equals(Color.Blue, b)", True),
        ("equals(Color.Green, 2)", None),
        ("equals(Base.MAX, 10)", True),
        ("equals(Impl.constructor.size, 2)", True),
        ("equals(settings.port, 80)", True),
        ("equals(settings.nested.deep, x)", True),
        ("equals(checked.level, 1)", True),
        ("equals(run.times, 3)", True),
        ("equals(typed, 5)", True),
        ("equals(X, 1)", True),
        ("calls(Impl.run, go)", True),
        ("calls(Impl.run, other)", True),
        ("calls(Impl.go, load)", True),
        ("calls(over, use)", True),
        ("calls(shape.run, step)", True),
        ("calls(run, step)", None),
        ("calls(Impl.area, load)", False),
        ("imports(./types)", True),
        ("imports(fs)", True),
        ("imports(react)", False),
        ("returns(shape.run, x)", True),
        ("returns(Impl.area, 1)", True),
    ],
)
def test_typescript(check: str, expected: bool | None) -> None:
    """TypeScript's types, enumerations, overloads and defaults; what is only declared is not defined."""
    assert typed(check).holds is expected


@pytest.mark.parametrize(
    "text",
    [
        "let X = 1; X = 2;",
        "let X = 1; function f() { X = 2 }",
        "let X = 1; [X] = [2];",
        "let X = 1; for (X of y) {}",
        "var X = 1; var X = 2;",
        "if (a) { var X = 1 }",
        "const X = a ? 1 : 2;",
        "const X = [1]; X.push(2);",
        "const X = 1 << 31;",
        "const X = 0.1 + 0.9;",
        "const X = !0;",
        "const X = void 0;",
        "const X = '1';",
        "const X = 1 +;",
        "/* const X = 1 */",
        "`\nconst X = 1;\n`",
        "let X;",
        "const X = y;",
        "export default [{ X: 1 }]",
        "foo({ X: 1 });",
    ],
)
def test_hostile_script_values(text: str) -> None:
    """Nothing of this makes X equal 1."""
    assert held("equals(X, 1)", text, "a.js").holds is not True
    assert held("equals(X, 1)", text, "a.ts").holds is not True


def test_dollar_is_part_of_a_name() -> None:
    """`$x` and `x` are two names."""
    assert held("equals($x, 1)", "const $x = 1;", "a.js").holds is True
    assert held("defines(x)", "const $x = 1;", "a.js").holds is False


def test_calls_by_other_means_are_not_denied() -> None:
    """`f.call(…)`, `f.apply(…)` and an item of a list that is called stay undecided."""
    text = "function g() { f.call(this); h.apply(null, a); list[0](); k.other(); }"
    assert [held(f"calls(g, {name})", text, "a.js").holds for name in "fhk"] == [None, None, False]
    assert held("calls(g, list)", text, "a.js").holds is None


def test_fields_that_parameters_declare() -> None:
    """A parameter of a constructor with a modifier is a field; another one is none."""
    text = "class A { constructor(private size: number, plain: number) {} }"
    assert held("defines(A.size)", text, "a.ts").holds is True
    assert held("defines(A.plain)", text, "a.ts").holds is False


def test_what_a_module_hands_on_is_not_denied() -> None:
    """A name that is exported from elsewhere, or under another name, is neither defined nor missing."""
    text = "const a = 1; export { a as b }; export { c } from './d'; export * as e from './f';"
    assert [held(f"defines({name})", text, "a.js").holds for name in "abceg"] == [True, None, None, None, False]


def test_what_a_module_exports_has_its_keys() -> None:
    """The keys of an exported object are found by their own names."""
    assert held("equals(port, 80)", "export default { port: 80 };", "a.js").holds is True
    assert held("equals(port, 81)", "module.exports = { port: 80 };", "a.js").holds is False


def test_a_shadowed_write_is_of_the_inner_name() -> None:
    """A function's own variable of that name is another one."""
    assert held("equals(X, 1)", "let X = 1; function f() { let X = 2; X = 3 }", "a.js").holds is True
    assert held("equals(X, 1)", "let X = 1; function f(X) { X = 3 }", "a.js").holds is True


def test_an_error_in_one_script_function_leaves_the_others() -> None:
    """Only what the error stands in is undecided, and what is not there."""
    text = "const X = 1;\nfunction good() { g(); }\nfunction bad() { if ( }\n"
    assert held("equals(X, 1)", text, "a.js").holds is True
    assert held("calls(good, g)", text, "a.js").holds is True
    assert held("calls(bad, g)", text, "a.js").holds is None
    assert held("defines(other)", text, "a.js").reason == "syntax-error"
