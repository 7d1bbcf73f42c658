"""A gateway of the scene, and those who come to it all the time: one who is let in, and some whom it turns away.

In: the store of the scene, and a Prometheus, which scrapes it. Each round somebody unsubscribes, an application has a
token that is none, one provider's report is signed, and another's is forged. Each time it is another client who comes.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path

import aiohttp
from psycopg.conninfo import make_conninfo
from tests.cluster.monitoring.prometheus import Prometheus

from sendonce_gateway.main import serving
from sendonce_gateway.settings import GatewaySettings
from sendonce_store import tenancy
from sendonce_store.connection import Connection, connect
from sendonce_store.link_tokens import Sealer, Wish
from sendonce_store.links import LinkKey

HOST, PUBLIC = "127.0.0.1", "https://notify.example.com"
KEY = LinkKey(b"\1" * 8, "shop", b"k" * 64)
SECRETS = {"shop.telegram.bot.secretToken": "a-word", "shop.postmark.mail.login": "sendonce:another-word"}
UPDATE = {
    "update_id": 1,
    "my_chat_member": {"chat": {"id": 5, "type": "private"}, "date": 1, "new_chat_member": {"status": "kicked"}},
}
PAUSE = 0.2


@asynccontextmanager
async def visited(dsn: str, folder: Path, prometheus: Prometheus) -> AsyncIterator[None]:
    """Serve, and have people come, until the end."""
    settings = await furnished(dsn, folder)
    async with serving(settings, HOST) as (port, ops), aiohttp.ClientSession(f"http://{HOST}:{port}") as client:
        prometheus.add(f"{HOST}:{ops}")
        coming = asyncio.create_task(come(client))
        try:
            yield
        finally:
            coming.cancel()
            await asyncio.wait([coming])


async def furnished(dsn: str, folder: Path) -> GatewaySettings:
    """A login, the key of links, and secrets of providers."""
    folder.mkdir()
    for name, secret in SECRETS.items():
        (folder / name).write_text(secret, "utf-8")
    async with await connect(dsn, application_name="test") as conn:
        login = await tenancy.gateway_login(conn)
        await make_key(conn)
    own = make_conninfo(dsn, user=login.role, password=login.password)
    more = {"port": 0, "ops_port": 0, "proxies": 1, "store_wait": 0.3}
    return GatewaySettings(own, PUBLIC, receipts_dir=folder, **more)  # type: ignore[arg-type]


async def make_key(conn: Connection) -> None:
    """The key, as the first campaign with links makes one."""
    given = {"id": KEY.id, "namespace": KEY.namespace, "key": KEY.secret}
    await conn.execute(
        "INSERT INTO sendonce.link_keys (id, namespace, key) VALUES (%(id)s, %(namespace)s, %(key)s)", given
    )


async def come(client: aiohttp.ClientSession) -> None:
    """Come, round by round."""
    sealer = Sealer(KEY, "unsubscribe")
    for number in count():
        link = sealer.seal(Wish("Email", "Marketing", "news", f"p{number}@example.com"))
        who = {"X-Forwarded-For": f"2001:db8::{number % 60_000:x}"}
        stranger = {**who, "Authorization": "Bearer none", "Idempotency-Key": "k"}
        signed = {**who, "X-Telegram-Bot-Api-Secret-Token": "a-word"}
        # at once: while the store is away each of them waits for it
        await asyncio.gather(
            post(client, f"/u/{link}", who, b"List-Unsubscribe=One-Click"),
            post(client, "/v1/namespaces/shop/campaigns/orders/recipients", stranger, b"{}"),
            post(client, "/receipts/shop/telegram/bot", signed, json.dumps(UPDATE).encode()),
            post(client, "/receipts/shop/postmark/mail", {**who, "Authorization": "Basic eDp5"}, b"{}"),
            asyncio.sleep(PAUSE),
        )


async def post(client: aiohttp.ClientSession, path: str, headers: dict[str, str], body: bytes) -> None:
    """Whatever comes of it."""
    async with client.post(path, data=body, headers=headers) as response:
        await response.read()
