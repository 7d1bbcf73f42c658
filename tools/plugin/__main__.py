"""`python -m tools.plugin`: writes the plugin, krew's archive of it and its manifest into build/plugin.

    kubectl-campaign                 the program, one file, to be put on the PATH by hand
    kubectl-campaign-vX.Y.Z.tar.gz   what krew fetches: the same as a folder, what completes its words, the licence
    campaign.yaml                    krew's manifest: `kubectl krew install --manifest=… --archive=…`

`--releases URL` is the folder in which the archive will be, `--homepage URL` the project's page. `--check` writes
nothing there: krew itself installs the archive into a folder that goes, and the program must run from it. Without Go,
which builds krew, that is not done and said, which SENDONCE_REQUIRE_ALL_LEVELS=1 makes a failure.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.cluster.places import ROOT
from tools.plugin import krew, manifest
from tools.plugin.archive import COMPLETER, NAME, folder, program, tarball

from sendonce_kubectl.commands.files import SCRIPT
from sendonce_kubectl.version import VERSION

FOLDER = ROOT / "build" / "plugin"
REQUIRE_VARIABLE = "SENDONCE_REQUIRE_ALL_LEVELS"


def files(releases: str, homepage: str) -> dict[str, bytes]:
    """Return what is written: name → content."""
    archive = tarball(folder() | {COMPLETER: SCRIPT.encode(), "LICENSE": (ROOT / "LICENSE").read_bytes()})
    name = f"{NAME}-v{VERSION}.tar.gz"
    found = manifest.manifest(VERSION, f"{releases.rstrip('/')}/{name}", archive, homepage)
    return {NAME: program(), name: archive, f"{manifest.PLUGIN}.yaml": manifest.text(found).encode()}


def write(folder: Path, found: dict[str, bytes]) -> None:
    """Write them."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in found.items():
        (folder / name).write_bytes(content)
        (folder / name).chmod(0o755 if content.startswith(b"#!") else 0o644)


def check(found: dict[str, bytes]) -> int:
    """Have krew install it, and run what it installed; return the exit code."""
    program = krew.built()
    if program is None:
        print("krew has not installed the plugin: Go builds krew, and is not here; install it from go.dev/dl")
        return 1 if os.environ.get(REQUIRE_VARIABLE) == "1" else 0
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        write(folder, found)
        archive = next(folder / name for name in found if name.endswith(".tar.gz"))
        done = krew.install(program, folder / f"{manifest.PLUGIN}.yaml", archive, folder / "root")
        if done.returncode:
            print(f"krew refuses the plugin: {done.stderr}")
            return 1
        order = [str(folder / "root" / "bin" / NAME), "--version"]
        ran = subprocess.run(order, capture_output=True, text=True, check=False)
    print(f"krew {krew.version()} installs it: {ran.stdout.strip() or ran.stderr}")
    return ran.returncode


def main() -> int:
    """Write all of it, and say where it is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument("--releases", default=f"https://sendonce.example.com/releases/v{VERSION}")
    parser.add_argument("--homepage", default="https://sendonce.example.com")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    try:
        found = files(options.releases, options.homepage)
    except ValueError as error:
        print(f"krew would refuse the manifest: {error}")
        return 1
    if options.check:
        return check(found)
    write(options.folder, found)
    print("\n".join(f"{options.folder / name}  {len(content):,} bytes" for name, content in found.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
