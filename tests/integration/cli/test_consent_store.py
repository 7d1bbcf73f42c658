"""Suppressions and opt-outs: kept once, found by the hand-off, listed page by page."""

from collections.abc import Callable
from typing import Any

import pytest

from sendonce_store import consent, people
from sendonce_store.connection import Connection
from sendonce_store.consent import PAGE, OptOut, Suppression, Wanted
from sendonce_store.recipients import Recipient

BOUNCED = Suppression("Email", "a@example.com", "bounced")


async def listed(conn: Connection, wanted: Wanted = Wanted(), namespace: str = "default") -> list[tuple[str, str, str]]:  # noqa: B008 - frozen
    return [(one.channel, one.address, one.reason) async for one in consent.suppressions(conn, namespace, wanted)]


async def test_a_suppression_is_kept_once_and_its_latest_reason_counts(conn: Connection) -> None:
    assert await consent.suppress(conn, "default", [BOUNCED]) == 1
    assert await consent.suppress(conn, "default", [BOUNCED]) == 0
    complained = Suppression("Email", "a@example.com", "complained")
    assert await consent.suppress(conn, "default", [BOUNCED, complained]) == 1
    assert await listed(conn) == [("Email", "a@example.com", "complained")]
    assert await consent.unsuppress(conn, "default", [BOUNCED]) == 1
    assert await consent.unsuppress(conn, "default", [BOUNCED]) == 0


async def test_namespaces_do_not_see_each_other(conn: Connection) -> None:
    await consent.suppress(conn, "one", [BOUNCED])
    assert await listed(conn, namespace="two") == []
    assert await consent.unsuppress(conn, "two", [BOUNCED]) == 0


async def test_an_opt_out_of_a_topic_is_not_one_of_the_category(conn: Connection) -> None:
    topic = OptOut("Email", "a@example.com", "Marketing", "newsletter")
    whole = OptOut("Email", "a@example.com", "Marketing")
    assert await consent.opt_out(conn, "default", [topic, whole, topic]) == 2
    assert await consent.opt_in(conn, "default", [whole]) == 1
    found = [(one.category, one.topic) async for one in consent.opt_outs(conn, "default", Wanted(category="Marketing"))]
    assert found == [("Marketing", "newsletter")]


async def test_a_list_longer_than_a_page_comes_whole_and_in_order(conn: Connection) -> None:
    rows = [Suppression("Email", f"n{no:05}@example.com", "blocked") for no in range(PAGE + 10)]
    assert await consent.suppress(conn, "default", rows) == PAGE + 10
    found = await listed(conn)
    assert [address for _, address, _ in found] == [row.address for row in rows]
    wishes = [OptOut("Email", row.address, "Marketing") for row in rows]
    await consent.opt_out(conn, "default", wishes)
    assert len([one async for one in consent.opt_outs(conn, "default")]) == PAGE + 10


async def test_a_list_can_be_narrowed(conn: Connection) -> None:
    await consent.suppress(conn, "default", [BOUNCED, Suppression("SMS", "+15005550006", "blocked")])
    assert await listed(conn, Wanted(channel="SMS")) == [("SMS", "+15005550006", "blocked")]
    assert await listed(conn, Wanted(address="a@example.com")) == [("Email", "a@example.com", "bounced")]


@pytest.mark.parametrize(
    ("topic", "opted_out_of", "state"),
    [
        ("newsletter", "newsletter", "suppressed"),
        ("newsletter", "", "suppressed"),
        ("newsletter", "offers", "sent"),
        (None, "newsletter", "sent"),
        (None, "", "suppressed"),
    ],
)
async def test_an_opt_out_is_looked_at_when_the_message_is_handed_off(
    conn: Connection,
    sow: Any,
    person: Callable[..., Recipient],
    document: Any,
    topic: str | None,
    opted_out_of: str,
    state: str,
) -> None:
    spec = {} if topic is None else {"topic": topic}
    sown = await sow([person(2, "A", Email="a@example.com")], document=document(**spec))
    await consent.opt_out(conn, "default", [OptOut("Email", "a@example.com", "Marketing", opted_out_of)])
    await sown.send()
    (delivery,) = await people.deliveries_of(conn, sown.id, 2)
    assert delivery.state == state
    assert delivery.reason == ("opted_out" if state == "suppressed" else None)


async def test_a_suppression_holds_for_a_transactional_campaign_too(
    conn: Connection, sow: Any, person: Callable[..., Recipient], document: Any
) -> None:
    sown = await sow([person(2, "A", Email="a@example.com")], document=document(category="Transactional"))
    await consent.opt_out(conn, "default", [OptOut("Email", "a@example.com", "Marketing")])
    await consent.suppress(conn, "default", [BOUNCED])
    await sown.send()
    (delivery,) = await people.deliveries_of(conn, sown.id, 2)
    assert (delivery.state, delivery.reason) == ("suppressed", "suppression_list")
