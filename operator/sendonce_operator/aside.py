"""Something that runs in a thread of its own, and that the program's end does not wait for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future

__all__ = ["aside"]


def aside(run: Callable[[], None]) -> Future[None]:
    """Start it; the future is done when it has ended, with what it raised."""
    ended: Future[None] = Future()
    ended.set_running_or_notify_cancel()

    def body() -> None:
        try:
            run()
        except BaseException as error:  # noqa: BLE001 - whoever waits gets it
            ended.set_exception(error)
        else:
            ended.set_result(None)

    threading.Thread(target=body, daemon=True).start()
    return ended
