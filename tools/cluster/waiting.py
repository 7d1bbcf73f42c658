"""Wait for a condition instead of a time.

In: a question that is asked again until it says yes. Out: nothing, or a ClusterError that says what did not happen.
"""

import time
from collections.abc import Callable

from tools.cluster.errors import ClusterError

_PAUSE = 0.1


def until(happened: Callable[[], bool], what: str, *, seconds: float, lost: Callable[[], str] = str) -> None:
    """Return once `happened` is true; raise ClusterError after `seconds`, or as soon as `lost` has a reason why not."""
    end = time.monotonic() + seconds
    while not happened():
        reason = lost()
        if reason:
            raise ClusterError(f"{what}: {reason}")
        if time.monotonic() > end:
            raise ClusterError(f"{what}: not within {seconds:.0f} s")
        time.sleep(_PAUSE)
