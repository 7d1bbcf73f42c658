"""Who asks: as the proxies saw it, whatever the caller wrote itself."""

from __future__ import annotations

import pytest

from sendonce_store.callers import caller_of

PEER = "10.0.0.9"


@pytest.mark.parametrize(
    ("forwarded", "proxies", "caller"),
    [
        ([], 0, PEER),
        (["192.0.2.1"], 0, PEER),
        ([], 1, PEER),
        (["192.0.2.1"], 1, "192.0.2.1"),
        (["9.9.9.9, 192.0.2.1"], 1, "192.0.2.1"),
        (["9.9.9.9", "192.0.2.1"], 1, "192.0.2.1"),
        (["9.9.9.9", "192.0.2.1, 10.0.0.1"], 2, "192.0.2.1"),
        (["9.9.9.9,192.0.2.1", "10.0.0.1"], 2, "192.0.2.1"),
        (["192.0.2.1"], 2, PEER),
        (["9.9.9.9", "2001:db8::1"], 1, "2001:db8::1"),
    ],
)
def test_the_caller_is_who_the_outermost_proxy_saw(forwarded: list[str], proxies: int, caller: str) -> None:
    assert caller_of(forwarded, PEER, proxies) == caller


def test_without_a_connection_there_is_no_address() -> None:
    assert caller_of([], None, 0) == ""
