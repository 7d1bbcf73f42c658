"""Check the workflows of .github/ with actionlint, their commands and the repository's shell scripts with shellcheck.

In: the files. Out: the complaints of both programs, and exit code 1 if there is one. actionlint is built once from its
pinned module, which takes Go; without it the workflows are not checked and the reason is said, which
SENDONCE_REQUIRE_ALL_LEVELS=1 makes a failure. shellcheck comes with the locked packages.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tools.cluster.places import ROOT, linters

from sendonce_cli.kernel_lock import held

MODULE = ROOT / "tools" / "modules" / "actionlint"
PACKAGE = "github.com/rhysd/actionlint"
SCRIPTS = (".ci/run",)
REQUIRE_VARIABLE = "SENDONCE_REQUIRE_ALL_LEVELS"


def pinned(module: str) -> str:
    """Return the version of actionlint in the text of a go.mod."""
    found = re.search(rf"^require {re.escape(PACKAGE)} (v\S+)$", module, re.MULTILINE)
    if found is None:
        raise ValueError(f"{MODULE / 'go.mod'} requires no {PACKAGE}: add `require {PACKAGE} vX.Y.Z`")
    return found[1]


def build_command(target: Path) -> list[str]:
    """Return the command that builds it, in the folder of its module."""
    return ["go", "build", "-trimpath", "-ldflags", "-s -w", "-o", str(target), f"{PACKAGE}/cmd/actionlint"]


def built(variables: Mapping[str, str]) -> Path | None:
    """Return the program, which is built if it is not there; None without Go."""
    program = linters() / f"actionlint-{pinned((MODULE / 'go.mod').read_text('utf-8'))}"
    if program.exists():
        return program
    if shutil.which("go") is None:
        return None
    with held(program.with_suffix(".lock")):
        if not program.exists():
            part = program.with_suffix(".part")
            fixed = {"CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly", "GOWORK": "off"}
            subprocess.run(build_command(part), cwd=MODULE, env={**variables, **fixed}, check=True)
            part.replace(program)
    return program


def commands(actionlint: Path | None, shellcheck: Path) -> list[list[str]]:
    """Return what is to be run in the checkout."""
    scripts = [[str(shellcheck), *SCRIPTS]]
    if actionlint is None:
        return scripts
    # pyflakes off: ruff checks all Python, and no workflow has any
    return [*scripts, [str(actionlint), "-shellcheck", str(shellcheck), "-pyflakes="]]


def main(variables: Mapping[str, str]) -> int:
    """Check them, and return the exit code."""
    actionlint = built(variables)
    shellcheck = Path(sys.executable).with_name("shellcheck")
    codes = [subprocess.run(command, cwd=ROOT, check=False).returncode for command in commands(actionlint, shellcheck)]
    if actionlint is not None:
        return 1 if any(codes) else 0
    required = variables.get(REQUIRE_VARIABLE) == "1"
    print("The workflows are not checked: Go builds actionlint, and is not here; install it from go.dev/dl")
    return 1 if required or any(codes) else 0


if __name__ == "__main__":
    sys.exit(main(os.environ))
