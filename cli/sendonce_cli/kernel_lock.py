"""Locks between processes that end with their holder, however it ends.

In: the path of a lock file. Out: an open file that is the lock; closing it, or dying, gives the lock back.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


def take(path: Path, operation: int) -> IO[bytes]:
    """Take `operation` (fcntl.LOCK_SH or LOCK_EX, perhaps with LOCK_NB) on a file that is made if need be.

    Raises BlockingIOError with LOCK_NB when another holds it.
    """
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("ab")
        try:
            fcntl.flock(file, operation)
            # The last user may have removed the folder while we waited.
            if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                return file
        except FileNotFoundError:
            pass
        except BaseException:
            file.close()
            raise
        file.close()


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Hold the lock alone for the length of a with block, waiting for it if need be."""
    with take(path, fcntl.LOCK_EX):
        yield
