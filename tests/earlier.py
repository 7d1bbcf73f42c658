"""The version before: 0.1.0, the tree of a commit that is pinned here, as `git archive` gives it.

A release that follows takes its own tag. The clone needs its history for it: a shallow one fails with the cure.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from io import BytesIO
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
VERSION = "0.1.0"
COMMIT = "aa27cdeb2540dedc1c690f1baf0f61cfe6a32200"
_STORE = Path(__file__).with_name("earlier_store.py")
PACKAGES = ("store/sendonce_store", "operator/sendonce_operator", "worker/sendonce_worker")


def unpack(folder: Path, *parts: str, keep: str = "") -> Path:
    """Write parts of that version into a folder, without their first folder, which `keep` replaces; returns the folder.

    By default they are the packages of the programs: `sendonce_store` and so on.
    """
    command = ["git", "-C", str(ROOT), "archive", "--format=tar", COMMIT, *(parts or PACKAGES)]
    done = subprocess.run(command, capture_output=True, check=False)
    cure = "fetch the history (git fetch --unshallow; in CI a checkout with fetch-depth: 0)"
    assert done.returncode == 0, f"{VERSION} is commit {COMMIT}, which is not in this clone: {cure}: {done.stderr!r}"
    with tarfile.open(fileobj=BytesIO(done.stdout)) as archive:
        for entry in archive:
            entry.name = entry.name.partition("/")[2]
            if entry.name:
                entry.name = keep + entry.name
                archive.extract(entry, folder, filter="data")
    return folder


def store(packages: Path, dsn: str, namespace: str, documents: str = "") -> dict[str, Any]:
    """Have that version make a store, a login and what the documents say; returns what `earlier_store` prints."""
    command = [sys.executable, "-P", str(_STORE), dsn, namespace, documents]
    env = {**os.environ, "PYTHONPATH": str(packages)}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    made: dict[str, Any] = json.loads(done.stdout)
    assert made["packages"].startswith(str(packages)), "today's packages were taken"
    return made
