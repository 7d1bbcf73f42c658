"""A program that is told to stop while it is still loading stops: as a container's first process it would ignore it."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# what takes the time, and is loaded by each program
LATE = {
    "sendonce_worker": "uvloop",
    "sendonce_operator": "aiohttp",
    "sendonce_gateway": "aiohttp",
    "sendonce_console": "aiohttp",
}


def has_sigterm(pid: int, kind: str) -> bool:
    """Whether it is in one of a process's sets of signals: SigCgt, caught; SigBlk, blocked (proc(5))."""
    status = dict(line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text("ascii").splitlines())
    return bool(int(status[kind], 16) >> (signal.SIGTERM - 1) & 1)


def catches_sigterm(pid: int) -> bool:
    return has_sigterm(pid, "SigCgt")


def name_of(pid: int) -> str:
    """The program that a process has become."""
    return Path(f"/proc/{pid}/comm").read_text("utf-8").strip()


def entry_point(program: str) -> list[str]:
    """The command of a program's image, with the Python of this environment."""
    text = (ROOT / f"Dockerfile.{program.removeprefix('sendonce_')}").read_text("utf-8")
    found = re.search(r"^ENTRYPOINT (.*)$", text, re.MULTILINE)
    assert found is not None
    return [sys.executable if word == "python" else word for word in json.loads(found[1])]


def only_child(process: subprocess.Popen[str]) -> int:
    """The id of the one process that a process starts."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    while not (found := children.read_text("ascii").split()) and process.poll() is None:
        pass
    return int(found[0])


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


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes a namespace of processes, where a program is the first")
@pytest.mark.parametrize("program", LATE)
def test_the_first_process_of_a_container_hears_that_it_is_to_stop_before_python_has_started(program: str) -> None:
    command = ["unshare", "--pid", "--fork", "--kill-child", *entry_point(program)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        first = only_child(process)
        while name_of(first) == "unshare" or not (has_sigterm(first, "SigBlk") or catches_sigterm(first)):
            assert process.poll() is None
        assert has_sigterm(first, "SigBlk"), "until Python takes the signal, nothing keeps it"
        os.kill(first, signal.SIGTERM)
        words, _ = process.communicate(timeout=30)
    assert (process.returncode, words) == (0, "")
