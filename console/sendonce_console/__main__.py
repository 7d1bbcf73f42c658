"""`python -m sendonce_console`.

The first process of a container ignores a signal that it has no handler for, and loading everything takes a moment: so
the handler comes first. What comes before it is kept by the image's entry point (`env --block-signal=TERM`), and stays
kept until it is let through here.
"""

import signal
import sys

signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})

from sendonce_store import loading  # noqa: E402 - after the handler

loading.begin()
from sendonce_console.main import main  # noqa: E402

loading.end()

sys.exit(main())
