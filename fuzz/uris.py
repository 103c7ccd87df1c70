"""What holds for a URI [V §4.5]: what is let through is short, ASCII, of an allowed scheme, and hides nothing."""

from __future__ import annotations

import re
from typing import get_args
from urllib.parse import unquote_to_bytes, urlsplit

import nh3
import unicodedata2
from laws import hold, invisible, timed

from sluice.streams.sanitise import _uri

_URI = re.compile(r"(https://|did:|urn:doi:|urn:isbn:|urn:pmid:|arxiv:)[!-~]+", re.IGNORECASE)
_SHOWN = re.compile(r"\[([^ ]+)\] → (.+)")


def check_uri(uri: str) -> None:
    """One URI: what is let through is short, ASCII, of an allowed scheme, and shows its real host."""
    shown, refusal = timed("hardening", _uri.harden_uri, uri)
    hold((shown is None) != (refusal is None), "a URI is shown or refused", uri, shown, refusal)
    if shown is None:
        return hold(refusal in get_args(_uri.UriRefusal), "a refusal is one of the words", uri, refusal)
    return check_shown(shown, uri)


def check_shown(shown: str, uri: str) -> None:
    """What can be said about a hardened URI alone."""
    match = _SHOWN.fullmatch(shown)
    hold(match and match[2] == uri, "a URI is shown behind its host, unchanged", shown)
    hold(len(uri.encode()) <= 1024 and _URI.fullmatch(uri), "only short ASCII of an allowed scheme passes", uri)
    split = urlsplit(uri)
    host = shown[1 : shown.index("] → ")]
    web = re.match(r"did:web:([^:/?#%]+)", uri, re.IGNORECASE)
    real = split.hostname if split.scheme == "https" else web[1].lower() if web else split.scheme
    hold(host.strip("[]") == real, "the host shown is the one that a client asks", uri, host, real)
    raw = uri.encode()
    while (decoded := unquote_to_bytes(raw)) != raw:
        raw = decoded
        text = raw.decode(errors="replace")
        hold(not invisible(text), "no percent-encoding hides what is invisible", uri)
        hold(not any(unicodedata2.category(one) == "Cc" for one in text), "no percent-encoding hides a control", uri)
        hold("<" not in text or not nh3.is_html(text), "no percent-encoding hides markup", uri)
