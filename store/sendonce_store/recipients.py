"""What an import hands to the store: recipients, refused rows and the place to go on from.

The worker's import turns each record of a source into a `Recipient` or a `Rejected`; the store commits a block of both
together with the `Position` behind it, so that an import that dies goes on exactly there.
"""

from collections.abc import Mapping
from typing import NamedTuple


class Address(NamedTuple):
    """One address on one channel.

    `original` is what is sent to, in the form the channel's library gives it (an email address with its domain in lower
    case and in ASCII, a phone number in E.164). `normalised` is the identity by which nobody is written to twice; for
    email it is all lower case, because no provider that matters tells mailboxes apart by case (RFC 5321 §2.4 would
    allow it, and advises against it).
    """

    original: str
    normalised: str


class Recipient(NamedTuple):
    """One person as the source names them.

    `line` counts physical lines from 1 (a record that spans lines is named by its first); for inline recipients and
    queries it counts records. `ref` is the sender's own reference (column `id`). `addresses` is keyed by channel
    ("Email") and holds only channels that the campaign uses: empty means nobody can be reached, which is not an error.
    `timezone` is a known IANA name. `quiet` are the person's own quiet hours, "21:00-09:00".
    `prefers` are the channels that the person wants to be written to over, the dearest first; then `addresses` has no
    others. Empty: as the campaign says.
    `variables` are JSON values that PostgreSQL can keep: no NUL, no lone surrogate.
    """

    line: int
    ref: str | None
    addresses: Mapping[str, Address]
    timezone: str | None
    locale: str | None
    variables: Mapping[str, object]
    quiet: str | None = None
    prefers: tuple[str, ...] = ()


class Rejected(NamedTuple):
    """A record that was refused, whole.

    `field` is the column at fault, or "row" when the record as such is broken. `reason` says what is wrong and what
    would be right. `excerpt` is the value or the record, clipped and printable; '' when the source is a Secret.
    """

    line: int
    field: str
    reason: str
    excerpt: str


class Position(NamedTuple):
    """Where an import stands, at the end of a record.

    `line` is the number of lines consumed, `offset` the number of uncompressed bytes, `digest` the hex SHA-256 of those
    bytes: an import that resumes reads them again and compares. `etag` is the HTTP entity tag the import is pinned to.
    """

    line: int
    offset: int
    digest: str
    etag: str | None
