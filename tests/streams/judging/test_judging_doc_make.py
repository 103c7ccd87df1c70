"""Makefiles as GNU make reads them: targets and variables, with nothing expanded."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.streams.judging.checks import Check, parse_check
from sluice.streams.judging.doc_make import parse_make
from sluice.streams.judging.documents import document_extents, parse_document, verify_document
from sluice.streams.judging.results import Held, HeldReason, Source

MAKEFILE = """\
# comment: not a rule
CC = gcc # the compiler
SOURCES := a.c \\
    b.c
export JOBS ?=4
override private OPT ::= -O2
TWICE = 1
TWICE = 2
ADDED = a
ADDED += b
DATE != date
REF = $(CC) -c
else = word
include other.mk
ifdef DEBUG
LEVEL = 3
debug:
	gdb
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
%.o: %.c
	cc
lib(member.o): x
C\\:x: y
hash\\#: y
LAST = a\\#b
EMPTY =
URL = http://x/y:z
"""


def verify(check: str, text: str = MAKEFILE, path: str = "Makefile", lines: tuple[int, int] | None = None) -> Held:
    """What a check comes to in a Makefile."""
    parsed = parse_check(check)
    assert isinstance(parsed, Check), parsed
    source = Source(path, text, lines)
    document = parse_document(source)
    assert document is not None
    return verify_document(parsed, document, source)


@pytest.mark.parametrize(
    ("check", "lines"),
    [
        ("equals(CC, gcc)", (2, 2)),
        ('equals("$(CC)", gcc)', (2, 2)),
        ('equals("${CC}", gcc)', (2, 2)),
        ('equals(SOURCES, "a.c b.c")', (3, 4)),
        ("equals(JOBS, 4)", (5, 5)),
        ("compare(JOBS, <, 5)", (5, 5)),
        ("equals(OPT, -O2)", (6, 6)),
        ('equals(REF, "$(CC) -c")', (12, 12)),
        ("equals(else, word)", (13, 13)),
        ("equals(CFLAGS, -g, in=all)", (29, 29)),
        ('equals(LAST, "a#b")', (43, 43)),
        ('equals(EMPTY, "")', (44, 44)),
        ('equals(URL, "http://x/y:z")', (45, 45)),
        ("defines(all, target)", (30, 35)),
        ("defines(lint)", (30, 35)),
        ("defines(debug)", (17, 18)),
        ("defines(double, target)", (36, 36)),
        ('defines("%.o", target)', (38, 39)),
        ('defines("lib(member.o)")', (40, 40)),
        ("defines(C:x)", (41, 41)),
        ('defines("hash#")', (42, 42)),
        ("defines(BODY, variable)", (22, 27)),
        ("defines(LEVEL, variable)", (16, 16)),
        ("defines(TWICE)", (7, 7)),
        ("defines(CFLAGS, variable)", (29, 29)),
    ],
)
def test_definitions_are_found_with_their_lines(check: str, lines: tuple[int, int]):
    """Every kind of assignment; several targets of one rule; a rule's recipe is its own."""
    assert verify(check) == Held(True, None, lines)


@pytest.mark.parametrize(
    ("check", "holds", "reason"),
    [
        ("equals(CC, clang)", False, "differs"),
        ("equals(JOBS, 5)", False, "differs"),
        ("compare(JOBS, !=, 4)", False, "differs"),
        ("equals(TWICE, 2)", None, "ambiguous"),
        ("equals(ADDED, a)", None, "ambiguous"),
        ("equals(LEVEL, 1)", None, "ambiguous"),
        ("equals(CFLAGS, -g)", None, "ambiguous"),  # for one target alone
        ("equals(DATE, date)", True, None),
        ("equals(DATE, today)", None, "computed"),
        ('equals(REF, "gcc -c")', None, "computed"),
        ("equals(FAKE, 1)", None, "not-found"),
        ("equals(INNER, 5)", None, "not-found"),
        ("equals(NOWHERE, 1)", None, "not-found"),
        ("equals(all, 1)", None, "not-found"),
        ("equals(CC, gcc, in=nowhere)", None, "not-found"),
        ("equals(CC, gcc, in=all)", None, "not-found"),
        ("defines(fake)", False, "differs"),
        ("defines(inner)", False, "differs"),
        ("defines(INNER)", False, "differs"),
        ("defines(clean, target)", False, "differs"),  # phony, and nowhere a target
        ("defines(build)", False, "differs"),  # what a target needs
        ("defines(CC, target)", False, "differs"),
        ("defines(all, variable)", False, "differs"),
        ("defines(not)", False, "differs"),
        ("defines(x.o)", None, "computed"),  # the pattern makes it
        ("defines(dir/x.o, target)", None, "computed"),
        ("defines(x.o, variable)", False, "differs"),
        ("defines(all, function)", None, "unlisted-language"),
        ("defines(all, section)", None, "unlisted-language"),
    ],
)
def test_what_is_not_reported_exactly_stays_undecided(check: str, holds: bool | None, reason: HeldReason | None):
    """Conditions, additions, references, variables of one target; recipes and `define` hold no definitions."""
    assert verify(check)[:2] == (holds, reason)


@pytest.mark.parametrize(
    "text",
    [
        "$(BIN): main.c\n",
        "build/$(X).o all: y\n",
        "*.o: x\n",
        "$(eval $(call RULE,a))\n",
        "$(foreach x,a b,$(call RULE,$(x)))\n",
        "a:\n\t$(eval b: c)\n",
        ".DEFAULT:\n\techo\n",
        ".c.x:\n\tcc\n",
        "%:\n\techo\n",
    ],
)
def test_that_a_target_is_missing_is_not_exact_where_names_are_computed(text: str):
    """A rule may be the one that is asked for."""
    assert verify("defines(name.x, target)", text) == Held(None, "computed")


def test_a_rule_that_computes_no_name_leaves_it_exact():
    """Only what prints, and references in a recipe or among what is needed."""
    text = "$(info hello)\n$(warning x: y)\na: $(B) ; $(C)\n\t$(D)\nX = $(E): f\n"
    assert verify("defines(name, target)", text) == Held(False, "differs")


def test_what_eval_sets_is_ambiguous():
    """Also where a plain setting of the same variable stands beside it."""
    text = "A = 1\nB = 2\nall:\n\t$(eval A := 3)\n"
    assert verify("equals(A, 1)", text) == Held(None, "ambiguous")
    assert verify("equals(B, 2)", text).holds is True
    assert verify("equals(A, 1)", "A = 1\nundefine A\n") == Held(None, "ambiguous")


@pytest.mark.parametrize("text", ["garbage\n", "define X\nA = 1\n", "ifdef A\n", "endif\n", "a\nb: c\n"])
def test_a_line_that_make_does_not_take_leaves_absence_undecided(text: str):
    """What stands there may be anything; definitions that were understood stay."""
    assert verify("defines(zzz)", "OK = 1\n" + text) == Held(None, "syntax-error")
    assert verify("equals(OK, 1)", "OK = 1\n" + text).holds is True


def test_a_tab_begins_a_recipe_only_behind_a_rule():
    """Elsewhere it is white space; `.RECIPEPREFIX` puts another character in its place."""
    assert verify("equals(A, 1)", "\tA = 1\n").holds is True
    assert verify("equals(A, 1)", "all:\n\tA = 1\n") == Held(None, "not-found")
    assert verify("equals(A, 1)", "all:\nB = 1\n\tA = 1\n").holds is True
    text = ".RECIPEPREFIX = >\nall:\n>A = 1\n\tB = 2\n"
    assert verify("equals(A, 1)", text) == Held(None, "not-found")
    assert verify("equals(B, 2)", text).holds is True


def test_a_comment_goes_on_behind_a_backslash():
    """What stands in the lines that it takes is no definition."""
    text = "# note \\\nA = 1\nB = 2 # A = \\\n3\n"
    assert verify("equals(A, 1)", text) == Held(None, "not-found")
    assert verify("defines(A)", text) == Held(False, "differs")
    assert verify("equals(B, 2)", text) == Held(True, None, (3, 4))


def test_conditions_of_other_makes_count_as_well():
    """A setting below `.if` or `!if` is as doubtful as one below `ifdef`."""
    for first, last in ((".if ${X}", ".endif"), ("!if X", "!endif"), ("ifeq ($(X),=)", "endif  # X")):
        assert verify("equals(A, 1)", f"{first}\nA = 1\n{last}\nB = 2\n") == Held(None, "ambiguous")
        assert verify("equals(B, 2)", f"{first}\nA = 1\n{last}\nB = 2\n").holds is True


def test_lines_say_which_of_several_settings_is_meant():
    """Only what begins in the region counts."""
    assert verify("equals(TWICE, 1)", lines=(1, 7)) == Held(True, None, (7, 7))
    assert verify("defines(CC)", lines=(3, 9)) == Held(False, "differs")


def test_extents_are_a_rule_with_its_recipe():
    """Each rule of a target has its own; a variable's are its lines."""
    document = parse_document(Source("a/rules.mk", MAKEFILE))
    assert document is not None
    assert document_extents(document, "all") == [(30, 35)]
    assert document_extents(document, "double") == [(36, 36), (37, 37)]
    assert document_extents(document, "SOURCES") == [(3, 4)]
    assert document_extents(document, "nowhere") == []


def test_a_target_and_a_variable_may_have_one_name():
    """Neither takes the other's lines."""
    text = "foo: x\n\tcmd\nfoo = 1\n"
    assert verify("defines(foo, target)", text) == Held(True, None, (1, 2))
    assert verify("equals(foo, 1)", text) == Held(True, None, (3, 3))


names = st.from_regex(r"[a-zA-Z][a-zA-Z0-9_./-]{0,6}", fullmatch=True)
settings = st.tuples(
    names, st.sampled_from(["=", ":=", " = ", "?=", " ::= "]), st.from_regex(r"[a-z0-9/:=-]{0,6}", fullmatch=True)
)


@given(st.lists(settings, max_size=6, unique_by=lambda one: one[0]))
def test_every_plain_setting_is_read_as_it_was_written(lines: list[tuple[str, str, str]]):
    """Whatever the operator, and whether blanks stand around it."""
    make = parse_make("".join(f"{''.join(one)}\n" for one in lines))
    assert make.complete
    assert {name: known[0].value for name, known in make.definitions.items()} == {
        name: value for name, _, value in lines
    }


@given(st.text(st.sampled_from("aA=:$(){}#\\\t \n;%.!?+&"), max_size=40))
def test_no_text_makes_the_reader_fail(text: str):
    """Each definition stands on lines that are there."""
    make = parse_make(text)
    for known in make.definitions.values():
        assert all(1 <= one.first <= one.last <= text.count("\n") + 1 for one in known)
