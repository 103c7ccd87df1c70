"""Runs `sluice …` under cProfile, main thread only: profiled.py FILE ARGUMENTS…"""

from __future__ import annotations

import cProfile
import sys

from sluice.topology.cli import main

target = sys.argv[1]
sys.argv = ["sluice", *sys.argv[2:]]
profile = cProfile.Profile()
try:
    profile.runcall(main)
finally:
    profile.dump_stats(target)
