"""What must not be quoted: files that hold secrets by their names, and lines that look like one.

An emission is read by many. A recorder quotes the repository's lines, so what looks like a credential is left out, and
better too much than too little: a quote only helps a reader, nothing is decided by it.
"""

from __future__ import annotations

import re
from typing import Final

_FILES: Final = re.compile(
    r"(?:^|/)(?:\.env[^/]*|\.netrc|\.npmrc|\.pypirc|\.pgpass|\.git-credentials|\.htpasswd|id_(?:rsa|dsa|ecdsa|ed25519)"
    r"[^/]*|[^/]*\.(?:pem|key|p12|pfx|jks|keystore|kdbx|ppk)|[^/]*(?:secret|credential|password|passwd)[^/]*)$|"
    r"(?:^|/)\.(?:ssh|aws|gnupg)/",
    re.IGNORECASE,
)
_ASSIGNED: Final = re.compile(
    r"(?:(?:passw(?:or)?d|passphrase|secret|token|api[-_ ]?key|access[-_ ]?key|private[-_ ]?key|credential|cookie|"
    r"session[-_ ]?id|authorization)[\w\"'\]]{0,100}\s{0,100}[:=]+>?|\bbearer\b)\s*[\"']?[^\s\"']{6,}",
    re.IGNORECASE,
)
_KNOWN: Final = re.compile(
    r"-----BEGIN|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bgh[pousr]_\w{20,}|\bgithub_pat_\w{20,}|\bxox[abprs]-[\w-]{10,}|"
    r"\bsk-[\w-]{16,}|\beyJ[\w-]{10,}\.[\w-]{10,}|\bglpat-[\w-]{16,}|://[^/\s:@]{1,100}:[^/\s@]{1,200}@"
)
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff\ufffd]")
_RANDOM: Final = re.compile(r"[A-Za-z0-9+/_=-]{32,}")


def may_quote(path: str, text: str) -> bool:
    """Whether a line of a file may stand in an emission: no control characters in it, and nothing like a secret."""
    return not (_CONTROL.search(text.replace("\t", " ")) or is_secret_path(path) or is_secret_line(text))


def is_secret_path(path: str) -> bool:
    """Whether a file is one that holds secrets, by its name."""
    return _FILES.search(path) is not None


def is_secret_line(text: str) -> bool:
    """Whether a line looks as if a credential stood in it."""
    if _KNOWN.search(text) or _ASSIGNED.search(text):
        return True
    return any(_looks_random(word) for word in _RANDOM.findall(text))


def _looks_random(word: str) -> bool:
    """Letters of both cases and digits in a long run, as no name has."""
    digits = sum(one.isdigit() for one in word)
    return digits >= 4 and any(map(str.islower, word)) and any(map(str.isupper, word)) and "_" not in word.strip("_")
