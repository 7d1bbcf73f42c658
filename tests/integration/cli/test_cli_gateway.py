"""`sendonce gateway`: the login, keys of links and tokens; and links in `preview`."""

import json
import stat
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import yaml
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from sendonce_store import gateway
from sendonce_store.connection import Connection, connect
from sendonce_store.gateway_tokens import digest_of
from sendonce_store.migrate import newest
from sendonce_store.program_dsn import address_with_login

Sendonce = Callable[..., Awaitable[Any]]
POD = ("--address", "postgresql://db.example:5432/sendonce")
KEY = (
    "INSERT INTO sendonce.link_keys (id, namespace, key)"
    " VALUES ('\\x0102030405060708', 'shop', sha512('a') || ''::bytea)"
)


async def test_login_prints_a_secret_to_apply_and_again_another_password(sendonce: Sendonce, tmp_path: Path) -> None:
    secret = (await sendonce("gateway", "login", *POD)).yaml
    assert (secret["kind"], secret["metadata"]["name"]) == ("Secret", "sendonce-gateway-store")
    first = conninfo_to_dict(secret["stringData"]["dsn"])
    assert (first["host"], first["dbname"]) == ("db.example", "sendonce")
    assert str(first["user"]).startswith("sendonce_gateway_")
    file = tmp_path / "login.yaml"
    ran = await sendonce("gateway", "login", *POD, "--write", str(file))
    assert (ran.code, ran.out) == (0, "")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    again = conninfo_to_dict(yaml.safe_load(file.read_text())["stringData"]["dsn"])
    assert again["user"] == first["user"]
    assert again["password"] != first["password"]
    ran = await sendonce("gateway", "login", *POD, "--write", str(file))
    assert ran.code == 2
    assert "is there already" in ran.err


async def test_login_has_the_password_of_a_file_and_its_address_is_known(
    sendonce: Sendonce, dsn: str, tmp_path: Path
) -> None:
    file = tmp_path / "password"
    file.write_text("p" * 40)
    ran = await sendonce("gateway", "login", "--password-file", str(file))
    assert (ran.code, ran.out) == (0, "")
    own = address_with_login("gateway", dsn, "p" * 40)
    role = conninfo_to_dict(own)["user"]
    assert f"{role} is there" in ran.err
    async with await connect(make_conninfo(dsn, user=role, password="p" * 40)) as conn:
        assert await gateway.schema(conn) == newest()
    file.write_text("short")
    ran = await sendonce("gateway", "login", "--password-file", str(file))
    assert ran.code == 2
    assert "--password-file:" in ran.err


async def test_a_token_is_shown_once_and_the_store_keeps_its_digest(sendonce: Sendonce, conn: Connection) -> None:
    ran = await sendonce("gateway", "token", "add", "shop", "checkout")
    token = ran.out.strip()
    assert token.startswith("sendonce_app_")
    cursor = await conn.execute("SELECT namespace, name, digest FROM sendonce.gateway_tokens")
    assert await cursor.fetchall() == [{"namespace": "shop", "name": "checkout", "digest": digest_of(token)}]
    ran = await sendonce("gateway", "token", "add", "shop", "checkout")
    assert (ran.code, ran.out) == (2, "")
    assert "has a token checkout already" in ran.err
    (listed,) = (await sendonce("gateway", "token", "list", "-o", "json")).data
    assert (listed["namespace"], listed["name"]) == ("shop", "checkout")
    assert (await sendonce("gateway", "token", "remove", "shop", "checkout")).code == 0
    assert (await sendonce("gateway", "token", "remove", "shop", "checkout")).code == 4
    assert "none" in (await sendonce("gateway", "token", "list")).out


async def test_keys_are_rotated_and_revoked_only_when_it_is_meant(sendonce: Sendonce, conn: Connection) -> None:
    await conn.execute(KEY)

    async def key() -> dict[str, Any] | None:
        cursor = await conn.execute(
            "SELECT retired_at IS NULL AS current, revoked_at IS NULL AS good FROM sendonce.link_keys"
        )
        return await cursor.fetchone()

    assert (await sendonce("gateway", "keys", "rotate", "shop")).code == 0
    assert await key() == {"current": False, "good": True}
    ran = await sendonce("gateway", "keys", "revoke", "shop")
    assert ran.code == 2
    assert "nobody can unsubscribe" in ran.err
    assert await key() == {"current": False, "good": True}
    ran = await sendonce("gateway", "keys", "revoke", "shop", "--yes")
    assert "1 keys revoked" in ran.err
    assert await key() == {"current": False, "good": False}


async def test_preview_shows_links_as_long_as_the_real_ones_and_warns_of_none_that_is_missing(
    sendonce: Sendonce, tmp_path: Path
) -> None:
    template = {"from": "a@example.com", "subject": "Hi", "text": "Leave: {{ unsubscribe_url }}"}
    message = {"channel": "Email", "providerRef": {"name": "smtp"}, "template": template}
    spec = {"category": "Marketing", "recipients": {"inline": [{"email": "ada@example.com"}]}, "messages": [message]}
    document = {
        "apiVersion": "sendonce.dev/v1alpha1",
        "kind": "NotificationCampaign",
        "metadata": {"name": "letter"},
        "spec": spec,
    }
    file = tmp_path / "letter.yaml"
    file.write_text(yaml.safe_dump(document), "utf-8")
    ran = await sendonce("preview", str(file), "--gateway", "https://notify.example.com/", "-o", "json")
    assert ran.code == 0
    found = json.loads(ran.out)
    parts = found["messages"][0]["parts"]
    link = parts["text"].removeprefix("Leave: ").strip()
    assert link.startswith("https://notify.example.com/u/")
    assert len(link) > 100
    assert parts["List-Unsubscribe"] == f"<{link}>"
    assert parts["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert found["warnings"] == []
    ran = await sendonce("preview", str(file), "-o", "json")
    assert ran.code == 2
    assert "unsubscribe_url" in ran.err
    ran = await sendonce("preview", str(file), "--gateway", "http://notify.example.com")
    assert ran.code == 2
    assert "is not the address of a gateway" in ran.err
