"""Taking addresses out of what everybody who may view a campaign can read: statuses and events.

Far ends quote addresses in their answers ("550 <jane@example.com> unknown"). What Sendonce says itself holds counts and
times, which are left as they are; what a far end said is masked more strictly, because its numbers may be telephone
numbers and its long words tokens.
"""

from __future__ import annotations

import re

_HIDDEN = "***"
# Bounded repetition: a long text must not be searched from each of its characters to its end.
_EMAIL = re.compile(r"""("[^"@\n]{1,64}"|[^\s<>()\[\],;:"'@]{1,64})@([\w-]{1,63}(?:\.[\w-]{1,63}){0,10})""")
_PHONE = re.compile(r"\+\d(?:[ ().-]{0,2}\d){6,14}(?!\d)")
_URL = re.compile(r"(?i)\b(https?://)[^\s<>\"']{1,2048}")
_DIGITS = re.compile(r"(?<![\w.])\d{8,}(?!\w)")
# a device token, a LINE user id; a message id of the far end's looks the same, and nobody misses it here
_TOKEN = re.compile(r"(?<![\w:-])(?=[\w:-]{0,200}\d)(?=[\w:-]{0,200}[A-Za-z])([\w:-]{4})[\w:-]{24,}")


def mask(text: str) -> str:
    """Sendonce's own words, without email addresses and telephone numbers that they quote."""
    if "@" in text:
        text = _EMAIL.sub(_masked_email, text)
    return _PHONE.sub(_masked_phone, text) if "+" in text else text


def mask_foreign(text: str) -> str:
    """A far end's words: also without the paths of URLs, long numbers and long tokens."""
    text = _URL.sub(_masked_url, text)
    text = mask(text)
    text = _TOKEN.sub(rf"\1{_HIDDEN}", text)
    return _DIGITS.sub(_HIDDEN, text)


def _masked_email(found: re.Match[str]) -> str:
    local = found[1].strip('"')
    return f"{local[:1] if len(local) > 1 else ''}{_HIDDEN}@{found[2]}"


def _masked_phone(found: re.Match[str]) -> str:
    digits = [char for char in found[0] if char.isdigit()]
    return f"+{''.join(digits[:2])}{_HIDDEN}{''.join(digits[-3:])}"


def _masked_url(found: re.Match[str]) -> str:
    # the address of a webhook is a secret of its own; its host says where it went
    scheme, rest = found[1], found[0][len(found[1]) :]
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
    host = authority.rpartition("@")[2]
    return f"{scheme}{host}" + ("" if rest == authority else f"/{_HIDDEN}")


def clipped(text: str, limit: int) -> str:
    """The text on one line, cut to so many bytes of UTF-8."""
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    raw = line.encode("utf-8", "replace")
    if len(raw) <= limit:
        return raw.decode()
    return raw[: max(limit - len("…".encode()), 0)].decode("utf-8", "ignore") + "…"
