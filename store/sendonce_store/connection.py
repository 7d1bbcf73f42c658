"""Connections to the store: a DSN in, an autocommit psycopg connection with the settings that all rely on out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import psycopg
from psycopg.rows import dict_row
from psycopg.types.json import set_json_loads

_decode = json.JSONDecoder().raw_decode
Connection = psycopg.AsyncConnection[dict[str, Any]]

# A process frozen in the middle of a transaction would keep its row locks, and a batch that is locked is skipped by
# every other worker: the server ends such a session. The other bounds turn a hang into an error that is handled. Names
# are looked up among PostgreSQL's own: what somebody makes in `public` is never taken for one of them.
SESSION_SETTINGS = (
    "-c search_path=pg_catalog -c timezone=UTC -c lock_timeout=10s -c statement_timeout=60s "
    "-c idle_in_transaction_session_timeout=10s "
    "-c client_connection_check_interval=5s -c default_transaction_isolation=read\\ committed"
)

# a peer that is gone without a word is noticed within seconds
KEEPALIVES: Mapping[str, Any] = {
    "keepalives_idle": 5,
    "keepalives_interval": 3,
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,
}


class StoreUnavailableError(Exception):
    """The database can't be reached or refuses us; the message names the host and the fix, never the password."""


def _describe(dsn: str) -> str:
    try:
        info = psycopg.conninfo.conninfo_to_dict(dsn)
    except psycopg.ProgrammingError:
        return "the database"
    return f"database {info.get('dbname', '?')} at {info.get('host', 'the default socket')}:{info.get('port', 5432)}"


async def connect(dsn: str, *, application_name: str = "sendonce", connect_timeout: int = 10) -> Connection:
    """Open one connection. Raises StoreUnavailableError."""
    try:
        conn = await psycopg.AsyncConnection.connect(
            dsn,
            autocommit=True,
            row_factory=dict_row,
            application_name=application_name,
            connect_timeout=connect_timeout,
            options=SESSION_SETTINGS,
            **KEEPALIVES,
        )
    except psycopg.Error as error:
        message = f"{_describe(dsn)} can't be used: {str(error).strip()}. Check that it runs and that the DSN is right."
        raise StoreUnavailableError(message) from error
    set_json_loads(_read_json, conn)
    return conn


def _read_json(data: str | bytes) -> object:
    """Decode JSON as PostgreSQL writes it: UTF-8, no spaces around it. The library's way guesses the encoding first."""
    return _decode(data if isinstance(data, str) else str(data, "utf-8"))[0]
