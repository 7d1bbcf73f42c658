"""`python -m sendonce_store.spec.crd crds/` writes the CRDs.

With `--check` it writes nothing and says which files are not what it would write.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from sendonce_store.spec.crd.definitions import files


def stale(folder: Path) -> Iterator[str]:
    """Yield the name of each file that is missing, differs, or that no kind belongs to."""
    wanted = files()
    there = {path.name: path.read_text("utf-8") for path in folder.glob("*.yaml")}
    yield from sorted(name for name in wanted.keys() | there.keys() if wanted.get(name) != there.get(name))


def write(folder: Path) -> None:
    """Write all files anew, and remove those of kinds that are no more."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("*.yaml"):
        path.unlink()
    for name, text in files().items():
        (folder / name).write_text(text, "utf-8")


def main(arguments: list[str]) -> int:
    """Write, or with --check compare. Returns 1 for stale files, 2 for wrong usage."""
    match arguments:
        case ["--check", folder] if differing := list(stale(Path(folder))):
            sys.stderr.write(f"{folder} is not what the models say: {', '.join(differing)}; run make crds\n")
            return 1
        case ["--check", folder]:
            sys.stdout.write(f"The CRDs in {folder} are what the models say.\n")
        case [folder] if not folder.startswith("-"):
            write(Path(folder))
        case _:
            sys.stderr.write("usage: python -m sendonce_store.spec.crd [--check] FOLDER\n")
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
