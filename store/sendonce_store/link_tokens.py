"""The links themselves: who asks for what in, a token for a URL out, and back.

A token is the key's id and the wish encrypted under it by AES-SIV (RFC 5297). That makes it
- the same at each rendering: a retry sends the same bytes, so there is no nonce and no time in it;
- closed: neither the address nor what it is about can be read from a URL, in whatever log that ends up;
- genuine: nobody without the key of the namespace makes one, nor changes a bit of one (the synthetic IV is a MAC of all
  of it, compared in constant time by the library), nor uses one for another purpose or in another namespace;
- complete: it holds the address itself, so that it works for as long as the key is there, also when the recipients'
  data has been deleted.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import orjson
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV

from sendonce_store.links import LinkKey

__all__ = ["LONGEST", "InvalidTokenError", "Purpose", "Sealer", "Wish", "key_id_of"]

Purpose = Literal["unsubscribe", "preferences"]
# an address may have 254 bytes, a topic 63: far above what is ever made
LONGEST = 1024
_ID_BYTES = 8
_FORMAT = b"sendonce-link-1"


class InvalidTokenError(Exception):
    """Not a token that was made here, for this purpose."""


@dataclass(frozen=True, slots=True)
class Wish:
    """Whom a link is for and what it is about. `address` is normalised; the topic '' is the whole category."""

    channel: str
    category: str
    topic: str
    address: str


class Sealer:
    """Makes and opens the tokens of one key, for one purpose."""

    def __init__(self, key: LinkKey, purpose: Purpose) -> None:
        self._id = key.id
        self._cipher = AESSIV(key.secret)
        self._bound: Sequence[bytes] = (_FORMAT, purpose.encode(), key.namespace.encode())

    def seal(self, wish: Wish) -> str:
        """Return the token: unreserved characters of a URL alone."""
        plain = orjson.dumps((wish.channel, wish.category, wish.topic, wish.address))
        token = self._id + self._cipher.encrypt(plain, list(self._bound))
        return base64.urlsafe_b64encode(token).rstrip(b"=").decode()

    def open(self, token: str) -> Wish:
        """Return what a token is for. Raises InvalidTokenError."""
        try:
            plain = self._cipher.decrypt(_decoded(token)[_ID_BYTES:], list(self._bound))
        except (InvalidTag, ValueError):
            raise InvalidTokenError from None
        return Wish(*orjson.loads(plain))


def key_id_of(token: str) -> bytes:
    """Return the id of the key that a token says it was made with. Raises InvalidTokenError."""
    return _decoded(token)[:_ID_BYTES]


def _decoded(token: str) -> bytes:
    """The bytes of a token that is written as `seal` writes it, and in no other way."""
    try:
        raw = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise InvalidTokenError from None
    if len(token) > LONGEST or base64.urlsafe_b64encode(raw).rstrip(b"=").decode() != token:
        raise InvalidTokenError
    return raw
