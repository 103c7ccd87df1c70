"""Bearer tokens of the HTTP transport: a file that holds their hashes, scopes and ends, and never a token.

A token has 256 random bits, so its plain SHA-256 tells nothing about it and needs no salt. The file is replaced as a
whole under a lock, and read again by the server as soon as it has changed: tokens come and go without a restart.
"""

from __future__ import annotations

import fcntl
import hmac
import os
import re
import secrets
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from ...codecs.errors import UsageError
from ...codecs.times import format_time
from ..settings.files import open_plain
from ..settings.process import now_ms

PREFIX: Final = "slm"
_TOKEN = re.compile(r"slm_([0-9a-f]{12})_([A-Za-z0-9_-]{43})", re.ASCII)
_NAME = r"^[A-Za-z0-9._-]{1,64}(?![\s\S])"


class Token(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is known of a token. `expires_at` and `revoked_at` are Unix ms; a revoked one stays, to be told from one
    that never was."""

    id: str
    name: Annotated[str, Meta(pattern=_NAME)]
    sha256: str
    scopes: list[str]
    created_at: int
    expires_at: int | None = None
    revoked_at: int | None = None

    def is_valid(self, now: int) -> bool:
        """Whether it opens anything at this time."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


class _File(msgspec.Struct, frozen=True, kw_only=True):
    version: int = 1
    tokens: list[Token] = []


class Tokens:
    """The tokens of one file, as the server asks for them.

    Args:
        path: the file. Where it is missing or damaged, no token is known: nothing is let in.
        now: the time in Unix ms.
    """

    def __init__(self, path: Path, now: Callable[[], int] = now_ms) -> None:
        self._path, self._now = path, now
        self._seen: tuple[int, int, int] | None = None
        self._by_id: dict[str, Token] = {}

    def of(self, presented: str) -> Token | None:
        """The valid token that somebody presents; None where it is none."""
        match = _TOKEN.fullmatch(presented)
        self._refresh()
        known = self._by_id.get(match[1]) if match else None
        # Compared in constant time, against something in any case.
        same = hmac.compare_digest(_hash(presented), known.sha256 if known else _hash(""))
        return known if known is not None and same and known.is_valid(self._now()) else None

    def is_valid(self, id_: str) -> bool:
        """Whether the token of an id is still good: what was signed in with it ends with it."""
        self._refresh()
        known = self._by_id.get(id_)
        return known is not None and known.is_valid(self._now())

    def _refresh(self) -> None:
        try:
            stat = self._path.stat()
        except OSError:
            self._seen, self._by_id = None, {}
            return
        seen = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
        if seen != self._seen:
            self._seen = seen
            try:
                self._by_id = {token.id: token for token in read_tokens(self._path)}
            except UsageError:
                self._by_id = {}


def _hash(token: str) -> str:
    return sha256(token.encode(errors="replace")).hexdigest()


def read_tokens(path: Path) -> list[Token]:
    """The tokens of a file, in the order in which they were made; none where there is no file.

    Raises:
        UsageError: the file cannot be read, or is no list of tokens.
    """
    try:
        with open_plain(path) as file:
            return msgspec.json.decode(file.read(), type=_File).tokens
    except FileNotFoundError:
        return []
    except OSError as error:
        raise UsageError(f"the tokens cannot be read: {error.strerror}", path=str(path)) from None
    except msgspec.MsgspecError:
        raise UsageError(
            "the file is no list of tokens", path=str(path), hint="`sluice mcp token new` makes one"
        ) from None


def new_token(path: Path, name: str, scopes: Sequence[str], expires_at: int | None) -> tuple[str, Token]:
    """Makes a token. Its text is not kept anywhere, only its hash.

    Args:
        path: of the file of tokens; the new one is added.
        name: of the token, 1 to 64 characters.
        scopes: what the token allows.
        expires_at: the end of the token, Unix ms; None: it has none.

    Returns:
        The token's text, and its entry in the file.

    Raises:
        UsageError: the name is none, or the file cannot be written.
    """
    if not re.match(_NAME, name):
        raise UsageError("not a name", path="--name", expected="1 to 64 of the characters A-Z a-z 0-9 . _ -", got=name)
    id_ = secrets.token_hex(6)
    text = f"{PREFIX}_{id_}_{secrets.token_urlsafe(32)}"
    token = Token(
        id=id_, name=name, sha256=_hash(text), scopes=list(scopes), created_at=now_ms(), expires_at=expires_at
    )
    with _changing(path) as tokens:
        tokens.append(token)
    return text, token


def revoke(path: Path, id_: str) -> Token:
    """Ends a token at once.

    Raises:
        UsageError: there is none of this id, or the file cannot be written.
    """
    with _changing(path) as tokens:
        for place, token in enumerate(tokens):
            if token.id == id_:
                tokens[place] = msgspec.structs.replace(token, revoked_at=token.revoked_at or now_ms())
                return tokens[place]
    raise UsageError("there is no token of this id", path=str(path), got=id_, hint="`sluice mcp token list` shows them")


def described(token: Token, now: int) -> dict[str, object]:
    """A token for people, without its hash."""
    state = "valid" if token.is_valid(now) else "revoked" if token.revoked_at is not None else "expired"
    times = {"created_at": token.created_at, "expires_at": token.expires_at, "revoked_at": token.revoked_at}
    return {
        "id": token.id,
        "name": token.name,
        "state": state,
        "scopes": token.scopes,
        **{name: format_time(time) for name, time in times.items() if time is not None},
    }


@contextmanager
def _changing(path: Path) -> Generator[list[Token], None, None]:
    """The file's tokens to be changed; written to a new file of its owner's alone, which then takes its place."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.with_name(path.name + ".lock").open("ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            tokens = read_tokens(path)
            yield tokens
            raw = msgspec.json.format(msgspec.json.encode(_File(tokens=tokens)), indent=2)
            fresh = path.with_name(f".{path.name}.{os.getpid()}")
            with suppress(FileNotFoundError):
                fresh.unlink()
            number = os.open(fresh, os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o600)
            with os.fdopen(number, "wb") as file:
                file.write(raw)
                file.flush()
                os.fsync(file.fileno())
            os.replace(fresh, path)
    except OSError as error:
        raise UsageError(f"the tokens cannot be written: {error.strerror}", path=str(path)) from None
