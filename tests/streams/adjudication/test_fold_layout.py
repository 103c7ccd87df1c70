"""What Python and the compiled core hand each other is declared once, and both go by the declaration."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, get_args

import make_native_layout
import pytest
from fold_histories import T, block_of, event_of

from sluice.codecs import compiled_core as codecs_core
from sluice.codecs import compiled_core as codecs_layout
from sluice.codecs.blocks import Event, Output, Stretch
from sluice.codecs.compiled_core import fingerprint
from sluice.codecs.record_batches import Cursor
from sluice.codecs.records import Disposition, Status
from sluice.streams.adjudication import emission_state, fold_layout, timers
from sluice.streams.adjudication import fold as core
from sluice.streams.adjudication import fold_layout as compiled_fold
from sluice.streams.policy.policy import Policy, Privacy, PublishedVerdicts

NATIVE = Path(__file__).parents[3] / "native"
TUPLES = ("tables", "moment", "rules", "writing")


def handed(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What `folder_for` hands the compiled core for a block."""
    found: list[Any] = []

    def folder(*given: Any) -> None:
        found[:] = given

    state = core.new_state(0, 1)
    with monkeypatch.context() as patch:
        patch.setattr(compiled_fold, "core", SimpleNamespace(Folder=folder, timer=lambda *_: NotImplemented))
        core.fold(state, block_of(state, 0, T, T, [event_of(Policy())]))
        core.fold(state, block_of(state, 1, T, T, []))
    assert len(found) == len(TUPLES)
    return found


def test_the_header_is_the_one_of_this_declaration() -> None:
    """Made by `tools/make_native_layout.py`, which says how to make it anew."""
    assert make_native_layout.TARGET.read_text("utf-8") == make_native_layout.header()
    assert make_native_layout.main(["--check"]) == 0


def test_an_old_header_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """The check ends with 1 and says what to run; without it the header is made anew."""
    monkeypatch.setattr(make_native_layout, "TARGET", tmp_path / "layout.h")
    assert make_native_layout.main(["--check"]) == 1
    assert "run tools/make_native_layout.py" in capsys.readouterr().err

    assert make_native_layout.main([]) == 0
    assert make_native_layout.main(["--check"]) == 0


def test_tuples_of_other_modules_are_declared_as_they_are() -> None:
    """Whoever adds a field to one of them is sent here."""
    assert Cursor.__struct_fields__ == codecs_layout.TUPLES["cursor"]
    assert Output._fields == codecs_layout.OUTPUT
    assert Event.__struct_fields__ == codecs_layout.EVENT
    assert Stretch._fields == codecs_layout.TUPLES["stretch"]


def test_codes_are_those_of_python() -> None:
    """Lists whose order the C needs have the words that Python has, and an index is the number that Python gives."""
    codes = fold_layout.CODES

    assert [phase.value for phase in emission_state.Phase] == list(range(len(emission_state.Phase)))
    assert (codes["clock"].index("watermark"), codes["clock"].index("time")) == (timers.WATERMARK, timers.TIME)
    assert set(codes["disposition"]) == set(get_args(Disposition))
    assert set(codes["status"]) | {"renewed"} == {"pending", *get_args(Status)}
    assert set(codes["verdicts"]) == set(get_args(PublishedVerdicts))
    assert set(codes["shown_ids"]) == set(get_args(Privacy))
    assert set(codes["end"]) <= set(Policy().disposition)


def test_the_core_is_handed_what_is_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each tuple is of its declared type, the inner ones too."""
    tables, moment, rules, writing = handed(monkeypatch)
    declared = fold_layout.TUPLES

    assert [one._fields for one in (tables, moment, rules, writing)] == [declared[name] for name in TUPLES]
    assert [one._fields for one in moment.terms] == [declared["terms"]]
    assert {len(one) for one in moment.max_validities} == {len(declared["max_validity"])}
    assert [one._fields for one in writing] == [
        declared[name] for name in ("text", "verdict_text", "record_header", "function")
    ]
    assert [name for name in declared["state_number"] if not isinstance(getattr(tables.state, name), int)] == []


@pytest.mark.skipif(compiled_fold.core is None, reason="there is no compiled core")
@pytest.mark.parametrize("number", range(4), ids=TUPLES)
def test_a_core_takes_no_tuple_of_another_length(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """One field fewer, or one more, is refused as a whole: nothing is read for something else."""
    given = handed(monkeypatch)
    assert compiled_fold.core is not None
    compiled_fold.core.Folder(*given)  # as it is, it is taken

    for other in (tuple(given[number])[:-1], (*given[number], 0), list(given[number])):
        with pytest.raises(ValueError, match="not the rules that the compiled core was made for"):
            compiled_fold.core.Folder(*given[:number], other, *given[number + 1 :])


@pytest.mark.skipif(compiled_fold.core is None, reason="there is no compiled core")
def test_a_core_takes_no_field_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where two fields of unlike types change places, one is no longer what it has to be."""
    tables, moment, rules, writing = handed(monkeypatch)
    assert compiled_fold.core is not None

    for changed in (
        (tables._replace(packed=tables.outputs, outputs=tables.packed), moment, rules, writing),
        (tables, moment._replace(terms=moment.time, time=moment.terms), rules, writing),
        (tables, moment, rules._replace(effects=rules.cap, cap=rules.effects), writing),
        (tables, moment, rules, writing._replace(texts=writing.functions, functions=writing.texts)),
    ):
        with pytest.raises(TypeError):
            compiled_fold.core.Folder(*changed)


@pytest.mark.parametrize(
    "other",
    [{"a": ("x", "y")}, {"a": ("y", "x", "z")}, {"b": ("x", "y", "z")}, {"a": ("x", "y", "z"), "b": ()}, {"a": ("x",)}],
)
def test_another_layout_has_another_name(other: dict[str, tuple[str, ...]]) -> None:
    """A field less, another order, another tuple, one more."""
    assert fingerprint({"a": ("x", "y", "z")}) == fingerprint({"a": ["x", "y", "z"]})
    assert fingerprint(other) != fingerprint({"a": ("x", "y", "z")})


def test_a_core_of_another_layout_is_not_used() -> None:
    """An older build left in a checkout would read one field for another."""
    module = ModuleType("older")
    module.PURE, module.VERSION = 0, codecs_core.VERSION  # type: ignore[attr-defined]
    assert not codecs_core.usable(module, codecs_layout.LAYOUT)

    module.LAYOUT = codecs_layout.LAYOUT  # type: ignore[attr-defined]
    assert codecs_core.usable(module, codecs_layout.LAYOUT)
    assert not codecs_core.usable(module, fold_layout.LAYOUT)


def test_the_c_takes_no_field_by_a_number() -> None:
    """Every index has its name from `layout.h`."""
    by_number = re.compile(
        r"(?:field_of|take_\w+|PyTuple_[GS]ET_ITEM)\([^,()]+, \d+[,)]|PyTuple_GET_SIZE\([^)]*\) [!=]= \d|Py_BuildValue"
        r"|PyTuple_Pack"
    )
    sources = {path.name: path.read_text("utf-8") for path in NATIVE.glob("*.[ch]")}
    assert len(sources) > 20

    found = {name: [match[0] for match in by_number.finditer(text)] for name, text in sources.items()}
    # `take_big` takes so many bytes, and an array of no elements is one.
    allowed = re.compile(r"take_big\(|take_array_of\(&?reader, 0\)")
    assert {name: left for name, some in found.items() if (left := [s for s in some if not allowed.match(s)])} == {}
