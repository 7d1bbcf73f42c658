"""What somebody looks for, sealed for the address of a page, so that no log, history or proxy learns it.

Text in, a word for the address out, and back; nothing is kept on the server. Encrypted and signed (Fernet) with a key
that only the console has.
"""

from __future__ import annotations

import base64
import hashlib

from cryptography.fernet import Fernet, InvalidToken

__all__ = ["Searches"]


class Searches:
    """Seals and opens searches."""

    def __init__(self, key: bytes, seconds: float) -> None:
        """`key`: as in all replicas; `seconds`: how long such an address is good."""
        self._seal = Fernet(base64.urlsafe_b64encode(hashlib.sha256(b"searches" + key).digest()))
        self._seconds = int(seconds)

    def seal(self, text: str) -> str:
        """The word for it, another each time."""
        return self._seal.encrypt(text.encode("utf-8", "surrogateescape")).decode()

    def open(self, sealed: str) -> str:
        """The text; nothing for a word that is forged, cut off or too old: whoever has it is asked again."""
        try:
            return self._seal.decrypt(sealed.encode("utf-8", "surrogateescape"), ttl=self._seconds).decode()
        except (InvalidToken, UnicodeDecodeError):
            return ""
