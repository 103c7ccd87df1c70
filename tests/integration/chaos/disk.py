"""A state folder that can be full: a small tmpfs in a mount namespace of our own, which ends with its last process.

Where mounting is not permitted the folder is obstructed instead: a plain file stands in its place, so that every write
fails there too, whoever runs this (root is not stopped by modes).
"""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
from pathlib import Path

_NEW_MOUNTS, _NEW_USER = 0x0002_0000, 0x1000_0000  # CLONE_NEWNS, CLONE_NEWUSER
_RECURSIVE, _PRIVATE = 0x4000, 0x4_0000  # MS_REC, MS_PRIVATE
_DETACHED = 2  # MNT_DETACH
SIZE = 48_000_000
"""Of one worker's state folder: three snapshots of each lane at the most are a few MB under this load."""


def take_mounts() -> bool:
    """Gives this process, and those that it will start, mounts of their own; False where that is not permitted.

    To be called before any thread is started.
    """
    if sys.platform != "linux":
        return False
    libc, user, group = ctypes.CDLL(None, use_errno=True), os.getuid(), os.getgid()
    if libc.unshare(_NEW_MOUNTS) != 0:
        if libc.unshare(_NEW_USER | _NEW_MOUNTS) != 0:
            return False
        try:
            Path("/proc/self/setgroups").write_text("deny")
            Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
            Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
        except OSError:
            return False
    return libc.mount(b"none", b"/", None, _RECURSIVE | _PRIVATE, None) == 0


class Disk:
    """One worker's state folder. `fill` makes every further write fail, `free` lets them pass again.

    Args:
        folder: made here.
        mounts: what `take_mounts` said.
    """

    def __init__(self, folder: Path, mounts: bool) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        self._libc = ctypes.CDLL(None, use_errno=True)
        self.is_small = mounts and self._libc.mount(b"tmpfs", bytes(folder), b"tmpfs", 0, b"size=%d" % SIZE) == 0
        self._ballast = folder / "ballast"
        self._aside = folder.with_name(folder.name + ".aside")

    def fill(self) -> None:
        """Not a byte more can be written."""
        if not self.is_small:
            self.folder.rename(self._aside)
            self.folder.write_bytes(b"")
            return
        with open(self._ballast, "wb", buffering=0) as file:
            for size in (1 << 20, 1 << 12, 1):
                try:
                    while file.write(bytes(size)) == size:
                        pass
                except OSError:
                    continue

    def free(self) -> None:
        """As before `fill`; without effect on one that is not full."""
        if self.is_small:
            self._ballast.unlink(missing_ok=True)
        elif self._aside.exists():
            self.folder.unlink()
            self._aside.rename(self.folder)

    def close(self) -> None:
        """Leaves an ordinary folder with what was here, which outlives the mounts."""
        self.free()
        if self.is_small:
            kept = self.folder.with_name(self.folder.name + ".kept")
            shutil.copytree(self.folder, kept)
            self._libc.umount2(bytes(self.folder), _DETACHED)
            self.folder.rmdir()
            kept.rename(self.folder)
