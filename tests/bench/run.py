"""`make bench`: everything that `program` tells, run from a bare checkout."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

if __name__ == "__main__":
    # the modules of this folder are the package `bench`, here and in the processes that they start
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    runpy.run_module("bench.program", run_name="__main__", alter_sys=True)
