"""`sendonce.enqueue`: in the caller's transaction, once per key, and what it refuses."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, LiteralString

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from psycopg.errors import SerializationFailure
from tests.integration.engine.stream_cases import ADA, enqueue, standing

from sendonce_store import actions, tenancy
from sendonce_store import enqueue as python
from sendonce_store.connection import Connection, connect

if TYPE_CHECKING:
    from tests.integration.engine.conftest import Campaign, World


async def _inbox(campaign: Campaign) -> list[dict[str, Any]]:
    return await campaign.query("SELECT key, no, recipient FROM sendonce.inbox WHERE campaign_id = %(id)s ORDER BY no")


async def _application(world: World) -> Connection:
    login = await tenancy.add(world.conn, "default", "application")
    return await connect(make_conninfo(world.dsn, user=login.role, password=login.password))


async def test_a_recipient_comes_with_the_callers_commit_and_goes_with_its_rollback(world: World) -> None:
    campaign = await standing(world)
    app = await _application(world)
    async with app.transaction(force_rollback=True):
        await enqueue(app, "order-1")
    assert await _inbox(campaign) == []
    async with app.transaction():
        await enqueue(app, "order-1")
        assert await _inbox(campaign) == []
    assert [row["recipient"] for row in await _inbox(campaign)] == [ADA]
    await app.close()


async def test_the_same_key_and_recipient_give_the_same_answer_whatever_became_of_the_campaign(world: World) -> None:
    campaign = await standing(world)
    first = await enqueue(world.conn, "order-1", {"email": "ada@example.com", "n": 1})
    assert await enqueue(world.conn, "order-1", {"n": 1, "email": "ada@example.com"}) == first
    assert await actions.close(world.conn, campaign.id)
    await actions.cancel(world.conn, campaign.id)
    assert await enqueue(world.conn, "order-1", {"email": "ada@example.com", "n": 1}) == first
    assert len(await _inbox(campaign)) == 1


async def test_two_calls_with_one_key_at_the_same_time_add_one_recipient(world: World) -> None:
    campaign = await standing(world)
    first, second = await world.connect(), await world.connect()
    async with first.transaction():
        number = await enqueue(first, "order-1")
        other = asyncio.create_task(enqueue(second, "order-1"))
        await world.blocked()
    assert await other == number
    assert len(await _inbox(campaign)) == 1


async def test_a_suspended_campaign_takes_recipients_and_holds_them(world: World) -> None:
    campaign = await standing(world)
    await actions.suspend(world.conn, campaign.id, suspended=True)
    await enqueue(world.conn, "order-1")
    assert len(await _inbox(campaign)) == 1


REFUSED: dict[str, tuple[LiteralString | None, dict[str, Any], str]] = {
    "unknown campaign": (None, {"send_key": "winter"}, "SO101"),
    "no stream": ("UPDATE sendonce.campaigns SET stream = false", {}, "SO102"),
    "closed": ("UPDATE sendonce.campaigns SET closed_at = now()", {}, "SO103"),
    "deadline": ("UPDATE sendonce.campaigns SET deadline = now()", {}, "SO103"),
    "finished": ("UPDATE sendonce.streams SET finished_at = now()", {}, "SO103"),
    "cancelled": ("UPDATE sendonce.campaigns SET cancelled_at = now()", {}, "SO104"),
    "other content": (None, {"key": "used"}, "SO105"),
    "no object": (None, {"recipient": ["ada@example.com"]}, "SO106"),
    "no address": (None, {"recipient": {"phone": "+15005550006"}}, "SO106"),
    "an empty address": (None, {"recipient": {"email": " "}}, "SO106"),
    "an address that is no text": (None, {"recipient": {"email": 5}}, "SO106"),
    "too large": (None, {"recipient": ADA | {"x": "x" * 70_000}}, "SO106"),
    "no key": (None, {"key": ""}, "SO107"),
    "a long key": (None, {"key": "é" * 128}, "SO107"),
}


@pytest.mark.parametrize(("before", "call", "code"), REFUSED.values(), ids=REFUSED.keys())
async def test_what_can_not_be_enqueued_is_refused_with_a_code_and_what_would_do(
    world: World, before: LiteralString | None, call: dict[str, Any], code: str
) -> None:
    campaign = await standing(world)
    await enqueue(world.conn, "used", {"email": "grace@example.com"})
    if before is not None:
        await campaign.query(before)
    with pytest.raises(psycopg.Error) as caught:
        await enqueue(world.conn, **{"key": "order-1", **call})
    assert caught.value.sqlstate == code
    assert caught.value.diag.message_hint
    assert len(await _inbox(campaign)) == 1


async def test_python_gets_an_exception_for_each_code(world: World) -> None:
    await standing(world)
    app = await _application(world)
    number = await python.enqueue(app, "default", "spring", "order-1", ADA)
    async with await psycopg.AsyncConnection.connect(world.dsn) as plain:
        assert await python.enqueue(plain, "default", "spring", "order-1", ADA) == number
    with pytest.raises(python.KeyReusedError, match=r"order-1 was used for another recipient\. A key stands for"):
        await python.enqueue(app, "default", "spring", "order-1", {**ADA, "name": "Grace"})
    with pytest.raises(python.UnknownCampaignError, match="winter in namespace default"):
        await python.enqueue(app, "default", "winter", "order-1", ADA)
    with pytest.raises(python.NotAllowedError, match="may not enqueue for namespace bank"):
        await python.enqueue(app, "bank", "spring", "order-1", ADA)
    for recipient in ({"email": "a\x00@example.com"}, {"email": "\ud800"}, {"email": {1}}, {"email": float("nan")}):
        with pytest.raises(python.InvalidRecipientError):
            await python.enqueue(app, "default", "spring", "order-2", recipient)
    await app.close()


async def test_an_applications_login_may_enqueue_and_nothing_else(world: World) -> None:
    await standing(world)
    app = await _application(world)
    tries: tuple[LiteralString, ...] = (
        "SELECT * FROM sendonce.campaigns",
        "SELECT * FROM sendonce.inbox",
        "INSERT INTO sendonce.inbox (campaign_id, key, namespace, digest) VALUES (1, 'k', 'default', '')",
        "SELECT sendonce.hold_lease(1, gen_random_uuid())",
        "SELECT sendonce.forget_spool(1)",
        "SELECT sendonce.own_namespace()",
        "SELECT sendonce.enqueue('bank', 'spring', 'k', '{}')",
    )
    for statement in tries:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            await app.execute(statement)
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        await world.hands.execute("SELECT sendonce.enqueue('default', 'spring', 'k', '{}')")
    assert [one.left for one in await tenancy.remove(world.conn, "default", "application")] == [None]
    assert [one.kind for one in await tenancy.tenants(world.conn)] == ["worker"]
    await app.close()


async def test_a_role_of_the_applications_own_may_enqueue_once_it_was_granted_the_login(world: World) -> None:
    await standing(world)
    login = await tenancy.add(world.conn, "default", "application")
    name = f"shop_{login.role[-20:]}"
    await world.conn.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'x'; GRANT {login.role} TO {name}".encode())
    shop = await connect(make_conninfo(world.dsn, user=name, password="x"))
    assert await enqueue(shop, "order-1") > 0
    await shop.close()
    await tenancy.remove(world.conn, "default", "application")
    await world.conn.execute(f"DROP ROLE {name}".encode())


async def test_who_looks_at_an_old_snapshot_can_not_enqueue_behind_the_end(world: World) -> None:
    campaign = await standing(world)
    app = await world.connect()
    async with app.transaction():
        await app.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        await app.execute("SELECT FROM sendonce.campaigns")
        await actions.close(world.conn, campaign.id)
        assert [step.kind.value for step in await campaign.conduct()] == ["drain", "end"]
        with pytest.raises(SerializationFailure):
            async with app.transaction():
                await enqueue(app, "order-1")
