"""`python -m tools.site ZENSICAL`: stage docs/ and build the site with that program; exit code 1 for any warning.

SITE_REPOSITORY, if set, is the address below which the repository's files are read.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tools.site.mermaid import script
from tools.site.staging import SCRIPT, staged

ROOT = Path(__file__).resolve().parents[2]
STAGE = ROOT / "build" / "site-docs"
# Pages that other pages link to and that this checkout need not have.
COMING: frozenset[str] = frozenset()


def stage(repository: str) -> None:
    """Copy docs/ to build/site-docs, with links rewritten, and the script of the drawings."""
    shutil.rmtree(STAGE, ignore_errors=True)
    shutil.copytree(ROOT / "docs", STAGE)
    missing = frozenset(page for page in COMING if not (ROOT / page).exists())
    for file in STAGE.rglob("*.md"):
        page = str(file.relative_to(STAGE))
        file.write_text(staged(page, file.read_text("utf-8"), repository, missing), "utf-8")
    (STAGE / SCRIPT).parent.mkdir(exist_ok=True)
    shutil.copyfile(script(), STAGE / SCRIPT)


def main() -> int:
    """Stage and build."""
    stage(os.environ.get("SITE_REPOSITORY", "").rstrip("/"))
    return subprocess.run([sys.argv[1], "build", "--strict", "--clean"], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
