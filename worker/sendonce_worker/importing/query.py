"""A query on another PostgreSQL database: blocks of rows as plain JSON values.

The rows come through a server-side cursor in a read-only transaction, in constant memory; the store spools them, and
`normalise_rows` makes recipients of them. The connection string is a credential: no part of it stands in an error.
"""

from collections.abc import AsyncGenerator, Collection
from datetime import date, datetime, time
from decimal import Decimal

import psycopg
from psycopg import AsyncConnection, AsyncServerCursor
from psycopg.rows import TupleRow

from .addresses import channel_names
from .columns import Columns
from .errors import SourceUnreadableError
from .preamble import check_columns

QUERY_FIELD = "spec.recipients.postgres.query"
DSN_FIELD = "spec.recipients.postgres.dsnSecretKeyRef"
_CONNECT_SECONDS = 10
_ROWS_AT_ONCE = 5000
# PostgreSQL appendix A: connection, rollback, resources, operator intervention, system
_TEMPORARY_CLASSES = frozenset({"08", "40", "53", "57", "58"})
# libpq's words for a failed connection name host, user and database: only their kind is told
_CONNECT_PROBLEMS = (
    ("password", "the server refuses the user or the password", False),
    ("pg_hba", "the server does not let this user in from here", False),
    ("role ", "the server does not know the user, or refuses it", False),
    ("database ", "the database does not exist, or refuses connections", False),
    ("certificate", "the server's certificate is not trusted", False),
    ("resolve", "the host name does not resolve", True),
    ("refused", "nothing listens at the host and port", True),
    ("No such file", "nothing listens at the socket", True),
    ("timeout", "the server does not answer in time", True),
)
_PLAIN = frozenset({str, int, bool, type(None)})


async def read_query(dsn: str, query: str, channels: Collection[str]) -> AsyncGenerator[list[dict[str, object]], None]:
    """The rows of one SELECT, in blocks, as mappings of JSON values.

    numeric becomes an integer or a float, dates and times ISO 8601, uuid and others their text; bytea is refused.
    Raises `SourceUnreadableError`, `MissingColumnError` (also when there is no row).
    """
    connection = await _connect(dsn)
    try:
        async with connection:
            await _lift_timeouts(connection)
            # DECLARE CURSOR, sent in the extended protocol, takes neither two statements nor one that writes
            async with connection.cursor(name="sendonce_recipients") as cursor:
                await cursor.execute(query.encode())
                columns = _described(cursor, channels)
                while rows := await cursor.fetchmany(_ROWS_AT_ONCE):
                    yield [_mapping(columns, row) for row in rows]
    except psycopg.Error as error:
        raise _failed(error) from None


async def _connect(dsn: str) -> AsyncConnection[TupleRow]:
    try:
        connection = await AsyncConnection.connect(
            dsn, connect_timeout=_CONNECT_SECONDS, client_encoding="utf8", application_name="sendonce"
        )
    except psycopg.ProgrammingError:
        problem = "is not a connection string such as postgresql://user:password@host:5432/database"
        raise SourceUnreadableError(DSN_FIELD, problem) from None
    except psycopg.Error as error:
        raise _unreachable(str(error)) from None
    await connection.set_read_only(True)
    return connection


async def _lift_timeouts(connection: AsyncConnection[TupleRow]) -> None:
    """Between two blocks the store commits the first, which may take any time.

    LOCAL, as BEGIN READ ONLY is: behind a pooler, what outlives the transaction would reach other people's sessions.
    """
    await connection.execute("SET LOCAL statement_timeout = 0")
    await connection.execute("SET LOCAL idle_in_transaction_session_timeout = 0")


def _described(cursor: AsyncServerCursor[TupleRow], channels: Collection[str]) -> Columns:
    names = [column.name for column in cursor.description or ()]
    return check_columns(names, channel_names(channels), QUERY_FIELD)


def _mapping(columns: Columns, row: TupleRow) -> dict[str, object]:
    return {
        name: value if type(value) in _PLAIN else _json_value(value, name)
        for name, value in zip(columns.names, row, strict=True)
    }


def _json_value(value: object, column: str) -> object:
    if isinstance(value, str):
        return json_text(value, column, QUERY_FIELD)
    if isinstance(value, bytes):
        raise SourceUnreadableError(QUERY_FIELD, f"column {column} is of type bytea; encode or cast it to text")
    if isinstance(value, dict):
        return {json_text(str(key), column, QUERY_FIELD): _json_value(item, column) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json_value(item, column) for item in value]
    if isinstance(value, Decimal | float):
        return json_number(value)
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    return value if type(value) in _PLAIN else str(value)


def json_text(value: str, column: str, field: str) -> str:
    """Text that the store can keep. PostgreSQL's type json is not checked as jsonb is, nor are MySQL's texts.

    Raises `SourceUnreadableError`.
    """
    try:
        value.encode()
        valid = "\x00" not in value
    except UnicodeEncodeError:
        valid = False
    if valid:
        return value
    problem = f"column {column} holds a NUL or half of a surrogate pair in its text; remove it in the query"
    raise SourceUnreadableError(field, problem)


def json_number(value: Decimal | float) -> object:
    """A number as JSON knows it, which has neither NaN nor infinity: those become text."""
    if isinstance(value, float):
        return value if value - value == 0 else str(value)
    if not value.is_finite():
        return str(value)
    return int(value) if value == value.to_integral_value() else float(value)


def _unreachable(message: str) -> SourceUnreadableError:
    for words, problem, temporary in _CONNECT_PROBLEMS:
        if words in message:
            return SourceUnreadableError(DSN_FIELD, f"cannot connect: {problem}", temporary=temporary)
    return SourceUnreadableError(DSN_FIELD, "cannot connect to the database", temporary=True)


def _failed(error: psycopg.Error) -> SourceUnreadableError:
    state = error.sqlstate
    if isinstance(error, psycopg.DataError) and state is None:
        return SourceUnreadableError(QUERY_FIELD, f"a value cannot be read, cast it to text: {str(error)[:200]}")
    if state is None:
        return SourceUnreadableError(QUERY_FIELD, "the connection to the database was lost", temporary=True)
    words = (error.diag.message_primary or "")[:200]
    hint = "; it must be one SELECT" if state.startswith(("42601", "0A000", "25006")) else ""
    problem = f"the database refuses the query: {words} (SQLSTATE {state}){hint}"
    return SourceUnreadableError(QUERY_FIELD, problem, temporary=state[:2] in _TEMPORARY_CLASSES)
