"""Import of recipients: sources are read, records parsed, addresses normalised; the store commits what comes out.

`open_import` gives blocks of recipients for every source but a query and a stream; `read_rows` and `normalise_rows`
are the two halves around the store's spool for the one, `normalise_numbered` is for the other's inbox. All errors are
`ImportSourceError`.
"""

from .blocks import normalise_numbered, normalise_rows, open_import
from .database import asks_a_database, read_rows
from .errors import (
    ConfigMapNotFoundError,
    ImportSourceError,
    MissingColumnError,
    SecretNotFoundError,
    SourceChangedError,
    SourceUnreadableError,
)
from .http_source import HttpSettings
from .mounted import Files
from .rows import Outcome
from .stream import Block

__all__ = [
    "Block",
    "ConfigMapNotFoundError",
    "Files",
    "HttpSettings",
    "ImportSourceError",
    "MissingColumnError",
    "Outcome",
    "SecretNotFoundError",
    "SourceChangedError",
    "SourceUnreadableError",
    "asks_a_database",
    "normalise_numbered",
    "normalise_rows",
    "open_import",
    "read_rows",
]
