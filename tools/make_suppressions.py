"""Writes codecs/data/suppressions.json and its licence from the npm package cldr-segments-full.

    npm pack cldr-segments-full@46.1.0 && tar xzf cldr-segments-full-*.tgz
    python tools/make_suppressions.py package

CLDR's list is taken as it stands, case included; what sluice adds to it stands in codecs/prose.py.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

DATA = Path(__file__).resolve().parent.parent / "codecs" / "data"


def main(package: Path) -> None:
    """Reads the unpacked package, writes the data file and the licence text that has to go with it."""
    about = json.loads((package / "package.json").read_text("utf-8"))
    english = json.loads((package / "segments" / "en" / "suppressions.json").read_text("utf-8"))
    entries = english["segments"]["segmentations"]["SentenceBreak"]["standard"]
    document = {
        "source": f"Unicode CLDR {about['cldrVersion']}, segments/en/suppressions.json, "
        f"from the npm package {about['name']} {about['version']}",
        "licence": f"{about['license']}, see suppressions.LICENSE.txt",
        "suppressions": sorted(entry["suppression"] for entry in entries),
    }
    DATA.mkdir(exist_ok=True)
    (DATA / "suppressions.json").write_text(json.dumps(document, ensure_ascii=False, indent=1) + "\n", "utf-8")
    (DATA / "suppressions.LICENSE.txt").write_text((package / "LICENSE").read_text("utf-8"), "utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
