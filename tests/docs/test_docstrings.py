"""tools/check_docstrings.py: what a room's door leads to says what it does, and in which units it counts."""

from __future__ import annotations

from pathlib import Path

import check_docstrings
import pytest

NO_WORD = "the docstring of read does not say what {} is"
NO_ERROR = "the docstring of {} does not name {}, which it raises"
ERRORS = '''
class OurError(Exception):
    """An error."""
class GoneError(OurError):
    """It is gone."""
'''
READS = '''
def read():
    """Reads."""
    if 1:
        raise GoneError("it is gone")
'''
LOGS = '''
class Log:
    """A log."""
    async def read(self):
        """Reads."""
        raise OurError
'''
NO_UNIT = "the docstring of {} does not say the unit of {}"
PROTOCOL = '''
class Log(Protocol):
    """A log.

    Attributes:
        name: of it.
    """
    @property
    def name(self) -> str: ...
    def read(self, most_bytes: int) -> bytes:
        """At most so many bytes."""
    def _inner(self): ...
'''


def found(tmp_path: Path, module: str, init: str = '__all__ = ["log"]\n') -> list[str]:
    """What is said of a repository whose only room has one module."""
    room = tmp_path / "topology" / "room"
    room.mkdir(parents=True)
    (room / "__init__.py").write_text(init)
    (room / "log.py").write_text(module)
    return [fault.sentence for fault in check_docstrings.check(tmp_path)]


def test_every_room_is_looked_at():
    """Of the doors that users come in by, by name and by module."""
    names = {definition.name for init in check_docstrings.rooms() for _, definition in check_docstrings.door(init)}
    assert {"AsyncEmitter", "Recorder", "Fold", "replay", "Inputs", "Policy", "drain", "annotation"} <= names


@pytest.mark.parametrize(
    ("module", "sentence"),
    [
        ("def read(): ...", "read has no docstring"),
        ("async def read(): ...", "read has no docstring"),
        ("class Log: ...", "Log has no docstring"),
        ('class Log:\n    """A log."""\n    def read(self): ...', "Log.read has no docstring"),
        ('class Log:\n    """A log."""\n    @property\n    def name(self): ...', "Log.name has no docstring"),
        ('class Log:\n    """As `Unknown`."""\n    def read(self): ...', "Log.read has no docstring"),
        ('def read(wait_ms):\n    """Waits for so long."""', NO_UNIT.format("read", "wait_ms")),
        (
            'def read(wait_ms):\n    """Waits for `wait_ms`."""',
            NO_UNIT.format("read", "wait_ms"),
        ),
        ('def read(*, wait_s):\n    """Waits."""', NO_UNIT.format("read", "wait_s")),
        (
            'class Log:\n    """A log."""\n    size_bytes: int',
            NO_UNIT.format("Log", "size_bytes"),
        ),
        (
            'class Log:\n    """A log."""\n    def __init__(self, timeout): ...',
            NO_UNIT.format("Log.__init__", "timeout"),
        ),
        ('def read(a, b, c):\n    """Reads `a`, and `c`."""', NO_WORD.format("b")),
        (ERRORS + READS, NO_ERROR.format("read", "GoneError")),
        (ERRORS + LOGS, NO_ERROR.format("Log.read", "OurError")),
    ],
)
def test_what_is_missing_is_named(tmp_path: Path, module: str, sentence: str):
    """One sentence for each."""
    assert found(tmp_path, module) == [sentence]


@pytest.mark.parametrize(
    "module",
    [
        "def _read(): ...",
        'def read(wait_ms):\n    """Waits for so many milliseconds."""',
        'class Log:\n    """A log.\n\n    timeout: in seconds."""\n    def __init__(self, timeout): ...',
        'class Log:\n    """A log."""\n    size_bytes: int\n    """How many bytes it has."""',
        PROTOCOL,
        PROTOCOL + 'class Kept:\n    """The kept `log.Log`."""\n    def read(self, most_bytes: int): ...\n',
        'def read(a, b, c):\n    """Reads `a`.\n\n    Args:\n        a, b: both.\n        c: the third."""',
        'def read(a, b, c):\n    """As `other`, twice."""',
        'class Log:\n    """A log."""\n    def read(self, a, b):\n        """Two are plain from their names."""',
        ERRORS + 'def read():\n    """Raises `OurError`, the base."""\n    raise GoneError\n',
        ERRORS + 'def read():\n    """A builtin."""\n    raise ValueError\n',
        ERRORS + 'def read():\n    """Inside."""\n    def inner():\n        raise GoneError\n    return inner\n',
        '@overload\ndef read(): ...\ndef read():\n    """Reads."""',
    ],
)
def test_what_is_there_is_enough(tmp_path: Path, module: str):
    """Private names, entries of a class's docstring, and what a protocol says already."""
    assert found(tmp_path, module) == []


def test_names_that_a_door_imports_are_looked_at(tmp_path: Path):
    """And only those: the module's others are its own."""
    init = 'from .log import Log\n__all__ = ["Log"]\n'
    assert found(tmp_path, "class Log: ...\nclass Other: ...\n", init) == ["Log has no docstring"]
