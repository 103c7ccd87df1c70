"""Checks by syntax on Ruby: what holds, what is exactly false, and what stays undecided.

Each row is a small program with a trap in it, as an emitter, an observer or a repository would set it.
"""

from __future__ import annotations

import re

import pytest
from judged_programs import decided, held

from sluice.streams.judging.checks import Source
from sluice.streams.judging.verify import parse_code, symbol_kinds

CALLS_AND_FLOW = r"""
class C
  def x; 1; end
  def m; x; end
  def n; self.x; end
  def o(other) other.x; end
  def p(x) x; end
  def q
    x = 1
    x
  end
  def r; x(); end
  def s; x 1, key: ("a"); end
  def t; send(:x); end
  def u; v!; end
  def v!; end
end
+ calls(C.u, C.v!)
+ calls(C.m|n, C.x)
? calls(C.o|p|q, C.x)
+ calls(C.r|s, C.x)
+ calls(C.s, C.x, argument="1")
+ calls(C.s, C.x, argument="key: (\"a\")")
? calls(C.s, C.x, argument="2")
? calls(C.t, C.x)
? calls(C.m, x)
- calls(C.m, C.y)
? calls(C.t, C.y)

class C
  def self.x; end
  def m; x; end
  def self.n; x; end
  def o; C.x; end
  class << self
    def y; x; end
    private def z; y; end
  end
  def w; y; end
end
? calls(C.m, C.x)
+ calls(C.n|o|y, C.x)
+ calls(C.z, C.y)
? calls(C.w, C.y)

class B
  def x; end
end
class C < B
  def x; super; end
  def y; super(); end
  def z; x; end
end
class D < B
  def w; x; end
end
+ calls(C.x, B.x)
- calls(C.y, B.x)
+ calls(C.z, C.x)
? calls(C.z, B.x)
+ calls(D.w, B.x)
+ calls(D.w, D.x)
+ extends(C, B)
? extends(B, C)

class B
  def x; end
end
class C < B
  include M
  def x; super; end
  def z; w; end
end
? calls(C.x, B.x)
? extends(C, M)

class C
  def x; end
  prepend M
  def m; x; end
end
? calls(C.m, C.x)

class C
  def g; end
  def m(all)
    all.each { g }
    later { h }
  end
  def h; end
  def l; -> { g }; end
  def n; run(&:g); end
end
+ calls(C.m, C.g)
? calls(C.m, C.h)
? calls(C.l|n, C.g)

def g; end
def f; g; end
def h; s.g; end
def i; JSON.parse("a"); Packet.new(1); puts 1; end
class C
  def m; g; end
end
+ calls(f, g)
? calls(h, g)
? calls(C.m, g)
+ calls(i, JSON.parse)
+ calls(i, Packet.new)
? calls(i, puts)
+ uses(i, JSON)
- calls(f, h)
- calls(f, nowhere)

class D < Struct.new(:y)
  def x; end
  def m; x; end
  def k; z; end
end
+ calls(D.m, D.x)
- calls(D.m, D.q)
? extends(D, E)

def g; end
def f = -> { g }
def h = g
? calls(f, g)
+ calls(h, g)

def f
  return 1 if x and a || return
  go
end
? unless(f, x, "go")

module M
  def g; end
  def f; g; end
  def self.h; g; end
end
+ calls(M.f, M.g)
? calls(M.h, M.g)
+ defines(M.f, method)
+ defines(M)
? defines(M, type)

class C
  def valid?; end
  def valid; end
  def f; valid?; end
end
+ calls(C.f, "C.valid?")
? calls(C.f, C.valid)
? uses(C.f, C.valid)
+ uses(C.f, "C.valid?")

class C
  def f(a); @s.write(a); x = 1; x + 2; end
  def g; @x = 1; end
end
+ uses(C.f, "@s")
? uses(C.f, s)
? uses(C.g, x)
+ uses(C.f, a)

class C
  def g; end
  alias g h
  def f; g; end
end
? calls(C.g, h)
+ calls(C.f, C.g)

class C
  def g; end
  alias_method :g, :h
  def f; g; end
end
? calls(C.f, C.g)

def f(ready)
  a(1) unless ready
  b(2) if ready
  return if ready
  c(3)
end
+ unless(f, "ready", "a(1)")
? when(f, "ready", "a(1)")
+ when(f, "ready", "b(2)")
+ unless(f, "ready", "c(3)")
? when(f, "ready", "c(3)")

def f(a, b)
  if a
    g(1)
  elsif b
    h(2)
  else
    i(3)
  end
  if a && b then j(4) end
  a and k(5)
  unless a
    l(6)
  else
    m(7)
  end
  if a || b then n(8) end
  g(9) until a
  x = a ? y(1) : z(2)
end
+ when(f, a, "g(1)")
+ when(f, b, "h(2)")
+ unless(f, a, "h(2)")
? when(f, a, "h(2)")
+ unless(f, b, "i(3)")
+ unless(f, a, "i(3)")
+ when(f, a, "j(4)")
+ when(f, a, "k(5)")
+ unless(f, a, "l(6)")
+ when(f, a, "m(7)")
? when(f, a, "n(8)")
? when(f, a, "g(9)")
+ when(f, a, "y(1)")
+ unless(f, a, "z(2)")

def f
  g(1)
ensure
  h(2)
end
? before(f, "h(2)", "g(1)")
? before(f, "g(1)", "h(2)")

def f
  a
  b
  x.each { c }
  loop { d }
end
+ before(f, "a", "b")
- before(f, "b", "a")
? before(f, "b", "c")
? before(f, "b", "d")

def f
  raise ArgumentError
rescue ArgumentError
  nil
end
def g
  (raise ArgumentError) rescue nil
end
def h
  raise KeyError, "a"
end
def i
  raise Net::E.new("x") unless y
end
def j
  loop { raise StopIteration }
end
def k
  raise "a"
end
? raises(f|g, ArgumentError)
+ raises(h, KeyError)
? raises(h, IndexError)
+ raises(i, E)
+ raises(i, Net::E)
? raises(j, StopIteration)
? raises(k, RuntimeError)

def f
  return 1 if a
  2
end
def g; x.y; end
def h(x) = x + 1
def i
  1
rescue
  2
end
def j
  1
rescue E
  2
else
  3
end
def k
  x.each do |y| z end
end
def l
  1
ensure
  2
end
+ returns(f, 1)
+ returns(f, 2)
+ returns(g, "x.y")
+ returns(h, "x + 1")
+ returns(i, 2)
? returns(j, 1)
? returns(k, z)
+ returns(l, 1)
? returns(l, 2)
"""

VALUES = r"""
class Client < Base
  MAX = 1_000
  NAME = "a\tb".freeze
  SINGLE = 'it''s'
  LIST = %w[a b].freeze
  MIXED = [1, :two, nil, true].freeze
  RATE = -1.5e3
  OCTAL = 0755
  SIZE = 10 * 1024
  TEXT = "x#{MAX}"
  WAIT = 30.seconds
  OPTIONS = { timeout: 5, "name" => "x" }.freeze
  LAZY ||= 3
  @@shared = 1
  attr_accessor :host
  def initialize(depth = 3, key: "k", *rest)
    @depth = 4
    @mode = "r"
  end
  def write; @mode = "w"; end
  def use; OPTIONS[:timeout] + MAX; end
end
Client::LATE = 8
+ equals(MAX, 1000)
- equals(Client.MAX, 1001)
+ equals(NAME, "a\tb")
+ equals(SINGLE, its)
+ equals(LIST, [a, b])
+ members(LIST, [b, a])
- members(LIST, [a])
+ equals(MIXED, [1, two, null, true])
+ equals(RATE, -1500)
+ equals(OCTAL, 493)
+ equals(SIZE, 10240)
? equals(TEXT, x)
? equals(WAIT, 30)
? equals(LAZY, 3)
+ equals(OPTIONS.timeout, 5)
+ equals(OPTIONS.name, x)
+ members(OPTIONS, [timeout, name])
+ equals(LATE, 8)
+ equals(Client.initialize.depth, 3)
+ equals(Client.initialize.key, k)
+ equals(Client.depth, 4)
? equals(Client.mode, r)
+ parameter(Client.initialize, depth, default=3)
- parameter(Client.initialize, depth, default=4)
+ parameter(Client.initialize, "key:", default=k)
+ parameter(Client.initialize, rest)
? parameter(Client.initialize, other)
+ field(Client, host)
+ field(Client, depth)
+ defines(Client.host, method)
? defines("Client.host=", method)
+ defines(Client, type)
- defines(Client, function)
- defines(initialize, type)
+ defines(MAX, constant)

X = 2
- equals(X, one)

X = [1]
X << 2
? equals(X, [1])
? members(X, [1])

X = [1]
Y = X
Y << 2
? equals(X, [1])

X = [1]
X.push(2)
? equals(X, [1])

X = '1'
X << '2'
? equals(X, "1")

X = '1'
f(X)
? equals(X, "1")

# frozen_string_literal: true
X = '1'
Y = ["a"].freeze
f(X, Y)
+ equals(X, "1")
+ members(Y, [a])

X = ["a"].freeze
X[0] << "b"
? equals(X, [a])

X = ["a"].freeze
X.each { |x| x << "b" }
? equals(X, [a])

X = [1, 2].freeze
X.each { |x| f(x) }
+ equals(X, [1, 2])

module A
  X = 1
end
module B
  X = 2
end
? equals(X, 1)
+ equals(A.X, 1)
- equals(B.X, 1)

X = { a: 1 }
X[:b] = 2
? members(X, [a])
? equals(X.a, 1)

X = { a: 1 }
X.merge!(a: 2)
? equals(X.a, 1)

X = { a: 1, **y }.freeze
? members(X, [a])
? equals(X.a, 1)

X = 1 if a
? equals(X, 2)
+ equals(X, 1)

X = { a: 1, a: 2 }.freeze
? equals(X.a, 1)

X = 1
class C
  X = 2
  def f; X; end
end
? equals(X, 1)
+ equals(C.X, 2)

X = "a\u00e9"
Y = "\x41"
Z = %q(a b)
W = ?a
? equals(W, a)
+ equals(Y, A)
+ equals(Z, "a b")

X = "a" + "b"
Y = ("a")
Z = (1 + 2)
f(X, Y, Z)
? equals(X, ab)
? equals(Y, a)
+ equals(Z, 3)
"""

TRAPS = r"""
class C
  def g; end
  def f
    define_singleton_method(:g) { 1 }
    g
  end
end
? calls(C.f, C.g)

class C
  def g; end
  def f; g = 1 if false; g; end
end
? calls(C.f, C.g)

class C
  def g; end
  def f(x)
    case x
    in { g: } then g
    in [g, *] then g
    end
  end
end
? calls(C.f, C.g)

class C
  def g; end
  def f
    /(?<g>a)/ =~ x
    g
  end
end
? calls(C.f, C.g)

class C
  def g; end
  def f; x.instance_eval { g }; end
  def h; x.each { |g| g }; end
  def i; begin; x; rescue => g; g; end; end
  def j; for g in x do g end; end
  def k; a, g = x; g; end
  def l; (a, (g, b)), c = x; g; end
  def m; g += 1; g; end
  def n; x.each { |a, (b, g)| g }; end
  def o; x.each { |a; g| g }; end
  def p(*g) g; end
  def q(**g) g; end
  def r(&g) g; end
  def s(g:) g; end
  def t((g, h)) g; end
  def u; ->(g) { g }; end
end
? calls(C.f|h|i|j|k|l|m|n|o|p|q|r|s|t|u, C.g)

class C
  def g; end
  def f; g = 1; end
  def h; self.g = 1; end
  def i; x.g; end
  def j; defined?(g); end
  def k; "g"; end
  def l; :g; end
  def m; { g: 1 }; end
  def n; @g; end
  def o; # g
  end
  def q; g; end if false
end
? calls(C.f|h|i|k|l|m|n|q, C.g)

class C
  def initialize; end
  def f; C.new; end
  def h; end
  def to_s; "a"; end
  def i; "#{self}"; end
end
? calls(C.f, C.initialize)
? calls(C.i, C.to_s)

class C
  attr_writer :x
  def f; self.x = 1; end
end
? calls(C.f, "C.x=")
? defines("C.x=")

Point = Struct.new(:x, :y) do
  def norm; x.abs; end
end
class A < B.new(:z)
  delegate :size, to: :list
  def m; z; end
end
+ defines(Point, type)
+ defines(Point.norm, method)
? defines(Point.x)
? defines(A.z)
? extends(A, B)

module Acme
  class C
    def f; end
  end
end
class Acme::D < Acme::C
  def g; f; end
end
+ extends(D, C)
+ extends(D, Acme::C)
+ calls(D.g, C.f)
+ defines("Acme::C#f")

included do
  def f; g; end
  def g; end
end
? defines(C.f)
? calls(C.f, C.g)

class C
  [1].each do |n|
    def f; g; end
    def g; end
  end
  later do
    def h; g; end
  end
end
? calls(C.h, C.g)

class C
  def f; raise NotFound if a; end
  def h; raise ArgumentError unless x; y; end
  def i; fail Boom; end
  def j; return Boom; end
  def k; Timeout.timeout(1) { raise Boom }; end
  def l; begin; raise Boom; rescue Boom; end; end
  def m; raise Boom rescue nil; end
  def n; x = Boom; raise x; end
  def o; later { raise Boom }; end
  def p; begin; x; rescue Y; raise Boom; end; end
  def q; raise Boom; ensure; return 1; end
end
+ raises(C.f, NotFound)
+ raises(C.h, ArgumentError)
+ raises(C.i, Boom)
? raises(C.j|k|l|m|n|o|q, Boom)

def f(ready)
  while x
    next if ready
    g(1)
  end
  x.each do |y|
    next if ready
    h(1)
  end
  begin
    return if ready
    i(1)
  rescue
    j(1)
  end
end
? unless(f, ready, "g(1)")
? unless(f, ready, "h(1)")
? unless(f, ready, "i(1)")

def f(ready)
  log if ready
  g(1)
end
? unless(f, ready, "g(1)")
? when(f, ready, "g(1)")

def f(a, b)
  g(1) if a and b
  h(1) unless a && b
  i(1) if !a
  j(1) if not a
  k(1) if a == 1
  l(1) if a || b
  m(1) unless a || b
end
+ when(f, a, "g(1)")
? when(f, a, "h(1)")
? unless(f, a, "h(1)")
+ unless(f, "a && b", "h(1)")
+ unless(f, a, "i(1)")
+ unless(f, a, "j(1)")
+ unless(f, "a != 1", "k(1)")
? when(f, a, "l(1)")
? unless(f, a, "l(1)")

def f
  a
  b
  c if x
  begin; d; rescue; e; end
  g = -> { h }
  b2
end
+ before(f, "a", "b")
? before(f, "a", "h")
? before(f, "d", "e")
+ before(f, "b", "c")

def f; yield; end
def g; block_given? ? 1 : 2; end
+ returns(g, "block_given? ? 1 : 2")
? returns(g, 1)

def f
  if a
    1
  else
    2
  end
end
? returns(f, 2)

def f(x) = x + 1
def self.g(y) = y
+ returns(f, "x + 1")
+ parameter(f, x)
- parameter(f, y)

require "json"
require_relative "net/wire"
autoload :Foo, "foo"
+ imports(json)
+ imports(net/wire)
+ imports(foo)
- imports(yaml)
- not imports(json)

require 'json'
load path
? imports(yaml)

def f(a, ...) = g(...)
def g(*) = h(*)
? parameter(f|g, z)
+ parameter(f, a)

class C
  def self.g; end
  def f; self.class.g; end
  def h; g; end
  def self.i; g; end
  def self.j; new.f; end
end
? calls(C.h, C.g)
+ calls(C.i, C.g)
? calls(C.j, C.f)

class C
  class << self
    def g; end
    attr_accessor :conf
    if x
      def k; g; end
    end
  end
  def f; g; end
  def self.h; g; end
  def self.set; @conf = 1; end
end
? calls(C.f, C.g)
+ calls(C.h|k, C.g)
? field(C, nothing)
? equals(C.conf, 1)

class C
  x = Object.new
  def x.g; end
  class << x
    def h; g; end
  end
  def f; g; end
end
? calls(C.f|h, C.g)

class C
  def g; end
  def f; g; end
  def f; h; end
end
? calls(C.f, C.g)

class C
  def f; g; end
end
class C
  def g; end
  def h; g; end
end
? calls(C.h, C.g)

class C
  def g; end
  undef g
  def f; g; end
end
? calls(C.f, C.g)

class C
  def g; end
  def f; __send__(:g); public_send("g"); method(:g).call; end
  def h; send("#{x}"); end
end
? calls(C.f|h, C.g)

class C
  def f
    return 1
    g
  end
  def g; end
  def h; exit; g; end
  def i; g if false; g unless true; end
end
? calls(C.f|i, C.g)

class C
  def f; g; end
  private
  def g; end
  private def h; g; end
  memoize def i; g; end
end
+ calls(C.f|h, C.g)
"""

BINDINGS = r"""
class C
  def g; end
  def f; defined?(g); end
  def h(x)
    case x
    in { g: } then g
    end
  end
  def i(x) x => { a: g }; g; end
  def j(x) x => g; g; end
  def k(x)
    case x
    in [Integer, g] | [g] then g
    end
  end
  def l(x)
    case x
    in Integer => g then g
    end
  end
  def m(x) x in { a: [*, g] }; g; end
  def n(x) x => { **g }; g; end
  def o(x) x => [*g]; g; end
  def p(x)
    case x
    in g then g
    end
  end
  def q(x)
    case x
    in C(g) then g
    end
  end
  def r; x.map(&:g); end
  def s(x) x.g { g }; end
  def t; foo(g: 1); end
  def u; foo(g:); end
  def v; `g`; end
  def w; BEGIN { g }; end
  def y; %w[g]; end
  def z; "#{g}"; end
end
? calls(C.f|h|i|j|k|l|m|n|o|p|q|r|s|t|u|v|w|y, C.g)

class C
  def g; end
  def f; "#{g}"; end
  def h; [g, { a: g }]; end
  def i; x = g || 1; end
  def j; foo g; end
  def k; g.x; end
  def l; g ? 1 : 2; end
  def m; return g; end
  def n; !g; end
  def o; x rescue g; end
  def p; case g when 1 then 2 end; end
  def q(a = g) end
end
+ calls(C.f|h|i|j|k|l|m|n|o|p, C.g)
? calls(C.q, C.g)

X = [1]
Y = X || []
Y << 2
? equals(X, [1])

X = [1]
X.concat([2])
? equals(X, [1])

X = [1]
X += [2]
? equals(X, [1])

class C
  X = 1
  class << self
    X = 2
  end
end
? equals(X, 1)
? equals(C.X, 1)

describe "a" do
  X = 1
  def helper; g; end
  def g; end
end
? equals(X, 2)
? calls(C.helper, C.g)

class C < D
  def x; super; end
end
class D < E
end
? calls(C.x, D.x)
? calls(C.x, E.x)
+ extends(C, D)
? extends(C, E)
? extends(D, C)

class C
  def a; b; end
  def b; c(1) { d }; end
  def c(x) yield; end
  def d; end
end
+ reaches(C.a, C.c)
? reaches(C.a, C.d)
? reaches(C.d, C.a)

class A
  def go; self.end_it; end
  def end_it; end
end
class B
  def run(a) a.go; end
end
? reaches(B.run, A.end_it)
? calls(B.run, A.go)

def f(x)
  return 0 unless x
  go
end
+ when(f, x, "go")
? unless(f, x, "go")
+ unless(f, x, "return 0")

def f(x)
  raise E if x
  go
ensure
  y
end
+ unless(f, x, "go")

def f(x)
  if x
    # go
    log "go"
    -> { go }
  end
end
? when(f, x, "go")

def f(x)
  y = if x then a else b end
  a2 while x
end
+ when(f, x, "a")
+ unless(f, x, "b")
? when(f, x, "a2")

def f
  until ready
    go
  end
end
? when(f, ready, go)
? unless(f, ready, go)

class C
  attr_reader :x
  def x; 1; end
  def m; x; end
end
? returns(C.m, 1)
+ returns(C.x, 1)

class C
  def f(a) a; end
  def g(a) @a; end
  def h(a) a.b; end
end
+ uses(C.f, a)
? uses(C.g, a)
+ uses(C.g, "@a")
+ uses(C.h, b)
- uses(C.h, nothing)
"""

LEAVING = r"""
def f(a)
  x = %w[go] if a
  y = ?a if a
  z(<<~E) if a
    go
  E
end
? when(f, a, "go")

def f(a)
  if a
    x && (return 1)
  end
  go
end
? unless(f, a, "go")

def f(a)
  if a then x { return 1 } end
  go
end
? unless(f, a, "go")

def f(a)
  if a
    x && return
  end
  go
  return 1 if b unless a
  b2
end
? unless(f, a, "go")
? unless(f, a, "b2")

def f(a)
  (return 1; 2) if a
  go
end
? when(f, a, "go")

def f(a)
  x && return if a
  go
end
? unless(f, a, "go")

def f(a)
  if a
    b
    return
  end
  go
end
+ unless(f, a, "go")
"""

NOT_ONE = [
    "=begin\nX = 1\n=end",
    "X = <<~E\n  1\nE",
    "Y = 1\n__END__\nX = 1",
    "X = 1\nX = 2",
    "begin\n  X = 1\nrescue\n  X = 2\nend",
    "X = a ? 1 : 2",
    "X = 1r",
    "X = 1\nObject.const_set(:X, 2)",
    "X = 1\nObject.send(:remove_const, :X)",
    "X, Y = 1, 2",
    "X = 1\nX, Y = 3, 4",
    'X = 1\nmodule M; X = 1; end\nM.send(:remove_const, "X")',
    'X = 1\neval("X = 2")',
]


def each(rows: str) -> list[tuple[str, str, bool | None]]:
    """The rows of a table, in which a check names several symbols between bars for as many checks."""
    spread: list[tuple[str, str, bool | None]] = []
    for program, check, expected in decided(rows):
        several = re.search(r"\w+(?:\|\w+)+", check)
        names = several[0] if several else ""
        spread.extend((program, check.replace(names, name, 1), expected) for name in names.split("|"))
    return spread


@pytest.mark.parametrize(
    ("program", "check", "expected"),
    [row for rows in (CALLS_AND_FLOW, VALUES, TRAPS, BINDINGS, LEAVING) for row in each(rows)],
)
def test_ruby(program: str, check: str, expected: bool | None) -> None:
    """Each row comes to what it says, and its denial to the opposite."""
    assert held(check, program, "lib/net/a.rb").holds is expected
    if not check.startswith("not "):
        assert held(f"not {check}", program, "a.rb").holds is (None if expected is None else not expected)


@pytest.mark.parametrize("program", NOT_ONE)
def test_what_may_be_another_value_is_undecided(program: str) -> None:
    """Nothing of this makes X equal 1, or anything else that is sure."""
    assert held("equals(X, 1)", program + "\n", "a.rb").holds is None


@pytest.mark.parametrize(
    ("program", "check", "under", "narrowed"),
    [
        ("def f(a)\n  g if a > 1\nend\ndef g; end\n", "calls(f, g)", ("a > 1",), False),
        ("def f(a)\n  g unless a\nend\ndef g; end\n", "calls(f, g)", ("not (a)",), False),
        ("def f(a)\n  a && g\nend\ndef g; end\n", "calls(f, g)", ("a",), False),
        ("def f(a)\n  a.each { g }\nend\ndef g; end\n", "calls(f, g)", ("each",), False),
        ("def f(a)\n  return 1 if a\n  2\nend\n", "returns(f, 2)", ("not (a)",), True),
        ("def f\n  1\nrescue E\n  2\nend\n", "returns(f, 2)", ("E",), True),
        ("def f(a)\n  raise E unless a\nend\n", "raises(f, E)", ("not (a)",), True),
        ("def f(a)\n  case a\n  when 1 then g\n  end\nend\ndef g; end\n", "calls(f, g)", ("1",), False),
        ("X = 1 if a\n", "equals(X, 1)", ("a",), True),
        ("X = 1\n", "equals(X, 1)", (), False),
        ("def f(a, b)\n  g if a && b\nend\n", 'when(f, a, "g")', ("a && b", "b"), False),
    ],
)
def test_conditions_are_told(program: str, check: str, under: tuple[str, ...], narrowed: bool) -> None:
    """What stands under a condition says so, and is narrowed where that makes it say less."""
    found = held(check, program, "a.rb")
    assert (found.holds, found.under, found.narrowed) == (True, under, narrowed)


def test_an_error_in_a_class_leaves_its_methods_undecided() -> None:
    """Where something in a class does not parse, its parts may be others than they seem."""
    text = "def a; b; end\ndef b; end\nclass C\n  def p\n    ((\n    g\n  end\n  def f; g; end\n  def g; end\nend\n"
    assert held("calls(C.f, C.g)", text, "a.rb").reason == "syntax-error"
    assert held("calls(a, b)", text, "a.rb").holds is True


def test_kinds_are_those_of_the_definitions() -> None:
    """What a noun may call a name."""
    index = parse_code(Source("a.rb", "module M\n  class C\n    X = 1\n    def self.f; end\n  end\nend\n"))
    assert index is not None
    assert symbol_kinds(index, "C") == {"type"}
    assert symbol_kinds(index, "M") == {"space", "mixin"}
    assert symbol_kinds(index, "C.f") == {"method", "static"}
    assert "constant" in symbol_kinds(index, "C.X")


@pytest.mark.parametrize(
    "text",
    [
        "class C\n" + "  def f; end\n" * 3_000 + "end\n",
        "class C\n" + "  include M\n" * 3_000 + "end\n",
        "def f\n" + "  return 1 if a\n" * 3_000 + "end\n",
        "X = [" + "1," * 5_000 + "]\n",
        "f(" + "a," * 5_000 + "b)\n",
        "if a\n" + "elsif b\n c\n" * 200 + "end\n",
    ],
)
def test_large_files_are_read(text: str) -> None:
    """Many things of one kind are read in the time that their number takes."""
    index = parse_code(Source("a.rb", text))
    assert index is not None
    assert index.problem is None
