"""The lock files: what they pin is what pip installs, whatever was released since."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]


def pinned(name: str) -> dict[str, Requirement]:
    """The requirements of a lock file, by name."""
    lines = re.findall(
        r"^([A-Za-z0-9][^\\\n]*?) *\\?$", (ROOT / "requirements" / name).read_text("utf-8"), re.MULTILINE
    )
    found = map(Requirement, lines)
    return {canonicalize_name(one.name): one for one in found if one.marker is None or one.marker.evaluate()}


def asked_for(one: Requirement) -> list[Requirement]:
    """What an installed package asks for, with the extras that its own line names."""
    try:
        wanted = [Requirement(line) for line in requires(one.name) or ()]
    except PackageNotFoundError:
        return []
    extras = ("", *one.extras)
    return [
        own for own in wanted if own.marker is None or any(own.marker.evaluate({"extra": extra}) for extra in extras)
    ]


@pytest.mark.parametrize("name", ["run.txt", "dev.txt"])
def test_what_is_asked_for_with_an_extra_is_pinned_with_it(name: str):
    """Else pip takes the newest release for it, which has no hash here, and a fresh install fails that day."""
    lock = pinned(name)
    with_extras = [(one, own) for one in lock.values() for own in asked_for(one) if own.extras]
    assert with_extras, "somebody asks for an extra"
    missing = [
        f"{own} of {one.name}" for one, own in with_extras if not own.extras <= lock[canonicalize_name(own.name)].extras
    ]
    assert missing == []
