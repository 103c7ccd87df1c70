"""Fuzzes the compiled core under sanitisers: `python fuzz/native.py --seconds 60 [--seed N]`.

Builds it with AddressSanitizer and UndefinedBehaviorSanitizer beside the ordinary one, and runs the histories of
`tests/support/fold_histories.py` through it and through Python: a difference, or a report of a sanitiser, is a finding.
Then the same with packed emissions damaged, as no snapshot of ours has them; there only memory is judged. Exit status:
0 no finding, 1 a finding, 3 no compiler or no sanitisers.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import random
import shutil
import subprocess
import sys
import sysconfig
import time
from pathlib import Path
from types import ModuleType
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parent.parent
BUILT: Final = ROOT / "build" / "sanitised"
WORLD: Final = ROOT / "tests" / "support" / "fold_histories.py"
FLAGS: Final = "-O0 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all"


def build() -> dict[str, str]:
    """Builds both extensions, and gives the environment in which they can be loaded; empty where that fails."""
    if shutil.which("cc") is None:
        return {}
    shutil.rmtree(BUILT, ignore_errors=True)
    subprocess.run(
        [sys.executable, "-c", "from setuptools import setup; setup()", "-q", "build_ext", "--force"]
        + ["--build-lib", str(BUILT), "--build-temp", str(BUILT / "objects")],
        cwd=ROOT,
        env={**os.environ, "CFLAGS": FLAGS, "CC": "cc"},
        check=True,
        capture_output=True,
    )
    if not all(_path(name).exists() for name in ("codecs", "streams")):
        return {}
    libraries = [
        subprocess.run(["cc", f"-print-file-name={name}"], capture_output=True, text=True, check=True).stdout.strip()
        for name in ("libasan.so", "libubsan.so")
    ]
    return {
        "LD_PRELOAD": " ".join(libraries),
        "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=0:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "PYTHONMALLOC": "malloc",  # else the interpreter's own allocator hides what lies behind an object
    }


def _path(package: str) -> Path:
    return BUILT / "sluice" / package / f"_native{sysconfig.get_config_var('EXT_SUFFIX')}"


def _load(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def judge(world: Any, seed: int) -> None:
    """One history, then one over damaged memories."""
    made = world.World(seed)
    steps, rules = made.steps(20), made.policy()
    world.same(steps, rules)
    _over_damaged(world, random.Random(seed), steps, rules)


def _over_damaged(world: Any, chance: random.Random, steps: list[Any], rules: Any) -> None:
    from sluice.streams.adjudication import fold_layout

    state = world.core.new_state(0, 1, secrets=world.SECRETS)
    policy = world.event_of(rules)
    world.core.fold(state, world.block_of(state, 0, world.T, world.T, [policy]))
    for height, (at, watermark, records) in enumerate(steps):
        state.settle(0)
        packed = state.tables()[0]
        for name in chance.sample(sorted(packed), min(3, len(packed))):
            raw = bytearray(packed[name])
            for _ in range(chance.choice((1, 1, 3)) if raw else 0):
                raw[chance.randrange(len(raw))] = chance.choice(
                    (0, 0x91, 0xC4, 0xDC, 0xDD, 0xFF, chance.randrange(256))
                )
            packed[name] = bytes(raw[: chance.choice((len(raw), len(raw), chance.randrange(len(raw) + 1)))])
            assert fold_layout.core is not None
            fold_layout.core.timer(packed[name], chance.randrange(40))
        block = world.block_of(state, height + 1, at, watermark, [world.event_of(record) for record in records])
        try:
            world.core.fold(state, block)
        except Exception:  # noqa: BLE001 - Python finds the damage, in one of many ways
            return


def run(seconds: float, seed: int) -> int:
    """Runs seeds for so long."""
    _load("sluice.codecs._native", _path("codecs"))
    _load("sluice.streams._native", _path("streams"))
    _load("builders", WORLD.with_name("builders.py"))  # the world is made with them
    world = _load("fold_histories", WORLD)
    from sluice.streams.adjudication import fold_layout

    assert fold_layout.core is not None, "the sanitised core is the one that is used"
    first, until = seed, time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            judge(world, seed)
        except AssertionError as error:
            print(f"native: seed {seed} tells the core from Python: {str(error)[:2000]}")
            return 1
        seed += 1
    print(f"native: {seed - first} histories, no finding")
    return 0


def main() -> int:
    """Builds, and runs in a second process, where the sanitisers are loaded first."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--inner", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.inner:
        return run(arguments.seconds, arguments.seed)
    environment = build()
    if not environment:
        print("native: no compiler with AddressSanitizer here, so nothing was fuzzed", file=sys.stderr)
        return 3
    command = [sys.executable, __file__, "--inner", "--seconds", str(arguments.seconds), "--seed", str(arguments.seed)]
    found = subprocess.run(command, env={**os.environ, **environment}, cwd=ROOT)
    return 0 if found.returncode == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
