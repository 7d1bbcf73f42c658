"""The commands of a runbook: its page in, shell scripts out; and a shell in which they find what they need."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from asyncio.subprocess import PIPE, STDOUT
from collections.abc import Mapping
from pathlib import Path

from tests.cluster.monitoring.chart_files import RUNBOOKS
from tests.cluster.monitoring.programs import program
from tests.cluster.reach import kubectl_program

_BLOCK = re.compile(r"(?ms)^```sh\n(.*?)^```$")
SECTIONS = ("What it means", "What the customer sees", "Look", "Fix", "Prove that it is fixed")


def sections(alert: str) -> dict[str, str]:
    """Heading → text."""
    parts = re.split(r"(?m)^## (.+)$", (RUNBOOKS / f"{alert}.md").read_text("utf-8"))
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def scripts(text: str) -> list[str]:
    """The blocks of commands, in order."""
    return _BLOCK.findall(text)


def without_logs(script: str) -> str:
    """A script without the commands that need Pods that run."""
    return "".join(line for line in script.splitlines(keepends=True) if " logs " not in line)


def only_logs(script: str) -> str:
    """Those commands alone."""
    return "".join(line for line in script.splitlines(keepends=True) if " logs " in line)


def shell(names: Mapping[str, str], kubeconfig: Path) -> dict[str, str]:
    """An environment in which the commands of docs/runbooks/README.md are found, and the names that it sets."""
    folders = [
        str(Path(sys.executable).parent),
        *(str(Path(one).parent) for one in (kubectl_program(), program("promtool"))),
    ]
    path = os.pathsep.join([*folders, os.environ["PATH"]])
    return {**os.environ, "PATH": path, "KUBECONFIG": str(kubeconfig), "TOKEN": "t", "COLUMNS": "160", **names}


async def run(script: str, environment: Mapping[str, str]) -> str:
    """Run a script; returns what it printed. AssertionError with that if a command of it fails."""
    command = ["bash", "-euo", "pipefail", "-c", script]
    process = await asyncio.create_subprocess_exec(*command, env=dict(environment), stdout=PIPE, stderr=STDOUT)
    printed, _ = await asyncio.wait_for(process.communicate(), 120)
    assert process.returncode == 0, f"{script}\n{printed.decode()}"
    return printed.decode()
