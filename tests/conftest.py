"""For all tests."""

from __future__ import annotations

import hypothesis

# How long an example takes says more about what else the machine does than about the code: a timed test is none.
hypothesis.settings.register_profile("sluice", deadline=None)
hypothesis.settings.load_profile("sluice")
