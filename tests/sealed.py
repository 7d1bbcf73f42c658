"""Whether an address of the web gives away what is sealed in it.

In: the address, and words that chance does not make: they are long, and of characters that base64 has not. Out: yes,
if they stand there plainly, escaped, or in base64.
"""

import base64
import re
from urllib.parse import unquote

_PIECE = re.compile(r"[A-Za-z0-9_-]{4,}")


def _decoded(piece: str) -> bytes:
    whole = piece[:-1] if len(piece) % 4 == 1 else piece
    return base64.urlsafe_b64decode(whole + "=" * (-len(whole) % 4))


def gives_away(address: str, words: str) -> bool:
    """Whether somebody who sees the address reads the words in it."""
    text = unquote(address)
    return words in text or any(words.encode() in _decoded(piece) for piece in _PIECE.findall(text))
