"""`make bench`: the entry; `program.py` beside it tells the story.

A script's folder is not where the modules beside it are named from, so the repository's root is put there first.
"""

import runpy
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[2])
    runpy.run_module("tests.bench.program", run_name="__main__", alter_sys=True)
