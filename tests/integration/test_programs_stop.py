"""A program that is told to stop while it is still loading stops: as a container's first process it would ignore it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

# what takes the time, and is loaded by each program
LATE = {"sendonce_worker": "uvloop", "sendonce_operator": "aiohttp"}


def catches_sigterm(pid: int) -> bool:
    """Whether a process has a handler for it (proc(5), SigCgt of /proc/pid/status)."""
    status = dict(line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text("ascii").splitlines())
    return bool(int(status["SigCgt"], 16) >> (signal.SIGTERM - 1) & 1)


@pytest.mark.parametrize("program", LATE)
def test_a_program_that_is_told_to_stop_while_it_loads_stops(program: str) -> None:
    command = [sys.executable, "-P", "-m", program]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        while not catches_sigterm(process.pid) and process.poll() is None:
            pass
        assert process.poll() is None, "it never takes the signal"
        os.kill(process.pid, signal.SIGSTOP)
        loaded = Path(f"/proc/{process.pid}/maps").read_text("utf-8")
        process.terminate()
        os.kill(process.pid, signal.SIGCONT)
        words, _ = process.communicate(timeout=30)
    assert LATE[program] not in loaded, "it takes the signal before it loads everything"
    assert (process.returncode, words) == (0, "")
