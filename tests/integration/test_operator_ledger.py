"""The operator's connections: where they lead is asked for each one anew."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from sendonce_operator.ledger import STORE_ERRORS, Ledger
from sendonce_operator.settings import read_settings


async def _role_with(dsn: str, password: str) -> None:
    name = psycopg.conninfo.conninfo_to_dict(dsn)["dbname"]
    async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as conn:
        await conn.execute(f"CREATE ROLE \"{name}_operator\" LOGIN SUPERUSER PASSWORD '{password}'".encode())


async def _whose(ledger: Ledger) -> str:
    async with ledger.use() as conn:
        cursor = await conn.execute("SELECT session_user::text AS name")
        row = await cursor.fetchone()
        assert row is not None
        name = str(row["name"])
        await conn.close()
        return name


async def test_a_login_that_is_changed_in_its_file_is_used_without_a_restart(dsn: str, tmp_path: Path) -> None:
    file = tmp_path / "dsn"
    file.write_text(dsn)
    settings = read_settings({"SENDONCE_DSN_FILE": str(file), "SENDONCE_WORKER_IMAGE": "worker:1"})
    ledger = Ledger(settings.current_dsn)
    first = await _whose(ledger)
    await _role_with(dsn, "other")
    name = psycopg.conninfo.conninfo_to_dict(dsn)["dbname"]
    file.write_text(psycopg.conninfo.make_conninfo(dsn, user=f"{name}_operator", password="other"))
    try:
        assert await _whose(ledger) == f"{name}_operator" != first
        file.unlink()
        with pytest.raises(STORE_ERRORS, match="SENDONCE_DSN_FILE"):
            await _whose(ledger)
    finally:
        async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as conn:
            await conn.execute(f'DROP ROLE "{name}_operator"'.encode())
