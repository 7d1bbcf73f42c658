"""Links for people: under which address, and with which key, the links in a campaign's messages are made.

Flows in: the gateway's public URL, as the worker was told. Flows out: what the campaign was frozen with when a worker
first asked: a retry has the same links, whatever was set or rotated meanwhile, and so has `sendonce show` later. The
keys live in the store, one at a time per namespace; the links themselves are made in `link_tokens`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import SplitResult, urlsplit

from sendonce_store.connection import Connection
from sendonce_store.queries import load

__all__ = ["LinkError", "LinkKey", "Links", "campaign_links", "check_url", "frozen_links", "revoke_keys", "rotate_key"]

SQL = load("links")
_LONGEST_URL = 255


class LinkError(Exception):
    """The address of the gateway can't be used; the message says why and what would be right."""


@dataclass(frozen=True, slots=True)
class LinkKey:
    """A key of one namespace. `id` (8 bytes) stands in each link, `secret` (64 bytes) nowhere else."""

    id: bytes
    namespace: str
    secret: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Links:
    """What a campaign's links are made with. `url`: the gateway's, without a slash at the end."""

    url: str
    key: LinkKey


def check_url(url: str) -> str:
    """The gateway's public URL, in the form in which links begin with it. Raises LinkError.

    RFC 8058 §3.1 asks for https; plain http is left to a gateway on this machine.
    """
    try:
        good = len(url) <= _LONGEST_URL and _is_printable(url) and _is_base(urlsplit(url))
    except ValueError:
        good = False
    if not good:
        message = (
            f"{url[:_LONGEST_URL]!r} is not the address of a gateway: write https://notify.example.com, "
            "with a path if there is one in front, and nothing behind it"
        )
        raise LinkError(message)
    return url.rstrip("/")


def _is_printable(url: str) -> bool:
    """Say whether it can stand in a header and in HTML as it is."""
    return url.isascii() and url.isprintable() and not set(url) & set(" <>\"'&\\")


def _is_base(parts: SplitResult) -> bool:
    """Say whether links can begin with it. Raises ValueError for a port that is none."""
    host = parts.hostname or ""
    here = host in {"localhost", "::1"} or host.startswith("127.")
    bare = not (parts.query or parts.fragment or parts.username or parts.password) and parts.port != 0
    return bool(host) and bare and (parts.scheme == "https" or (parts.scheme == "http" and here))


async def campaign_links(conn: Connection, campaign_id: int, url: str | None) -> Links | None:
    """What the campaign's links are made with, from now on for ever; None: it has none, as it had no `url` at first."""
    cursor = await conn.execute(SQL["campaign_links"], {"campaign": campaign_id, "url": url or ""})
    return _links(await cursor.fetchone())


async def frozen_links(conn: Connection, campaign_id: int) -> Links | None:
    """The same for whoever only looks: nothing is frozen by it."""
    cursor = await conn.execute(SQL["campaign_links"], {"campaign": campaign_id, "url": None})
    return _links(await cursor.fetchone())


def _links(row: dict[str, object] | None) -> Links | None:
    if row is None or not row["url"]:
        return None
    return Links(str(row["url"]), LinkKey(_bytes(row["key_id"]), str(row["namespace"]), _bytes(row["key"])))


def _bytes(value: object) -> bytes:
    assert isinstance(value, (bytes, memoryview))  # noqa: S101 - a bytea column
    return bytes(value)


async def rotate_key(conn: Connection, namespace: str) -> None:
    """Campaigns that begin from now on get another key; links that are out there stay good."""
    await conn.execute(SQL["rotate_key"], {"namespace": namespace})


async def revoke_keys(conn: Connection, namespace: str) -> int:
    """Let no link be good that was made with a key of before; returns how many keys. For a key that became known."""
    cursor = await conn.execute(SQL["revoke_keys"], {"namespace": namespace})
    return cursor.rowcount
