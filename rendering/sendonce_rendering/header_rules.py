"""What may stand in the header of a message, by name and by value.

Pure decisions. A line break in a header's value would let a recipient's name add headers or a second message
(header injection), so that every control character is refused rather than removed: removing would send something
that nobody wrote.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from sendonce_rendering.errors import RenderError, TemplateError

__all__ = ["check_names", "encoded", "first_control", "require_one_line"]

# RFC 9110 §5.6.2 token: a part of what RFC 5322 §2.2 allows, and safe for HTTP headers too.
_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,76}")
# C0 and C1 controls and DEL, and the two separators at which Python's own mail code breaks lines.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")

_MAX_HEADERS = 50
_OWN_FIELDS = {"from": "from", "reply-to": "replyTo", "subject": "subject"}
_SET_BY_SENDONCE = frozenset({
    "authentication-results", "bcc", "cc", "date", "delivered-to", "dkim-signature", "message-id", "mime-version",
    "received", "return-path", "sender", "to",
})  # fmt: skip
_SET_BY_SENDONCE_PREFIXES = ("arc-", "content-", "resent-")


def check_names(names: list[str]) -> None:
    """Refuse header names that are no token, appear twice, or are not the template's to set. TemplateError."""
    if len(names) > _MAX_HEADERS:
        raise TemplateError("headers", f"there are {len(names)} headers; at most {_MAX_HEADERS} are allowed")
    seen: set[str] = set()
    for name in names:
        if problem := _name_problem(name, seen):
            raise TemplateError(f"headers.{name[:76]!r}" if not _TOKEN.fullmatch(name) else f"headers.{name}", problem)
        seen.add(name.lower())


def _name_problem(name: str, seen: set[str]) -> str | None:
    lower = name.lower()
    if not _TOKEN.fullmatch(name):
        return "a header's name has 1 to 76 letters, digits and hyphens, and no spaces or colon"
    if lower in _OWN_FIELDS:
        return f"set it with the template's field {_OWN_FIELDS[lower]!r}"
    if lower in _SET_BY_SENDONCE or lower.startswith(_SET_BY_SENDONCE_PREFIXES):
        return "this header is set when the message is sent; remove it"
    return "this header is given twice; header names do not differ by case" if lower in seen else None


def require_one_line(field: str, text: str, variables: Mapping[str, object]) -> None:
    """Refuse a header value with a control character. RenderError `header_injection` names field and variable."""
    found = _CONTROL.search(text)
    if found is None:
        return
    character = f"U+{ord(found[0]):04X}"
    message = f"{_culprit(variables)} would put the control character {character} into this header"
    raise RenderError("header_injection", message, field)


def _culprit(variables: Mapping[str, object]) -> str:
    for name, value in sorted(variables.items()):
        if isinstance(value, str) and _CONTROL.search(value):
            return f"variable {name!r} ({_masked(value)})"
    return "the template"


def _masked(value: str) -> str:
    start = value[:1]
    return f"{start if start.isprintable() else ''}***, {len(value)} characters"


def encoded(field: str, text: str) -> bytes:
    """Return the text in UTF-8. RenderError `not_text` for half of a surrogate pair, which has no such form."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        found = text[error.start]
        message = f"the character U+{ord(found):04X} is half of a pair and cannot be encoded; correct the recipient"
        raise RenderError("not_text", message, field) from None


def first_control(text: str) -> str | None:
    """Return the first control character of a template's own source as "U+000A", or None."""
    found = _CONTROL.search(text)
    return None if found is None else f"U+{ord(found[0]):04X}"
