"""The yield measurement: its bounds, its corpus held against the sources, its mutations, and one small run of it.

The packages are brought by pip once, into `var/yield`; without an index the tests that need them are skipped.
"""

from __future__ import annotations

import importlib.util
import json
import math
import sys
import tarfile
from collections import Counter
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import bounds
import cases
import figures
import generate
import judge
import mutations
import oracle_checks
import pytest
import sdists
import showing
import sources
import statements
import turning
from choosing import number
from hypothesis import given
from hypothesis import strategies as st
from mutations import TYPES
from oracle import Package, package

from sluice.streams.judging.checks import Check, canonical, parse_check

YIELD = Path(__file__).parents[2] / "benchmarks" / "yield"

pytestmark = pytest.mark.slow

CORPUS = statements.load()
BY_ID = {one.id: one for one in CORPUS}


@pytest.fixture(scope="session")
def roots() -> dict[str, Path]:
    """The repositories; skipped where pip cannot bring the packages."""
    try:
        return sources.roots()
    except sdists.SourcesError as error:
        pytest.skip(f"the packages are not to be had: {error}")


@pytest.fixture(scope="session")
def packages(roots: dict[str, Path]) -> dict[str, Package]:
    return {name: package(root) for name, root in roots.items()}


@pytest.fixture(scope="session")
def made(packages: dict[str, Package]) -> list[mutations.Mutation]:
    """Every mutation of the corpus."""
    true = [one for one in CORPUS if one.label]
    return [mutation for one in true for mutation in mutations.mutations(one, packages[one.package])]


# ---------------------------------------------------------------- bounds


@pytest.mark.parametrize("cases_", [1, 30, 300, 3000])
def test_the_bound_of_none_is_exact(cases_: int) -> None:
    """Of 0 in n it is 1 - 0.05^(1/n), a little under 3/n."""
    assert bounds.upper(0, cases_) == pytest.approx(1 - 0.05 ** (1 / cases_), abs=1e-9)
    assert bounds.at_most(0, cases_).bound <= 3 / cases_


@pytest.mark.parametrize(("count", "of", "wanted"), [(1, 30, 0.14860), (5, 100, 0.10225), (10, 1000, 0.016896)])
def test_bounds_are_those_of_the_tables(count: int, of: int, wanted: float) -> None:
    """One-sided 95 % bounds of Clopper and Pearson."""
    assert bounds.upper(count, of) == pytest.approx(wanted, rel=2e-3)


@given(st.integers(1, 400), st.data())
def test_a_bound_is_beyond_the_share_and_falls_with_more_cases(of: int, data: st.DataObject) -> None:
    """The upper one is above, the lower one below; twice the cases at the same share narrow both."""
    count = data.draw(st.integers(0, of))
    upper, lower = bounds.upper(count, of), bounds.lower(count, of)
    assert lower <= count / of <= upper
    assert bounds.upper(2 * count, 2 * of) <= upper + 1e-9
    assert bounds.lower(2 * count, 2 * of) >= lower - 1e-9


@given(st.integers(1, 200), st.data())
def test_the_upper_bound_is_where_so_few_are_one_in_twenty(of: int, data: st.DataObject) -> None:
    """The binomial probability of at most so many, at the bound, is 0.05."""
    count = data.draw(st.integers(0, of - 1))
    share = bounds.upper(count, of)
    tail = math.fsum(math.comb(of, one) * share**one * (1 - share) ** (of - one) for one in range(count + 1))
    assert tail == pytest.approx(0.05, rel=1e-3)


def test_nothing_tried_shows_nothing() -> None:
    """Of no cases the upper bound is 1 and the lower one 0."""
    assert bounds.at_most(0, 0) == (0.0, 0, 1.0)
    assert bounds.at_least(0, 0) == (0.0, 0, 0.0)


@pytest.mark.parametrize(("share", "wanted"), [(0.5, 3.0), (0.95, 5.0), (0.0, 1.0)])
def test_percentiles_are_values_that_were_measured(share: float, wanted: float) -> None:
    """The nearest rank, from above."""
    assert bounds.percentile([5.0, 1.0, 2.0, 3.0, 4.0], share) == wanted


# ---------------------------------------------------------------- the sources


def test_the_lock_file_pins_every_package_and_names_no_index() -> None:
    """Name, version and hash; history.toml has each of them."""
    text = sdists.LOCK.read_text("utf-8")
    pinned = sdists.pinned()
    assert 8 <= len(pinned) <= 12
    assert "://" not in text
    assert {one.name for one in pinned} == set(sources.history())


def test_what_is_not_pinned_is_refused(tmp_path: Path) -> None:
    """A line without a hash is an error, not a package."""
    (tmp_path / "lock.txt").write_text("click==8.3.3\n")
    with pytest.raises(sdists.SourcesError, match="line 1"):
        sdists.pinned(tmp_path / "lock.txt")


def test_an_archive_that_leads_out_of_itself_is_refused(tmp_path: Path) -> None:
    """`..` and absolute paths never leave the folder."""
    inner = tmp_path / "a.txt"
    inner.write_text("x")
    with tarfile.open(tmp_path / "evil.tar.gz", "w:gz") as tar:
        tar.add(inner, arcname="package/../../a.txt")
    with pytest.raises(sdists.SourcesError):
        sdists.unpack(tmp_path / "evil.tar.gz", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_no_package_brings_its_own_build_backend(roots: dict[str, Path]) -> None:
    """pip would run it for the metadata."""
    for name, root in roots.items():
        project = root / "pyproject.toml"
        assert not project.exists() or "backend-path" not in project.read_text("utf-8"), name


def test_the_histories_are_the_same_everywhere(roots: dict[str, Path]) -> None:
    """The hashes that the corpus names are there: three commits each, of fixed authors and days."""
    for name, root in roots.items():
        log = sources.git(root, "log", "--format=%an %ad", "--date=short").split("\n")
        days = sources.history()[name]["days"]
        assert log[:3] == [f"{author} {day}" for author, day in zip(sources.AUTHORS[::-1], days[::-1], strict=True)]
        assert not sources.git(root, "status", "--porcelain").strip()


# ---------------------------------------------------------------- the corpus


def test_the_corpus_is_as_large_as_it_has_to_be() -> None:
    """300 true and 100 false statements at least, of every kind, 100 and more by hand, in a dozen turns of phrase."""
    true, false = (sum(one.label is label for one in CORPUS) for label in (True, False))
    assert (true >= 300, false >= 100) == (True, True)
    assert {one.kind for one in CORPUS if one.label} == set(statements.KINDS)
    assert sum(one.label and one.style == "hand" for one in CORPUS) >= 100
    assert len({one.style for one in CORPUS} - {"hand"}) >= 12
    assert len({one.language for one in CORPUS}) >= 12


def test_no_statement_stands_there_twice() -> None:
    """Neither its identifier nor its words."""
    assert len(BY_ID) == len(CORPUS)
    assert len({(one.package, one.text) for one in CORPUS}) == len(CORPUS)


@pytest.mark.parametrize("one", CORPUS, ids=[one.id for one in CORPUS])
def test_each_statement_is_what_its_label_says(one: statements.Statement, packages: dict[str, Package]) -> None:
    """The oracle bears out the checks of a true one, and refutes one of a false one at least, unless they stand beside
    it; every check is one, in its canonical form; and what is wrong with a false one stands in its words."""
    about = packages[one.package]
    reported = [about.truth(check) for check in one.checks]
    if one.label or one.beside:
        assert reported == [True] * len(reported), one.checks
    else:
        assert False in reported, one.checks
    assert 1 <= len(one.checks) <= 20
    for check in one.checks:
        assert isinstance(parse_check(check), Check), check
    assert bool(one.why) is bool(one.wrong) is not one.label
    assert all(one.text[start:end] in one.wrong for start, end in one.false_at)
    assert len(one.false_at) == len(one.wrong)
    assert one.path in about.tracked or one.kind in ("absence", "existence")
    assert one.annotations
    assert one.recorded
    assert one.verified


def test_annotations_lead_to_lines_that_are_there(packages: dict[str, Package]) -> None:
    """Paths are tracked, lines within the file, and what is searched for stands there."""
    for one in CORPUS:
        for each in (*one.annotations, *one.recorded):
            locator = each["locator"]
            text = packages[one.package].text(locator["path"])
            if text is None:
                assert one.kind == "absence" or "lines" not in locator, one.id
                continue
            if "lines" in locator:
                first, last = locator["lines"]
                assert 1 <= first <= last <= max(1, len(text.splitlines())), one.id
            if "pattern" in locator:
                assert locator["pattern"], one.id


def test_the_generated_statements_follow_from_the_sources(packages: dict[str, Package]) -> None:
    """`generate.py` writes the very file that is checked in."""
    fields = statements.Statement._fields
    found = [{key: record[key] for key in fields} for record in generate.made(packages)]
    text = (statements.CORPUS / "generated.jsonl").read_text("utf-8")
    assert found == [json.loads(line) for line in text.splitlines()]


# ---------------------------------------------------------------- the oracle


@pytest.mark.parametrize(
    "text",
    [
        "equals(MAX, 1_000, path=a.py)",
        'contains("a \\"b\\" c")',
        "not calls(A.b, c, path=a.py, in=A, lines=1-9)",
        'equals(x, [a, "b c", [1]])',
        'line("a b.py", 3, "x = {")',
        'commit(5e9749a, author="Ada Archer", date=2026-01-02)',
        "count(x, >=, 3)",
    ],
)
def test_the_oracle_reads_checks_as_the_product_does(text: str) -> None:
    """Two parsers, one meaning: what the oracle spells again has the same canonical form."""
    parsed, check = oracle_checks.parse(text), parse_check(text)
    assert parsed is not None
    assert isinstance(check, Check)
    again = parse_check(oracle_checks.spelled(parsed))
    assert isinstance(again, Check)
    assert canonical(again) == canonical(check)


@pytest.mark.parametrize("text", ["equals(", "x", 'contains("a)', "equals(a, [b)", "equals(a; b)"])
def test_the_oracle_reads_nothing_into_what_is_no_check(text: str) -> None:
    """It says that it cannot tell."""
    assert oracle_checks.parse(text) is None


def test_the_oracle_says_when_it_cannot_tell(packages: dict[str, Package]) -> None:
    """Unknown checks, files of no listed language, and values that are computed."""
    click = packages["click"]
    assert click.truth("nonsense(a)") is None
    assert click.truth("calls(a, b, path=LICENSE.txt)") is None
    assert packages["h11"].truth("equals(DEFAULT_MAX_INCOMPLETE_EVENT_SIZE, 16384, path=h11/_connection.py)") is None


# ---------------------------------------------------------------- mutations


def test_there_are_enough_mutations_of_each_type(made: list[mutations.Mutation]) -> None:
    """30 of each of the nine, and 1,000 with falsified checks or false words in all."""
    count = Counter(one.type for one in made)
    assert set(count) == set(TYPES)
    assert min(count.values()) >= 30
    assert sum(one.falsified is not None for one in made) >= 1000


def test_no_mutation_stands_there_twice(made: list[mutations.Mutation]) -> None:
    """Neither its identifier nor, of one statement, its words; and none says what the statement says."""
    assert len({one.id for one in made}) == len(made)
    assert all(one.text != one.statement.text for one in made)


def test_falsified_checks_are_checks_and_false(made: list[mutations.Mutation], packages: dict[str, Package]) -> None:
    """Each parses, and the oracle refutes one of them at least."""
    for one in made:
        if one.falsified is None:
            continue
        assert all(isinstance(parse_check(check), Check) for check in one.falsified), one.id
        reported = [packages[one.statement.package].truth(check) for check in one.falsified]
        assert False in reported, one.id


def test_what_makes_a_mutation_false_stands_in_its_words(made: list[mutations.Mutation]) -> None:
    """The spans are within the text and not empty; the statement has something else in one of these places."""
    for one in made:
        assert one.false_at, one.id
        assert all(0 <= start < end <= len(one.text) for start, end in one.false_at), one.id
        assert any(one.statement.text[start:end] != one.text[start:end] for start, end in one.false_at), one.id


def test_mutations_are_the_same_in_every_run(packages: dict[str, Package]) -> None:
    """They follow from the statement alone."""
    one = BY_ID["click-t03"]
    about = packages[one.package]
    assert list(mutations.mutations(one, about)) == list(mutations.mutations(one, Package(about.root)))


def test_denials_are_made_of_what_affirms(packages: dict[str, Package]) -> None:
    """«There is no x», marked as a denial, says what is true: no denial is made of it."""
    denied = [one for one in CORPUS if one.label and list(mutations.denials(one))]
    assert len(denied) >= 300
    assert not any(check.startswith(("not ", "absent(", "missing(")) for one in denied for check in one.checks)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("`f()` calls `g`.", "`f()` does not call `g`."),
        ("`X` is 3.", "`X` is not 3."),
        ("There is no `x` in `a.py`.", "There is a `x` in `a.py`."),
        ("`a.py` does not import `os`.", "`a.py` imports `os`."),
        ("`X`: 3 (see `a.py`)", "`X`: not 3 (see `a.py`)"),
        ("`is` and `calls` are names.", "`is` and `calls` are not names."),
        ("Commit `abc` changed `a.py`.", "Commit `abc` did not change `a.py`."),
        ("Both `f` and `g` call `h`.", "Both `f` and `g` do not call `h`."),
    ],
)
def test_sentences_are_turned_at_their_verb(text: str, wanted: str) -> None:
    """Never within back-ticks."""
    verb = turning.verb_of(text)
    assert verb is not None
    edit = turning.negated(verb)
    assert edit is not None
    new, spans = turning.applied(text, [edit])
    assert new == wanted
    assert all(new[start:end].strip() for start, end in spans)


def test_choices_do_not_hang_on_the_run() -> None:
    """The same words give the same number, in whatever process."""
    assert number("a", 1) == 9484037261928657086
    assert number("a", "b") != number("ab")


# ---------------------------------------------------------------- cases and figures


def test_cases_have_identifiers_of_their_own(packages: dict[str, Package]) -> None:
    """And every setting has true and false ones."""
    chosen = [one for one in CORPUS if number("test", one.id) % 30 == 0]
    found = list(cases.cases(chosen, packages, 2))
    assert len({one.id for one in found}) == len(found)
    for setting in cases.SETTINGS:
        kinds = {one.type for one in found if one.setting == setting}
        assert {"", "false", "denial"} <= kinds
        assert set(TYPES) <= kinds
    assert any(one.setting == cases.PADDED for one in found)
    assert all(judge.decoded(one) for one in found)


def admission(coverage: str, unchecked: tuple[tuple[int, int], ...] = ()) -> judge.Admission:
    return judge.Admission(coverage, unchecked, ("it does",), ("exists(a)",), "it does")


def verdict(
    type_: str, setting: str, admitted: judge.Admission | None, rendered_false: tuple[str, ...] = ()
) -> judge.Verdict:
    one = BY_ID["click-t01"]
    case = cases.Case(
        f"{type_}:{setting}", one, setting, type_, one.text, "assertion", [], None, ((10, 14),) if type_ else ()
    )
    seen = (judge.LookResult("substrate.grep", "absent", "check-fails", 1.0),)
    return judge.Verdict(case, seen, {"internal": admitted, "external": None}, "", False, rendered_false, 0)


def filled(**more: judge.Verdict) -> list[judge.Verdict]:
    """One verdict of each type and setting, none of the false ones admitted."""
    settings = figures.FALSE_SETTINGS
    return [
        *(verdict("", setting, admission("whole")) for setting in cases.SETTINGS),
        *(verdict(name, setting, None) for name in ("false", *TYPES) for setting in settings),
        verdict("denial", "bare", None),
        *more.values(),
    ]


def test_what_is_admitted_is_counted_once_and_where_it_belongs() -> None:
    """Whole and part are different faults; a hidden falsehood is none; a rendered one counts whatever the words."""
    whole = figures.figures(filled(a=verdict("negated", "bare", admission("whole"))))
    assert whole.rates["whole_false"].value > 0
    assert whole.rates["part_false"].value == 0
    said = figures.figures(filled(a=verdict("negated", "bare", admission("part", ((0, 5),)))))
    assert (said.rates["part_false"].value > 0, said.rates["whole_false"].value) == (True, 0)
    hidden = figures.figures(filled(a=verdict("negated", "bare", admission("part", ((12, 20),)))))
    assert hidden.rates["part_false"].value == 0
    rendered = figures.figures(filled(a=verdict("negated", "bare", admission("part", ((12, 20),)), ("exists(a)",))))
    assert rendered.rates["rendered_false"].value > 0
    denied = figures.figures(filled(a=verdict("denial", "attached", admission("whole"))))
    assert denied.rates["denials_false"].value > 0
    assert denied.rates["whole_false"].value == 0


def test_no_setting_hides_behind_the_cases_of_another() -> None:
    """The rate of false admissions is that of the worst setting."""
    found = figures.figures(filled(a=verdict("negated", "padded", admission("whole"))))
    assert found.rates["whole_false"].cases == 1 + len(TYPES) + 1


def test_goals_are_missed_for_want_of_cases_but_not_of_a_sample() -> None:
    """Too few cases show nothing, and a sample is held to what must never happen only."""
    found = figures.figures(filled())
    assert not all(one.met for one in figures.goals(found, quick=False))
    assert all(one.met for one in figures.goals(found, quick=True))
    bad = figures.figures(filled(a=verdict("denial", "bare", admission("part"))))
    assert not all(one.met for one in figures.goals(bad, quick=True))


def test_a_recall_below_what_is_stored_is_reported() -> None:
    """By its name; what is new or higher is not."""
    found = figures.figures(filled())
    stored = {"recall_bare": {"value": 1.0}, "recall_derived": {"value": 0.5}, "whole_false": {"value": 0.0}}
    assert figures.fallen(found, stored) == []
    worse = figures.figures([*filled(), verdict("", "bare", None)])
    assert figures.fallen(worse, stored) == ["recall_bare"]


def test_a_figure_that_is_stored_rounded_up_has_not_fallen() -> None:
    """285 of 412 is stored as 0.691748, which is above it."""
    found = figures.figures([])
    found.rates["recall_derived"] = bounds.at_least(285, 412)
    stored = figures.document(found)
    assert stored["recall_derived"]["value"] > 285 / 412
    assert figures.fallen(found, stored) == []


def test_the_stored_form_has_value_cases_and_bound() -> None:
    """For every figure that judging names."""
    document = figures.document(figures.figures(filled()))
    for name in ("rendered_false", "whole_false", "part_false", "denials_false", *figures.RECALLS, "recall_bare"):
        assert set(document[name]) == {"value", "cases", "bound"}


def test_tables_and_plot_say_what_was_found() -> None:
    """The plot is XML, the Markdown has a row for each type."""
    found = figures.figures(filled())
    held = figures.goals(found, quick=False)
    assert ElementTree.fromstring(showing.svg(found, "a < b")).tag.endswith("svg")
    page = showing.markdown(found, held, "today")
    assert all(mutations.DESCRIPTIONS[name] in page for name in TYPES)
    assert len(showing.tables(found, held)) == 4


# ---------------------------------------------------------------- end to end


@pytest.fixture(scope="module")
def run() -> ModuleType:
    """`run.py`, by its path: another folder has a module of that name."""
    spec = importlib.util.spec_from_file_location("yield_run", YIELD / "run.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["yield_run"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("given_", [["--processes", "0"], ["--quick", "--update"]])
def test_wrong_usage_is_reported(run: ModuleType, given_: list[str]) -> None:
    """With exit status 2."""
    with pytest.raises(SystemExit) as stopped:
        run.parse(given_)
    assert stopped.value.code == 2


def test_without_an_index_it_ends_with_3(run: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """And says so, without a traceback."""

    def nothing(_: object) -> None:
        raise sdists.SourcesError("no index")

    monkeypatch.setattr(run, "roots", nothing)
    monkeypatch.setattr(sys, "argv", ["run.py", "--quick"])
    assert run.main() == 3


def test_a_small_run_holds_what_must_never_be_admitted(packages: dict[str, Package], roots: dict[str, Path]) -> None:
    """End to end, through observers and fold: true statements come through, nothing false is rendered, and no denial
    of what is true is borne out."""
    chosen = [one for one in CORPUS if one.package in ("h11", "itsdangerous") and number("small", one.id) % 4 == 0]
    found = []
    judges = {name: judge.Judge(roots[name]) for name in ("h11", "itsdangerous")}
    try:
        for case in cases.cases(chosen, packages, 4):
            found.append(judges[case.statement.package].verdict(case))
    finally:
        for one in judges.values():
            one.close()
    assert any(one.case.true and figures.admitted(one) for one in found)
    assert not [one.case.id for one in found if one.rendered_false]
    assert not [one.case.id for one in found if one.case.type == "denial" and figures.admitted(one)]
    assert not [one.case.id for one in found if not one.case.true and figures.admitted_whole(one)]
