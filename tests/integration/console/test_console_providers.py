"""Providers: whose they are, how they stand, what they answered of late, and what that is taken for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sendonce_store import pace

if TYPE_CHECKING:
    from tests.integration.console.conftest import Served


def words_of(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


async def provider_id(console: Served, namespace: str) -> int:
    asked = "SELECT id FROM sendonce.providers WHERE namespace = %s AND name = 'email'"
    row = await (await console.conn.execute(asked, [namespace])).fetchone()
    assert row is not None
    return int(row["id"])


async def test_only_the_providers_of_the_viewers_namespaces_are_listed(console: Served) -> None:
    for who, names in (("viewer", {"shop"}), ("teller", {"bank"}), ("admin", {"shop", "bank"})):
        shown = await console.get("/providers", who)
        assert set(re.findall(r"<small>(shop|bank)</small>", shown.text)) == names
    theirs = await console.get(f"/providers/{await provider_id(console, 'bank')}", "viewer")
    nothing = await console.get("/providers/999999", "viewer")
    odd = await console.get("/providers/x'", "viewer")
    assert (theirs.status, nothing.status, odd.status) == (404, 404, 404)
    assert theirs.text == nothing.text


async def test_a_pause_and_a_used_budget_are_shown(console: Served) -> None:
    mine = await provider_id(console, "shop")
    await console.conn.execute(
        "UPDATE sendonce.pace_limits SET tat = now() + interval '1 hour' WHERE provider_id = %s", [mine]
    )
    await pace.pause(console.conn, mine, 600, "429", "slow down, p2@example.com")
    said = words_of((await console.get("/providers", "viewer")).text)
    assert "Provider paused" in said
    assert "slow down" in said
    assert "p2@example.com" not in said
    page = words_of((await console.get(f"/providers/{mine}", "viewer")).text)
    assert "50 of a burst of 50 used" in page
    assert "p2@example.com" in words_of((await console.get(f"/providers/{mine}", "agent")).text)


async def test_late_errors_and_the_classification_are_shown(console: Served) -> None:
    mine = await provider_id(console, "shop")
    said = words_of((await console.get(f"/providers/{mine}", "viewer")).text)
    assert "Permanent 5.1.1 1" in said
    assert "no such user" in said
    assert "rob@example.com" not in said
    assert "throttled before acceptance" in said
