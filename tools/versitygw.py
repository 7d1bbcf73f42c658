"""Build versitygw, the S3 server that tests import lists from, once; it takes Go and some minutes.

In: the pinned module in tools/modules/versitygw. Out: the program in the user's cache folder, with its version in its
name.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

from tools.cluster.places import ROOT, far_ends

from sendonce_cli.kernel_lock import held

MODULE = ROOT / "tools" / "modules" / "versitygw"
PACKAGE = "github.com/versity/versitygw"


def pinned(module: str) -> str:
    """Return the version of versitygw in the text of a go.mod."""
    found = re.search(rf"^require {re.escape(PACKAGE)} (v\S+)$", module, re.MULTILINE)
    if found is None:
        raise ValueError(f"{MODULE / 'go.mod'} requires no {PACKAGE}: add `require {PACKAGE} vX.Y.Z`")
    return found[1]


def built() -> Path | None:
    """Return the program, which is built if it is not there; None without Go."""
    program = far_ends() / f"versitygw-{pinned((MODULE / 'go.mod').read_text('utf-8'))}"
    if program.exists() or shutil.which("go") is None:
        return program if program.exists() else None
    with held(program.with_suffix(".lock")):
        if not program.exists():
            _build(program.with_suffix(".part"))
            program.with_suffix(".part").replace(program)
    return program


def _build(target: Path) -> None:
    command = ["go", "build", "-trimpath", "-ldflags", "-s -w", "-o", str(target), f"{PACKAGE}/cmd/versitygw"]
    fixed = {"CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly", "GOWORK": "off"}
    subprocess.run(command, cwd=MODULE, env={**os.environ, **fixed}, check=True)


if __name__ == "__main__":
    print(built() or "versitygw is not built: Go is not here; install it from go.dev/dl")
