"""What one message says, after its template was rendered.

Flows in: the finished text of each part, from `message.CompiledMessage.render`.
Flows out: a frozen `Content` that a provider turns into bytes, and its digest, which the ledger keeps as the
proof of what went out (the text itself is shown again by rendering the frozen template once more).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import NamedTuple

from sendonce_rendering.attached import AttachedFile

__all__ = ["Content", "Pieces"]

# Stands at the head of every digest: a later encoding gets another one, so that two can never be mixed up.
_DIGEST_VERSION = b"sendonce-content-1\n"


class Pieces(NamedTuple):
    """A body in pieces; those in `literals` are the same in all messages, so that coding them once is enough.

    `utf8` is the whole body, encoded.
    """

    parts: Sequence[str]
    literals: AbstractSet[str]
    utf8: bytes


@dataclass(frozen=True, slots=True)
class Content:
    """The rendered parts of one message; a part that its template does not have is None.

    `sender`, `reply_to`, `subject` and each header value are single lines without control characters. `html` is
    already escaped. `headers` keeps the template's order: pairs of (name, value). `attachments` are the campaign's.
    `text_pieces` and `html_pieces` say nothing more, and may be missing: whoever encodes them saves time.
    """

    sender: str | None = None
    reply_to: str | None = None
    subject: str | None = None
    text: str | None = None
    html: str | None = None
    headers: tuple[tuple[str, str], ...] = ()
    attachments: tuple[AttachedFile, ...] = ()
    text_pieces: Pieces | None = field(default=None, compare=False, repr=False)
    html_pieces: Pieces | None = field(default=None, compare=False, repr=False)

    def digest(self) -> bytes:
        """Return the SHA-256 (32 bytes) over an encoding in which different contents are never alike.

        Each part is preceded by its length in UTF-8 bytes, and "absent" differs from "empty".
        """
        framed = [_DIGEST_VERSION, *map(_framed, (self.sender, self.reply_to, self.subject))]
        framed += _framed_body(self.text, self.text_pieces), _framed_body(self.html, self.html_pieces)
        framed.append(b"%d;" % len(self.headers))
        for header in self.headers:
            framed += map(_framed, header)
        for file in self.attachments:
            framed += map(_framed, (file.name, file.media_type, file.content_id, file.sha256))
        return hashlib.sha256(b"".join(framed)).digest()


def _framed_body(body: str | None, pieces: Pieces | None) -> bytes:
    return _framed(body) if pieces is None else b"%d:%b" % (len(pieces.utf8), pieces.utf8)


def _framed(part: str | None) -> bytes:
    if part is None:
        return b"-;"
    # A lone surrogate cannot be sent, yet a digest of it must not fail: "surrogatepass" keeps it distinct.
    encoded = part.encode("utf-8", "surrogatepass")
    return b"%d:%b" % (len(encoded), encoded)
