"""The rows of a query, whichever kind of database it is on."""

from collections.abc import AsyncGenerator, Collection
from contextlib import aclosing

from sendonce_store.spec.recipients import Recipients

from .mounted import Files
from .query import DSN_FIELD, read_query


def asks_a_database(recipients: Recipients) -> bool:
    """Whether the recipients are the rows of a query, which `read_rows` reads, and not `open_import`."""
    return recipients.postgres is not None or recipients.mysql is not None


async def read_rows(
    recipients: Recipients, channels: Collection[str], files: Files
) -> AsyncGenerator[list[dict[str, object]], None]:
    """The rows in blocks, as mappings of JSON values. Raises `ImportSourceError`."""
    if recipients.postgres is not None:
        source = recipients.postgres
        rows = read_query(files.secret_text(source.dsn_secret_key_ref, DSN_FIELD), source.query, channels)
    elif recipients.mysql is not None:
        # its client is loaded where it is needed
        from .mysql_dsn import MYSQL_DSN_FIELD  # noqa: PLC0415
        from .mysql_query import read_mysql  # noqa: PLC0415

        database = recipients.mysql
        dsn = files.secret_text(database.dsn_secret_key_ref, MYSQL_DSN_FIELD)
        rows = read_mysql(dsn, database.query, channels)
    else:
        return
    async with aclosing(rows):
        async for block in rows:
            yield block
