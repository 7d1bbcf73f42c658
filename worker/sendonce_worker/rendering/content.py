"""What one message says, after its template was rendered.

Flows in: the finished text of each part, from `message.CompiledMessage.render`.
Flows out: a frozen `Content` that a provider turns into bytes, and its digest, which the ledger keeps as the
proof of what went out (the text itself is shown again by rendering the frozen template once more).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Content"]

# Stands at the head of every digest: a later encoding gets another one, so that two can never be mixed up.
_DIGEST_VERSION = b"sendonce-content-1\n"


@dataclass(frozen=True, slots=True)
class Content:
    """The rendered parts of one message; a part that its template does not have is None.

    `sender`, `reply_to`, `subject` and each header value are single lines without control characters. `html` is
    already escaped. `headers` keeps the template's order: pairs of (name, value).
    """

    sender: str | None = None
    reply_to: str | None = None
    subject: str | None = None
    text: str | None = None
    html: str | None = None
    headers: tuple[tuple[str, str], ...] = ()

    def digest(self) -> bytes:
        """Return the SHA-256 (32 bytes) over an encoding in which different contents are never alike.

        Each part is preceded by its length in UTF-8 bytes, and "absent" differs from "empty".
        """
        return hashlib.sha256(b"".join(self._canonical())).digest()

    def _canonical(self) -> Iterator[bytes]:
        yield _DIGEST_VERSION
        for part in (self.sender, self.reply_to, self.subject, self.text, self.html):
            yield from _framed(part)
        yield b"%d;" % len(self.headers)
        for name, value in self.headers:
            yield from _framed(name)
            yield from _framed(value)


def _framed(part: str | None) -> Iterator[bytes]:
    if part is None:
        yield b"-;"
        return
    # A lone surrogate cannot be sent, yet a digest of it must not fail: "surrogatepass" keeps it distinct.
    encoded = part.encode("utf-8", "surrogatepass")
    yield b"%d:" % len(encoded)
    yield encoded
