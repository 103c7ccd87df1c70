"""Checks the sluice that is installed beside this Python: the kept ledgers fold to the same bytes, with and without the
compiled core, and the types, policies, examples and licences are there.

`make wheels` runs it in an empty environment of each interpreter, with one wheel and its dependencies in it. It needs
nothing else: no test runner, and none of the extras.
"""

from __future__ import annotations

import importlib.util
import sys
import tempfile
from importlib import metadata
from importlib.resources import files
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[1]
GOLDEN = ROOT / "tests" / "golden"
BROUGHT = {
    "sluice.codecs": ("py.typed", "_native.pyi", "data/confusables.txt", "data/suppressions.json"),
    "sluice.streams": ("py.typed", "_native.pyi", "data/lexicon.toml"),
    "sluice.record": ("py.typed",),
    "sluice.topology": ("py.typed", "http/data/conformance.json"),
    "sluice.policies": ("reference.toml", "strict.toml"),
    "sluice.examples": ("README.md", "emissions.jsonl", "policy.toml", "grounded/docs_agent.py"),
}
"""Files that are no modules, by package."""


def main(kind: str) -> None:
    """Ends with a sentence and status 1 where something is not as it must be.

    Args:
        kind: `compiled` where the wheel has the compiled core and it must be in use, `pure` where it has none.
    """
    place = Path(str(files("sluice.codecs")))
    _expect(ROOT not in place.parents, f"this is the checkout's own sluice, {place}")
    _expect(_core_in_use() == (kind == "compiled"), f"the compiled core is{'' if _core_in_use() else ' not'} in use")
    for package, names in BROUGHT.items():
        for name in names:
            _expect(files(package).joinpath(name).is_file(), f"{package} lacks {name}")
    licences = [str(one) for one in metadata.files("sluice-verdicts") or () if "licenses/" in str(one)]
    _expect(any(one.endswith("/LICENSE") for one in licences), "the licence is missing")
    compared = _folds_as_kept()
    print(f"{compared} kept files are the same")


def _folds_as_kept() -> int:
    """How many files of tests/golden/data were made again, byte for byte."""
    make = _golden()
    with tempfile.TemporaryDirectory() as scratch:
        make.write_exports(Path(scratch))
        made = {str(one.relative_to(scratch)): one.read_bytes() for one in Path(scratch).rglob("*") if one.is_file()}
        _expect(len(made) > 10, "the golden ledgers were not made")
        made |= {name: text.encode() for name, text in make.answers(make.DATA, Path(scratch)).items()}
        made["snapshots.txt"] = make.snapshots().encode()
    for name, data in made.items():
        _expect(data == (make.DATA / name).read_bytes(), f"{name} differs from tests/golden/data")
    return len(made)


def _golden() -> ModuleType:
    sys.path.insert(0, str(ROOT / "tests" / "support"))
    spec = importlib.util.spec_from_file_location("golden_make", GOLDEN / "make.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _core_in_use() -> bool:
    from sluice.codecs import compiled_core as codecs
    from sluice.streams.adjudication import fold_layout as fold

    return codecs.codecs is not None and fold.core is not None


def _expect(holds: bool, otherwise: str) -> None:
    if not holds:
        sys.exit(f"check_wheel: {otherwise}")


if __name__ == "__main__":
    main(sys.argv[1])
