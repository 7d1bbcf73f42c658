"""What a channel takes at most, checked before the hand-off: the far end would refuse it, or cut it off.

Pure. Sources: FCM's message payload of 4,096 bytes (firebase.google.com/docs/cloud-messaging), APNs the same
(developer.apple.com, "Generating a remote notification"); Web Push 4,096 bytes of which encryption takes 103 (RFC 8291
§4, RFC 8188); LINE's text message of 5,000 UTF-16 code units; Telegram's sendMessage of 4,096 characters; Slack's
chat.postMessage, which cuts off after 40,000 characters. A provider adds a little around title and text, so these are
bounds from above.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from sendonce_rendering.content import Content
from sendonce_rendering.errors import RenderError

__all__ = ["require_fit"]


def require_fit(channel: str, content: Content) -> None:
    """Refuse a content that the channel cannot carry. RenderError `too_large`."""
    bound = _BOUNDS.get(channel)
    if bound is None:
        return
    measure, unit, most = bound
    size = measure(content)
    if size > most:
        message = f"title and text have {size:,} {unit}; the channel {channel} takes {most:,}: shorten them"
        raise RenderError("too_large", message, "text")


def _payload_bytes(content: Content) -> int:
    """Return the size of the smallest payload that says this."""
    parts = {"title": content.subject, "body": content.text}
    payload = {name: value for name, value in parts.items() if value is not None}
    return len(json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass"))


def _utf16_units(content: Content) -> int:
    return len((content.text or "").encode("utf-16-le", "surrogatepass")) // 2


_BOUNDS: Mapping[str, tuple[Callable[[Content], int], str, int]] = {
    "Push": (_payload_bytes, "bytes as a payload", 4_096),
    "WebPush": (_payload_bytes, "bytes as a payload", 3_993),
    "Line": (_utf16_units, "UTF-16 code units", 5_000),
    "Telegram": (_utf16_units, "UTF-16 code units", 4_096),
    "Slack": (lambda content: len(content.text or ""), "characters", 40_000),
}
