"""`python -m sendonce_operator` is the operator.

The first process of a container ignores a signal that it has no handler for, and loading everything takes a second or
two. Told to stop meanwhile, it would go on, and be killed in the middle of its work at the end of the grace period.
"""

import signal
import sys

signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))

from sendonce_operator.main import main  # noqa: E402 - after the handler

main()
