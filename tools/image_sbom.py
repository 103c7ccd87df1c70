"""What stands in an image, as CycloneDX 1.6: Debian's packages, Python, and the Python packages with their hashes.

The Dockerfile runs it in each image, with what that image has: so the list is of what is there, not of what somebody
meant to install. It needs the standard library alone, and the same image gives the same bytes.
"""

from __future__ import annotations

import argparse
import json
import platform
import re
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import quote

_PINNED = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)", re.MULTILINE)
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


def paragraphs(text: str) -> Iterator[dict[str, str]]:
    """The paragraphs of a file of dpkg's, by field; what goes on over several lines is left out."""
    for paragraph in text.split("\n\n"):
        fields = (line.partition(": ") for line in paragraph.splitlines() if not line.startswith(" "))
        found = {name: value for name, colon, value in fields if colon}
        if found:
            yield found


def debian(status: Path, release: Path) -> Iterator[dict[str, Any]]:
    """The installed packages of Debian.

    Args:
        status: dpkg's list of packages.
        release: `os-release`.
    """
    named = dict(line.split("=", 1) for line in release.read_text("utf-8").splitlines() if "=" in line)
    distribution = f"{named.get('ID', 'debian')}-{named.get('VERSION_ID', '')}".replace('"', "").rstrip("-")
    for one in paragraphs(status.read_text("utf-8")):
        if not one.get("Status", "").endswith(" installed"):
            continue
        name, version, architecture = one["Package"], one["Version"], one["Architecture"]
        asked = f"arch={architecture}&distro={distribution}"
        purl = f"pkg:deb/debian/{quote(name, safe='+.-')}@{quote(version, safe='+.-~')}?{asked}"
        source = one.get("Source", name).split(" ")[0]
        yield {
            "type": "library",
            "bom-ref": purl,
            "name": name,
            "version": version,
            "purl": purl,
            "properties": [{"name": "debian:source", "value": source}],
        }


def python(lock: Path) -> Iterator[dict[str, Any]]:
    """This interpreter, and the packages that it finds; those of the lock file with the hashes that pip checked.

    Args:
        lock: the file that pip installed from, with hashes.
    """
    own = f"pkg:generic/python@{platform.python_version()}"
    yield {"type": "platform", "bom-ref": own, "name": "python", "version": platform.python_version(), "purl": own}
    text = lock.read_text("utf-8")
    starts = list(_PINNED.finditer(text))
    ends = [*(one.start() for one in starts[1:]), len(text)]
    hashes = {
        (_normal(one[1]), one[2]): sorted(_HASH.findall(text, one.end(), end))
        for one, end in zip(starts, ends, strict=True)
    }
    base = Path(sys.base_prefix, "lib", f"python{sys.version_info[0]}.{sys.version_info[1]}", "site-packages")
    there = [*metadata.distributions(), *metadata.distributions(path=[str(base)])]  # of the base image: pip
    found = {(_normal(one.metadata["Name"]), one.version) for one in there}
    for name, version in sorted(found):
        purl = f"pkg:pypi/{name}@{quote(version, safe='+.-')}"
        component: dict[str, Any] = {
            "type": "library",
            "bom-ref": purl,
            "name": name,
            "version": version,
            "purl": purl,
        }
        if held := hashes.get((name, version)):
            # Of each file that the lock file allows, one of which was installed.
            component["externalReferences"] = [
                {
                    "type": "distribution",
                    "url": purl,
                    "hashes": [{"alg": "SHA-256", "content": one}],
                }
                for one in held
            ]
        yield component


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def document(components: list[dict[str, Any]]) -> dict[str, Any]:
    """The list as CycloneDX: no time and no serial number, so that the same image has the same list."""
    version = next((one["version"] for one in components if one["name"] == "sluice-verdicts"), "0")
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {"type": "container", "bom-ref": "image", "name": "sluice", "version": version}},
        "components": sorted(components, key=lambda one: one["bom-ref"]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lock", type=Path, required=True, help="The lock file that pip installed from.")
    parser.add_argument("--out", type=Path, required=True, help="Where the list goes.")
    parser.add_argument("--status", type=Path, default=Path("/var/lib/dpkg/status"), help="dpkg's list of packages.")
    parser.add_argument("--release", type=Path, default=Path("/etc/os-release"), help="Which Debian this is.")
    given = parser.parse_args()
    found = document([*debian(given.status, given.release), *python(given.lock)])
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps(found, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
