"""The plugin as one file: its package and what it needs in, a program that any Python from 3.11 on runs out.

A zip file with a line in front of it that names the interpreter (PEP 441). The same sources give the same bytes, by the
same Python: names are sorted, and times are fixed. What is beside the package is pure Python, of this environment's
locked packages.

Python can't keep what it compiled of a zip file. So the file brings its bytecode along, which the same version of
Python takes; another one compiles at each start (a quarter of a second). krew's archive is a folder, where each Python
keeps its own.
"""

import gzip
import io
import py_compile
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from importlib.metadata import distribution
from pathlib import Path

from tools.cluster.places import ROOT

PACKAGE = ROOT / "cli" / "sendonce_kubectl"
# distribution → the package in it
NEEDED = {"click": "click", "PyYAML": "yaml"}
SHEBANG = b"#!/usr/bin/env python3\n"
MAIN = "from sendonce_kubectl import __main__\n"
NAME, COMPLETER = "kubectl-campaign", "kubectl_complete-campaign"
# krew links to it, so that its own folder is where the link leads
LAUNCHER = """\
#!/usr/bin/env python3
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "lib"))

from sendonce_kubectl import __main__
"""
_UNCHECKED = py_compile.PycInvalidationMode.UNCHECKED_HASH
_LONG_AGO = (1980, 1, 1, 0, 0, 0)
# the shell completion of Windows' console, and help for tests
_LEFT_OUT = {"click/testing.py", "click/_winconsole.py"}


def program() -> bytes:
    """Return the program."""
    packed = io.BytesIO(SHEBANG)
    packed.seek(0, io.SEEK_END)
    with zipfile.ZipFile(packed, "a", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in sorted(_with_bytecode(sources()).items()):
            entry = zipfile.ZipInfo(name, _LONG_AGO)
            entry.external_attr, entry.compress_type = 0o644 << 16, zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    return packed.getvalue()


def _with_bytecode(found: Mapping[str, bytes]) -> dict[str, bytes]:
    """Add what Python made of each source; it asks for no source's time (PEP 552, unchecked)."""
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder) / "one.py"
        compiled = {}
        for name, content in found.items():
            if name.endswith(".py"):
                scratch.write_bytes(content)
                made = py_compile.compile(str(scratch), dfile=name, doraise=True, invalidation_mode=_UNCHECKED)
                compiled[f"{name}c"] = Path(str(made)).read_bytes()
    return {**found, **compiled}


def folder() -> dict[str, bytes]:
    """Return the same as a folder: a program, and `lib` beside it."""
    return {NAME: LAUNCHER.encode(), **{f"lib/{name}": content for name, content in sources().items()}}


def sources() -> dict[str, bytes]:
    """Return what is in it: name → content."""
    own = {f"sendonce_kubectl/{path.relative_to(PACKAGE)}": path.read_bytes() for path in PACKAGE.rglob("*.py")}
    needed = {name: content for dist, package in NEEDED.items() for name, content in _pure(dist, package)}
    return {"__main__.py": MAIN.encode(), **own, **needed}


def _pure(dist: str, package: str) -> Iterator[tuple[str, bytes]]:
    """Yield the Python files of a package, and its licence."""
    for file in distribution(dist).files or ():
        name = file.as_posix()
        if name.startswith(f"{package}/") and name.endswith(".py") and name not in _LEFT_OUT:
            yield name, Path(str(file.locate())).read_bytes()
        if "/licenses/" in name:
            yield f"licenses/{package}.txt", Path(str(file.locate())).read_bytes()


def tarball(files: Mapping[str, bytes]) -> bytes:
    """Return a .tar.gz of programs and texts: name → content."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o755 if content.startswith(b"#!") else 0o644
            archive.addfile(entry, io.BytesIO(content))
    return gzip.compress(packed.getvalue(), mtime=0)
