"""The database of the command line may be in a file, as it is for operator and worker."""

from __future__ import annotations

from pathlib import Path

import pytest

from sendonce_cli.exits import CliError
from sendonce_cli.options import database_from_file


def test_the_file_is_read_where_one_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SENDONCE_DSN_FILE", raising=False)
    assert database_from_file() is None
    file = tmp_path / "dsn"
    file.write_text("postgresql://owner@db/sendonce\n", "utf-8")
    monkeypatch.setenv("SENDONCE_DSN_FILE", str(file))
    assert database_from_file() == "postgresql://owner@db/sendonce"


def test_a_file_that_is_not_there_is_told_and_no_other_database_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SENDONCE_DSN_FILE", str(tmp_path / "none"))
    with pytest.raises(CliError, match=r"SENDONCE_DSN_FILE: .*/none can't be read: No such file or directory"):
        database_from_file()
