"""Outlines JSON, TOML and YAML by their libraries: `python documents_oracle.py ROOT < paths` (README.md)."""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

READERS = {"json": json.loads, "toml": tomllib.loads, "yml": yaml.safe_load, "yaml": yaml.safe_load}


def values(held: Any, path: tuple[str, ...] = ()) -> Iterator[dict[str, Any]]:
    """What each key holds, by the keys that lead to it; what stands in a list has no name."""
    if isinstance(held, dict):
        for key, inner in held.items():
            if isinstance(key, str) and re.fullmatch(r"[A-Za-z_][\w-]*", key):
                yield from values(inner, (*path, key))
    elif isinstance(held, (bool, int, str)) and len(str(held)) < 60:
        yield {"symbol": ".".join(path), "value": held}
    elif isinstance(held, list) and all(isinstance(one, str) for one in held) and 0 < len(held) == len(set(held)) <= 12:
        yield {"symbol": ".".join(path), "members": held}


for line in sys.stdin.read().splitlines():
    try:
        read = READERS[line.rpartition(".")[2]](Path(sys.argv[1], line).read_text("utf-8"))
    except (ValueError, yaml.YAMLError):
        continue
    made = {"path": line, "imports": [], "definitions": [], "values": list(values(read))}
    print(json.dumps(made))
