"""A grounded value carries its chain through everything that Python does with it, or says what it lets go."""

from __future__ import annotations

import copy
import math
import operator
import pickle
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

import pytest

from sluice.codecs.records import Derived, Discard, Retrieval, Severed
from sluice.streams.grounded import (
    Grounded,
    ProvenanceChain,
    UndeclaredDiscard,
    UngroundedReturn,
    discarding,
    discards,
    template,
)

AT = "2026-11-21T09:00:00Z"


def retrieval(source: str = "a.md", confidence: float | None = None, *data: str) -> Retrieval:
    return Retrieval(source=source, timestamp=AT, confidence=confidence, data=sorted({"grounded", *data}))


def grounded(value: Any, source: str = "a.md", confidence: float | None = None, *data: str) -> Grounded[Any]:
    return Grounded(value, [retrieval(source, confidence, *data)])


def plain(value: Grounded[Any]) -> Any:
    return value.unwrap_discarding_sources()


def only(value: Grounded[Any]) -> Derived:
    """The one step of a value that an operator made."""
    (step,) = value.sources()
    assert isinstance(step, Derived)
    return step


BINARY: list[tuple[str, Callable[[Any, Any], Any], Any, Any]] = [
    ("+", operator.add, "a", "b"),
    ("+", operator.add, [1], [2]),
    ("-", operator.sub, 7, 2),
    ("*", operator.mul, "ab", 3),
    ("*", operator.mul, 3, "ab"),
    ("/", operator.truediv, 7, 2),
    ("//", operator.floordiv, 7, 2),
    ("%", operator.mod, 7, 4),
    ("divmod", divmod, 7, 2),
    ("**", operator.pow, 2, 5),
    ("&", operator.and_, {1, 2}, {2, 3}),
    ("|", operator.or_, 4, 1),
    ("^", operator.xor, 6, 3),
    ("<<", operator.lshift, 1, 4),
    (">>", operator.rshift, 16, 2),
    ("==", operator.eq, "a", "a"),
    ("!=", operator.ne, "a", "a"),
    ("<", operator.lt, 1, 2),
    ("<=", operator.le, 1, 2),
    (">", operator.gt, 1, 2),
    (">=", operator.ge, 1, 2),
]
MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}


@pytest.mark.parametrize(("name", "function", "left", "right"), BINARY)
def test_an_operator_over_two_grounded_values_keeps_both_chains(
    name: str, function: Any, left: Any, right: Any
) -> None:
    """One derived step names the operator, with the chains in their places [C §9.1]."""
    result = function(grounded(left, "l.md", 0.9, "pii"), grounded(right, "r.md", 0.7, "medical"))

    step = only(result)
    assert plain(result) == function(left, right)
    assert (step.operator, step.confidence) == (name, 0.7)
    assert step.data == ["grounded", "medical", "pii"]
    assert (step.left, step.right) == ([retrieval("l.md", 0.9, "pii")], [retrieval("r.md", 0.7, "medical")])


@pytest.mark.parametrize(("name", "function", "left", "right"), BINARY)
def test_a_plain_operand_contributes_an_empty_chain(name: str, function: Any, left: Any, right: Any) -> None:
    """On either side; a comparison that Python turns round is told as it was made."""
    on_the_right, on_the_left = function(grounded(left), right), function(left, grounded(right))

    assert plain(on_the_right) == plain(on_the_left) == function(left, right)
    assert (only(on_the_right).left, only(on_the_right).right) == ([retrieval()], [])
    step = only(on_the_left)
    if name in ("==", "!=", *MIRRORED):  # Python asks the other operand, mirrored
        assert (step.operator, step.left, step.right) == (MIRRORED.get(name, name), [retrieval()], [])
    else:
        assert (step.operator, step.left, step.right) == (name, [], [retrieval()])


@pytest.mark.parametrize(
    ("name", "function", "value"),
    [
        ("-", operator.neg, 3),
        ("+", operator.pos, 3),
        ("~", operator.invert, 3),
        ("abs", abs, -3),
        ("round", round, 2.5),
        ("trunc", math.trunc, 2.5),
        ("floor", math.floor, 2.5),
        ("ceil", math.ceil, 2.5),
        ("[]", operator.itemgetter(1), "abc"),
        ("[]", operator.itemgetter(slice(0, 2)), "abc"),
    ],
)
def test_an_operator_over_one_operand_keeps_its_chain(name: str, function: Any, value: Any) -> None:
    """Unary operators and indexing too."""
    result = function(grounded(value))

    assert plain(result) == function(value)
    assert (only(result).operator, only(result).left) == (name, [retrieval()])


def test_an_index_that_is_grounded_is_kept_as_well() -> None:
    """As a key, and inside a slice."""
    word, place = grounded("abc", "word.md"), grounded(1, "place.md")

    assert plain(word[place]) == "b"
    assert plain(word[place:]) == "bc"
    assert [one.source for one in word[place:].retrievals()] == ["word.md", "place.md"]


def test_an_augmented_assignment_makes_a_new_value() -> None:
    """The old one stays what it was."""
    before = after = grounded("a")
    after += "b"

    assert (plain(before), plain(after)) == ("a", "ab")


class Matrix:
    """Knows only itself, as a class of operands should."""

    __array_ufunc__ = None

    def __matmul__(self, other: object) -> str:
        return "product" if isinstance(other, int | Matrix) else NotImplemented


def test_a_matrix_product_is_grounded() -> None:
    """Whatever `@` means to the operands, on either side."""
    assert plain(grounded(Matrix()) @ 1) == "product"
    assert plain(Matrix() @ grounded(1)) == "product"


def test_a_class_that_takes_any_operand_is_told_to_leave_it() -> None:
    """By the mark that array libraries know: their operators would else work item by item."""
    assert Grounded.__array_ufunc__ is None


def test_what_two_values_have_in_common_is_one_source() -> None:
    """A value met with itself has the sources that it had."""
    one = grounded("a")

    assert (one + one).retrievals() == [retrieval()]


def test_the_sources_are_a_list_of_ones_own() -> None:
    """Whoever changes it changes nothing else; the chain is the same steps."""
    value = grounded("a")
    value.sources().clear()

    assert value.sources() == value.chain == [retrieval()]
    assert isinstance(value.chain, ProvenanceChain)


def test_there_is_no_value() -> None:
    """Nor a way to set one, or anything else; the error says what to do."""
    value = grounded("a")

    with pytest.raises(AttributeError, match="unwrap_discarding_sources"):
        _ = value.value
    with pytest.raises(AttributeError, match="map"):
        _ = value.upper
    for name in ("value", "_value", "other"):
        with pytest.raises(AttributeError):
            setattr(value, name, "b")
    with pytest.raises(AttributeError):
        del value._value
    assert not hasattr(value, "__dict__")


def test_it_is_not_hashable() -> None:
    """Sets and dictionary keys would compare, and discard the answer's sources without a word."""
    with pytest.raises(TypeError):
        hash(grounded("a"))
    assert not isinstance(grounded("a"), Hashable)


def test_what_is_shown_of_it_is_not_its_value() -> None:
    """`repr` goes into logs, where no chain goes."""
    assert repr(grounded("secret", "a.md", 0.5)) == "<Grounded str, ProvenanceChain[retrieval], confidence 0.5>"


@pytest.mark.parametrize(
    "copied",
    [copy.copy, copy.deepcopy, *(lambda one, p=protocol: pickle.loads(pickle.dumps(one, p)) for protocol in range(6))],
)
def test_copies_and_pickles_are_the_same(copied: Callable[[Any], Any]) -> None:
    """Value and chain, without a claim that the chain would not bear."""
    value = (grounded(["a"], "a.md", 0.5) + ["b"]).sever("why")

    again = copied(value)

    assert plain(again) == ["a", "b"]
    assert again.chain == value.chain


def test_a_deep_copy_shares_nothing() -> None:
    """Neither what it carries."""
    inside = ["a"]
    again = copy.deepcopy(grounded(inside))
    inside.append("b")

    assert plain(again) == ["a"]


def test_a_mapped_value_names_the_function() -> None:
    """Its own chain on the left, that of a grounded result on the right."""
    value = grounded("abc").map(len)
    mixed = grounded("abc").map(lambda text: text + grounded("d", "d.md"))

    assert (plain(value), only(value).operator, only(value).left) == (3, "len", [retrieval()])
    assert plain(mixed) == "abcd"
    assert [one.source for one in mixed.retrievals()] == ["a.md", "d.md"]
    assert plain(grounded("a").map(operator.itemgetter(0))) == "a"


def test_a_severed_value_cannot_claim_to_be_grounded() -> None:
    """The step says why; nothing makes up for it afterwards [C §3]."""
    cut = grounded("a").sever("mixed with a guess")

    assert cut.sources() == [retrieval(), Severed(reason="mixed with a guess")]
    assert not cut.grounded
    assert not (cut + grounded("b")).grounded
    with pytest.raises(UngroundedReturn, match="mixed with a guess"):
        Grounded("a", cut.chain)


def test_a_chain_without_a_source_cannot_claim_to_be_grounded() -> None:
    """Neither an empty one nor one of transforms only."""
    for chain in ([], [Derived(operator="+")], [{"step": "prompt-transform"}]):
        with pytest.raises(UngroundedReturn):
            Grounded("a", chain)
    assert grounded("a").grounded


def test_confidence_and_data_are_those_of_the_whole_chain() -> None:
    """The least, 1.0 where nothing is said [C §7]; the union [C §6]."""
    value = grounded("a", "a.md", 0.9, "pii") + grounded("b", "b.md", 0.6) + "c"

    assert (value.confidence, value.data) == (0.6, {"grounded", "pii"})
    assert grounded("a").confidence == 1.0


# ---------------------------------------------------------------- texts


def test_a_template_keeps_the_sources_of_what_it_names() -> None:
    """By position and by name, with attributes, items, conversions and formats; of nothing else."""
    who, what = grounded("Ann", "who.md"), grounded({"n": 3.14159}, "what.md")

    text = template(
        "{}: {what[n]:.2f} {plain!r} {who.__class__.__name__}", who, who=who, what=what, plain="x", other=grounded("z")
    )

    assert plain(text) == "Ann: 3.14 'x' str"
    assert [one.source for one in text.retrievals()] == ["who.md", "what.md"]
    assert only(text).operator == "format"


def test_a_grounded_template_is_formatted() -> None:
    """With plain and with grounded arguments; widths may be grounded too."""
    text = grounded("{}-{:>{width}}", "t.md").format("a", grounded("b", "b.md"), width=grounded(3, "w.md"))

    assert plain(text) == "a-  b"
    assert [one.source for one in text.retrievals()] == ["t.md", "b.md", "w.md"]


def test_a_template_of_plain_texts_is_not_grounded() -> None:
    """It has the wrapper and no source."""
    assert not template("{}", "a").grounded


@pytest.mark.parametrize(
    "join",
    [
        lambda one, two: Grounded.join(", ", [one, "x", two]),
        lambda one, two: Grounded.join(", ", iter([one, "x", two])),
        lambda one, two: Grounded.join(one[:0] + ", ", (one, "x", two)),
        lambda one, two: (one[:0] + ", ").join([one, "x", two]),
    ],
)
def test_texts_are_joined(join: Callable[..., Grounded[str]]) -> None:
    """Plain and grounded ones, by a plain or a grounded separator."""
    text = join(grounded("a", "a.md"), grounded("b", "b.md"))

    assert plain(text) == "a, x, b"
    assert [one.source for one in text.retrievals()] == ["a.md", "b.md"]


def test_a_grounded_list_is_joined() -> None:
    """What is inside is part of it."""
    assert plain(Grounded.join("-", grounded(["a", "b"]))) == "a-b"


@pytest.mark.parametrize(
    "use",
    [
        str,
        lambda one: f"{one}",
        lambda one: "%s" % one,  # noqa: UP031
        "{}".format,
        int,
        float,
        complex,
        bytes,
        len,
        range,
        hex,
        lambda one: "abc"[one],
        print,
    ],
)
def test_what_python_makes_plain_is_refused(use: Callable[[Any], Any]) -> None:
    """Texts, numbers, indices: their sources would be gone without a word."""
    with pytest.raises(UndeclaredDiscard):
        use(grounded(1))


def test_a_declared_discard_lets_a_value_go() -> None:
    """And is on record, each time, with the reason and the place."""
    value = grounded(1)
    before = len(discards())

    with discarding("shown to a person"):
        texts = (str(value), f"{value:03}", int(value), float(value), complex(value), bytes(value), "abc"[value])

    assert texts == ("1", "001", 1, 1.0, 1 + 0j, b"\0", "b")
    assert [one.rule for one in discards()[before:]] == ["str", "format", "int", "float", "complex", "bytes", "index"]
    assert all(one.where.endswith(": shown to a person") for one in discards()[before:])
    with pytest.raises(UndeclaredDiscard):
        str(value)


def test_unwrapping_is_recorded() -> None:
    """With the function and line that did it, and no path of the machine."""
    assert grounded("a").unwrap_discarding_sources() == "a"

    last = discards()[-1]
    assert isinstance(last, Discard)
    assert last.rule == "explicit-unwrap"
    assert last.where.rpartition(":")[0].endswith("test_unwrapping_is_recorded")
    assert "/" not in last.where


@pytest.mark.parametrize("value", [True, False])
def test_a_condition_works_and_is_recorded(value: bool) -> None:
    """`if`, `and`, `or`, `not` are control flow [C §9.2]."""
    before = len(discards())

    assert ("yes" if grounded(value) else "no") == ("yes" if value else "no")
    assert (not grounded(value)) is not value
    assert [one.rule for one in discards()[before:]] == ["condition", "condition"]


def test_membership_is_a_condition() -> None:
    """Python makes a plain truth of it."""
    before = len(discards())

    assert "a" in grounded(["a"])
    assert grounded("b") not in grounded(["a"])
    assert [one.rule for one in discards()[before:]] == ["in", "in"]


def test_loops_and_unpacking_discard_nothing() -> None:
    """Item by item, each with the chain."""
    before = len(discards())
    first, *rest = grounded([1, 2, 3])

    assert [one.retrievals() for one in (first, *rest)] == [[retrieval()]] * 3
    assert only(first).operator == "iter"
    assert len(discards()) == before
    assert [plain(one) for one in (first, *rest)] == [1, 2, 3]
    assert [plain(one) for one in reversed(grounded([1, 2]))] == [2, 1]
    assert all(one.retrievals() == [retrieval()] for one in reversed(grounded([1, 2])))


def test_a_length_is_let_go_where_that_is_declared() -> None:
    """A list can be made of it all the same, of grounded items."""
    value = grounded([1, 2])

    assert [plain(one) for one in list(value)] == [1, 2]
    with discarding("counted"):
        assert len(value) == 2
    assert discards()[-1].rule == "len"


def test_sums_and_extremes_are_grounded() -> None:
    """Python's own functions go by the operators."""
    some = [grounded(3, "a.md"), grounded(5, "b.md")]

    assert plain(sum(some)) == 8
    assert [one.source for one in sum(some).retrievals()] == ["a.md", "b.md"]
    assert max(some) is some[1]


def test_what_lies_in_a_container_is_taken_out() -> None:
    """Lists, tuples, named tuples and dictionaries as operands: no source is lost in one."""

    class Pair(NamedTuple):
        one: Any
        two: Any

    inner = grounded("b", "b.md")
    pair = grounded((), "a.md") + Pair(inner, {"k": [inner]})

    assert plain(grounded(["a"], "a.md") + [inner]) == ["a", "b"]
    assert plain(pair) == ("b", {"k": ["b"]})
    assert [one.source for one in pair.retrievals()] == ["a.md", "b.md"]


def _never_reads(text: str, *, more: str = "") -> str:
    return "made up"


@pytest.mark.parametrize(
    "function",
    [
        lambda _: "made up",
        lambda *_: "made up",
        _never_reads,
        lambda _: list("ab"),
        lambda _, more="made up": more,  # what it reads is no input
        lambda _, *, more="made up": more + more,
        lambda *_, more="made up": (lambda: more)(),
        lambda _, *rest, **named: (rest, named),
    ],
)
def test_a_mapped_function_that_drops_its_input_severs(function: Any) -> None:
    """What it gives was made of nothing that the chain names [C §3]."""
    cut = grounded("a").map(function)
    assert not cut.grounded
    assert isinstance(cut.sources()[-1], Severed)


@pytest.mark.parametrize(
    "function",
    [
        lambda text: text,
        lambda text, more="x": more + text,
        lambda *texts: texts[0],
        lambda *texts, more="x": [one + more for one in texts],
        lambda text: [one + text for one in text],
        lambda text: (lambda: text)(),
        str.upper,
        len,
        operator.itemgetter(0),
    ],
)
def test_a_mapped_function_that_reads_its_input_keeps_the_chain(function: Any) -> None:
    """Also in a function inside, and where nobody can look into it."""
    assert grounded("a").map(function).grounded
