"""Private keys in files: made once, read again, never overwritten (codecs/notes.py has what they look like).

A key's file is written whole under a name of its own and then linked to the one it is to have, which fails where there
is a file already. So nobody reads half a key, and of two processes that start at once both end with the same one.

Inside a git checkout a `.gitignore` beside the key names it, and is there first: what is committed can never be taken
back, and observers look at what is tracked.
"""

from __future__ import annotations

import os
import re
import secrets
from pathlib import Path
from typing import Final

from ...codecs.errors import UsageError
from ...codecs.notes import MAX_KEY, SEED_BYTES, Signer
from ...codecs.signatures import Signing
from ..settings.files import open_plain
from ..settings.settings import Settings

SECRET_BYTES: Final = 32


def new_signer(name: str) -> Signer:
    """A signer with a new key.

    Raises:
        UsageError: no key can have this name.
    """
    return Signer(name, secrets.token_bytes(SEED_BYTES))


def load_signer(path: Path) -> Signer:
    """The signer of a private key's file.

    Raises:
        UsageError: the file cannot be read, or holds no private key; the sentence never quotes it.
    """
    try:
        with open_plain(path) as file:
            text = file.read(MAX_KEY).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"the private key cannot be read: {_why(error)}", path=str(path), hint="`sluice key new NAME` makes one"
        ) from None
    try:
        return Signer.parse(text)
    except UsageError as error:
        raise UsageError(error.what, path=str(path), expected=error.expected) from None


def signing_of(settings: Settings) -> Signing | None:
    """What signs the records that producers send: the key of the setting `producer_key`; None where that names none.

    Raises:
        UsageError: the file cannot be read, or holds no private key.
    """
    if settings.producer_key is None:
        return None
    return Signing(load_signer(Path(settings.producer_key)), settings.origin)


def save_signer(signer: Signer, path: Path) -> Path | None:
    """Writes a private key into a new file that only its owner reads (mode 0600); folders are made as needed.

    Returns:
        The top of the git checkout that the key lies in, whose `.gitignore` beside the key names it now; else None.

    Raises:
        UsageError: there is a file already, or none can be written there.
    """
    if not _create(path, signer.encoded()):
        raise UsageError(
            "there is a file already, and a key is never overwritten", path=str(path), hint="name another file"
        )
    return _checkout_of(path)


def load_or_make_signer(path: Path, name: str) -> Signer:
    """The signer of a file; where there is none, a new one of this name, which is then in the file.

    A key that is there keeps its own name. Whoever needs to know whether the key is new compares before and after.

    Raises:
        UsageError: the file holds no private key, or cannot be read or written.
    """
    if not path.exists():
        _create(path, new_signer(name).encoded())  # or somebody else was quicker: theirs it is
    return load_signer(path)


def make_secret(path: Path) -> bool:
    """Writes a new secret, 64 hex digits, into a file that only its owner reads; False where there is a file already.

    Raises:
        UsageError: no file can be written there.
    """
    return not path.exists() and _create(path, secrets.token_hex(SECRET_BYTES))


def _create(path: Path, content: str) -> bool:
    """Writes one line into a new file, whole or not at all; False where there is one already."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if _checkout_of(path) is not None:
            _ignore(path)
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            try:
                file.write(f"{content}\n".encode())
                file.flush()
                os.fsync(file.fileno())
                return _linked(draft, path)
            finally:
                draft.unlink()
    except OSError as error:
        raise UsageError(f"the private key cannot be written: {_why(error)}", path=str(path)) from None


def _checkout_of(path: Path) -> Path | None:
    """The top folder of the git checkout that a file lies in."""
    return next((one for one in path.resolve().parents if (one / ".git").exists()), None)


def _ignore(path: Path) -> None:
    """Has a `.gitignore` beside a file name it, and the draft that it is written as; what stands there stays."""
    ignoring = path.with_name(".gitignore")
    # As git reads a pattern: from this folder on, nothing in the name a wildcard, no blank lost at its end.
    name = re.sub(r"([\\*?\[ ])", r"\\\1", path.name)
    wanted = [f"/{name}", f"/.{name}.*"]
    if "\n" in name or "\r" in name:
        raise OSError(None, "its name has a line end, which no .gitignore can hold")
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
    with open(os.open(ignoring, flags, 0o644), "r+", encoding="utf-8", errors="surrogateescape", newline="") as file:
        file.seek(0)
        before = file.read()
        lines = before.splitlines()
        missing = [one for one in wanted if one not in lines]
        if missing:
            file.write("".join(f"{one}\n" for one in (["", *missing] if before and before[-1] != "\n" else missing)))


def _linked(draft: Path, path: Path) -> bool:
    try:
        os.link(draft, path)
    except FileExistsError:
        return False
    return True


def _why(error: OSError | UnicodeDecodeError) -> str:
    return "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else error.strerror or str(error)
