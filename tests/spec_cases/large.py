"""A campaign of about a megabyte, near to what etcd stores: every list full, texts at their greatest length."""

from __future__ import annotations

from typing import Any

from tests.spec_cases.bodies import campaign

__all__ = ["LARGE"]

HEADERS = {f"x-{no}".ljust(128, "a"): "v" * 998 for no in range(20)}
VARIABLES = {f"v{no}": {"deep": ["x" * 60]} for no in range(50)}
AFTER = {"after": {"channel": "Email", "outcomes": ["Failed", "NoAddress", "Suppressed", "Expired"]}}


def message(channel: str, **more: Any) -> dict[str, Any]:
    lines = dict.fromkeys(("from", "replyTo", "subject"), "l" * 998)
    template = lines | {"text": "t" * 32768, "headers": HEADERS} | more
    return {"channel": channel, "providerRef": {"name": "p" * 253}, "template": template}


def recipient(no: int) -> dict[str, Any]:
    addresses = {"push": "p" * 4096, "webpush": "w" * 4096, "webhook": "h" * 2048}
    return addresses | {"id": f"{no}".ljust(255, "x"), "variables": VARIABLES}


LARGE: dict[str, Any] = campaign(
    messages=[
        message("Email", html="h" * 32768),
        *(message(channel) | AFTER for channel in ("SMS", "Line", "Push", "WebPush")),
    ],
    recipients={"inline": [recipient(no) for no in range(50)]},
)
