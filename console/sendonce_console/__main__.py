"""`python -m sendonce_console`."""

from __future__ import annotations

import sys

from sendonce_console.main import main

if __name__ == "__main__":
    sys.exit(main())
