"""`sendonce tenant`: logins of namespaces, as Secrets."""

import stat
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from psycopg.conninfo import conninfo_to_dict

from sendonce_store.connection import connect

Sendonce = Callable[..., Awaitable[Any]]
POD = ("--address", "postgresql://db.example:5432/sendonce")


def _login(secret: dict[str, Any]) -> dict[str, Any]:
    return dict(conninfo_to_dict(secret["stringData"]["dsn"]))


async def test_the_database_of_a_mounted_secret_is_taken(
    sendonce: Sendonce, dsn: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "dsn").write_text(dsn, "utf-8")
    monkeypatch.delenv("SENDONCE_DATABASE")
    assert "Missing option '--database'" in (await sendonce("tenant", "list")).err
    monkeypatch.setenv("SENDONCE_DSN_FILE", str(tmp_path / "dsn"))
    assert (await sendonce("tenant", "list")).code == 0


async def test_add_prints_a_secret_to_apply(sendonce: Sendonce) -> None:
    ran = await sendonce("tenant", "add", "shop", *POD)
    assert ran.code == 0
    secret = ran.yaml
    assert (secret["kind"], secret["metadata"]["name"], secret["metadata"]["namespace"]) == (
        "Secret",
        "sendonce-store",
        "shop",
    )
    login = _login(secret)
    assert (login["host"], login["dbname"]) == ("db.example", "sendonce")
    assert login["user"].startswith("sendonce_ns_shop_")
    ran = await sendonce("tenant", "add", "shop", *POD)
    assert (ran.code, ran.out) == (2, "")
    assert "error: namespace shop has a login already" in ran.err


async def test_a_login_for_applications_stands_beside_that_of_the_workers(sendonce: Sendonce) -> None:
    for no in (1, 2):
        await sendonce("tenant", "add" if no == 1 else "rotate", "shop", "--application", *POD)
    ran = await sendonce("tenant", "rotate", "shop", "--application", "--finish")
    assert (ran.code, ran.err.count("is dropped")) == (0, 1)
    secret = (await sendonce("tenant", "add", "shop", *POD)).yaml
    assert secret["metadata"]["name"] == "sendonce-store"
    found = (await sendonce("tenant", "list", "-o", "json")).data
    assert [(one["namespace"], one["kind"], len(one["logins"])) for one in found] == [
        ("shop", "worker", 1),
        ("shop", "application", 1),
    ]
    secret = (await sendonce("tenant", "rotate", "shop", "--application", "--now", *POD)).yaml
    assert secret["metadata"]["name"] == "sendonce-application"
    assert _login(secret)["user"].startswith("sendonce_app_shop_")
    assert (await sendonce("tenant", "remove", "shop", "--application")).code == 0


async def test_a_secret_in_a_file_is_for_its_owner_alone(sendonce: Sendonce, tmp_path: Path) -> None:
    file = tmp_path / "secret.yaml"
    ran = await sendonce("tenant", "add", "shop", *POD, "--write", str(file))
    assert (ran.code, ran.out) == (0, "")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert yaml.safe_load(file.read_text())["metadata"]["namespace"] == "shop"
    for wrong, words in (
        (file, "is there already"),
        (tmp_path / "no" / "x.yaml", "is no folder that you can write to"),
    ):
        ran = await sendonce("tenant", "rotate", "shop", *POD, "--write", str(wrong))
        assert ran.code == 2
        assert words in ran.err
    # no login was made whose password nobody has
    (tenant,) = (await sendonce("tenant", "list", "-o", "json")).data
    assert len(tenant["logins"]) == 1


async def test_a_rotation_has_a_beginning_and_an_end(sendonce: Sendonce) -> None:
    first = _login((await sendonce("tenant", "add", "shop", *POD)).yaml)["user"]
    second = _login((await sendonce("tenant", "rotate", "shop", *POD)).yaml)["user"]
    (tenant,) = (await sendonce("tenant", "list", "-o", "json")).data
    assert (tenant["namespace"], tenant["logins"], tenant["unfinished"]) == ("shop", [first, second], 0)
    ran = await sendonce("tenant", "rotate", "shop", "--finish")
    assert (ran.code, ran.out, ran.err) == (0, "", f"{first} is dropped\n")
    assert (await sendonce("tenant", "rotate", "shop", "--finish")).err == "there was no other login\n"


async def test_a_password_that_became_known_is_replaced_at_once(sendonce: Sendonce) -> None:
    first = _login((await sendonce("tenant", "add", "shop", *POD)).yaml)["user"]
    ran = await sendonce("tenant", "rotate", "shop", "--now", *POD)
    (tenant,) = (await sendonce("tenant", "list", "-o", "json")).data
    assert tenant["logins"] == [_login(ran.yaml)["user"]]
    assert f"{first} is dropped" in ran.err


async def test_a_namespace_is_removed_when_its_campaigns_are_finished(sendonce: Sendonce, dsn: str) -> None:
    await sendonce("tenant", "add", "shop", *POD)
    conn = await connect(dsn)
    await conn.execute(
        "INSERT INTO sendonce.campaigns (namespace, send_key, name, content_hash, spec, category)"
        " VALUES ('shop', 'spring', 'spring', 'h', '{}', 'Marketing')"
    )
    ran = await sendonce("tenant", "remove", "shop")
    assert ran.code == 2
    assert "namespace shop has a campaign that is not finished (spring): cancel, or wait for the end" in ran.err
    await conn.execute("UPDATE sendonce.campaigns SET ended = 'failed', completed_at = now()")
    await conn.close()
    assert (await sendonce("tenant", "remove", "shop")).code == 0
    assert (await sendonce("tenant", "list")).out == "none\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("add", "shop"), "--address: is needed"),
        (("add", "Shop", *POD), "'Shop' is not the name of a namespace"),
        (("add", "shop", "--address", "postgresql://["), "is not a connection string"),
        (("rotate", "shop", *POD), "namespace shop has no login: add one first"),
        (("rotate", "shop", "--finish", "--now"), "--finish: makes no Secret"),
        (("remove", "shop"), "namespace shop has no login"),
    ],
)
async def test_what_can_not_be_done_says_why(sendonce: Sendonce, arguments: tuple[str, ...], words: str) -> None:
    ran = await sendonce("tenant", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err


async def test_a_store_must_be_named(sendonce: Sendonce, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SENDONCE_DATABASE")
    ran = await sendonce("tenant", "list")
    assert ran.code == 2
    assert "--database" in ran.err


async def test_the_consoles_login_is_printed_as_a_secret_or_has_the_password_of_a_file(
    sendonce: Sendonce, tmp_path: Path
) -> None:
    secret = (await sendonce("tenant", "console", "--secret-namespace", "look", *POD)).yaml
    assert (secret["metadata"]["name"], secret["metadata"]["namespace"]) == ("sendonce-console-store", "look")
    assert _login(secret)["user"].startswith("sendonce_console_")
    file = tmp_path / "password"
    file.write_text("p" * 40)
    ran = await sendonce("tenant", "console", "--password-file", str(file))
    assert (ran.code, ran.out) == (0, "")
    assert "sendonce_console_" in ran.err
    file.write_text("short")
    ran = await sendonce("tenant", "console", "--password-file", str(file))
    assert ran.code == 2
    assert "--password-file:" in ran.err
