"""What one message says, after its template was rendered.

Flows in: the finished text of each part, from `message.CompiledMessage.render`.
Flows out: a frozen `Content` that a provider turns into bytes, and its digest, which the ledger keeps as the
proof of what went out (the text itself is shown again by rendering the frozen template once more).
"""

from __future__ import annotations

import hashlib
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
        parts = (self.sender, self.reply_to, self.subject, self.text, self.html)
        framed = [_DIGEST_VERSION, *map(_framed, parts), b"%d;" % len(self.headers)]
        for header in self.headers:
            framed += map(_framed, header)
        return hashlib.sha256(b"".join(framed)).digest()


def _framed(part: str | None) -> bytes:
    if part is None:
        return b"-;"
    # A lone surrogate cannot be sent, yet a digest of it must not fail: "surrogatepass" keeps it distinct.
    encoded = part.encode("utf-8", "surrogatepass")
    return b"%d:%b" % (len(encoded), encoded)
