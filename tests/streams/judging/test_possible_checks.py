"""Which checks on a symbol might hold in a file: none that holds may be left out."""

from __future__ import annotations

from collections import Counter
from itertools import product
from pathlib import Path

import pytest

from sluice.streams.judging.checks import Check, parse_check, written_value
from sluice.streams.judging.code import ON_SYMBOLS, parse_code, possible_checks, verify_code
from sluice.streams.judging.results import Source

ROOT = Path(__file__).parents[3]
TEXTS = {
    "a.py": (ROOT / "streams/judging/code_parsing.py").read_text("utf-8"),
    "native/version.h": (ROOT / "native/version.h").read_text("utf-8"),
    "native/times.c": (ROOT / "native/times.c").read_text("utf-8"),
    "m.go": "package m\nconst Limit = 30\nfunc (s *S) Run() int { s.Stop(); return Limit }\nfunc New() { }\n",
    "a.js": "const LIMIT = 30;\nclass A { run() { this.stop(); return LIMIT; } }\nconst f = (x = 3) => g(x);\n",
    "a.rs": "const LIMIT: u32 = 30;\nimpl A { fn run(&self) { self.stop(); } }\nfn f() -> u32 { return g(); }\n",
    "A.java": "class A { static final int LIMIT = 30; int run() { stop(); return LIMIT; } enum B { C, D } }\n",
    "a.rb": "LIMIT = 30\nmodule M\n  class A\n    def run\n      stop\n      return LIMIT\n    end\n  end\nend\n",
    "a.sh": "LIMIT=30\nrun() {\n  stop\n}\n",
    "broken.py": "LIMIT = 30\ndef run(:\n  stop()\nclass A:\n  x = 3\n  def f(self): return self.x\n",
}
SYMBOLS = 40
"""Names of a file that are tried with one another."""


def symbols_of(text_names: list[tuple[str, ...]]) -> list[str]:
    """Names with and without what they stand in, in several ways of writing them."""
    names = (
        [one[-1] for one in text_names] + [".".join(one) for one in text_names] + [f"{one[-1]}()" for one in text_names]
    )
    return list(dict.fromkeys([*names, "nowhere", "self.run", "a.LIMIT", "version.h"]))[:SYMBOLS]


@pytest.mark.parametrize("path", TEXTS)
def test_no_check_that_holds_is_left_out(path: str) -> None:
    """Whatever holds is among the checks that might."""
    source = Source(path, TEXTS[path])
    code = parse_code(source)
    assert code is not None
    symbols = symbols_of([one.path for one in code.definitions])
    values = [*symbols, "30", "3", "34", "this.x", "self.x", "LIMIT"]
    held: Counter[str] = Counter()
    for symbol in symbols:
        possible = possible_checks(code, symbol, path)
        asked = [
            f"{name}({written_value(symbol)}, {written_value(one)})"
            for name, one in product(("calls", "uses", "returns"), values)
        ]
        asked += [f"equals({written_value(symbol)}, {one})" for one in ("30", "3", "34", "80", '"C"', "true")]
        asked += [f"compare({written_value(symbol)}, >, 2)", f"defines({written_value(symbol)})"]
        for text in asked:
            check = parse_check(text)
            assert isinstance(check, Check), text
            if verify_code(check, code, source).holds:
                held[check.name] += 1
                assert check.name in possible, text
    assert held["defines"]
    assert held["equals"] + held["calls"] + held["returns"] > 0


def test_what_is_not_there_has_no_checks() -> None:
    """A name that a file does not define, and any name of a file that cannot be read."""
    code = parse_code(Source("a.py", "LIMIT = 30\nNAMES = make()\ndef run(): pass\n"))
    assert code is not None
    assert possible_checks(code, "nowhere", "a.py") == frozenset()
    assert possible_checks(code, "LIMIT", "a.py") == ON_SYMBOLS
    assert possible_checks(code, "NAMES", "a.py") == ON_SYMBOLS - {"equals", "compare"}
    assert possible_checks(code, "run", "a.py") == {"defines", "calls", "uses", "returns"}
    too_large = parse_code(Source("a.py", "x = 1\n" * 300_000))
    assert too_large is not None
    assert too_large.problem == "too-large"
    assert possible_checks(too_large, "x", "a.py") == frozenset()
