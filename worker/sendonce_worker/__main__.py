"""`python -m sendonce_worker`.

The first process of a container ignores a signal that it has no handler for, and loading everything takes a second or
two. Told to stop meanwhile, it would go on, and be killed in the middle of its work at the end of the grace period.

So the handler comes first. Before it, while Python itself starts, SIGTERM is blocked: the image's entry point sees to
that (`env --block-signal=TERM`), and what is blocked waits to be heard (signal(7)), where it would else be ignored.
"""

import signal
import sys

signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})

from sendonce_store import loading  # noqa: E402 - after the handler

loading.begin()
from sendonce_worker.main import main  # noqa: E402

loading.end()

main()
