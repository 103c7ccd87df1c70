"""Files that people name on the command line, read whole and within a bound: one sentence where that cannot be.

A device such as `/dev/zero` never ends, a named pipe waits for somebody who writes, and a directory or socket holds no
text: all are refused before anything is read. The pipe that a shell's `<(…)` makes is read like a file.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

from ...codecs.errors import UsageError

_OF_THIS_PROCESS = ("/dev/fd/", "/dev/stdin", "/proc/self/fd/")
"""Names of what is open here already: a pipe of theirs has, or had, its writer."""


def demand_plain(path: str | Path) -> None:
    """That a path names a file, or a folder or nothing, of which opening it tells.

    Raises:
        OSError: it names a named pipe, a socket or a device; `strerror` says which.
    """
    mode = os.stat(path).st_mode
    if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
        raise OSError(errno.EINVAL, "a device is no file")
    if stat.S_ISSOCK(mode):
        raise OSError(errno.EINVAL, "a socket is no file")
    if stat.S_ISFIFO(mode) and not os.fspath(path).startswith(_OF_THIS_PROCESS):
        raise OSError(errno.EINVAL, "a named pipe is no file")


def open_plain(path: str | Path) -> BinaryIO:
    """Opens a file for reading, or a pipe that a shell made; never waits for a writer.

    Raises:
        OSError: it is not there, cannot be read, or is a named pipe, a socket or a device.
    """
    demand_plain(path)
    # Between the look and the opening it may have become a pipe: so opening does not wait either.
    number = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    try:
        os.set_blocking(number, True)
        return open(number, "rb")
    except BaseException:
        os.close(number)
        raise


def read_file(path: str | Path, most: int, what: str, hint: str = "") -> bytes:
    """The content of a file, or of a pipe that a shell made.

    Args:
        path: as it was named.
        most: bytes that it may have.
        what: the file is, for messages, with its name: "the policy 'strict.toml'".
        hint: what to do instead where it cannot be read.

    Raises:
        UsageError: it is not there, cannot be read, is no file, or is too large.
    """
    try:
        with open_plain(path) as file:
            data = file.read(most + 1)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "no file has such a name"
        raise UsageError(f"cannot read {what}: {why}", hint=hint) from None
    if len(data) > most:
        raise UsageError(f"{what} is too large", expected=f"at most {most} bytes")
    return data
