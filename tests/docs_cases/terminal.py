"""A reader's terminal: the blocks of a page in; one shell that runs them in order out.

The folder looks like a checkout. Programs of this environment and of PostgreSQL are found by name, as they are after an
install. Words that stand for something of the reader's own are replaced by what a test has: a database, a port.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode

from psycopg.conninfo import conninfo_to_dict
from tests.docs_cases.blocks import ROOT, Block

_HEAD = """\
set -euo pipefail
BLOCK=start
trap 'code=$?; [ $code = 0 ] || echo "failed in $BLOCK" >&2; exit $code' EXIT
"""
_BACKGROUND = """\
( {text} ) > background.out 2>&1 &
for _ in $(seq 600); do [ -s background.out ] && break; sleep 0.1; done
[ -s background.out ] || {{ echo "nothing was said within a minute" >&2; exit 1; }}
"""
_EXPECTED = """\
set +e
{text}
code=$?
set -e
[ $code = {code} ] || {{ echo "exit code $code, not {code}" >&2; exit 1; }}
"""
_COPIED = ("examples",)


def script(blocks: Sequence[Block], words: Mapping[str, str]) -> str:
    """One shell script of all blocks that are run. `words`: what is replaced by what."""
    return _HEAD + "".join(f"BLOCK={shlex.quote(block.place)}\n{_part(block, words)}\n" for block in blocks)


def _part(block: Block, words: Mapping[str, str]) -> str:
    if block.reason:
        return ""
    text = replaced(block.text, words)
    if block.in_background:
        return _BACKGROUND.format(text=text)
    return _EXPECTED.format(text=text, code=block.exit_code) if block.exit_code else text


def replaced(text: str, words: Mapping[str, str]) -> str:
    for word, meaning in words.items():
        text = text.replace(word, meaning)
    return text


@dataclass(frozen=True)
class Ran:
    """How a page ended."""

    code: int
    output: str


@dataclass(frozen=True)
class Terminal:
    """`folder` is new and becomes a checkout; `programs` are folders in which programs are found first."""

    folder: Path
    words: Mapping[str, str]
    programs: Sequence[Path] = ()
    environment: Mapping[str, str] = field(default_factory=dict)

    def prepare(self) -> None:
        """Make the folder look like a checkout whose files can be written to without harm."""
        for entry in ROOT.iterdir():
            if entry.name in _COPIED:
                self._copy(entry)
            elif not entry.name.startswith(".") or entry.name == ".venv":
                (self.folder / entry.name).symlink_to(entry)

    def _copy(self, folder: Path) -> None:
        shutil.copytree(folder, self.folder / folder.name)
        for file in (self.folder / folder.name).rglob("*.yaml"):
            file.write_text(replaced(file.read_text("utf-8"), self.words), "utf-8")

    def run(self, blocks: Sequence[Block], seconds: float = 240) -> Ran:
        """Run them; everything that they began has ended then."""
        path = [*map(str, self.programs), str(Path(sys.executable).parent), os.environ["PATH"]]
        home = {"HOME": str(self.folder / "home"), "XDG_DATA_HOME": str(self.folder / "home/data")}
        (self.folder / "home").mkdir(mode=0o711, exist_ok=True)
        environment = {**os.environ, **home, "PATH": ":".join(path), **self.environment}
        shell = ["bash", "-c", script(blocks, self.words)]
        with subprocess.Popen(
            shell,
            cwd=self.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        ) as process:
            try:
                output, _ = process.communicate(timeout=seconds)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                output, _ = process.communicate()
                output += f"\nnot done within {seconds:.0f} s"
            finally:
                self._end_group(process.pid)
        return Ran(process.returncode, output)

    def _end_group(self, group: int) -> None:
        """What was in the background ends with the page."""
        try:
            os.killpg(group, signal.SIGTERM)
        except ProcessLookupError:
            return


def as_url(dsn: str) -> str:
    """A connection string in the form that people write."""
    given = conninfo_to_dict(dsn)
    return f"postgresql:///{given.pop('dbname')}?{urlencode(given)}"
