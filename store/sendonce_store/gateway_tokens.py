"""Tokens of applications that enqueue over HTTP: made once and shown once; the store keeps their SHA-256 alone.

A token has 256 random bits, so that a plain hash is enough: nobody can try them all, and the time that a look-up takes
tells nothing about the token itself.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import dataclass
from datetime import datetime

from sendonce_store.connection import Connection
from sendonce_store.queries import load
from sendonce_store.tenancy import TenancyError

__all__ = ["PREFIX", "Token", "add", "digest_of", "remove", "tokens"]

SQL = load("gateway_tokens")
# by which scanners of source code know one
PREFIX = "sendonce_app_"
# RFC 1123, as the names of objects in Kubernetes
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class Token:
    """A token by its name; what it says is known to its application alone."""

    namespace: str
    name: str
    created_at: datetime


def digest_of(token: str) -> bytes:
    """What the store keeps of a token."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


async def add(conn: Connection, namespace: str, name: str) -> str:
    """Make a token. Raises TenancyError."""
    for field, value in (("namespace", namespace), ("name", name)):
        if not _NAME.fullmatch(value):
            message = f"{value!r} is not a {field}: use lower-case letters, digits and dashes, at most 63"
            raise TenancyError(message)
    token = PREFIX + secrets.token_urlsafe(32)
    asked = {"namespace": namespace, "name": name, "digest": digest_of(token)}
    cursor = await conn.execute(SQL["add"], asked)
    if not cursor.rowcount:
        message = f"namespace {namespace} has a token {name} already: remove it first, or use another name"
        raise TenancyError(message)
    return token


async def tokens(conn: Connection) -> list[Token]:
    """All tokens, in order of namespace and name."""
    cursor = await conn.execute(SQL["list"])
    return [Token(**row) for row in await cursor.fetchall()]


async def remove(conn: Connection, namespace: str, name: str) -> bool:
    """Remove a token; False: there is none."""
    cursor = await conn.execute(SQL["remove"], {"namespace": namespace, "name": name})
    return bool(cursor.rowcount)
