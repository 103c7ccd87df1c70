"""What the gate counts on in the Makefile."""

import re
from pathlib import Path

MAKEFILE = (Path(__file__).resolve().parents[2] / "Makefile").read_text("utf-8")


def test_the_tests_on_kafka_begin_first():
    """They take the longest. Of the targets that may begin, `make --jobs` takes the first one; another target that has
    to be made before it would let all others begin first."""
    targets = re.search(r"^test-all: (.+?) ##", MAKEFILE, re.MULTILINE)[1].split()
    needed = {name: re.search(rf"^{name}: (.*?) ##", MAKEFILE, re.MULTILINE)[1].split() for name in targets}

    assert targets[0] == "test-kafka"
    assert needed["test-kafka"] == needed["test-slow"] == ["$(DEV)"]
