"""Links in messages: the same at each rendering, whatever is set or rotated meanwhile; one key per namespace."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from sendonce_rendering import Content
from sendonce_store import queue, tenancy
from sendonce_store.connection import connect
from sendonce_store.link_tokens import InvalidTokenError, Sealer, Wish
from sendonce_store.links import LinkKey, campaign_links, frozen_links, rotate_key
from sendonce_store.rows import Unsent
from sendonce_worker.campaign import Campaign as WorkerCampaign
from sendonce_worker.redaction import Redactor
from sendonce_worker.sending.plan import utc_now
from sendonce_worker.sending.prepare import Prepared, prepare
from sendonce_worker.settings import WorkerSettings

if TYPE_CHECKING:
    from tests.integration.engine.conftest import Campaign, World

URL, ELSEWHERE = "https://notify.example.com", "https://other.example.com/n"
TEXT = {"from": "a@example.com", "subject": "Hi", "text": "{{ unsubscribe_url }} {{ preferences_url }}"}


def _message(template: dict[str, Any], channel: str = "Email") -> dict[str, Any]:
    return {"channel": channel, "providerRef": {"name": "far-end"}, "template": template}


async def _rendered(campaign: Campaign, url: str | None, no: int = 1, channel: str = "Email") -> Content | Unsent:
    """As a worker renders it that has just started, with this address of the gateway in its environment."""
    world = campaign.world
    settings = WorkerSettings(world.worker_dsn, "default", campaign.stored.send_key, "w", Path("/nowhere"))
    built = WorkerCampaign(campaign.stored, replace(settings, gateway_url=url), world.link(), Redactor())
    await built.refresh(world.hands)
    await built.aclose()
    await campaign.lapse()
    batch = await campaign.claim()
    rows = {row.no: row for row in await queue.due_rows(world.hands, batch)}
    prepared = prepare(rows[no], built.plans[channel], utc_now())
    return prepared.content if isinstance(prepared, Prepared) else prepared


async def _key(campaign: Campaign) -> LinkKey:
    links = await frozen_links(campaign.world.conn, campaign.id)
    assert links is not None
    return links.key


async def test_a_marketing_mail_has_both_headers_and_its_template_may_use_the_links(world: World) -> None:
    people = [world.person(1, {"Email": "Ada@Example.com"})]
    campaign = await world.campaign(people, topic="news", messages=[_message(TEXT)])
    content = await _rendered(campaign, URL)
    assert isinstance(content, Content)
    headers, text = dict(content.headers), (content.text or "").split()
    assert headers == {"List-Unsubscribe": f"<{text[0]}>", "List-Unsubscribe-Post": "List-Unsubscribe=One-Click"}
    key, wish = await _key(campaign), Wish("Email", "Marketing", "news", "ada@example.com")
    assert text[0] == f"{URL}/u/{Sealer(key, 'unsubscribe').seal(wish)}"
    assert text[1] == f"{URL}/p/{Sealer(key, 'preferences').seal(wish)}"


async def test_a_retry_says_the_same_whatever_was_set_or_rotated_meanwhile(world: World) -> None:
    campaign = await world.campaign(1, messages=[_message(TEXT)])
    first = await _rendered(campaign, URL)
    await rotate_key(world.conn, "default")
    for url in (URL, ELSEWHERE, None):
        again = await _rendered(campaign, url)
        assert isinstance(first, Content)
        assert isinstance(again, Content)
        assert (again, again.digest()) == (first, first.digest())
    later = await world.campaign(1, name="summer", messages=[_message(TEXT)])
    assert isinstance(await _rendered(later, ELSEWHERE), Content)
    assert (await _key(later)).id != (await _key(campaign)).id


async def test_a_campaign_that_began_without_a_gateway_stays_without(world: World) -> None:
    campaign = await world.campaign(1)
    before = await _rendered(campaign, None)
    assert isinstance(before, Content)
    assert before.headers == ()
    assert await _rendered(campaign, URL) == before
    assert await frozen_links(world.conn, campaign.id) is None


async def test_who_only_looks_settles_nothing(world: World) -> None:
    campaign = await world.campaign(1)
    assert await frozen_links(world.hands, campaign.id) is None
    assert (await campaign.record())["links_url"] is None


@pytest.mark.parametrize(
    ("spec", "headers"),
    [
        ({"category": "Transactional"}, []),
        (
            {"messages": [_message({**TEXT, "text": "x", "headers": {"list-unsubscribe": "<mailto:u@example.com>"}})]},
            ["list-unsubscribe"],
        ),
    ],
    ids=["transactional", "the template has its own"],
)
async def test_headers_are_for_marketing_mail_that_has_none(
    world: World, spec: dict[str, Any], headers: list[str]
) -> None:
    content = await _rendered(await world.campaign(1, **spec), URL)
    assert isinstance(content, Content)
    assert [name for name, _ in content.headers] == headers


async def test_a_text_message_has_no_header_and_may_have_the_links(world: World) -> None:
    people = [world.person(1, {"SMS": "+15005550006"})]
    campaign = await world.campaign(people, messages=[_message({"text": "Stop: {{ unsubscribe_url }}"}, "SMS")])
    content = await _rendered(campaign, URL, channel="SMS")
    assert isinstance(content, Content)
    assert content.headers == ()
    wish = Wish("SMS", "Marketing", "", "+15005550006")
    token = (content.text or "").removeprefix(f"Stop: {URL}/u/")
    assert Sealer(await _key(campaign), "unsubscribe").open(token) == wish


async def test_a_column_of_the_senders_own_stays_the_senders(world: World) -> None:
    people = [world.person(1, variables={"unsubscribe_url": "https://shop.example.com/u/7"})]
    campaign = await world.campaign(people, messages=[_message({**TEXT, "text": "{{ unsubscribe_url }}"})])
    content = await _rendered(campaign, URL)
    assert isinstance(content, Content)
    assert content.text == "https://shop.example.com/u/7"


async def test_without_a_gateway_a_template_that_wants_the_link_fails(world: World) -> None:
    campaign = await world.campaign(1, messages=[_message(TEXT)])
    unsent = await _rendered(campaign, None)
    assert isinstance(unsent, Unsent)
    assert unsent.reason == "render_error"
    assert "unsubscribe_url" in (unsent.error or "")


async def test_a_tenant_gets_the_key_of_its_own_namespace_and_of_no_other(world: World) -> None:
    campaign = await world.campaign(1)
    mine = await campaign_links(world.hands, campaign.id, URL)
    login = await tenancy.add(world.conn, "bank")
    theirs = await connect(psycopg.conninfo.make_conninfo(world.dsn, user=login.role, password=login.password))
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="is not for namespace bank"):
        await campaign_links(theirs, campaign.id, URL)
    for statement in ("SELECT * FROM sendonce.link_keys", "SELECT sendonce.current_link_key('default')"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            await theirs.execute(statement)
    await theirs.close()
    # and what it makes under a key of its own is no link of the other's
    assert mine is not None
    forged = Sealer(LinkKey(mine.key.id, "default", bytes(range(64))), "unsubscribe")
    token = forged.seal(Wish("Email", "Marketing", "", "user1@example.com"))
    with pytest.raises(InvalidTokenError):
        Sealer(mine.key, "unsubscribe").open(token)


async def test_workers_that_begin_at_once_agree(world: World) -> None:
    campaign = await world.campaign(1)
    other = await world.connect(world.worker_dsn)
    async with world.hands.transaction():
        first = await campaign_links(world.hands, campaign.id, URL)
        waiting = asyncio.create_task(campaign_links(other, campaign.id, ELSEWHERE))
        await world.blocked()
    assert first is not None
    assert await waiting == first
    rows = await campaign.query("SELECT count(*) AS count FROM sendonce.link_keys")
    assert rows[0]["count"] == 1
