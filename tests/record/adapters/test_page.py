"""docs/adapters.md names every adapter, and no adapter needs its framework before it is used."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "adapters.md"


def test_the_page_names_every_adapter() -> None:
    text = PAGE.read_text("utf-8")
    for name in ("anthropic_citations", "langchain", "litellm", "openai_agents", "openai_structured", "otel"):
        assert (ROOT / "record" / "adapters" / f"{name}.py").is_file()
        assert f"`{name}." in text


def test_no_framework_is_imported_before_it_is_used() -> None:
    program = (
        "import sys\n"
        "from sluice.record.adapters import anthropic_citations, langchain, litellm, openai_agents\n"
        "from sluice.record.adapters import openai_structured, otel\n"
        "frameworks = ('agents', 'anthropic', 'langchain', 'langchain_core', 'litellm', 'openai', 'opentelemetry')\n"
        "print([one for one in sys.modules if one.partition('.')[0] in frameworks])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
