"""Command blocks of the docs: each is run by a test, or says why not; and none hides in another kind of block."""

import re
import shlex
import subprocess
from importlib.util import find_spec

import pytest
from tests.docs_cases.blocks import (
    COMMANDS,
    LANGUAGES,
    ROOT,
    Block,
    blocks_of,
    commands_of,
    pages,
    read,
    runs_elsewhere,
)
from tests.docs_cases.terminal import script

from sendonce_cli.main import COMMANDS as PROGRAM

NOT_RUN = [block for page in pages() for block in commands_of(page) if block.reason]
# Raise it only for what can't be run in a test at all: whatever is here is not known to be true.
MOST_NOT_RUN = 12


@pytest.mark.parametrize("page", pages())
def test_each_block_says_what_it_is_and_commands_are_in_blocks_that_are_run(page: str) -> None:
    for block in blocks_of(page, read(page)):
        assert block.language in LANGUAGES, f"{block.place}: name its language: {', '.join(sorted(LANGUAGES))}"
        generated = page == "docs/cli.md"
        assert generated or not block.hides_a_command, f"{block.place}: commands belong into a block `{COMMANDS}`"
        assert block.language != COMMANDS or block.is_known_mark, f"{block.place}: unknown mark: {block.mark}"


def test_few_blocks_are_not_run() -> None:
    listed = "\n".join(f"{block.place}: {block.reason}" for block in NOT_RUN)
    assert len(NOT_RUN) <= MOST_NOT_RUN, f"run one of these, or say why not:\n{listed}"


@pytest.mark.parametrize("block", NOT_RUN, ids=lambda block: block.place)
def test_what_is_not_run_names_programs_that_exist(block: Block) -> None:
    for line in block.text.splitlines():
        words = shlex.split(line, comments=True)
        if words:
            assert _exists(words), f"{block.place}: {line}"


def _exists(words: list[str]) -> bool:
    match words:
        case ["make", *targets]:
            dry = subprocess.run(["make", "-n", *targets], cwd=ROOT, capture_output=True, check=False)  # noqa: S607 - make, wherever it is
            return dry.returncode == 0
        case [".venv/bin/python", "-m", module, *_]:
            return find_spec(module) is not None
        case [".venv/bin/python", path, *_]:
            return (ROOT / path).exists()
        case [".venv/bin/sendonce" | "sendonce", command, *_]:
            return command in PROGRAM
        case _:
            return True


def test_a_test_that_is_said_to_run_a_page_names_it() -> None:
    for page in pages():
        test = runs_elsewhere(read(page))
        assert test is None or page in (ROOT / test).read_text("utf-8"), f"{test} does not name {page}"


def test_blocks_are_found_with_their_place_and_mark() -> None:
    text = (
        "# T\n\n<!-- not run: slow -->\n```sh\nmake\n```\n\n- x\n\n  ```sh\n  one\n    two\n  ```\n```text\nout\n```\n"
    )
    first, second, third = blocks_of("p.md", text)
    assert first == Block("p.md", 4, "sh", "make\n", "not run: slow")
    assert (first.reason, second.reason, second.text) == ("slow", "", "one\n  two\n")
    assert (third.language, third.line) == ("text", 14)
    assert Block("p", 1, "sh", "", "in the background").in_background
    assert Block("p", 1, "sh", "", "exit code: 6").exit_code == 6
    assert not Block("p", 1, "sh", "", "later").is_known_mark
    assert runs_elsewhere("a\n<!-- commands of this page: tests/x.py -->\n") == "tests/x.py"


@pytest.mark.parametrize("line", ["make demo", "$ kubectl get nc", "  sendonce run x.yaml", ".venv/bin/python x.py"])
def test_a_command_in_another_block_is_seen(line: str) -> None:
    assert Block("p", 1, "text", f"words\n{line}\n").hides_a_command
    assert not Block("p", 1, "sh", f"{line}\n").hides_a_command


def test_a_script_stops_at_the_first_command_that_fails_and_names_its_block() -> None:
    blocks = [
        Block("p", 1, "sh", "X=DB\n"),
        Block("p", 2, "sh", "exit 9\n", "not run: r"),
        Block("p", 3, "sh", "(exit 6)\n", "exit code: 6"),
        Block("p", 4, "sh", "echo $X; false\necho later\n"),
    ]
    shell = ["bash", "-c", script(blocks, {"DB": "mine"})]
    done = subprocess.run(shell, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "mine\n")
    assert re.search(r"failed in p:4$", done.stderr, re.MULTILINE)
