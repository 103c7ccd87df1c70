"""Checks by syntax on Ruby and shell scripts: what holds, what is exactly false, and what stays undecided."""

from __future__ import annotations

import pytest

from sluice.streams.judging.checks import Check, parse_check
from sluice.streams.judging.code import parse_code, verify_code
from sluice.streams.judging.results import Held, Source

RUBY = """\
# GHOST = 1
require 'json'
require_relative "net/wire"
load plugin_path

module Acme
  class Client < Base
    MAX = 1_000
    NAME = "a\\tb".freeze
    SINGLE = 'it''s'
    LIST = %w[a b].freeze
    MIXED = [1, :two, nil, true]
    RATE = -1.5e3
    OCTAL = 0755
    SIZE = 10 * 1024
    TEXT = "x#{MAX}"
    WAIT = 30.seconds
    OPTIONS = { timeout: 5, "name" => "x", :deep => { limit: 2 } }.freeze
    LAZY ||= 3
    Point = Struct.new(:x) do
      def norm; x.abs; end
    end
    SQUARE = ->(n) { n * n }
    @@shared = 1
    attr_accessor :host, :port

    def initialize(depth = 3, key: "k")
      @depth = 4
      @mode = "r"
    end

    def send_it(message)
      local = 12
      @mode = "w"
      prepare
      local
      self.log(message)
      @socket.write message
      Packet.new(1).flush
      items.each { |item| in_loop(item) }
      later { in_block }
      run(-> { in_lambda })
      names.map(&:upcase)
      dead if false
      return compute(local)
      unreachable
    end

    def compute(x) = x + 1

    def implicit
      first
      second
    end

    def self.create; new; end
    private def hidden; end
    alias other compute
    define_method(:dynamic) { in_dynamic }
  end
end

Acme::Client::LATE = 8

def helper; end
TEXT_BLOCK = <<~EOS
  def fake; end
EOS
"""

SHELL = """\
#!/bin/bash
# GHOST=1
source ./lib/common.sh
. lib/other.sh

TIMEOUT=30
NAME="pool"
SINGLE='a $b'
readonly MAX=100
declare -r LEVEL=2
export REGION=eu
HOSTS=(a b)
PORT="${PORT:-8080}"
: "${CACHE:=/var/cache}"
MIXED="a$NAME"
OUTPUT=$(date)
SUM=$((1 + 2))
COUNT=1
COUNT+=1
if [ -n "$DEBUG" ]; then
  VERBOSE=1
fi
[ -z "$MODE" ] && MODE=fast

start() {
  local depth=4
  GLOBAL=5
  prepare "$1"
  docker run image
  cat file | grep -v pattern
  result="$(compute)"
  xargs kill_all
  inner() { nested; }
  return 3
}

function stop {
  start
  echo "$NAME" >&2
}

cat <<EOF
fake() { :; }
EOF
LATE=1
change() { LATE=2; }
"""


def ruby(check: str, text: str = RUBY, path: str = "lib/acme/client.rb") -> Held:
    """What a check on a file comes to."""
    parsed = parse_check(check)
    assert isinstance(parsed, Check), parsed
    source = Source(path, text, lines=parsed.lines)
    code = parse_code(source)
    assert code is not None
    assert not code.problem
    return verify_code(parsed, code, source)


def shell(check: str, text: str = SHELL) -> Held:
    """What a check on the shell sample comes to."""
    return ruby(check, text, "bin/start.sh")


@pytest.mark.parametrize(("text", "path"), [(RUBY, "a.rb"), (RUBY, "Rakefile"), (SHELL, "a.sh"), (SHELL, ".bashrc")])
def test_the_samples_have_no_errors(text: str, path: str) -> None:
    """What is false below is false in files that parse."""
    code = parse_code(Source(path, text))
    assert code is not None
    assert code.errors == []


@pytest.mark.parametrize(
    ("check", "expected"),
    [
        ("defines(Client, type)", True),
        ("defines(Acme::Client, type)", True),
        ("defines(Acme)", True),
        ("defines(Acme, type)", None),
        ('defines("Client#send_it", method)', True),
        ("defines(Client.send_it, function)", None),
        ("defines(Client.create, method)", True),
        ("defines(Client.hidden)", True),
        ("defines(Client.host, method)", True),
        ("defines(Client.other)", True),
        ("defines(Client.dynamic)", True),
        ("defines(Point.norm)", True),
        ("defines(Point, type)", None),
        ("defines(Client.MAX, constant)", True),
        ("defines(Client.MAX, variable)", False),
        ("defines(helper, function)", True),
        ("defines(SQUARE)", True),
        ("defines(LATE)", True),
        ("defines(fake)", False),
        ("defines(GHOST)", False),
        ("defines(local)", False),
        ("defines(Client.missing)", False),
        ("defines(Client.depth)", None),
        ("equals(MAX, 1000)", True),
        ("equals(Client::MAX, 1001)", False),
        ('equals(NAME, "a\\tb")', True),
        ("equals(SINGLE, its)", True),
        ("equals(LIST, [a, b])", True),
        ("equals(MIXED, [1, two, null, true])", True),
        ("equals(RATE, -1500)", True),
        ("equals(OCTAL, 493)", True),
        ("equals(SIZE, 10240)", True),
        ("equals(OPTIONS.timeout, 5)", True),
        ("equals(OPTIONS.name, x)", True),
        ("equals(OPTIONS.deep.limit, 2)", True),
        ("equals(LATE, 8)", True),
        ("equals(Client.initialize.depth, 3)", True),
        ("equals(Client.initialize.key, k)", True),
        ("equals(Client.depth, 4)", True),
        ("equals(Client.send_it.local, 12)", True),
        ("equals(TEXT, x)", None),
        ("equals(WAIT, 30)", None),
        ("equals(LAZY, 3)", None),
        ("equals(Client.mode, r)", None),
        ("compare(MAX, >, 999)", True),
        ("calls(Client.send_it, prepare)", True),
        ("calls(Client.send_it, local)", None),
        ("calls(Client.send_it, log)", True),
        ("calls(Client.send_it, self.log)", True),
        ("calls(Client.send_it, socket.write)", True),
        ("calls(Client.send_it, Packet)", True),
        ("calls(Client.send_it, Packet.new)", True),
        ("calls(Client.send_it, flush)", True),
        ("calls(Client.send_it, in_loop)", True),
        ("calls(Client.send_it, in_block)", None),
        ("calls(Client.send_it, in_lambda)", None),
        ("calls(Client.send_it, upcase)", None),
        ("calls(Client.send_it, dead)", None),
        ("calls(Client.send_it, unreachable)", None),
        ("calls(Client.send_it, missing)", False),
        ("calls(Client.dynamic, in_dynamic)", True),
        ("calls(Client.create, new)", True),
        ("calls(helper, prepare)", False),
        ("calls(Client, prepare)", None),
        ("uses(Client.send_it, socket)", True),
        ("uses(Client.compute, x)", True),
        ("uses(Client.compute, mode)", False),
        ("imports(json)", True),
        ("imports(net/wire)", True),
        ("imports(yaml)", None),
        ('returns(Client.compute, "x + 1")', True),
        ("returns(Client.implicit, second)", True),
        ("returns(Client.implicit, first)", None),
        ("returns(Client.create, new)", True),
    ],
)
def test_ruby(check: str, expected: bool | None) -> None:
    """Ruby's classes, methods, constants, hashes, calls and requires."""
    assert ruby(check).holds is expected


def test_methods_that_calls_make_are_not_denied() -> None:
    """Symbols that a class hands to a call may become methods; others are missing."""
    text = "Point = Struct.new(:x, :y)\nclass A < B.new(:z)\n  delegate :size, to: :list\nend\n"
    for name in ("Point.x", "A.z", "A.size"):
        assert ruby(f"defines({name})", text).holds is None
    assert ruby("defines(A.other)", text).holds is False


def test_ruby_imports_are_false_where_all_are_literals() -> None:
    """A `require` of something computed may be of anything."""
    assert ruby("imports(yaml)", "require 'json'\n").holds is False


@pytest.mark.parametrize(
    ("check", "expected"),
    [
        ("defines(start, function)", True),
        ("defines(stop, function)", True),
        ("defines(start, method)", False),
        ("defines(TIMEOUT, variable)", True),
        ("defines(TIMEOUT, function)", False),
        ("defines(MAX, constant)", True),
        ("defines(fake)", False),
        ("defines(GHOST)", False),
        ("defines(missing)", False),
        ("equals(TIMEOUT, 30)", True),
        ('equals(TIMEOUT, "30")', True),
        ("equals(TIMEOUT, 31)", False),
        ("equals(NAME, pool)", True),
        ('equals(SINGLE, "a $b")', True),
        ("equals(MAX, 100)", True),
        ("equals(LEVEL, 2)", True),
        ("equals(REGION, eu)", True),
        ("equals(HOSTS, [a, b])", True),
        ("equals(PORT, 8080)", True),
        ("equals(CACHE, /var/cache)", True),
        ("equals(start.depth, 4)", None),
        ("equals(depth, 4, in=start)", True),
        ("equals(MIXED, apool)", None),
        ("equals(OUTPUT, date)", None),
        ("equals(SUM, 3)", None),
        ("equals(COUNT, 1)", None),
        ("equals(VERBOSE, 1)", None),
        ("equals(MODE, fast)", None),
        ("equals(LATE, 1)", None),
        ("compare(TIMEOUT, <, 31)", True),
        ("compare(TIMEOUT, >, 31)", False),
        ("calls(start, prepare)", True),
        ("calls(start, docker)", True),
        ("calls(start, grep)", True),
        ("calls(start, compute)", True),
        ("calls(start, kill_all)", None),
        ("calls(start, nested)", False),
        ("calls(start, missing)", False),
        ("calls(stop, start)", True),
        ("uses(stop, NAME)", True),
        ("uses(stop, TIMEOUT)", False),
        ("imports(./lib/common.sh)", True),
        ("imports(lib/other.sh)", True),
        ("imports(common.sh)", None),
        ("imports(missing.sh)", False),
        ("returns(start, 3)", True),
        ("returns(stop, 3)", None),
    ],
)
def test_shell(check: str, expected: bool | None) -> None:
    """A shell's functions, variables, defaults, commands and sourced files."""
    assert shell(check).holds is expected


@pytest.mark.parametrize(
    "text",
    [
        "X=2",
        "# X=1",
        "echo 'X=1'",
        "cat <<EOF\nX=1\nEOF",
        "X=1 command",
        "X=1; X=2",
        "X=1; unset X",
        "X=1; read X",
        "X=1; f() { X=2; }",
        "if a; then X=1; fi",
        "a && X=1",
        "(X=1)",
        "X=$Y",
        "X=${Y:-1}",
        "X=1*",
        "X=1; for X in 2; do :; done",
        "f() { local X=1; }; f() { local X=2; }",
        "X=1; ((X++))",
    ],
)
def test_hostile_shell_values(text: str) -> None:
    """Nothing of this makes X equal 1."""
    assert shell("equals(X, 1)", text + "\n").holds is not True


@pytest.mark.parametrize(
    "text",
    [
        "X = 2",
        "=begin\nX = 1\n=end",
        "X = <<~E\n1\nE",
        "__END__\nX = 1",
        "X = 1 if a",
        "X = 1 unless a",
        "X = 1\nX = 2",
        "begin\n  X = 1\nrescue\n  X = 2\nend",
        "X = [1]\nX << 2",
        "X = '1'\nX << '2'",
        "def f\n  X\nend",
        "X = a ? 1 : 2",
        "X = '1'",
        "X = 1r",
        "X ||= 1",
        "module A\n X = 1\nend\nmodule B\n X = 2\nend",
    ],
)
def test_hostile_ruby_values(text: str) -> None:
    """Nothing of this makes X equal 1."""
    assert ruby("equals(X, 1)", text + "\n").holds is not True
