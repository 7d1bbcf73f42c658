"""`python tests/chaos/run.py --runs N --seed S`: the entry; `chaos/command.py` beside it tells the story.

A script's folder is not where the modules beside it are named from, so the repository's root is put there first.
"""

import runpy
import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[2])
runpy.run_module("tests.chaos.command", run_name="__main__")
