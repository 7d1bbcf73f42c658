"""The operator as it is, but that SIGUSR1 ends its watch of campaigns in silence: kopf's task is cancelled.

kopf begins no other in its place, and says nothing.
"""

import asyncio
import gc
import signal

from sendonce_operator.main import main

WATCH = "watcher for notificationcampaigns"


def lose(*_: object) -> None:
    """Cancel the task, in whichever loop it runs."""
    for found in gc.get_objects():
        if type(found) is asyncio.Task and found.get_name().startswith(WATCH):
            found.get_loop().call_soon_threadsafe(found.cancel)


signal.signal(signal.SIGUSR1, lose)
main()
