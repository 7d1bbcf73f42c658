"""A query on a MySQL or MariaDB database: blocks of rows as plain JSON values.

The rows are streamed by an unbuffered cursor in a read-only session, in constant memory; the store spools them as it
does those of PostgreSQL. PyMySQL blocks, so that it runs in threads. The connection string is a credential: no part of
it stands in an error.
"""

import asyncio
from collections.abc import AsyncGenerator, Collection
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pymysql
from pymysql.cursors import SSCursor

from .addresses import channel_names
from .columns import Columns
from .errors import SourceUnreadableError
from .mysql_dsn import MYSQL_DSN_FIELD, connect_options
from .preamble import check_columns
from .query import json_number, json_text

MYSQL_QUERY_FIELD = "spec.recipients.mysql.query"
_ROWS_AT_ONCE = 5000
# between two blocks the store commits the first, which may take any time: the server must wait for us
_SESSION = (
    "SET SESSION TRANSACTION READ ONLY",
    "SET SESSION net_write_timeout = 3600",
    "START TRANSACTION READ ONLY",
)
# MySQL 8.4 reference, "Server Error Message Reference" and "Client Error Message Reference"
_CONNECT_PROBLEMS = {
    1044: ("the user may not use the database", False),
    1045: ("the server refuses the user or the password", False),
    1049: ("the database does not exist", False),
    1130: ("the server does not let this user in from here", False),
    1698: ("the server refuses the user or the password", False),
    2003: ("nothing listens at the host and port, or the host name does not resolve", True),
}
# too many connections, shutdown, lock wait, deadlock, interrupted
_TEMPORARY = frozenset({1040, 1053, 1203, 1205, 1213, 1317, 1927, 3024})
_LOST = frozenset({2006, 2013, 2014, 2055})
_NOT_A_SELECT = frozenset({1064, 1792})


class _Rows(SSCursor):
    """A cursor that can be left without reading what is still to come."""

    connection: Any
    _result: Any

    def abandon(self) -> None:
        """Forget the rest of the rows: the connection is closed."""
        if self._result is not None:
            self._result.unbuffered_active = False
        self.connection = None


async def read_mysql(dsn: str, query: str, channels: Collection[str]) -> AsyncGenerator[list[dict[str, object]], None]:
    """The rows of one SELECT, in blocks, as mappings of JSON values.

    DECIMAL becomes an integer or a float, dates and TIME ISO 8601 (one above 24 hours as MySQL writes it); BLOB and
    BINARY are refused. Raises `SourceUnreadableError`, `MissingColumnError` (also when there is no row).
    """
    connection = await _connect(dsn)
    cursor = connection.cursor(_Rows)
    try:
        await asyncio.to_thread(_begin, cursor, query)
        columns = _described(cursor, channels)
        while rows := await asyncio.to_thread(cursor.fetchmany, _ROWS_AT_ONCE):
            yield [_mapping(columns, row) for row in rows]
    except pymysql.MySQLError as error:
        raise _failed(error) from None
    finally:
        cursor.abandon()
        connection.close()


async def _connect(dsn: str) -> "pymysql.Connection[Any]":
    options = connect_options(dsn)
    try:
        return await asyncio.to_thread(lambda: pymysql.connect(**options))
    except pymysql.MySQLError as error:
        words, temporary = _CONNECT_PROBLEMS.get(_code(error), ("the server does not answer as MySQL does", True))
        if "certificate" in str(error):
            words, temporary = "the server's certificate is not trusted", False
        raise SourceUnreadableError(MYSQL_DSN_FIELD, f"cannot connect: {words}", temporary=temporary) from None


def _begin(cursor: _Rows, query: str) -> None:
    for statement in _SESSION:
        cursor.execute(statement)
    # without arguments a percent sign stands for itself
    cursor.execute(query)


def _described(cursor: _Rows, channels: Collection[str]) -> Columns:
    if not cursor.description:
        raise SourceUnreadableError(MYSQL_QUERY_FIELD, "gives no rows; it must be one SELECT")
    return check_columns([column[0] for column in cursor.description], channel_names(channels), MYSQL_QUERY_FIELD)


def _mapping(columns: Columns, row: tuple[Any, ...]) -> dict[str, object]:
    return {name: json_value(value, name) for name, value in zip(columns.names, row, strict=True)}


def json_value(value: object, column: str) -> object:
    """A value of PyMySQL as JSON has it. Raises `SourceUnreadableError`."""
    if value is None or isinstance(value, int):
        return value
    if isinstance(value, str):
        return json_text(value, column, MYSQL_QUERY_FIELD)
    if isinstance(value, bytes):
        raise SourceUnreadableError(MYSQL_QUERY_FIELD, f"column {column} holds bytes; convert it to text in the query")
    if isinstance(value, Decimal | float):
        return json_number(value)
    if isinstance(value, datetime | date):
        return value.isoformat()
    return _time(value) if isinstance(value, timedelta) else str(value)


def _time(span: timedelta) -> str:
    """`09:00:00`, as MySQL writes a TIME and ISO 8601 has it: Python's own text is 9:00:00."""
    seconds, fraction = divmod(abs(span), timedelta(seconds=1))
    minutes, second = divmod(seconds, 60)
    text = f"{minutes // 60:02}:{minutes % 60:02}:{second:02}"
    micros = f".{fraction.microseconds:06}" if fraction else ""
    return f"{'-' if span < timedelta(0) else ''}{text}{micros}"


def _failed(error: pymysql.MySQLError) -> SourceUnreadableError:
    code = _code(error)
    if code in _LOST or not code:
        return SourceUnreadableError(MYSQL_QUERY_FIELD, "the connection to the database was lost", temporary=True)
    hint = "; it must be one SELECT" if code in _NOT_A_SELECT else ""
    problem = f"the database refuses the query: {str(error.args[-1])[:200]} (error {code}){hint}"
    return SourceUnreadableError(MYSQL_QUERY_FIELD, problem, temporary=code in _TEMPORARY)


def _code(error: pymysql.MySQLError) -> int:
    return error.args[0] if error.args and isinstance(error.args[0], int) else 0
