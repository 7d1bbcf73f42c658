"""Every page of the console with an address that shows it: a page that is missing here fails a test.

In: nothing. Out: for each route's pattern the addresses to look at, in the store of tests/console_cases/town.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

CAMPAIGN = "/ns/{namespace}/campaigns/{campaign}"
SPRING, WELCOME = "/ns/shop/campaigns/spring", "/ns/shop/campaigns/welcome"

PAGES: Mapping[str, Sequence[str]] = {
    "/": ("/", "/?namespace=shop&q=nothing-like-this"),
    "/ns/{namespace}": (),  # leads to the list
    CAMPAIGN: (SPRING, WELCOME),
    CAMPAIGN + "/content": (f"{SPRING}/content",),
    CAMPAIGN + "/deadletters": (f"{SPRING}/deadletters", f"{WELCOME}/deadletters?state=expired"),
    CAMPAIGN + "/levers/{lever}": (f"{SPRING}/levers/resend?states=uncertain", f"{SPRING}/levers/cancel"),
    CAMPAIGN + "/orders": (f"{SPRING}/orders",),
    CAMPAIGN + "/orders/{order}": (f"{SPRING}/orders/no-such-order",),
    CAMPAIGN + "/recipients": (f"{SPRING}/recipients", f"{SPRING}/recipients?state=unreachable"),
    # refused, of a hostile name, suppressed, on two channels
    CAMPAIGN + "/recipients/{recipient}": (
        *(f"{SPRING}/recipients/line:{line}" for line in (9, 12, 13)),
        f"{WELCOME}/recipients/line:2",
    ),
    CAMPAIGN + "/proof": (f"{WELCOME}/proof",),
    "/ns/{namespace}/providers": ("/ns/shop/providers",),
    "/preview": ("/preview",),
    "/providers": ("/providers",),
    "/providers/{provider}": ("/providers/1",),
    "/search": ("/search", "/search?q=p", "/search?q=p2@", "/search?q=nobody@example.com"),
}
"""Pages for people."""

FRAMES: Mapping[str, Sequence[str]] = {
    CAMPAIGN + "/content/{channel}": (f"{SPRING}/content/Email",),
    CAMPAIGN + "/recipients/{recipient}/content/{channel}": (f"{SPRING}/recipients/line:12/content/Email",),
}
"""Documents that are shown in a sandboxed frame alone."""

PROBLEMS: Sequence[str] = ("/nowhere", "/ns/nobodys/campaigns/x", "/ns/shop/campaigns/nothing")
"""Addresses with nothing behind them: a page that says so."""


def all_pages() -> list[str]:
    """Every address to look at."""
    return [address for addresses in PAGES.values() for address in addresses] + list(PROBLEMS)
