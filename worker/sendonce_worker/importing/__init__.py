"""Import of recipients: sources are read, records parsed, addresses normalised; the store commits what comes out.

`open_import` gives blocks of recipients for every source but a query; `read_query` and `normalise_rows` are the two
halves around the store's spool for that one. All errors are `ImportSourceError`.
"""

from .blocks import normalise_rows, open_import
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
from .query import DSN_FIELD, read_query
from .rows import Outcome
from .stream import Block

__all__ = [
    "DSN_FIELD",
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
    "normalise_rows",
    "open_import",
    "read_query",
]
