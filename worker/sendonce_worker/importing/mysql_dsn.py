"""The connection string of a MySQL database: mysql://user:password@host:3306/database?tls=true; pure."""

import ssl
from typing import Any
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from .errors import SourceUnreadableError

MYSQL_DSN_FIELD = "spec.recipients.mysql.dsnSecretKeyRef"
_CONNECT_SECONDS = 10
# a query may think for long before its first row, but a server that is gone must be noticed one day
_READ_SECONDS = 3600
_EXAMPLE = "is not a connection string such as mysql://user:password@host:3306/database?tls=true"


def connect_options(dsn: str) -> dict[str, Any]:
    """What PyMySQL's `connect` takes. `tls=true`: encrypted, and the server's certificate checked.

    Raises `SourceUnreadableError`, which shows nothing of the string.
    """
    try:
        url = urlsplit(dsn)
        port, query = url.port or 3306, dict(parse_qsl(url.query, strict_parsing=bool(url.query)))
    except ValueError:
        raise SourceUnreadableError(MYSQL_DSN_FIELD, _EXAMPLE) from None
    tls = query.pop("tls", "false")
    if not _is_whole(url) or query or tls not in {"true", "false"}:
        raise SourceUnreadableError(MYSQL_DSN_FIELD, _EXAMPLE)
    return {
        "host": url.hostname,
        "port": port,
        "user": unquote(url.username or ""),
        "password": unquote(url.password or ""),
        "database": unquote(url.path[1:]),
        "charset": "utf8mb4",
        "connect_timeout": _CONNECT_SECONDS,
        "read_timeout": _READ_SECONDS,
        "program_name": "sendonce",
        "ssl": ssl.create_default_context() if tls == "true" else None,
        # a mounted list is no file of this machine
        "local_infile": False,
    }


def _is_whole(url: SplitResult) -> bool:
    return url.scheme in {"mysql", "mariadb"} and bool(url.hostname and url.username and url.path.strip("/"))
