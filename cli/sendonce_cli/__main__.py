"""`python -m sendonce_cli`, the same as `sendonce`.

The first process of a container ignores a signal that it has no handler for. A command that was told to stop has not
done its work, and says so; those that are meant to be stopped, as `run` and `simulate`, have handlers of their own.
"""

import signal
import sys

signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
# the image's entry point blocks it until here (`env --block-signal=TERM`)
signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})

from sendonce_store import loading  # noqa: E402 - after the handler

loading.begin()
from sendonce_cli.main import main  # noqa: E402

main()
