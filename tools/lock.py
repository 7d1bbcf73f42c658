"""Keep the lock files in step with pyproject.toml.

In: the dependency sections of pyproject.toml. Out: hashed lock files under requirements/, one for development and one
per program, and a digest of those sections, by which `--check` sees without a network that none was forgotten.
"""

import argparse
import hashlib
import json
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCKS = ROOT / "requirements"
DIGEST = LOCKS / "inputs.sha256"

# What each lock file holds beside the dependencies that every program has. The others pick their versions from dev.txt.
EXTRAS = {
    "dev.txt": ("--all-extras", "--group", "dev"),
    "cli.txt": ("--extra", "cli"),
    "worker.txt": ("--extra", "worker"),
    "operator.txt": ("--extra", "operator"),
    "gateway.txt": ("--extra", "gateway"),
    "console.txt": ("--extra", "console"),
}
# of a group alone, without the program: its versions are its own
GROUPS = {"docs.txt": "docs"}


def digest() -> str:
    """Return a digest over the sections of pyproject.toml that decide what is installed."""
    document = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project = document["project"]
    sections = (
        project["requires-python"],
        project["dependencies"],
        project["optional-dependencies"],
        document["dependency-groups"],
    )
    return hashlib.sha256(json.dumps(sections, sort_keys=True).encode()).hexdigest()


def in_step() -> bool:
    """Return whether all lock files are there and were made from the present sections."""
    present = all((LOCKS / name).exists() for name in (*EXTRAS, *GROUPS))
    return present and DIGEST.exists() and DIGEST.read_text(encoding="ascii").strip() == digest()


def lock(*, upgrade: bool) -> None:
    """Write every lock file, then the digest."""
    uv = Path(sys.executable).with_name("uv")
    for name, extras in EXTRAS.items():
        versions = [] if name == "dev.txt" else ["--constraints", "requirements/dev.txt"]
        # An existing file is where uv takes its versions from, unless told to upgrade.
        newest = ["--upgrade"] if upgrade and name == "dev.txt" else []
        fixed = ["--universal", "--generate-hashes", "--no-header", "--quiet"]
        target = ["--output-file", f"requirements/{name}"]
        command = [str(uv), "pip", "compile", "pyproject.toml", *fixed, *extras, *versions, *newest, *target]
        if name != "dev.txt":
            (LOCKS / name).unlink(missing_ok=True)
        subprocess.run(command, check=True, cwd=ROOT)
    for name, group in GROUPS.items():
        newest = ["--upgrade"] if upgrade else []
        fixed = ["--universal", "--generate-hashes", "--no-header", "--quiet"]
        target = ["--output-file", f"requirements/{name}"]
        subprocess.run([str(uv), "pip", "compile", "--group", group, *fixed, *newest, *target], check=True, cwd=ROOT)
    DIGEST.write_text(f"{digest()}\n", encoding="ascii")


def main() -> int:
    """Lock, or with --check only look; the exit code is 1 when the lock files are behind."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing")
    parser.add_argument("--upgrade", action="store_true", help="take the newest versions")
    options = parser.parse_args()
    if not options.check:
        lock(upgrade=options.upgrade)
        return 0
    if in_step():
        print("Lock files are in step with pyproject.toml.")
        return 0
    print("pyproject.toml's dependencies have changed since requirements/ was locked: run `make lock`.")
    return 1


if __name__ == "__main__":
    sys.exit(main())
