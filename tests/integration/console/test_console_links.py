"""Links in what went out: shown again as they were made, by a login that makes none and sees no other team's key."""

from __future__ import annotations

from html import unescape
from typing import TYPE_CHECKING

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from tests.console_cases.town import Sown, campaign_document, person, sow

from sendonce_rendering.showing import compiled
from sendonce_store import campaigns, console_login, console_scope, people
from sendonce_store.connection import Connection, connect
from sendonce_store.links import Links, campaign_links, frozen_links, rotate_key
from sendonce_worker.linking import Linking, rendered

if TYPE_CHECKING:
    from tests.integration.console.conftest import Served

URL, ELSEWHERE = "https://notify.example.com", "https://other.example.com"
TEMPLATE = {"from": "a@example.com", "subject": "Hi", "text": "Leave: {{ unsubscribe_url }}"}
MESSAGES = [{"channel": "Email", "providerRef": {"name": "email"}, "template": TEMPLATE}]


async def linked(conn: Connection, namespace: str) -> tuple[Sown, Links]:
    """A campaign with links, of which one message was handed off."""
    ada = person(2, "Ada", "ada", Email="ada@example.com")
    sown = await sow(conn, campaign_document(namespace, "letter", messages=MESSAGES), [ada])
    links = await campaign_links(conn, sown.id, URL)
    stored = await campaigns.read(conn, namespace, "letter")
    (found,) = await people.people_by_ref(conn, sown.id, "ada")
    assert links is not None
    assert stored is not None
    template = compiled(stored.spec.messages[0])
    content = rendered(template, found, Linking(links, stored.spec, "Email", template))
    noted = "UPDATE sendonce.deliveries SET digest = %s WHERE campaign_id = %s"
    await conn.execute(noted, [content.digest(), sown.id])
    return sown, links


async def test_the_page_of_a_person_has_the_links_that_went_out_and_verifies_them(
    console: Served, conn: Connection
) -> None:
    await linked(conn, "shop")
    await rotate_key(conn, "shop")
    path = "/ns/shop/campaigns/letter/recipients/ada"
    text = unescape((await console.get(path, "agent")).text)
    assert "its digest is the one noted then" in text
    assert f"Leave: {URL}/u/" in text
    assert "List-Unsubscribe=One-Click" in text
    (delivery,) = (await console.json(f"/api/v1{path.replace('/ns/', '/namespaces/')}", "agent"))["deliveries"]
    assert delivery["content"]["verified"] is True
    await conn.execute("UPDATE sendonce.deliveries SET digest = sha256('another')")
    assert "its digest is another one than the one noted then" in (await console.get(path, "agent")).text


async def test_the_consoles_login_looks_at_links_of_the_namespaces_that_it_set_and_settles_nothing(
    dsn: str, conn: Connection
) -> None:
    mine, links = await linked(conn, "shop")
    theirs, _ = await linked(conn, "bank")
    later = await sow(conn, campaign_document("shop", "later", messages=MESSAGES), [])
    login = await console_login.make(conn)
    looking = await connect(make_conninfo(dsn, user=login.role, password=login.password))
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="is not for namespace"):
        await frozen_links(looking, mine.id)
    await console_scope.begin(looking, ["shop"], 2_000)
    assert await frozen_links(looking, mine.id) == links
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="is not for namespace shop"):
        await frozen_links(looking, theirs.id)
    await looking.execute("ROLLBACK")
    await looking.execute("BEGIN")
    await looking.execute("SELECT set_config('sendonce.viewed', 'shop', true)")
    assert await campaign_links(looking, later.id, ELSEWHERE) is None
    await looking.execute("COMMIT")
    await looking.close()
    found = await campaign_links(conn, later.id, URL)
    assert found is not None
    assert found.url == URL
