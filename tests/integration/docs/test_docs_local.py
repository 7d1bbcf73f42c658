"""The commands of README and docs that need no cluster, run as a reader would, page by page."""

import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.docs_cases.blocks import commands_of, pages_to_run
from tests.docs_cases.terminal import Terminal, as_url

from sendonce_cli.embedded_binaries import find_binaries


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that the embedded server, which may be another user, can enter."""
    with tempfile.TemporaryDirectory(prefix="sendonce-docs-") as made:
        Path(made).chmod(0o711)
        yield Path(made)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("page", pages_to_run(cluster=False))
def test_the_commands_of_a_page_do_what_it_says(
    page: str, folder: Path, dsn: str, empty_dsn: str, postgres_binaries: Path | None
) -> None:
    words = {"8080": str(free_port())}
    databases = {"DATABASE": as_url(dsn), "COPY": as_url(empty_dsn)}
    programs = find_binaries(postgres_binaries, folder / "none", None).folder
    terminal = Terminal(folder, words, [programs], databases)
    terminal.prepare()
    ran = terminal.run(commands_of(page))
    assert ran.code == 0, ran.output
