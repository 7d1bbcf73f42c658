"""krew itself, which installs what `tools.plugin` wrote: a folder in, what krew said out.

It is built once from its pinned module, which takes Go, and installs into a folder of its own, from files alone.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tools.cluster.places import ROOT, linters

from sendonce_cli.kernel_lock import held

MODULE = ROOT / "tools" / "modules" / "krew"
PACKAGE = "sigs.k8s.io/krew"


def version() -> str:
    """Return the version that go.mod pins."""
    found = re.search(rf"^require {re.escape(PACKAGE)} (v\S+)$", (MODULE / "go.mod").read_text("utf-8"), re.MULTILINE)
    if found is None:
        raise ValueError(f"{MODULE / 'go.mod'} requires no {PACKAGE}: add `require {PACKAGE} vX.Y.Z`")
    return found[1]


def built(variables: Mapping[str, str] = os.environ) -> Path | None:
    """Return the program, which is built if it is not there; None without Go."""
    program = linters() / f"krew-{version()}"
    if program.exists() or shutil.which("go") is None:
        return program if program.exists() else None
    with held(program.with_suffix(".lock")):
        if not program.exists():
            part = program.with_suffix(".part")
            fixed = {"CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly", "GOWORK": "off"}
            command = ["go", "build", "-trimpath", "-ldflags", "-s -w", "-o", str(part), f"{PACKAGE}/cmd/krew"]
            subprocess.run(command, cwd=MODULE, env={**variables, **fixed}, check=True)
            part.replace(program)
    return program


def install(krew: Path, manifest: Path, archive: Path, root: Path) -> subprocess.CompletedProcess[str]:
    """Have krew install a plugin into `root`, where it belongs to nobody."""
    own = {"KREW_ROOT": str(root), "KREW_NO_UPGRADE_CHECK": "1", "HOME": str(root)}
    order = [str(krew), "install", f"--manifest={manifest}", f"--archive={archive}"]
    return subprocess.run(
        order, env={**os.environ, **own}, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
