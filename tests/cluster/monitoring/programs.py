"""Prometheus and promtool of this machine, for tests.

Where they are not installed a test is skipped with the cure; with SENDONCE_REQUIRE_ALL_LEVELS=1 it fails.
"""

from __future__ import annotations

import os
import subprocess

import pytest
from tests.cluster.levels import REQUIRE_VARIABLE
from tools.cluster.needs import find

CURE = "on Debian: apt-get install --no-install-recommends prometheus"


def program(name: str) -> str:
    """The path of a program of Prometheus."""
    found = find(name)
    if found is None:
        complaint = f"{name} is not on this machine; {CURE}"
        if os.environ.get(REQUIRE_VARIABLE) == "1":
            pytest.fail(complaint)
        pytest.skip(complaint)
    return found


def promtool(*arguments: str) -> tuple[bool, str]:
    """Run promtool; returns whether it was satisfied, and what it said."""
    command = [program("promtool"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    return done.returncode == 0, done.stdout + done.stderr
