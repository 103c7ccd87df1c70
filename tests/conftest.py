"""For all tests."""

from __future__ import annotations

import signal
from typing import Any

import hypothesis
import hypothesis.core
from search import SEED, examples

# How long an example takes says more about what else the machine does than about the code: a timed test is none.
# How many examples are tried says `search` (tests/support): few in every run, more in `make test-deep`.
hypothesis.settings.register_profile("sluice", deadline=None, max_examples=examples(100), derandomize=False)
hypothesis.settings.load_profile("sluice")
hypothesis.core.global_force_seed = SEED


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """The seed of the run, also where all passed."""
    terminalreporter.write_line(f"searched with seed {SEED}; SLUICE_SEED={SEED} searches the same again")


# A shell has what it puts into the background ignore SIGINT, and children inherit that: the commands that tests tell to
# end would not hear of it.
for number, default in ((signal.SIGINT, signal.default_int_handler), (signal.SIGTERM, signal.SIG_DFL)):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, default)
