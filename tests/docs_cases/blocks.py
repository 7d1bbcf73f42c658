"""The command blocks of README and docs: Markdown in; blocks with what their page says of them out. Pure.

A fenced block of the language `sh` is run. A comment right above its fence says what is special about it:

    <!-- not run: REASON -->        it can't be run here; each is counted, and its programs must exist
    <!-- in the background -->      it goes on while the blocks behind it are run, and has said something before
    <!-- exit code: N -->           it ends so

A page whose commands another test runs says so anywhere: `<!-- commands of this page: tests/… -->`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = "sh"
# What may stand in a fence. `text` is for output, help and drawings.
LANGUAGES = frozenset({COMMANDS, "text", "yaml", "json", "sql", "lua", "mermaid", "markdown", "python", "promql"})
_FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\S*)\s*$")
_COMMENT = re.compile(r"^ *<!-- (?P<words>.*) -->\s*$")
_MARK = re.compile(r"^(?:not run: (?P<reason>.+)|(?P<background>in the background)|exit code: (?P<code>\d+))$")
_ELSEWHERE = re.compile(r"<!-- commands of this page: (?P<test>tests/\S+) -->")
# What a command begins with; a block of another language that has such a line hides a command.
_COMMAND = re.compile(r"^ *(?:\$ )?(?:make|kubectl|helm|sendonce|\.venv/bin/\S+|pg_\w+|psql) [^|]*$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """One fenced block. `line`: of its first fence, from 1; `mark`: the comment right above it, empty without one."""

    page: str
    line: int
    language: str
    text: str
    mark: str = ""

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def is_known_mark(self) -> bool:
        return not self.mark or _MARK.match(self.mark) is not None

    @property
    def reason(self) -> str:
        """Why it is not run; empty where it is."""
        found = _MARK.match(self.mark)
        return (found["reason"] or "") if found else ""

    @property
    def in_background(self) -> bool:
        found = _MARK.match(self.mark)
        return bool(found and found["background"])

    @property
    def exit_code(self) -> int:
        found = _MARK.match(self.mark)
        return int(found["code"]) if found and found["code"] else 0

    @property
    def hides_a_command(self) -> bool:
        return self.language != COMMANDS and _COMMAND.search(self.text) is not None


def blocks_of(page: str, text: str) -> list[Block]:
    """The fenced blocks of a page, in order."""
    return list(_blocks(page, text.splitlines()))


def _blocks(page: str, lines: list[str]) -> Iterator[Block]:
    number = 0
    while number < len(lines):
        fence = _FENCE.match(lines[number])
        start, number = number, number + 1
        if fence is None:
            continue
        end = next(n for n in range(number, len(lines)) if lines[n].strip() == "```")
        inside = [line.removeprefix(fence["indent"]) for line in lines[number:end]]
        yield Block(page, start + 1, fence["language"], "\n".join(inside) + "\n", _mark_above(lines, start))
        number = end + 1


def _mark_above(lines: list[str], fence: int) -> str:
    found = _COMMENT.match(lines[fence - 1]) if fence else None
    return found["words"] if found else ""


def pages() -> list[str]:
    """README and every page of the docs, but the runbooks, whose commands run beside the alerts that they belong to."""
    found = [path for path in sorted((ROOT / "docs").rglob("*.md")) if "runbooks" not in path.parts]
    return [str(path.relative_to(ROOT)) for path in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *found]]


def read(page: str) -> str:
    return (ROOT / page).read_text("utf-8")


def runs_elsewhere(text: str) -> str | None:
    """The test that runs the commands of a page; None: the tests of the docs do."""
    found = _ELSEWHERE.search(text)
    return found["test"] if found else None


def commands_of(page: str) -> list[Block]:
    """The command blocks of a page that the tests of the docs have to do with."""
    text = read(page)
    return [] if runs_elsewhere(text) else [block for block in blocks_of(page, text) if block.language == COMMANDS]


def needs_cluster(blocks: list[Block]) -> bool:
    return any(re.search(r"\bkubectl\b", block.text) for block in blocks if not block.reason)


def pages_to_run(*, cluster: bool) -> list[str]:
    """The pages with commands that are run with a cluster, or without one."""
    found = {page: commands_of(page) for page in pages()}
    runnable = {page: blocks for page, blocks in found.items() if any(not block.reason for block in blocks)}
    return [page for page, blocks in runnable.items() if needs_cluster(blocks) is cluster]
