"""Files that people name on the command line, read whole and within a bound: one sentence where that cannot be.

A device such as `/dev/zero` never ends, and a directory or socket holds no text: both are refused before anything is
read. A pipe is read as far as the bound.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from ...codecs.errors import UsageError


def read_file(path: str | Path, most: int, what: str, hint: str = "") -> bytes:
    """The content of a file or a pipe.

    Args:
        path: as it was named.
        most: bytes that it may have.
        what: the file is, for messages, with its name: "the policy 'strict.toml'".
        hint: what to do instead where it cannot be read.

    Raises:
        UsageError: it is not there, cannot be read, is a device, or is too large.
    """
    try:
        mode = os.stat(path).st_mode
        if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
            raise UsageError(f"cannot read {what}: a device is no file", hint=hint)
        with open(path, "rb") as file:
            data = file.read(most + 1)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "no file has such a name"
        raise UsageError(f"cannot read {what}: {why}", hint=hint) from None
    if len(data) > most:
        raise UsageError(f"{what} is too large", expected=f"at most {most} bytes")
    return data
