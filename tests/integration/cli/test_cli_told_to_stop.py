"""A command as the first process of a container: SIGTERM ends it, whatever it does."""

from __future__ import annotations

import socket
import subprocess
import sys


def test_a_command_that_is_told_to_stop_ends_at_once_and_does_not_say_that_it_is_done() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(60)
        database = f"host=127.0.0.1 port={silent.getsockname()[1]} dbname=x connect_timeout=60"
        command = [sys.executable, "-P", "-m", "sendonce_cli", "migrate", "--database", database]
        with (
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process,
            silent.accept()[0],
        ):
            process.terminate()
            _, said = process.communicate(timeout=30)
    # by itself: a signal that ends a process is a negative number here, and ends no first process of a container
    assert process.returncode == 143
    assert "Traceback" not in said
