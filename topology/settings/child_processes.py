"""What a child process does about the process that started it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from multiprocessing.connection import wait


def bind_to_parent() -> None:
    """Lets this process end with its parent, and leave SIGINT to it: a terminal sends it to both.

    A pool's process holds the pipe open that it is asked by, so it reads no end of a parent that was killed. The thread
    is started in the child: a process that has threads is not forked.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.set_wakeup_fd(-1)  # a fork has the pipe of its parent's event loop
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, name="parent", daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
