"""Which false checks of a proposal contradict a sentence."""

from __future__ import annotations

import pytest

from sluice.streams.judging.checks import Held, Source, parse_check
from sluice.streams.judging.claim_forms import claim
from sluice.streams.judging.coverage import excused
from sluice.streams.judging.verify import Parsing, verify_content

BODY = Held(False, "differs", (3, 9))
NOWHERE = Held(False, "differs")
UNDER = Held(False, "differs", (3, 9), under=("if fast",))


@pytest.mark.parametrize(
    ("sentence", "check", "held", "contradicts"),
    [
        ("`f` calls `g`.", "calls(f, g)", BODY, True),
        ("It calls `g`.", "calls(f, g)", BODY, True),
        ("`f` uses the same strategy as `h`.", "calls(f, next_power_of_two)", BODY, False),
        ("`f` ends up in `g`.", "calls(f, g)", BODY, False),
        ("`f` accepts any object that has `[mark] = true`.", "uses(f, mark)", BODY, False),
        ("`f` does not call `g`.", "not calls(f, g)", BODY, True),
        ("`f` does not call `g` when it is slow.", "not calls(f, g)", UNDER, False),
        ("`f` lets a `BadPayload` through, which is not caught.", "not uses(f, BadPayload)", BODY, False),
        ("There is no `xx` alias without a size.", "absent(xx)", BODY, False),
        ("`LIMIT` is 3.", "equals(LIMIT, 3)", BODY, True),
        ("At most three are kept.", "equals(LIMIT, 3)", BODY, True),
        ("At most a few are kept.", "equals(LIMIT, 3)", BODY, False),
        ("`f` has the parameter `x`, off by default.", "parameter(f, x, default=false)", BODY, False),
        ("`f` keeps the `x` that was given to `g`.", "parameter(f, x)", BODY, False),
        ("`f` takes `x`.", "parameter(f, x)", BODY, True),
        ("The helper `f` is there.", "defines(f, function)", BODY, False),
        ("The function `f` is there.", "defines(f, function)", BODY, True),
        # the file does not have the symbol
        ("`f` in `src/a.py` handles it.", "defines(f, function, path=src/a.py)", NOWHERE, True),
        ("`f` handles it.", "defines(f, function, path=src/a.py)", NOWHERE, False),
        ("It is handled in `src/a.py`.", "defines(f, function, path=src/a.py)", NOWHERE, False),
    ],
)
def test_a_false_check_contradicts_only_what_the_sentence_says(
    sentence: str, check: str, held: Held, contradicts: bool
) -> None:
    assert excused(sentence, (parse_check(check),), (held,), None) == (frozenset() if contradicts else frozenset((0,)))


TEXT = "def f(x):\n    return g(x + 1, y.size)\n\ndef g(a, b) -> int:\n    # total_size\n    return a\n"


@pytest.mark.parametrize(
    ("check", "holds"),
    [
        ('uses(f, "x + 1", path=a.py)', True),
        ('uses(f, "x + 2", path=a.py)', None),
        ('uses(f, "size", path=a.py)', True),
        ("uses(f, a, path=a.py)", None),
        ("returns(g, int, path=a.py)", True),
        ("returns(g, str, path=a.py)", None),
        ("calls(h_other, g, path=a.py)", False),
        ("not calls(h_other, g, path=a.py)", None),
        ("calls(h_other, g)", None),
        ('when(h_other, "x", "return 1", path=a.py)', None),
        ('contains("the other_name here", path=a.py)', False),
        ('contains("the other_name here")', None),
        ('contains("the other here", path=a.py)', None),
    ],
)
def test_what_a_named_file_does_not_have(check: str, holds: bool | None) -> None:
    found = parse_check(check)
    assert not isinstance(found, str)
    assert verify_content(found, Source("a.py", TEXT), Parsing()).holds is holds  # type: ignore[arg-type]


def test_a_list_that_is_written_as_one_is_the_list():
    claimed = claim("The members of `X` in `a.py` are `[7, 8]`.")
    assert claimed is not None
    assert claimed.checks == ("members(X, [7, 8], path=a.py)",)
